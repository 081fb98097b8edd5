//! The new places of gangs that were moved: held until their pods have been made again and placed, or
//! for a bounded time.

use super::search::Moved;
use crate::actions::Cycle;
use crate::state::{GangId, Kept, NodeId};
use muster_model::units::{Millis, Time};
use std::collections::BTreeSet;

/// A place that is held for a gang that was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::actions) struct Hold {
    pub(in crate::actions) slot: usize,
    pub(in crate::actions) nodes: BTreeSet<NodeId>,
    until: Time,
}

/// Holds its new place for a gang.
pub(super) fn hold(cx: &mut Cycle<'_>, moved: &Moved, slot: usize, span: Millis) {
    let mut kept = Kept::default();
    for (pod, node) in &moved.to {
        if let Some(shape) = cx.state.shape_of(*pod) {
            kept.amounts.entry(*node).or_default().add(&shape.request);
            if cx.state.shapes().is_exclusive(shape) {
                kept.whole.insert(*node);
            }
        }
    }
    let until = cx.now + span;
    let nodes = kept.amounts.keys().copied().collect();
    cx.agenda.at(until, moved.gang);
    cx.state.keep(slot, Some((moved.gang, kept)));
    let hold = Hold { slot, nodes, until };
    cx.agenda.moves.holds.insert(moved.gang, hold);
}

/// Holds nothing for a gang any more: it has a place, or stays where it is, or is gone.
pub(in crate::actions) fn drop_hold(cx: &mut Cycle<'_>, gang_id: GangId) {
    if let Some(hold) = cx.agenda.moves.holds.remove(&gang_id) {
        cx.state.keep(hold.slot, None);
        cx.state.note_room(hold.nodes);
    }
}

/// Gives up the places of those who have not come back in time.
pub(in crate::actions) fn drop_late_holds(cx: &mut Cycle<'_>) {
    let now = cx.now;
    let holds = cx.agenda.moves.holds.iter();
    let late: Vec<GangId> = holds
        .filter(|(_, hold)| hold.until <= now)
        .map(|(gang, _)| *gang)
        .collect();
    for gang in late {
        cx.agenda.moves.counts.late += 1;
        drop_hold(cx, gang);
    }
}
