//! Room that is held for members that are not there yet: from a gang's admission on, as long as members come.
//!
//! What is held, and where, is in the state, where it counts as used. A gang to whose room nobody comes does
//! not keep it for ever: whoever may create PodGroups could hold a cluster so that has nothing to run.

use crate::actions::Cycle;
use crate::actions::terms::note_term;
use crate::state::{GangId, Held, RoomOn};
use muster_model::Why;
use muster_model::units::{Millis, Time};

/// For so long room is held for a gang to which no member comes.
const IDLE_FOR: Millis = Millis(600_000);

/// Until when room is held if no member comes to it.
pub(super) fn ends_at(held: &Held) -> Time {
    held.since + IDLE_FOR
}

/// Holds this room for a gang from now on.
pub(in crate::actions) fn hold(cx: &mut Cycle<'_>, gang_id: GangId, on: RoomOn) {
    let held = Held {
        on,
        since: cx.now,
        awaits: false,
    };
    let before = cx.state.hold_room(gang_id, Some(held));
    // It may have found another place than was held for it.
    let nodes = before.into_iter().flat_map(|held| held.on.into_keys());
    cx.state.note_room(nodes);
    cx.agenda.at(cx.now + IDLE_FOR, gang_id);
    note_term(cx, gang_id);
}

/// Ends it for a gang to which no member came for too long. Says why, where it has none who runs: it has to be
/// let in anew; another goes on, and its members are placed like others when they come.
pub(in crate::actions) fn end_if_idle(cx: &mut Cycle<'_>, gang_id: GangId) -> Option<Why> {
    let held = cx.state.held_for(gang_id).filter(|held| !held.awaits)?;
    let until = ends_at(held);
    if cx.now < until {
        cx.agenda.at(until, gang_id);
        return None;
    }
    if cx.state[gang_id].available() > 0 {
        cx.state.ask_for_no_more(gang_id);
        return None;
    }
    cx.state.give_up_room(gang_id);
    let message = format!("room was held for its minResources for {IDLE_FOR}, and nobody used it");
    Some(Why::new("Released", &message))
}
