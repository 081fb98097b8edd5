//! Pods with ranks in a line along the topology: who is next to whom by number is near by hops.
//!
//! The nodes are found without regard to ranks; then equal members exchange theirs. So a rank never
//! decides where a gang goes, only which of its equal pods goes where.

use crate::framework::Profile;
use crate::state::{ClusterState, Gang, GangId, NodeId, PodId, ShapeId, Subgroup, Topology};
use crate::transaction::{Assumed, Statement};
use muster_model::Neighbours;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Of the pairs in which one was placed just now; `None` where there are none, or nothing says how
/// far it is between some of them.
#[must_use]
pub fn neighbours_made_by(
    state: &ClusterState,
    gang: GangId,
    placed: impl Iterator<Item = Assumed>,
) -> Option<Neighbours> {
    let gang = &state[gang];
    let ranked = placed.filter(|step| {
        state
            .pod(step.pod)
            .is_some_and(|pod| pod.facts.rank.is_some())
    });
    let new: BTreeSet<PodId> = ranked.map(|step| step.pod).collect();
    if gang.is_single() || new.is_empty() {
        return None;
    }
    let (mut hops, mut pairs) = (0_u32, 0_u32);
    for subgroup in &gang.subgroups {
        let Some(topology) = topology_of(state, gang, subgroup) else {
            continue;
        };
        let mut count = |one: NodeId, other: NodeId| {
            hops = hops.saturating_add(topology.hops_between(one, other)?);
            pairs += 1;
            Some(())
        };
        for (id, pod) in new.iter().filter_map(|id| Some((*id, state.pod(*id)?))) {
            let place = pod.facts.rank.map(|rank| (rank, id));
            let own = place.and_then(|place| Some((place, *subgroup.line.get(&place)?)));
            let Some((place, node)) = own else { continue };
            let stays = |(key, _): &(&(_, PodId), &NodeId)| {
                state.pod(key.1).is_some_and(|pod| !pod.departs())
            };
            let above = (Bound::Excluded(place), Bound::Unbounded);
            let mut above = subgroup.line.range(above);
            if let Some((_, next)) = above.find(stays) {
                count(node, *next)?;
            }
            // A pair of two new ones is counted by the lower of them.
            let mut below = subgroup.line.range(..place).rev();
            if let Some(((_, other), next)) = below.find(stays)
                && !new.contains(other)
            {
                count(*next, node)?;
            }
        }
    }
    (pairs > 0).then_some(Neighbours { hops, pairs })
}

/// Lines up what a statement placed of a gang: equal members exchange their nodes, so that those next to
/// each other by rank are near each other. Who runs already stays where it is, as does who has no rank,
/// and who was refused by a node of late.
///
/// The sum of the hops from each member to the next is no larger than before, and the least there is
/// where a subgroup's members are all equal, none runs yet, and the topology has levels.
pub fn line_up(statement: &mut Statement<'_>, profile: &Profile, gang: GangId) {
    let state = statement.state();
    let movable = |step: Assumed| {
        let pod = state.pod(step.pod)?;
        let free = pod.facts.rank.is_some() && pod.avoid.is_empty();
        let local = || {
            state
                .shapes()
                .get(pod.shape)
                .is_some_and(|one| profile.is_local(one))
        };
        (free && local()).then_some((step.pod, pod.shape))
    };
    let movable: BTreeMap<PodId, ShapeId> = statement.assumed().filter_map(movable).collect();
    if movable.len() < 2 {
        return;
    }
    let gang = &state[gang];
    let mut moves = BTreeMap::new();
    for subgroup in &gang.subgroups {
        if let Some(topology) = topology_of(state, gang, subgroup) {
            let line = Line::of(state, topology, subgroup, &movable);
            moves.extend(line.moves());
        }
    }
    if !moves.is_empty() {
        statement.reassign(&moves);
    }
}

/// The topology that says how far the members of a subgroup are from each other.
fn topology_of<'a>(
    state: &'a ClusterState,
    gang: &Gang,
    subgroup: &Subgroup,
) -> Option<&'a Topology> {
    let own = state.closeness(gang, subgroup).ok()?;
    let near = own.or(state.closeness_of_all(gang).ok()?)?;
    state.topologies().get(near.topology)
}

/// A member in the line.
#[derive(Clone, Copy, Debug)]
struct Seat {
    pod: PodId,
    /// Its node, as an index into those of the line.
    at: usize,
    /// Its shape, if it may exchange its node.
    movable: Option<ShapeId>,
}

/// The members of a subgroup that have a rank and a node, by rank.
struct Line<'a> {
    topology: &'a Topology,
    /// Their nodes, along the topology.
    nodes: Vec<NodeId>,
    seats: Vec<Seat>,
}

/// Which way a line is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// Further than anything on a path. With fewer than a million members a sum of these stays a `u64`.
const NO_PATH: u64 = 1 << 40;

