//! Room that is free and kept for somebody who is to start later.
//!
//! What is kept of a node is what the one it is kept for needs of what is free there now; the rest
//! of its place becomes free in time. Not everybody is bound to leave it: a [`View`] says by which
//! slots somebody is, and while the nodes show it, that room looks taken.

use super::ClusterState;
use super::ids::{GangId, NodeId, PodId};
use muster_model::HostPort;
use muster_model::resources::Tally;
use std::collections::{BTreeMap, BTreeSet};

/// For how many gangs room may be kept at once.
pub const SLOTS: usize = 48;

/// For how many gangs that were moved places may be held at once: in the slots after those.
pub const HOLDS: usize = 16;

/// Whose kept room looks taken: one bit a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct View(u64);

const _: () = assert!(SLOTS + HOLDS == u64::BITS as usize, "each has a bit");

impl View {
    /// All that is free can be had.
    pub const OPEN: Self = Self(0);

    /// Nothing that is kept for anybody can be had.
    pub const ALL: Self = Self(u64::MAX);

    /// The same, not bound by one slot.
    #[must_use]
    pub const fn without(self, slot: Option<usize>) -> Self {
        match slot {
            Some(slot) => Self(self.0 & !(1 << slot)),
            None => self,
        }
    }

    /// The same, bound by one slot more.
    #[must_use]
    pub const fn with(self, slot: usize) -> Self {
        Self(self.0 | 1 << slot)
    }

    /// Whether it is bound by a slot.
    #[must_use]
    pub const fn has(self, slot: usize) -> bool {
        self.0 & (1 << slot) != 0
    }
}

/// What is kept for one gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Amounts by node of the place; of some there may be nothing.
    pub amounts: BTreeMap<NodeId, Tally>,
    /// The nodes of which nobody is to have any part: those of a gang that wants them for itself.
    pub whole: BTreeSet<NodeId>,
    /// Host ports, and for whom.
    pub ports: Vec<(NodeId, HostPort, PodId)>,
}

/// All that is kept, and what of it the nodes show.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptRoom {
    /// As many as were needed so far.
    slots: Vec<Option<(GangId, Kept)>>,
    /// The slots that keep something of a node.
    by_node: BTreeMap<NodeId, BTreeSet<usize>>,
    shown: View,
}

impl ClusterState {
    /// Keeps room for a gang, in a slot that nobody else has; `None` keeps none there any more.
    /// Everything looks open after that.
    pub fn keep(&mut self, slot: usize, kept: Option<(GangId, Kept)>) {
        self.show(View::OPEN);
        let slots = &mut self.kept.slots;
        if slots.len() <= slot {
            slots.resize(slot + 1, None);
        }
        let before = std::mem::replace(&mut slots[slot], kept);
        let by_node = &mut self.kept.by_node;
        for node in before.iter().flat_map(|(_, kept)| kept.amounts.keys()) {
            if let Some(keep) = by_node.get_mut(node) {
                keep.remove(&slot);
                if keep.is_empty() {
                    by_node.remove(node);
                }
            }
        }
        for node in slots[slot].iter().flat_map(|(_, kept)| kept.amounts.keys()) {
            by_node.entry(*node).or_default().insert(slot);
        }
    }

    /// Has the nodes show what somebody with this view may take; says what they showed before.
    pub fn show(&mut self, view: View) -> View {
        let before = std::mem::replace(&mut self.kept.shown, view);
        if before == view {
            return before;
        }
        for (slot, kept) in self.kept.slots.iter().enumerate() {
            let Some((_, kept)) = kept else { continue };
            match (before.has(slot), view.has(slot)) {
                (false, true) => self.nodes.keep(kept),
                (true, false) => self.nodes.give(kept),
                _ => {}
            }
        }
        before
    }

    /// What the nodes show.
    #[must_use]
    pub const fn shown(&self) -> View {
        self.kept.shown
    }

    /// Something changed on a node that was not decided here: those for whom room is kept there look
    /// again. What was kept on one that is gone is not kept any more.
    pub(super) fn disturb_kept(&mut self, node: NodeId) {
        let gone = !self.nodes.present().contains(node);
        let KeptRoom { slots, by_node, .. } = &mut self.kept;
        for slot in by_node.get(&node).into_iter().flatten() {
            let Some((gang, kept)) = slots.get_mut(*slot).and_then(Option::as_mut) else {
                continue;
            };
            self.changes.gangs.insert(*gang);
            if gone {
                kept.amounts.remove(&node);
                kept.whole.remove(&node);
                kept.ports.retain(|(one, ..)| *one != node);
            }
        }
        if gone {
            by_node.remove(&node);
        }
    }
}
