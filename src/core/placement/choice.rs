//! Which domain each subgroup takes, where several are bound to domains and the usual order does not
//! work out: a search that comes back on its choices.
//!
//! The subgroup that has fewest domains left chooses first, and tries them in the usual order: narrow
//! ones before wide ones, tight ones before roomy ones. Where the others find nothing after that, it
//! takes the next. It knows domains only: where links say what is near, the usual order is all that is
//! tried. A choice that is like one that failed is not tried: a domain with the same nodes as
//! another beside it, or one that another subgroup of the same members had in vain. What is looked at is
//! bounded by work, not by time, and reaching the bound is counted.

use super::capacity::Capacity;
use super::demand::Demand;
use super::domain::Domain;
use super::domains::Place;
use super::place::Placer;
use super::search::Search;
use crate::framework::Profile;
use crate::state::{Closeness, ClusterState, DomainId, GangId, Network, NodeId, ShapeId, Tree};
use crate::transaction::Statement;
use muster_model::resources::Dimension;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What one gang's search may cost at least: a domain that is looked at costs one, a pod that is placed
/// more.
const WORK: u64 = 60_000;
/// As often as this all members may be placed in any case.
const TIMES: u64 = 8;
/// What placing a pod costs.
const POD: u64 = 50;
/// Only so many subgroups may be bound to domains.
const MOST: usize = 64;

/// What is to be placed, and where.
pub(super) struct Groups<'a> {
    pub(super) gang: GangId,
    pub(super) demand: &'a Demand,
    /// How close together each subgroup is to be.
    pub(super) nears: &'a [Option<Closeness>],
    pub(super) among: &'a Domain,
}

impl Groups<'_> {
    /// The subgroups that are bound to domains and need members.
    fn bound(&self) -> Vec<usize> {
        let bound = |index: &usize| {
            let near = self.nears[*index];
            let needs = self.demand.subgroups.get(*index);
            near.is_some_and(|near| near.at_most.is_some())
                && needs.is_some_and(|need| need.minimum > 0)
        };
        (0..self.nears.len()).filter(bound).collect()
    }
}

/// What makes two domains alike to a gang: where they are, and for each node what is free on it of what
/// members ask for, and for how many of each shape that is room.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Likeness {
    parent: Option<DomainId>,
    nodes: Vec<(Vec<u64>, Vec<i64>)>,
}

/// What members ask for, as far as it tells nodes apart.
struct Measure {
    rooms: Vec<Arc<Capacity>>,
    dimensions: Vec<Dimension>,
}

/// A subgroup that has chosen, or is about to.
struct Choice {
    group: usize,
    /// What it had in vain.
    failed: BTreeSet<Place>,
}

/// How a search stands.
struct Course<'a> {
    groups: &'a Groups<'a>,
    /// `None`: no two domains are known to be alike.
    measure: Option<Measure>,
    /// Who has to choose still.
    open: Vec<usize>,
    /// Who has chosen.
    chosen: Vec<Choice>,
    left: u64,
}

