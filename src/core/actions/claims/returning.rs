//! The new places of gangs that were moved: held until their pods have been made again and placed, or
//! for a bounded time.

use crate::actions::Cycle;
use crate::state::{GangId, HOLDS, Kept, NodeId, PodId, SLOTS, View};
use muster_model::MoveCounts;
use muster_model::units::{Millis, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Whether gangs are moved, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveLimits {
    /// How many pods are moved at most for one gang.
    pub max_pods: u32,
    /// How long it takes at least from one plan that is carried out to the next.
    pub interval: Millis,
    /// For so long neither a gang that was moved nor one for which others were is moved, and no others
    /// are moved for it.
    pub rest: Millis,
    /// How long a gang waits before others are moved for it.
    pub after: Millis,
    /// How long a moved gang's new place is held at most.
    pub hold: Millis,
}

/// What is known of moves.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    /// `None`: nobody is moved.
    pub limits: Option<MoveLimits>,
    /// For whom a new place is held.
    pub(in crate::actions) holds: BTreeMap<GangId, Returning>,
    /// When a plan was last carried out.
    pub(in crate::actions) last: Option<Time>,
    /// What came of them.
    pub counts: MoveCounts,
}

impl Moves {
    /// Whether a place is held for a gang that was moved.
    pub(in crate::actions) fn holds_for(&self, gang: GangId) -> bool {
        self.holds.contains_key(&gang)
    }

    /// What is held for others than this gang.
    pub(in crate::actions) fn view(&self, gang: GangId) -> View {
        let others = self.holds.iter().filter(|(id, _)| **id != gang);
        others.fold(View::OPEN, |view, (_, hold)| view.with(hold.slot))
    }

    /// Where places can be held still.
    pub(in crate::actions) fn slots_free(&self) -> Vec<usize> {
        let taken: BTreeSet<usize> = self.holds.values().map(|hold| hold.slot).collect();
        let all = SLOTS..SLOTS + HOLDS;
        all.filter(|slot| !taken.contains(slot)).collect()
    }
}

/// A place that is held for a gang that was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::actions) struct Returning {
    pub(in crate::actions) slot: usize,
    pub(in crate::actions) nodes: BTreeSet<NodeId>,
    until: Time,
}

impl Returning {
    /// Until when it is held at most.
    pub(super) const fn until(&self) -> Time {
        self.until
    }
}

/// Holds its new place for a gang.
pub(in crate::actions) fn hold(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    to: &[(PodId, NodeId)],
    slot: usize,
    span: Millis,
) {
    let mut kept = Kept::default();
    for (pod, node) in to {
        if let Some(shape) = cx.state.shape_of(*pod) {
            kept.amounts.entry(*node).or_default().add(&shape.request);
            if cx.state.shapes().is_exclusive(shape) {
                kept.whole.insert(*node);
            }
        }
    }
    let until = cx.now + span;
    let nodes = kept.amounts.keys().copied().collect();
    cx.agenda.at(until, gang_id);
    cx.state.keep(slot, Some((gang_id, kept)));
    let place = Returning { slot, nodes, until };
    cx.claims.moves.holds.insert(gang_id, place);
}

/// Holds nothing for a gang any more: it has a place, or stays where it is, or is gone.
pub(in crate::actions) fn drop_hold(cx: &mut Cycle<'_>, gang_id: GangId) {
    if let Some(hold) = cx.claims.moves.holds.remove(&gang_id) {
        cx.state.keep(hold.slot, None);
        cx.state.note_room(hold.nodes);
    }
}

/// Gives up the places of those who have not come back in time.
pub(in crate::actions) fn drop_late_holds(cx: &mut Cycle<'_>) {
    let now = cx.now;
    let holds = cx.claims.moves.holds.iter();
    let late: Vec<GangId> = holds
        .filter(|(_, hold)| hold.until <= now)
        .map(|(gang, _)| *gang)
        .collect();
    for gang in late {
        cx.claims.moves.counts.late += 1;
        drop_hold(cx, gang);
    }
}
