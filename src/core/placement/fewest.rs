//! Equal members that lose nothing, on as few nodes as can be.
//!
//! They lose nothing on nodes in use, and on nodes that they open and fill. So what matters of a node is
//! for how many of them there is room, and that makes the answer exact: nodes that are opened hold so
//! many members exactly, in the fewest ways of all sums; the others go to the nodes in use with most room.

use super::Placer;
use super::domain::Domain;
use super::shares::fill;
use crate::framework::Profile;
use crate::state::{ClusterState, NodeId, NodeSet};
use crate::transaction::Assumed;
use muster_exact::Effort;
use muster_model::resources::{Dimension, Request};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// For how many equal members there is room, node by node.
#[derive(Clone, Debug, Default)]
struct Rooms {
    /// Of nodes in use.
    in_use: Vec<(u64, NodeId)>,
    /// Of nodes of which nothing is left over where so many are; by id.
    filled: BTreeMap<u64, Vec<NodeId>>,
}

/// So many nodes, for so many members each, of which all are used or none.
#[derive(Clone, Copy, Debug)]
struct Bundle {
    room: u64,
    nodes: usize,
}

impl Placer {
    /// Other places for equal members that lose nothing where they are, on fewer nodes, and the fewest there
    /// are; the pods in the same order. `None` where there are none, or more than amounts decides.
    pub(super) fn on_fewer_nodes(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        domain: &Domain,
        placed: &[Assumed],
        effort: &mut Effort,
    ) -> Option<Vec<Assumed>> {
        let first = placed.first()?.pod;
        let shape = state.shape_of(first)?;
        if !profile.decides_by_amounts(shape) {
            return None;
        }
        let mut on: BTreeMap<NodeId, i64> = BTreeMap::new();
        for one in placed {
            *on.entry(one.node).or_default() += 1;
        }
        let needed = placed.len() as u64;
        let smaller =
            |nodes: &mut NodeSet| leave_out_too_large(state, &shape.request, needed, nodes);
        let found = self.find_candidates_of(state, profile, first, domain, smaller);
        if found.is_none() {
            self.candidates = NodeSet::default();
        }
        // Those that they filled are none any more.
        on.keys().for_each(|node| self.candidates.insert(*node));
        let mut rooms = Rooms::default();
        let column = |one| (state.nodes().free_column(one), shape.request.get(one), one);
        let columns: Vec<_> = state.dimensions().iter().map(column).collect();
        let mut like = Like::default();
        for node in self.candidates.iter() {
            let own = on.get(&node).copied().unwrap_or(0);
            let opens = i64::from(state.nodes().in_use_by(node)) == own;
            let (room, fills) = like.look(state, &columns, node, own);
            match (opens, room.min(needed)) {
                (_, 0) => {}
                (false, room) => rooms.in_use.push((room, node)),
                (true, _) if fills && room <= needed => {
                    rooms.filled.entry(room).or_default().push(node);
                }
                (true, _) => {}
            }
        }
        let mut parts = rooms.fewest(needed, on.len(), effort)?;
        parts.sort_unstable();
        let nodes = parts
            .into_iter()
            .flat_map(|(node, room)| (0..room).map(move |_| node));
        let moved = placed.iter().zip(nodes);
        let moved = moved.map(|(one, node)| Assumed { pod: one.pod, node });
        Some(moved.collect())
    }
}

/// Takes those out that nobody uses and so many members do not fill, all at once: mostly that is nearly all of
/// them.
fn leave_out_too_large(state: &ClusterState, request: &Request, members: u64, from: &mut NodeSet) {
    let nodes = state.nodes();
    let more = i64::try_from(members).unwrap_or(i64::MAX).saturating_add(1);
    let mut too_large = from.clone();
    too_large.subtract(nodes.in_use());
    for (dimension, amount) in request.iter().filter(|(_, amount)| *amount > 0) {
        nodes.retain_with_room(&mut too_large, dimension, amount.saturating_mul(more));
    }
    from.subtract(&too_large);
}

