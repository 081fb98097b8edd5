//! Places for members that are to be close to each other: the search through a topology.
//!
//! Domains are tried from the smallest height upward, so that the first that holds the members has the
//! fewest hops between any two. Among domains of one height those come first that have least room
//! beyond what is asked for; of the first few the one counts that loses the least opportunity. What a
//! domain has room for is known beforehand, so one that cannot hold the members costs nothing.

use super::capacity::Capacity;
use super::demand::Demand;
use super::domain::Domain;
use super::lost::Lost;
use super::place::{Confined, Placer, Shortage, further};
use crate::core::framework::{Context, Profile};
use crate::core::state::{
    Closeness, ClusterState, Common, DomainId, GangId, NodeId, NodeSet, ShapeId, Topology,
};
use crate::core::transaction::Statement;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many domains of one height are tried of which each has room.
const TRIED: usize = 4;
/// The same where it is not known for sure that they have room.
const TRIED_IN_DOUBT: usize = 16;

/// A domain that may hold the members: the better ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// How much more it has room for.
    beyond: u64,
    spot: Spot,
}

/// A domain of a height, that of a single node included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    Node(NodeId),
    Domain(DomainId),
}

/// What is searched for, and where.
struct Search<'a> {
    near: Closeness,
    /// What members that have a place have in common.
    common: Common,
    /// What room there is for those to be placed.
    rooms: Rooms,
    /// The nodes it is restricted to.
    inside: Option<&'a NodeSet>,
}

/// What room there is for the members of a demand.
struct Rooms {
    /// For each shape, and how many members have it.
    by_shape: Vec<(Arc<Capacity>, u64)>,
    needed: u64,
}

impl Rooms {
    /// For how many pods there is room where there is so much for each shape, and whether that may be
    /// enough for the members.
    fn sum(&self, room: impl Fn(&Capacity) -> u64) -> (u64, bool) {
        let (mut sum, mut members) = (0_u64, 0);
        for (one, of_shape) in &self.by_shape {
            let room = room(one);
            sum += room;
            members += room.min(*of_shape);
        }
        (sum, members >= self.needed)
    }
}