impl<'a> Line<'a> {
    fn of(
        state: &ClusterState,
        topology: &'a Topology,
        subgroup: &Subgroup,
        movable: &BTreeMap<PodId, ShapeId>,
    ) -> Self {
        // Who leaves is nobody's neighbour any more.
        let stays = |pod: PodId| state.pod(pod).is_some_and(|pod| !pod.departs());
        let line = subgroup.line.iter().filter(|((_, pod), _)| stays(*pod));
        let line: Vec<(PodId, NodeId)> = line.map(|((_, pod), node)| (*pod, *node)).collect();
        let nodes: BTreeSet<NodeId> = line.iter().map(|(_, node)| *node).collect();
        let mut nodes: Vec<NodeId> = nodes.into_iter().collect();
        topology.put_in_order(&mut nodes, state.nodes());
        let index = nodes.iter().enumerate();
        let index: BTreeMap<NodeId, usize> = index.map(|(index, node)| (*node, index)).collect();
        let seat = |(pod, node): (PodId, NodeId)| Seat {
            pod,
            at: index[&node],
            movable: movable.get(&pod).copied(),
        };
        let seats = line.into_iter().map(seat).collect();
        Self {
            topology,
            nodes,
            seats,
        }
    }

    /// Who is better off on another node.
    fn moves(&self) -> impl Iterator<Item = (PodId, NodeId)> {
        let mut best: Vec<usize> = self.seats.iter().map(|seat| seat.at).collect();
        let mut least = self.length(&best);
        // What is in order is preferred to what is not, where both are as long.
        let up = self.walk(Way::Up);
        let length = self.length(&up);
        if length <= least {
            (best, least) = (up, length);
        }
        let down = self.walk(Way::Down);
        if self.length(&down) < least {
            best = down;
        }
        let moved = self.seats.iter().zip(best);
        let moved = moved.filter(|(seat, at)| seat.at != *at);
        moved.map(|(seat, at)| (seat.pod, self.nodes[at]))
    }

    /// The hops from each member to the next, in all.
    fn length(&self, places: &[usize]) -> u64 {
        let pairs = places.windows(2);
        pairs.map(|pair| self.apart(pair[0], pair[1])).sum()
    }

    fn apart(&self, one: usize, other: usize) -> u64 {
        let hops = self
            .topology
            .hops_between(self.nodes[one], self.nodes[other]);
        hops.map_or(NO_PATH, u64::from)
    }

    /// The node of each member if each in turn takes the one that is nearest to the member before.
    fn walk(&self, way: Way) -> Vec<usize> {
        let mut slots: BTreeMap<ShapeId, BTreeMap<usize, u32>> = BTreeMap::new();
        for seat in &self.seats {
            if let Some(shape) = seat.movable {
                *slots.entry(shape).or_default().entry(seat.at).or_default() += 1;
            }
        }
        let mut places: Vec<usize> = self.seats.iter().map(|seat| seat.at).collect();
        let mut before = None;
        for step in 0..self.seats.len() {
            let (index, next) = match way {
                Way::Up => (step, Some(step + 1)),
                Way::Down => {
                    let index = self.seats.len() - 1 - step;
                    (index, index.checked_sub(1))
                }
            };
            let own = self.seats[index].movable;
            if let Some(slots) = own.and_then(|shape| slots.get_mut(&shape)) {
                let next = next.and_then(|next| self.seats.get(next));
                let after = next
                    .filter(|seat| seat.movable.is_none())
                    .map(|seat| seat.at);
                if let Some(at) = self.nearest(slots, before, after, way) {
                    places[index] = at;
                    take(slots, at);
                }
            }
            before = Some(places[index]);
        }
        places
    }

    /// The slot that is nearest to the members on both sides, as far as they have their places. Domains
    /// are without gaps along the nodes: nearest to a node is one of the two slots next to it.
    fn nearest(
        &self,
        slots: &BTreeMap<usize, u32>,
        before: Option<usize>,
        after: Option<usize>,
        way: Way,
    ) -> Option<usize> {
        let sides = || before.into_iter().chain(after);
        let next_to = |side: usize| {
            let above = slots.range(side..).next();
            above.into_iter().chain(slots.range(..side).next_back())
        };
        let far = |slot: usize| {
            let hops: u64 = sides().map(|side| self.apart(side, slot)).sum();
            let from = before.or(after).unwrap_or(slot);
            let back = match way {
                Way::Up => slot < from,
                Way::Down => slot > from,
            };
            (hops, back, slot.abs_diff(from), slot)
        };
        let nearest = sides()
            .flat_map(next_to)
            .map(|(slot, _)| *slot)
            .min_by_key(|slot| far(*slot));
        let end = match way {
            Way::Up => slots.first_key_value(),
            Way::Down => slots.last_key_value(),
        };
        nearest.or(end.map(|(slot, _)| *slot))
    }
}

/// One slot less on a node.
fn take(slots: &mut BTreeMap<usize, u32>, at: usize) {
    if let Some(left) = slots.get_mut(&at) {
        *left -= 1;
        if *left == 0 {
            slots.remove(&at);
        }
    }
}

#[cfg(test)]
mod tests;