impl Course<'_> {
    /// Whether so much work may be done still; it counts as done.
    fn may(&mut self, work: u64) -> bool {
        let left = self.left.checked_sub(work);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

/// The domains by which members are near each other; `None` where links say it.
fn tree_of(state: &ClusterState, near: Closeness) -> Option<&Tree> {
    match state.topologies().get(near.topology)?.network() {
        Network::Tree(tree) => Some(tree),
        Network::Graph(_) => None,
    }
}

impl Placer {
    /// Places all subgroups in some choice of domains; says whether one was found. Where it was not, and
    /// the bound was not reached, there is none in which members are packed as they always are.
    pub(super) fn choose_domains(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        groups: &Groups<'_>,
    ) -> bool {
        let open = groups.bound();
        let others = groups.demand.groups() > open.len();
        let nears = groups.nears.iter().flatten();
        let mut trees = nears.map(|near| tree_of(statement.state(), *near));
        if trees.any(|tree| tree.is_none()) {
            return false;
        }
        if open.is_empty() || (open.len() == 1 && !others) {
            return false;
        }
        let left = if open.len() > MOST {
            0
        } else {
            self.choice_work
        };
        let mut course = Course {
            groups,
            measure: self.measure(statement.state(), profile, groups),
            open,
            chosen: Vec::new(),
            left,
        };
        let silent = std::mem::replace(&mut self.silent, true);
        let found = self.choose(statement, profile, &mut course);
        self.silent = silent;
        if course.left == 0 && self.choice_work > 0 {
            self.choices_cut += 1;
        }
        self.choice_work = course.left;
        found
    }

    /// A gang begins to be placed.
    pub(super) fn begin_choices(&mut self, demand: &Demand) {
        self.choice_work = WORK.max(TIMES * POD * u64::from(demand.needed));
    }

    /// How often a search for a choice of domains was cut short since this was last asked.
    pub const fn take_choices_cut(&mut self) -> u64 {
        std::mem::replace(&mut self.choices_cut, 0)
    }

    fn choose(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        course: &mut Course<'_>,
    ) -> bool {
        if course.open.is_empty() {
            return self.place_others(statement, profile, course);
        }
        let Some((group, places)) = self.who_is_next(statement, profile, course) else {
            return false;
        };
        let at = course.open.iter().position(|one| *one == group);
        at.map(|at| course.open.remove(at));
        // Where one of the same members failed, with all that the others chose before and after it, this
        // one would: they would have changed places.
        let groups = course.groups;
        let same = |one: &&Choice| {
            let as_near = groups.nears[one.group] == groups.nears[group];
            as_near && groups.demand.are_alike(one.group, group)
        };
        let known: BTreeSet<Place> = match course.measure {
            Some(_) => course
                .chosen
                .iter()
                .filter(same)
                .flat_map(|one| one.failed.iter().copied())
                .collect(),
            None => BTreeSet::new(),
        };
        course.chosen.push(Choice {
            group,
            failed: known,
        });
        let found = self.try_each(statement, profile, course, group, &places);
        course.chosen.pop();
        course.open.push(group);
        course.open.sort_unstable();
        found
    }

    /// Tries the domains of a subgroup one after the other.
    fn try_each(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        course: &mut Course<'_>,
        group: usize,
        places: &[Place],
    ) -> bool {
        let start = statement.checkpoint();
        let part = course.groups.demand.minimum_of(group);
        let mut failed_like: BTreeSet<Likeness> = BTreeSet::new();
        for place in places {
            let of_group = course.chosen.last();
            if of_group.is_some_and(|one| one.failed.contains(place)) {
                continue;
            }
            let like = self.likeness(statement.state(), course, *place);
            let tried = like.as_ref().is_some_and(|like| failed_like.contains(like));
            if !tried {
                if !course.may(POD * u64::from(part.needed.max(1))) {
                    return false;
                }
                let Some(search) = self.search_of(statement.state(), profile, course, group) else {
                    return false;
                };
                if self.place_at(statement, profile, &part, &search, &(*place).into())
                    && self.choose(statement, profile, course)
                {
                    return true;
                }
                statement.roll_back(start);
                if course.left == 0 {
                    return false;
                }
            }
            failed_like.extend(like);
            if let Some(own) = course.chosen.last_mut() {
                own.failed.insert(*place);
            }
        }
        false
    }

    /// The subgroup that has fewest domains left, and those; `None` if one has none.
    fn who_is_next(
        &mut self,
        statement: &Statement<'_>,
        profile: &Profile,
        course: &mut Course<'_>,
    ) -> Option<(usize, Vec<Place>)> {
        let state = statement.state();
        let mut next: Option<(usize, Vec<Place>)> = None;
        for index in course.open.clone() {
            let search = self.search_of(state, profile, course, index)?;
            let domains = search.domains(state)?;
            let mut places = Vec::new();
            for height in 0..=domains.highest() {
                let (of_height, looked_at) = domains.all_of_height(height);
                if !course.may(looked_at) {
                    return None;
                }
                places.extend(of_height);
            }
            if places.is_empty() {
                return None;
            }
            if next
                .as_ref()
                .is_none_or(|(_, known)| places.len() < known.len())
            {
                next = Some((index, places));
            }
        }
        next
    }

    fn search_of<'a>(
        &mut self,
        state: &ClusterState,
        profile: &'a Profile,
        course: &Course<'a>,
        index: usize,
    ) -> Option<Search<'a>> {
        let groups = course.groups;
        let near = groups.nears[index]?;
        let subgroup = state[groups.gang].subgroups.get(index)?;
        // Those that were placed before this search: of its own members none is placed.
        let on = subgroup.on.keys().copied();
        let part = groups.demand.minimum_of(index);
        let rooms = self.rooms(state, profile, &part, near);
        let order = profile.domain_order.as_deref();
        let inside = groups.among.nodes();
        Some(Search::new(state, near, rooms, on, inside, order))
    }

    /// Places those who are bound to no domain, and whoever the gang needs beyond its subgroups' minima.
    fn place_others(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        course: &mut Course<'_>,
    ) -> bool {
        let groups = course.groups;
        let bound = groups.bound();
        let minimum = |index: &usize| groups.demand.minimum_of(*index).needed;
        let placed: u32 = bound.iter().map(minimum).sum();
        let left = groups.demand.needed.saturating_sub(placed);
        if left == 0 {
            return true;
        }
        if !course.may(POD * u64::from(left)) {
            return false;
        }
        let unbound: Vec<usize> = (0..groups.nears.len())
            .filter(|index| !bound.contains(index))
            .collect();
        let all: Vec<usize> = bound.into_iter().chain(unbound.iter().copied()).collect();
        let start = statement.checkpoint();
        let found = self
            .place_minima(statement, profile, groups, &unbound, left)
            .and_then(|left| self.place_rest(statement, profile, groups, &all, left));
        if found.is_err() {
            statement.roll_back(start);
        }
        found.is_ok()
    }

    /// What tells nodes apart for this gang; `None` where more does than what is free on them.
    fn measure(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        groups: &Groups<'_>,
    ) -> Option<Measure> {
        let mut nears = groups.nears.iter();
        let first = nears.clone().flatten().next()?;
        let one_topology =
            nears.all(|near| near.is_none_or(|near| near.topology == first.topology));
        let fresh = state[groups.gang]
            .subgroups
            .iter()
            .all(|one| one.on.is_empty());
        let shapes: BTreeSet<ShapeId> = groups.demand.shapes().map(|(shape, _)| shape).collect();
        let shapes: Vec<_> = shapes
            .iter()
            .filter_map(|id| state.shapes().get(*id))
            .collect();
        let local = shapes.iter().all(|shape| profile.is_local(shape));
        // Nodes of which not all are looked at are not alike either.
        if self.within.is_some()
            || !one_topology
            || !fresh
            || !local
            || groups.demand.anybody_avoids()
        {
            return None;
        }
        let requests = shapes.iter().flat_map(|shape| shape.request.iter());
        let dimensions: BTreeSet<Dimension> = requests.map(|(dimension, _)| dimension).collect();
        let rooms = self.rooms(state, profile, groups.demand, *first);
        Some(Measure {
            rooms: rooms.each().cloned().collect(),
            dimensions: dimensions.into_iter().collect(),
        })
    }

    /// What a domain is like, as far as members of this gang are not on it: a node, or one that has no
    /// narrower ones.
    fn likeness(
        &self,
        state: &ClusterState,
        course: &Course<'_>,
        place: Place,
    ) -> Option<Likeness> {
        let measure = course.measure.as_ref()?;
        let near = course.groups.nears.iter().flatten().next()?;
        let tree = tree_of(state, *near)?;
        let gang = &state[course.groups.gang];
        let (parent, nodes): (_, Vec<NodeId>) = match place {
            Place::Node(node) => (tree.narrowest(node), vec![node]),
            Place::Domain(id) => {
                let domain = tree.domain(id)?;
                if domain.level + 1 < tree.levels().len() {
                    return None;
                }
                (domain.parent, domain.nodes.iter().collect())
            }
        };
        let has_members =
            |node: &NodeId| gang.subgroups.iter().any(|one| one.on.contains_key(node));
        if nodes.iter().any(has_members) {
            return None;
        }
        let inside = |node: &NodeId| {
            let among = course.groups.among.nodes();
            among.is_none_or(|among| among.contains(*node))
        };
        let of_node = |node: NodeId| {
            // What was known before the first choice: these nodes have not changed since.
            let rooms = measure
                .rooms
                .iter()
                .map(|room| room.of_node(node))
                .collect();
            let free = measure
                .dimensions
                .iter()
                .map(|one| state.nodes().free(node, *one))
                .collect();
            (rooms, free)
        };
        let mut nodes: Vec<_> = nodes.into_iter().filter(inside).map(of_node).collect();
        nodes.sort_unstable();
        Some(Likeness { parent, nodes })
    }
}