impl Search<'_> {
    /// For how many pods there is room in a domain, and whether that may be enough.
    fn room_in(&self, topology: &Topology, spot: Spot) -> (u64, bool) {
        let inside = |node: NodeId| self.inside.is_none_or(|among| among.contains(node));
        let rooms = &self.rooms;
        match spot {
            Spot::Node(node) if inside(node) => rooms.sum(|one| one.of_node(node)),
            Spot::Node(_) => (0, false),
            Spot::Domain(id) => match (topology.tree().domain(id), self.inside) {
                (Some(domain), Some(among)) if !domain.nodes.is_within(among) => {
                    let nodes = || domain.nodes.iter().filter(|node| inside(*node));
                    rooms.sum(|one| one.on(nodes()))
                }
                _ => rooms.sum(|one| one.of_domain(id)),
            },
        }
    }

    /// The domains of a height that have all of what members have in common.
    fn spots(&self, state: &ClusterState, height: usize) -> Vec<Spot> {
        let Some(topology) = state.topologies().get(self.near.topology) else {
            return Vec::new();
        };
        let tree = topology.tree();
        let narrowest = match self.common {
            Common::Nowhere => return Vec::new(),
            Common::Anywhere if height == 0 => {
                let Some((first, _)) = self.rooms.by_shape.first() else {
                    return Vec::new();
                };
                let nodes = first.nodes().map(|(node, _)| node);
                return nodes.map(Spot::Node).collect();
            }
            Common::Anywhere => {
                let domains = tree.domains();
                let of_height = domains.filter(|(_, one)| tree.height(one.level) == height);
                return of_height.map(|(id, _)| Spot::Domain(id)).collect();
            }
            Common::Node(node) if height == 0 => return vec![Spot::Node(node)],
            Common::Node(node) => tree.narrowest(node),
            Common::Domain(id) => Some(id),
        };
        let above = narrowest.into_iter().flat_map(|id| tree.above(id));
        let of_height = above.filter(|(_, one)| tree.height(one.level) == height);
        of_height.map(|(id, _)| Spot::Domain(id)).collect()
    }

    /// The domains of a height that may hold the members, those with least room beyond that first.
    fn candidates(&self, state: &ClusterState, height: usize) -> Vec<Candidate> {
        let Some(topology) = state.topologies().get(self.near.topology) else {
            return Vec::new();
        };
        let mut best: Vec<Candidate> = Vec::with_capacity(TRIED_IN_DOUBT + 1);
        for spot in self.spots(state, height) {
            let (room, enough) = self.room_in(topology, spot);
            if !enough {
                continue;
            }
            let beyond = room.saturating_sub(self.rooms.needed);
            let one = Candidate { beyond, spot };
            if best.len() == TRIED_IN_DOUBT && best.last().is_some_and(|last| *last < one) {
                continue;
            }
            let at = best.partition_point(|other| *other < one);
            best.insert(at, one);
            best.truncate(TRIED_IN_DOUBT);
        }
        best
    }
}

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
        let search = Search {
            near: all,
            common: common(state, all, on),
            rooms: self.rooms(state, profile, demand, all),
            inside: None,
        };
        let start = statement.checkpoint();
        let mut closest: Option<Shortage> = None;
        for height in 0..=highest(statement.state(), all) {
            for one in search.candidates(statement.state(), height) {
                let domain = nodes_of(statement.state(), all, one.spot);
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
        let narrow = |index: &usize| at_most(index).unwrap_or(usize::MAX);
        let mut by_size: Vec<usize> = (0..nears.len()).collect();
        let mut by_number = by_size.clone();
        by_size
            .sort_by_cached_key(|index| (narrow(index), Reverse(demand.largest_of(state, *index))));
        let minimum = |index: usize| demand.subgroups.get(index).map_or(0, |need| need.minimum);
        by_number.sort_by_key(|index| (narrow(index), Reverse(minimum(*index))));
        let start = statement.checkpoint();
        let mut closest = None;
        for order in [by_size, by_number] {
            match self.place_each_group(statement, profile, gang, demand, (&order, &nears), among) {
                Ok(()) => return Ok(()),
                Err(shortage) => closest = further(closest, shortage),
            }
            statement.roll_back(start);
        }
        if (0..nears.len()).all(|index| at_most(&index).is_none()) {
            return self.place_in(statement, profile, demand, among);
        }
        Err(closest.unwrap_or_default())
    }

    /// Places subgroups in an order: their minima, then others up to what the gang needs as a whole.
    fn place_each_group(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        gang: GangId,
        demand: &Demand,
        (order, nears): (&[usize], &[Option<Closeness>]),
        among: &Domain,
    ) -> Result<(), Shortage> {
        let mut left = demand.needed;
        let of_all = |left: u32, shortage: Shortage| Shortage {
            placed: Some(demand.needed - left + shortage.placed.unwrap_or(0)),
            needed: demand.needed,
            ..shortage
        };
        for index in order {
            let part = demand.minimum_of(*index);
            if part.needed > 0 {
                let group = (gang, *index);
                let found =
                    self.place_group(statement, profile, group, &part, nears[*index], among);
                found.map_err(|shortage| of_all(left, shortage))?;
                left = left.saturating_sub(part.needed);
            }
        }
        let mut last = None;
        for index in order {
            let mut at_once = left;
            while left > 0 {
                let Some(part) = demand.more_of(statement.state(), *index, at_once.min(left))
                else {
                    break;
                };
                let group = (gang, *index);
                match self.place_group(statement, profile, group, &part, nears[*index], among) {
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
            left => Err(of_all(left, last.unwrap_or_default())),
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
        let search = Search {
            near,
            common: common(state, near, on),
            rooms: self.rooms(state, profile, demand, near),
            inside: among.nodes(),
        };
        for height in 0..=highest(statement.state(), near) {
            if self.place_in_best(statement, profile, demand, &search, height) {
                return Ok(());
            }
        }
        if near.at_most.is_some() {
            return Err(self.confined(statement, profile, demand, &search));
        }
        self.place_in(statement, profile, demand, among)
    }

    /// Places members in the domain of a height that loses least opportunity. Says whether any held
    /// them.
    fn place_in_best(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        search: &Search<'_>,
        height: usize,
    ) -> bool {
        let start = statement.checkpoint();
        let mut best: Option<(Lost, Candidate)> = None;
        let mut there = None;
        let mut held = 0;
        for one in search.candidates(statement.state(), height) {
            statement.roll_back(start);
            there = None;
            if !self.place_at(statement, profile, demand, search, one.spot) {
                continue;
            }
            there = Some(one.spot);
            let lost = Lost::by(statement.state(), statement.assumed_since(start));
            if best.is_none_or(|(least, _)| lost < least) {
                best = Some((lost, one));
            }
            held += 1;
            if held == TRIED || lost.opportunity == 0 {
                break;
            }
        }
        let Some((_, best)) = best else {
            statement.roll_back(start);
            return false;
        };
        if there != Some(best.spot) {
            statement.roll_back(start);
            return self.place_at(statement, profile, demand, search, best.spot);
        }
        true
    }

    /// Places members in one domain, in as few of the domains inside it as can be.
    fn place_at(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        search: &Search<'_>,
        spot: Spot,
    ) -> bool {
        let start = statement.checkpoint();
        if let ([(room, _)], Spot::Domain(id), None) =
            (&search.rooms.by_shape[..], spot, search.inside)
            && demand.is_uniform()
        {
            let mut parts = Vec::new();
            let topology = statement.state().topologies().get(search.near.topology);
            if let Some(topology) = topology {
                share_out(topology, room, id, search.rooms.needed, &mut parts);
            }
            if parts.len() > 1 {
                let mut from = 0;
                let placed = parts.iter().all(|(id, members)| {
                    let part = demand.uniform_part(from, *members);
                    from += members;
                    let domain = nodes_of(statement.state(), search.near, Spot::Domain(*id));
                    self.place_in_silence(statement, profile, &part, &domain)
                });
                if placed {
                    return true;
                }
                statement.roll_back(start);
            }
        }
        let domain = nodes_of(statement.state(), search.near, spot).inside(search.inside);
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
        let near = search.near;
        let spots = search.spots(state, highest(state, near));
        let topology = state.topologies().get(near.topology);
        let room = |spot: &Spot| topology.map_or(0, |one| search.room_in(one, *spot).0);
        // Of equals the first.
        let most = spots.into_iter().rev().max_by_key(room);
        let confined = Confined::in_words(state, near, most.map(|spot| named(state, near, spot)));
        let unknown = Shortage {
            member: demand.first_pod(),
            needed: demand.needed,
            ..Shortage::default()
        };
        let shortage = match most {
            Some(spot) => {
                let domain = nodes_of(state, near, spot).inside(search.inside);
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

    fn rooms(
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
        }
    }
}

/// Shares members out over the narrowest domains of one, so that as few as can be are used: what
/// fills a domain fills it, and what is left goes where least is left over.
fn share_out(
    topology: &Topology,
    room: &Capacity,
    id: DomainId,
    members: u64,
    parts: &mut Vec<(DomainId, u64)>,
) {
    let inner = topology.tree().domains();
    let inner = inner.filter(|(_, domain)| domain.parent == Some(id));
    let mut inner: Vec<(u64, DomainId)> = inner.map(|(id, _)| (room.of_domain(id), id)).collect();
    if inner.is_empty() {
        parts.push((id, members));
        return;
    }
    // The largest first, of equals the one with the lowest id.
    inner.sort_unstable_by_key(|(room, id)| (Reverse(*room), *id));
    let mut left = members;
    for at in 0..inner.len() {
        if left == 0 {
            return;
        }
        let enough = inner[at..].partition_point(|(room, _)| *room >= left);
        if enough > 0 {
            // The smallest that is enough; of equals the first.
            let smallest = inner[at + enough - 1].0;
            let first = inner[at..].iter().find(|(room, _)| *room == smallest);
            if let Some((_, id)) = first {
                share_out(topology, room, *id, left, parts);
            }
            return;
        }
        let (all, id) = inner[at];
        share_out(topology, room, id, all, parts);
        left -= all;
    }
}

/// What members that have a place have in common.
fn common(state: &ClusterState, near: Closeness, on: impl Iterator<Item = NodeId>) -> Common {
    let topology = state.topologies().get(near.topology);
    topology.map_or(Common::Anywhere, |one| one.tree().common(on))
}

/// The greatest height that may be tried.
fn highest(state: &ClusterState, near: Closeness) -> usize {
    let levels = state.topologies().get(near.topology);
    let levels = levels.map_or(0, |one| one.tree().levels().len());
    near.at_most.map_or(levels, |most| most.min(levels))
}

/// The nodes of a domain.
fn nodes_of(state: &ClusterState, near: Closeness, spot: Spot) -> Domain {
    let topology = state.topologies().get(near.topology);
    let nodes = match spot {
        Spot::Node(node) => NodeSet::from_iter([node]),
        Spot::Domain(id) => {
            let domain = topology.and_then(|one| one.tree().domain(id));
            domain.map(|one| one.nodes.clone()).unwrap_or_default()
        }
    };
    Domain::Only(nodes)
}

/// What people call a domain: `node n1`, `rack=r7`.
fn named(state: &ClusterState, near: Closeness, spot: Spot) -> String {
    match spot {
        Spot::Node(node) => format!("node {}", state.nodes().name(node)),
        Spot::Domain(id) => {
            let topology = state.topologies().get(near.topology);
            topology.map_or_else(String::new, |one| one.tree().path(id))
        }
    }
}
