//! Room that is held for a gang while others leave it, and how that ends.

use crate::actions::Cycle;
use crate::actions::order::queue;
use crate::placement::Room;
use crate::state::{Eviction, GangId, Held, NodeId, PodId};

/// A place is held for a gang from now on, until others have left it: for its members, or for such as are not
/// there yet. Those behind it move up.
pub(in crate::actions) fn nominate(cx: &mut Cycle<'_>, gang_id: GangId, room: &Room) {
    cx.state.drop_nominations(gang_id);
    for (pod, slot) in &room.seats {
        cx.state.point_back(*pod, Some(*slot));
    }
    for (pod, node) in &room.members {
        cx.state.nominate(*pod, *node);
    }
    if cx.agenda.note(gang_id).admitted {
        // What was held before its members were there they have now.
        let nodes: Vec<NodeId> = room.nodes().into_iter().collect();
        cx.state.settle_hold(gang_id, &nodes);
    } else {
        let on = room.held.clone();
        let held = Held {
            on,
            since: cx.now,
            awaits: true,
        };
        cx.state.hold_room(gang_id, Some(held));
    }
    if cx.claims.nominated.insert(gang_id) {
        cx.agenda.move_up(cx.state.queue_of(gang_id));
    }
}

/// Holds nothing for a gang any more.
pub(in crate::actions) fn give_up(cx: &mut Cycle<'_>, gang_id: GangId) {
    let note = cx.agenda.note_mut(gang_id);
    (note.search.room, note.search.asked, note.search.given) = (None, None, None);
    if cx.claims.nominated.remove(&gang_id) {
        let nodes = cx.state.drop_nominations(gang_id);
        cx.state.note_room(nodes);
        // It was charged for it.
        cx.state.touch(gang_id);
        if !cx.state.has_room_held(gang_id) {
            cx.state.drop_hold(gang_id);
        }
    }
}

/// The room that is held for a gang goes to a more important one: it looks for another place.
pub(in crate::actions) fn give_way(cx: &mut Cycle<'_>, gang_id: GangId) {
    give_up(cx, gang_id);
    queue(cx, gang_id);
}

/// A member of a running gang that was to make room may not be deleted: who waits for its room
/// looks for another.
pub(in crate::actions) fn note_refusals(cx: &mut Cycle<'_>, gang_id: GangId) {
    if cx.claims.nominated.is_empty() {
        return;
    }
    let refused = |id: &PodId| {
        let pod = cx.state.pod(*id);
        pod.is_some_and(|pod| matches!(pod.eviction, Eviction::CameBack(_)))
    };
    if cx.state[gang_id].members.iter().any(refused) {
        for gang in cx.claims.nominated.clone() {
            cx.agenda.at(cx.now, gang);
        }
    }
}
