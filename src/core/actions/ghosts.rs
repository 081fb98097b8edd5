//! Ghosts: the pods that stand for free slots (source: mission, "Slots"). They come to their nodes when the
//! room of their slots is held and nobody has these, and go for a pod that claims one, and for nobody else.

use super::Cycle;
use super::claims::GHOST_PAUSES;
use super::wake::queue_if_parked;
use crate::state::{Eviction, NodeId, PodId, SlotId};
use muster_model::Bind;
use std::collections::BTreeSet;

/// Holds the room of slots that is free; on these nodes something is free that was not. Returns the slots of
/// which something changed.
pub fn settle(cx: &mut Cycle<'_>, nodes: &BTreeSet<NodeId>) -> BTreeSet<SlotId> {
    let mut news = cx.state.take_slot_news(nodes);
    let now = cx.now;
    let refused = &mut cx.claims.ghosts.0;
    refused.retain(|ghost, _| cx.state.pod(*ghost).is_some_and(|pod| pod.setbacks > 0));
    for (ghost, (_, at)) in refused {
        if at.is_some_and(|at| at <= now) {
            *at = None;
            news.extend(cx.state.slot_of_ghost(*ghost));
        }
    }
    for slot in &news {
        cx.state.hold_slot(*slot);
        look_after_its_pod(cx, *slot);
    }
    news
}

/// Has the ghosts of slots come that nobody took.
pub fn come_back(cx: &mut Cycle<'_>, slots: &BTreeSet<SlotId>) {
    for slot in slots {
        if let Some((ghost, node)) = cx.state.ghost_to_bind(*slot) {
            bind(cx, ghost, node);
        }
    }
}

fn bind(cx: &mut Cycle<'_>, ghost: PodId, node: NodeId) {
    let Some(pod) = cx.state.pod(ghost) else {
        return;
    };
    if !cx.claims.ghosts.may_try(ghost, pod.setbacks, cx.now) {
        return;
    }
    cx.orders.binds.push(Bind {
        pod: pod.key.clone(),
        node: cx.state.nodes().name(node).to_owned(),
        slot: None,
        completes: false,
        asks: None,
    });
    cx.state.assume(ghost, node);
}

/// Has the gang tried again for which a ghost is to go, and did not, or could not while it was on its way.
fn look_after_its_pod(cx: &mut Cycle<'_>, slot: SlotId) {
    let Some(slot) = cx.state.slot(slot) else {
        return;
    };
    let ghost = slot.ghost().and_then(|ghost| cx.state.pod(ghost));
    let waits = slot.seat().and_then(|pod| cx.state.pod(pod));
    let gang = waits.filter(|pod| pod.is_only_nominated());
    // Of one that leaves already, or has yet to come, there is news when it did.
    let ghost = ghost.filter(|ghost| ghost.holds_node() && !ghost.terminating);
    if let Some((ghost, gang)) = ghost.zip(gang.and_then(|pod| pod.gang)) {
        match ghost.eviction {
            Eviction::CameBack(at) => cx.agenda.at(at + GHOST_PAUSES.first, gang),
            Eviction::None => queue_if_parked(cx, gang),
            _ => {}
        }
    }
}
