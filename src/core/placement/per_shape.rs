//! What is known of all nodes for each shape, kept between placements.
//!
//! It follows the log of touched nodes: a placement changes one node, so whatever is kept has one
//! node to look at anew when it is asked the next time. That holds as long as nothing counts but the
//! shape, the node and what is on it.

use crate::state::{Gone, NodeId, Nodes};
use std::collections::BTreeMap;

/// For how many nodes something may be kept, over all shapes.
const MAX_NODES: usize = 4 << 20;
/// Looking at a node by itself costs about as much as at so many of all in a row.
const ALONE: usize = 8;

/// Knowledge by the serial number of the shape.
#[derive(Debug)]
pub(super) struct PerShape<T> {
    kept: BTreeMap<u64, Kept<T>>,
    /// For how many nodes there is room in all of it.
    nodes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Kept<T> {
    known: T,
    /// What it depends on besides.
    basis: u64,
    /// For how many nodes there is room in it.
    room: usize,
    /// How far it has read in the log of touched nodes.
    cursor: u64,
    /// When it was last asked.
    asked: u64,
}

impl<T> Default for PerShape<T> {
    fn default() -> Self {
        Self {
            kept: BTreeMap::new(),
            nodes: 0,
            clock: 0,
        }
    }
}

/// For how many nodes there is to be room, so that a few more do not need all of it anew.
pub(super) fn room_for(nodes: &Nodes) -> usize {
    nodes.len().next_power_of_two().max(2)
}

impl<T> PerShape<T> {
    /// Forgets what is known of shapes that nobody has any more.
    pub(super) fn forget(&mut self, gone: &Gone<'_>) {
        let before = self.kept.len();
        gone.forget(&mut self.kept);
        if self.kept.len() != before {
            self.nodes = self.kept.values().map(|one| one.room).sum();
        }
    }

    /// For how many nodes something is kept, over all shapes.
    pub(super) const fn nodes(&self) -> usize {
        self.nodes
    }

    /// What is known of a shape, and the nodes that were touched since, each once for all times that it was touched in
    /// a row; `None` where it is not known, or more has changed than is left.
    pub(super) fn follow<'a>(
        &mut self,
        serial: u64,
        basis: u64,
        nodes: &'a Nodes,
    ) -> Option<(&mut T, impl Iterator<Item = NodeId> + use<'a, T>)> {
        self.clock += 1;
        let kept = self.kept.get_mut(&serial)?;
        let news = nodes.touched().since(kept.cursor)?;
        let much = news.len() * ALONE > nodes.len().max(ALONE);
        if kept.basis != basis || kept.room < nodes.len() || much {
            return None;
        }
        (kept.cursor, kept.asked) = (nodes.touched().end(), self.clock);
        let in_a_row = news.chunk_by(PartialEq::eq);
        let touched = in_a_row.filter_map(|same| same.first().copied());
        Some((&mut kept.known, touched))
    }

    /// Keeps what was found out about all nodes. Who was not asked for longest is forgotten for it.
    pub(super) fn keep(&mut self, serial: u64, basis: u64, nodes: &Nodes, known: T) -> &mut T {
        self.remove(serial);
        let room = room_for(nodes);
        while self.nodes + room > MAX_NODES {
            let oldest = self.kept.iter().min_by_key(|(_, one)| one.asked);
            let Some(oldest) = oldest.map(|(serial, _)| *serial) else {
                break;
            };
            self.remove(oldest);
        }
        self.nodes += room;
        let kept = Kept {
            known,
            basis,
            room,
            cursor: nodes.touched().end(),
            asked: self.clock,
        };
        &mut self.kept.entry(serial).or_insert(kept).known
    }

    fn remove(&mut self, serial: u64) {
        if let Some(kept) = self.kept.remove(&serial) {
            self.nodes -= kept.room;
        }
    }
}
