//! Places for members that are to be close to each other: the search through a topology.
//!
//! Sets of nodes are tried from the smallest reach upward (`search.rs`): domains of a tree by their
//! height (`domains.rs`), ports of a graph by the hops between them (`ports.rs`). So the first that holds
//! the members has the fewest hops between any two. Among those of one reach those come first that have
//! least room beyond what is asked for, and of equal domains those in the fullest wider ones; of the first
//! few the one counts that loses the least opportunity. What a domain or a port has room for is known
//! beforehand, so one that cannot hold the members costs nothing.

use super::choice::Groups;
use super::demand::Demand;
use super::domain::Domain;
use super::lost::Lost;
use super::place::{Confined, Placer, Shortage, further};
use super::search::{Candidates, Search, named, nodes_of};
use super::shares::share_out;
use super::spot::Spot;
use super::wanted::{Rooms, Steps};
use crate::framework::{Context, DomainOrder, Inside, Profile};
use crate::state::{Closeness, ClusterState, GangId, Network, NodeSet, Reach, ShapeId};
use crate::transaction::Statement;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many sets of nodes of one reach are tried of which each has room.
const TRIED: usize = 4;

impl Placer {
    /// Places what a gang demands as close together as can be, or not at all.
    pub(super) fn place_close(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        gang: GangId,
        demand: &Demand,
    ) -> Result<(), Shortage> {
        let all = statement.state().closeness_of_all(&statement.state()[gang]);
        let Ok(Some(all)) = all else {
            return self.place_groups(statement, profile, gang, demand, &Domain::Everywhere);
        };
        let state = statement.state();
        let on = state[gang]
            .subgroups
            .iter()
            .flat_map(|one| one.on.keys().copied());
        let rooms = self.rooms(state, profile, demand, all);
        let search = Search::new(state, all, rooms, on, None, profile.domain_order.as_deref());
        let start = statement.checkpoint();
        let mut closest: Option<Shortage> = None;
        let mut steps = Steps::default();
        while let Some(mut candidates) = search.next(statement.state(), &mut steps) {
            let mut index = 0;
            while let Some(spot) = candidates.get(index, &search, statement.state()) {
                index += 1;
                let domain = nodes_of(statement.state(), all, spot);
                match self.place_groups(statement, profile, gang, demand, &domain) {
                    Ok(()) => return Ok(()),
                    Err(shortage) => closest = further(closest, shortage),
                }
                statement.roll_back(start);
            }
        }
        if all.at_most.is_none() {
            return self.place_groups(statement, profile, gang, demand, &Domain::Everywhere);
        }
        let shortage = || self.confined(statement, profile, demand, &search);
        Err(closest.unwrap_or_else(shortage))
    }

    /// Places each subgroup as close together as can be, inside a domain.
    fn place_groups(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        gang: GangId,
        demand: &Demand,
        among: &Domain,
    ) -> Result<(), Shortage> {
        let state = statement.state();
        let near = |one| state.closeness(&state[gang], one).ok().flatten();
        let nears: Vec<_> = state[gang].subgroups.iter().map(near).collect();
        if demand.groups() <= 1 {
            let index = demand.first_group();
            let near = nears.get(index).copied().flatten();
            return self.place_group(statement, profile, (gang, index), demand, near, among);
        }
        if nears.iter().all(Option::is_none) {
            return self.place_in(statement, profile, demand, among);
        }
        // Who is bound to narrow domains chooses first; then the largest members do, or who needs
        // most of them.
        let at_most = |index: &usize| nears[*index].and_then(|near| near.at_most);
        let narrow = |index: &usize| at_most(index).unwrap_or(Reach::MAX);
        let mut by_size: Vec<usize> = (0..nears.len()).collect();
        let mut by_number = by_size.clone();
        by_size
            .sort_by_cached_key(|index| (narrow(index), Reverse(demand.largest_of(state, *index))));
        let minimum = |index: usize| demand.subgroups.get(index).map_or(0, |need| need.minimum);
        by_number.sort_by_key(|index| (narrow(index), Reverse(minimum(*index))));
        let groups = Groups {
            gang,
            demand,
            nears: &nears,
            among,
        };
        let start = statement.checkpoint();
        let mut closest = None;
        for order in [by_size, by_number] {
            match self.place_each_group(statement, profile, &groups, &order) {
                Ok(()) => return Ok(()),
                Err(shortage) => closest = further(closest, shortage),
            }
            statement.roll_back(start);
        }
        if (0..nears.len()).all(|index| at_most(&index).is_none()) {
            return self.place_in(statement, profile, demand, among);
        }
        if self.choose_domains(statement, profile, &groups) {
            return Ok(());
        }
        statement.roll_back(start);
        Err(closest.unwrap_or_default())
    }

