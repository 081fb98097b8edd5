//! What a gang asks for next: room for its members, or, before it is admitted, for such as are not there yet.

use super::agenda::Agenda;
use crate::placement::{Asks, Demand};
use crate::state::{ClusterState, GangId};
use muster_model::resources::Tally;

/// What a gang asks for before it can start.
pub(super) fn asks(state: &ClusterState, agenda: &Agenda, gang_id: GangId) -> Asks {
    if agenda.note(gang_id).admitted {
        return Asks::Members(Demand::minimum(state, gang_id));
    }
    Asks::Room(state.room_wanted(gang_id), members_to_come(state, gang_id))
}

/// How many members that is room for; zero: nobody knows.
pub(super) fn members_to_come(state: &ClusterState, gang_id: GangId) -> u32 {
    let gang = &state[gang_id];
    let (missing, waiting) = (gang.missing(), gang.pending.len());
    if waiting < missing as usize {
        missing
    } else {
        0
    }
}

/// What that is in amounts of resources, or what one member more is, without what is held for it already.
pub(super) fn amounts(state: &ClusterState, agenda: &Agenda, gang_id: GangId) -> Tally {
    let amounts = if agenda.note(gang_id).admitted {
        Demand::amounts(state, gang_id)
    } else {
        state.room_wanted(gang_id)
    };
    state.beyond_what_is_held(gang_id, amounts)
}