/// What is free of a resource, how much of it a member asks for, and which one it is.
type Column<F> = (F, i64, Dimension);

/// What was found of the node that was looked at last: the next is like it, more often than not.
#[derive(Default)]
struct Like {
    /// What it has free of everything without those that were placed on it.
    free: Vec<i64>,
    room: u64,
    fills: bool,
}

impl Like {
    /// For how many pods a node has room without so many that are on it, and whether these leave nothing
    /// of it.
    fn look<F: Fn(NodeId) -> i64>(
        &mut self,
        state: &ClusterState,
        columns: &[Column<F>],
        node: NodeId,
        own: i64,
    ) -> (u64, bool) {
        let free = |(free, asked, _): &Column<F>| free(node) + own * asked;
        if !columns.iter().map(free).eq(self.free.iter().copied()) {
            self.free = columns.iter().map(free).collect();
            let rooms = columns.iter().filter(|(_, asked, _)| *asked > 0);
            let room = rooms.map(|one| free(one).max(0) / one.1).min().unwrap_or(0);
            let left = |dimension: Dimension| {
                let column = columns.iter().find(|(_, _, one)| *one == dimension);
                column.map_or(0, |one| {
                    free(one).saturating_sub(room.saturating_mul(one.1))
                })
            };
            self.room = u64::try_from(room).unwrap_or(0);
            self.fills = room > 0 && state.weights().of_each(|one| left(one).max(0)) == 0;
        }
        (self.room, self.fills)
    }
}

impl Rooms {
    /// Which nodes hold how many of so many members, where that takes fewer nodes than this.
    fn fewest(
        mut self,
        needed: u64,
        below: usize,
        effort: &mut Effort,
    ) -> Option<Vec<(NodeId, u64)>> {
        self.in_use
            .sort_unstable_by_key(|(room, node)| (Reverse(*room), *node));
        let exact = Sums::of(&self.filled, needed, effort);
        // How many members are on nodes that are opened: of equals the fewest.
        let mut best: Option<(usize, u64)> = None;
        for (opened, nodes) in exact.fewest.iter().enumerate() {
            let opened = opened as u64;
            let Some(nodes) = nodes else { continue };
            let most = best.map_or(below, |(least, _)| least);
            let Some(left) = most.checked_sub(*nodes) else {
                continue;
            };
            let in_use = self.nodes_in_use(needed - opened, left);
            if let Some(in_use) = in_use.filter(|in_use| *in_use < left) {
                best = Some((nodes + in_use, opened));
            }
        }
        let (_, opened) = best?;
        let mut parts = fill(self.in_use, needed - opened);
        for (room, nodes) in exact.those_of(opened) {
            let of_room = self.filled.get(&room).into_iter().flatten();
            parts.extend(of_room.take(nodes).map(|node| (*node, room)));
        }
        Some(parts)
    }

    /// How many nodes in use hold so many members, if no more than so many do.
    fn nodes_in_use(&self, members: u64, most: usize) -> Option<usize> {
        let mut left = members;
        for (nodes, (room, _)) in self.in_use.iter().enumerate() {
            if left == 0 {
                return Some(nodes);
            }
            if nodes == most {
                return None;
            }
            left = left.saturating_sub(*room);
        }
        (left == 0).then_some(self.in_use.len())
    }
}

/// How many members nodes that are filled hold together.
struct Sums {
    /// By number of members, on how few.
    fewest: Vec<Option<usize>>,
    bundles: Vec<Bundle>,
    /// Which of the bundles are in that, as far as the ones before it go.
    taken: Vec<Vec<bool>>,
}