    /// Places subgroups in an order: their minima, then others up to what the gang needs as a whole.
    fn place_each_group(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        groups: &Groups<'_>,
        order: &[usize],
    ) -> Result<(), Shortage> {
        let left = groups.demand.needed;
        let left = self.place_minima(statement, profile, groups, order, left)?;
        self.place_rest(statement, profile, groups, order, left)
    }

    /// Places the minima of some subgroups; says how many members are left to be placed of so many.
    pub(super) fn place_minima(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        groups: &Groups<'_>,
        order: &[usize],
        mut left: u32,
    ) -> Result<u32, Shortage> {
        let (gang, demand) = (groups.gang, groups.demand);
        for index in order {
            let part = demand.minimum_of(*index);
            if part.needed > 0 {
                let near = groups.nears[*index];
                let found = self.place_group(
                    statement,
                    profile,
                    (gang, *index),
                    &part,
                    near,
                    groups.among,
                );
                found.map_err(|shortage| of_all(demand, left, shortage))?;
                left = left.saturating_sub(part.needed);
            }
        }
        Ok(left)
    }

    /// Places so many members more, of whatever subgroup has room for them.
    pub(super) fn place_rest(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        groups: &Groups<'_>,
        order: &[usize],
        mut left: u32,
    ) -> Result<(), Shortage> {
        let (gang, demand) = (groups.gang, groups.demand);
        let mut last = None;
        for index in order {
            let mut at_once = left;
            while left > 0 {
                let Some(part) = demand.more_of(statement.state(), *index, at_once.min(left))
                else {
                    break;
                };
                let (group, near) = ((gang, *index), groups.nears[*index]);
                match self.place_group(statement, profile, group, &part, near, groups.among) {
                    Ok(()) => left -= part.needed,
                    Err(_) if part.needed > 1 => at_once = 1,
                    Err(shortage) => {
                        last = Some(shortage);
                        break;
                    }
                }
            }
        }
        match left {
            0 => Ok(()),
            left => Err(of_all(demand, left, last.unwrap_or_default())),
        }
    }

    /// Places members of one subgroup as close together as can be, inside a domain.
    fn place_group(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        (gang, index): (GangId, usize),
        demand: &Demand,
        near: Option<Closeness>,
        among: &Domain,
    ) -> Result<(), Shortage> {
        let Some(near) = near else {
            return self.place_in(statement, profile, demand, among);
        };
        let state = statement.state();
        let subgroup = state[gang].subgroups.get(index);
        let on = subgroup.into_iter().flat_map(|one| one.on.keys().copied());
        let rooms = self.rooms(state, profile, demand, near);
        let search = {
            let order = profile.domain_order.as_deref();
            Search::new(state, near, rooms, on, among.nodes(), order)
        };
        let mut steps = Steps::default();
        while let Some(candidates) = search.next(statement.state(), &mut steps) {
            if self.place_in_best(statement, profile, demand, &search, candidates) {
                return Ok(());
            }
        }
        if near.at_most.is_some() {
            return Err(self.confined(statement, profile, demand, &search));
        }
        self.place_in(statement, profile, demand, among)
    }

    /// Places members in that of several sets of nodes that loses least opportunity. Says whether any
    /// held them.
    fn place_in_best(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        search: &Search<'_>,
        mut candidates: Candidates,
    ) -> bool {
        let tried = if search.order.is_none() { TRIED } else { 1 };
        let start = statement.checkpoint();
        let mut best: Option<(Lost, Spot)> = None;
        let mut is_there = false;
        let (mut held, mut index) = (0, 0);
        while held < tried {
            let state = statement.state();
            let nothing = |lost: &&Lost| lost.opportunity == 0 && lost.beside_devices == 0;
            let least = best.as_ref().map(|(lost, _)| lost).filter(nothing);
            let spot = match least {
                Some(lost) if lost.nodes < 2 => None,
                Some(_) => candidates.as_tight(index),
                None => candidates.get(index, search, state),
            };
            let Some(spot) = spot else { break };
            index += 1;
            // Where nothing is lost, only fewer nodes are better.
            if least.is_some_and(|lost| lost.nodes <= fewest_nodes(state, search, spot)) {
                held += 1;
                continue;
            }
            is_there = false;
            statement.roll_back(start);
            if !self.place_at(statement, profile, demand, search, spot) {
                continue;
            }
            held += 1;
            let lost = Lost::by(statement.state(), statement.assumed_since(start));
            if best.as_ref().is_none_or(|(least, _)| lost < *least) {
                best = Some((lost, spot.clone()));
                is_there = true;
            }
        }
        if is_there {
            return true;
        }
        statement.roll_back(start);
        best.is_some_and(|(_, best)| self.place_at(statement, profile, demand, search, &best))
    }

