//! What is searched for: nodes near each other with room for the members of a demand.

use super::capacity::Capacity;
use crate::state::{Closeness, NodeId, NodeSet, Reach};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a set of nodes has to be like.
pub(super) struct Wanted<'a> {
    pub(super) near: Closeness,
    /// What room there is for those to be placed.
    pub(super) rooms: Rooms,
    /// The nodes it is restricted to.
    pub(super) inside: Option<&'a NodeSet>,
}

/// What room there is for the members of a demand.
pub(super) struct Rooms {
    /// For each shape, and how many members have it.
    pub(super) by_shape: Vec<(Arc<Capacity>, u64)>,
    pub(super) needed: u64,
    /// The nodes with devices, if no member asks for any.
    pub(super) devices: Option<NodeSet>,
}

/// More than there may be room beyond what is asked for: a set of nodes with devices that no member asks
/// for comes after all others.
const SPARED: u64 = 1 << 48;

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steps {
    /// The reach that was tried last.
    pub(super) last: Option<Reach>,
    /// How many reaches were tried.
    pub(super) tried: u32,
}

impl Rooms {
    /// What goes before how much more room there is: whether nothing is taken from devices.
    pub(super) fn penalty(&self, touches: impl FnOnce(&NodeSet) -> bool) -> u64 {
        let spoils = self.devices.as_ref().is_some_and(touches);
        if spoils { SPARED } else { 0 }
    }

    /// How much room for pods of the first shape a set of nodes has at least that may hold all members;
    /// 1 where that is not known.
    pub(super) fn least_room(&self) -> u64 {
        match self.by_shape[..] {
            [(_, members)] if members >= self.needed => self.needed,
            _ => 1,
        }
    }

    /// The nodes with so much room for pods of the first shape, where some of these have to be among the members;
    /// else those with room for any shape.
    pub(super) fn nodes_with(&self, at_least: u64) -> Vec<NodeId> {
        let Some(((first, _), others)) = self.by_shape.split_first() else {
            return Vec::new();
        };
        let others_will_do = others.iter().map(|(_, members)| members).sum::<u64>() >= self.needed;
        if !others_will_do {
            return first.nodes_with(at_least).collect();
        }
        let nodes: BTreeSet<NodeId> = self.each().flat_map(|one| one.nodes_with(1)).collect();
        nodes.into_iter().collect()
    }

    /// That for each shape.
    pub(super) fn each(&self) -> impl Iterator<Item = &Arc<Capacity>> {
        self.by_shape.iter().map(|(room, _)| room)
    }

    /// For how many pods there is room where there is so much for each shape, and whether that may be
    /// enough for the members.
    pub(super) fn sum(&self, room: impl Fn(&Capacity) -> u64) -> (u64, bool) {
        self.judge(self.by_shape.iter().map(|(one, _)| room(one)))
    }

    /// The same for the room of each shape.
    pub(super) fn judge(&self, rooms: impl Iterator<Item = u64>) -> (u64, bool) {
        let (mut sum, mut members) = (0_u64, 0);
        for ((_, of_shape), room) in self.by_shape.iter().zip(rooms) {
            sum += room;
            members += room.min(*of_shape);
        }
        (sum, members >= self.needed)
    }
}

impl Wanted<'_> {
    pub(super) fn is_inside(&self, node: NodeId) -> bool {
        self.inside.is_none_or(|among| among.contains(node))
    }

    pub(super) fn room_on(&self, node: NodeId) -> (u64, bool) {
        if self.is_inside(node) {
            self.rooms.sum(|one| one.of_node(node))
        } else {
            (0, false)
        }
    }
}