impl Sums {
    /// For all numbers up to one; of none but zero where that is too much.
    fn of(filled: &BTreeMap<u64, Vec<NodeId>>, needed: u64, effort: &mut Effort) -> Self {
        let mut bundles = Vec::new();
        for (room, nodes) in filled {
            let most = usize::try_from(needed / room).unwrap_or(usize::MAX);
            let (mut left, mut next) = (nodes.len().min(most), 1);
            while left > 0 {
                let nodes = left.min(next);
                bundles.push(Bundle { room: *room, nodes });
                left -= nodes;
                next *= 2;
            }
        }
        let mut sums = Self {
            fewest: vec![Some(0)],
            bundles: Vec::new(),
            taken: Vec::new(),
        };
        if bundles.is_empty() || !effort.spend(needed * bundles.len() as u64) {
            return sums;
        }
        let most = usize::try_from(needed).unwrap_or(usize::MAX);
        sums.fewest.resize(most + 1, None);
        for bundle in &bundles {
            let size = usize::try_from(bundle.room).unwrap_or(usize::MAX) * bundle.nodes;
            let mut taken = vec![false; most + 1];
            for members in (size..=most).rev() {
                let with = sums.fewest[members - size].map(|nodes| nodes + bundle.nodes);
                let without = sums.fewest[members];
                if with.is_some_and(|with| without.is_none_or(|without| with < without)) {
                    (sums.fewest[members], taken[members]) = (with, true);
                }
            }
            sums.taken.push(taken);
        }
        sums.bundles = bundles;
        sums
    }

    /// How many nodes of each room hold so many members.
    fn those_of(&self, members: u64) -> BTreeMap<u64, usize> {
        let mut nodes = BTreeMap::new();
        let mut left = usize::try_from(members).unwrap_or(usize::MAX);
        for (bundle, taken) in self.bundles.iter().zip(&self.taken).rev() {
            if taken.get(left).copied().unwrap_or(false) {
                *nodes.entry(bundle.room).or_default() += bundle.nodes;
                left -= usize::try_from(bundle.room).unwrap_or(0) * bundle.nodes;
            }
        }
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Id;
    use proptest::prelude::*;

    /// The fewest nodes, by trying all sets of them.
    fn by_trying(in_use: &[u64], filled: &[u64], needed: u64) -> Option<usize> {
        let all = in_use.len() + filled.len();
        let sets = (0..1_u32 << all).filter(|set| {
            let sum = |rooms: &[u64], from: usize| -> u64 {
                let chosen = rooms.iter().enumerate();
                let chosen = chosen.filter(|(at, _)| set >> (from + at) & 1 == 1);
                chosen.map(|(_, room)| room).sum()
            };
            let exact = sum(filled, in_use.len());
            exact <= needed && exact + sum(in_use, 0) >= needed
        });
        sets.map(|set| set.count_ones() as usize).min()
    }

    proptest! {
        #[test]
        fn no_set_of_nodes_is_smaller(
            in_use in prop::collection::vec(1..6_u64, 0..6),
            filled in prop::collection::vec(1..6_u64, 0..6),
            needed in 2..16_u64,
            below in 1..8_usize,
        ) {
            let mut rooms = Rooms::default();
            let mut all = Vec::new();
            for (index, room) in in_use.iter().chain(&filled).enumerate() {
                let node = NodeId::from_index(index);
                all.push(*room);
                if index < in_use.len() {
                    rooms.in_use.push((*room, node));
                } else {
                    rooms.filled.entry(*room).or_default().push(node);
                }
            }
            let found = rooms.fewest(needed, below, &mut Effort::new(100_000));
            let fewest = by_trying(&in_use, &filled, needed).filter(|fewest| *fewest < below);
            prop_assert_eq!(found.as_ref().map(Vec::len), fewest);
            let parts = found.unwrap_or_default();
            for (node, members) in &parts {
                let room = all[node.index()];
                prop_assert!(*members <= room);
                prop_assert!(node.index() < in_use.len() || *members == room);
            }
            if fewest.is_some() {
                prop_assert_eq!(parts.iter().map(|(_, members)| members).sum::<u64>(), needed);
            }
        }
    }
}