    /// Places members in one set of nodes, in as few of the domains or ports inside it as can be.
    pub(super) fn place_at(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        search: &Search<'_>,
        spot: &Spot,
    ) -> bool {
        let start = statement.checkpoint();
        let parts = parts_of(statement.state(), demand, search, spot);
        if parts.len() > 1 {
            let mut from = 0;
            let placed = parts.iter().all(|(domain, members)| {
                let part = demand.uniform_part(from, *members);
                from += members;
                self.place_in_silence(statement, profile, &part, domain)
            });
            if placed {
                return true;
            }
            statement.roll_back(start);
        }
        let domain =
            nodes_of(statement.state(), search.wanted.near, spot).inside(search.wanted.inside);
        self.place_in_silence(statement, profile, demand, &domain)
    }

    /// What to say where no domain holds the members that is not too wide: the one that holds most.
    fn confined(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        search: &Search<'_>,
    ) -> Shortage {
        let start = statement.checkpoint();
        let state = statement.state();
        let near = search.wanted.near;
        let most = search.fullest(state);
        let closest = most.as_ref().map(|spot| named(state, near, spot));
        let confined = Confined::in_words(state, near, closest);
        let unknown = Shortage {
            member: demand.first_pod(),
            needed: demand.needed,
            ..Shortage::default()
        };
        let shortage = match most {
            Some(spot) => {
                let domain = nodes_of(state, near, &spot).inside(search.wanted.inside);
                let found = self.place_in(statement, profile, demand, &domain);
                statement.roll_back(start);
                found.err().unwrap_or(unknown)
            }
            None => Shortage {
                placed: Some(0),
                ..unknown
            },
        };
        Shortage {
            confined: Some(Box::new(confined)),
            ..shortage
        }
    }

    pub(super) fn rooms(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        demand: &Demand,
        near: Closeness,
    ) -> Rooms {
        let mut shapes: BTreeMap<ShapeId, (_, u64)> = BTreeMap::new();
        for (shape, pod) in demand.shapes() {
            shapes.entry(shape).or_insert((pod, 0)).1 += 1;
        }
        let mut by_shape = Vec::new();
        for (pod, members) in shapes.into_values() {
            let Some(cx) = Context::new(state, &self.store, pod) else {
                continue;
            };
            let allowed = self.masks.allowed(&profile.filter, &cx);
            if let Some(room) = self.capacities.of(profile, &cx, allowed, near.topology) {
                by_shape.push((room, members));
            }
        }
        Rooms {
            by_shape,
            needed: u64::from(demand.needed),
            devices: demand.devices_to_spare(state).cloned(),
        }
    }
}

/// The shortage of some members as one of all, of whom so many are left to be placed.
fn of_all(demand: &Demand, left: u32, shortage: Shortage) -> Shortage {
    Shortage {
        placed: Some(demand.needed - left + shortage.placed.unwrap_or(0)),
        needed: demand.needed,
        ..shortage
    }
}

/// On so many nodes members are at least that are all in one set of nodes.
fn fewest_nodes(state: &ClusterState, search: &Search<'_>, spot: &Spot) -> usize {
    let wanted = &search.wanted;
    let members_on = |node| {
        let of_shapes = wanted.rooms.by_shape.iter();
        let rooms = of_shapes.map(|(room, members)| room.of_node(node).min(*members));
        rooms.sum::<u64>()
    };
    let domain = nodes_of(state, wanted.near, spot).inside(wanted.inside);
    let nodes = domain.nodes().into_iter().flat_map(NodeSet::iter);
    let mut rooms: Vec<u64> = nodes.map(members_on).collect();
    rooms.sort_unstable_by_key(|room| Reverse(*room));
    let mut left = wanted.rooms.needed;
    let full = rooms.iter().take_while(|room| {
        left = left.saturating_sub(**room);
        left > 0
    });
    full.count() + 1
}

/// Members that are all equal, shared out over as few of the domains or ports inside a set of nodes as
/// can be; nothing where that cannot be said.
fn parts_of(
    state: &ClusterState,
    demand: &Demand,
    search: &Search<'_>,
    spot: &Spot,
) -> Vec<(Domain, u64)> {
    let [(room, _)] = &search.wanted.rooms.by_shape[..] else {
        return Vec::new();
    };
    let order = search.order.map(DomainOrder::inside);
    if search.wanted.inside.is_some() || !demand.is_uniform() || order == Some(Inside::BestNodes) {
        return Vec::new();
    }
    let needed = search.wanted.rooms.needed;
    let topology = state.topologies().get(search.wanted.near.topology);
    match (spot, topology.map(|one| one.network())) {
        (Spot::Domain(id), Some(Network::Tree(tree))) => {
            let mut parts = Vec::new();
            share_out(tree, room, *id, needed, order, &mut parts);
            let domain = |id| nodes_of(state, search.wanted.near, &Spot::Domain(id));
            let parts = parts.into_iter();
            parts.map(|(id, members)| (domain(id), members)).collect()
        }
        (Spot::Group(group), Some(Network::Graph(graph))) => {
            let parts = group.shared_out(graph, room, needed).into_iter();
            parts
                .map(|(nodes, members)| (Domain::Only(nodes), members))
                .collect()
        }
        _ => Vec::new(),
    }
}
