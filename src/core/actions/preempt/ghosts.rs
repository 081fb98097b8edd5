//! Sends the ghosts away for whom their slots are held (source: mission, "Slots"): they go like victims, and
//! for nobody else.

use crate::actions::Cycle;
use crate::actions::claims::GHOST_PAUSES;
use crate::placement::Room;
use crate::state::{Eviction, GangId};
use muster_model::{Evict, EvictCause, GangKey};
use std::sync::Arc;

/// Sends the ghosts away that are on the slots of a gang.
pub(super) fn send_away(cx: &mut Cycle<'_>, gang_id: GangId, room: &Room) {
    let beneficiary: GangKey = cx.state[gang_id].key.clone();
    for (_, slot) in &room.seats {
        let ghost = cx.state.slot(*slot).and_then(|slot| slot.ghost());
        let Some((id, pod)) = ghost.and_then(|id| Some((id, cx.state.pod(id)?))) else {
            continue;
        };
        let wait = match pod.eviction {
            Eviction::CameBack(at) => cx.now < at + GHOST_PAUSES.first,
            one => one.is_under_way(),
        };
        // One that is on its way is asked to go when it is there.
        if wait || pod.terminating || !pod.holds_node() {
            continue;
        }
        let title = cx.state.gang_title_in(&pod.key.namespace, gang_id);
        let message = format!("slot {} is for {title}", slot.position());
        cx.orders.evictions.push(Evict {
            pod: pod.key.clone(),
            cause: EvictCause::Preemption,
            beneficiary: Some(beneficiary.clone()),
            message: Arc::from(message),
            again: matches!(pod.eviction, Eviction::CameBack(_)),
        });
        cx.state.set_eviction(id, Eviction::Ordered);
    }
}
