//! Ghosts: the pods that stand for free slots (source: mission, "Slots"). They come to their nodes when the
//! room of their slots is held and nobody has these, and go for a pod that claims one, and for nobody else.

use super::Cycle;
use super::wake::queue_if_parked;
use crate::placement::Room;
use crate::state::{Eviction, GangId, NodeId, PodId, SlotId};
use muster_model::units::{Doubling, Millis, Time};
use muster_model::{Bind, Evict, EvictCause, GangKey};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A ghost whose bind or eviction came back is tried again after so long, longer each time.
const PAUSES: Doubling = Doubling {
    first: Millis(1_000),
    longest: Millis(300_000),
};

/// Ghosts whose binds came back: how often, and when they are tried again.
#[derive(Clone, Debug, Default)]
pub struct Refused(BTreeMap<PodId, (u32, Option<Time>)>);

impl Refused {
    /// When the next is due.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.0.values().filter_map(|(_, at)| *at).min()
    }

    /// Whether a ghost that came back so often may be tried now.
    fn may_try(&mut self, ghost: PodId, setbacks: u32, now: Time) -> bool {
        let Some(times) = setbacks.checked_sub(1) else {
            self.0.remove(&ghost);
            return true;
        };
        let known = self.0.entry(ghost).or_default();
        if known.0 != setbacks {
            *known = (setbacks, Some(now + PAUSES.after(times)));
        }
        known.1.is_none()
    }
}

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
    if let Some((ghost, gang)) = ghost.zip(gang.and_then(|pod| pod.gang)) {
        match ghost.eviction {
            Eviction::CameBack(at) => cx.agenda.at(at + PAUSES.first, gang),
            Eviction::None if ghost.holds_node() && !ghost.terminating => {
                queue_if_parked(cx, gang);
            }
            _ => {}
        }
    }
}

/// Sends the ghosts away that are on the slots of a gang.
pub(super) fn send_away(cx: &mut Cycle<'_>, gang_id: GangId, room: &Room) {
    let title = cx.state.gang_title(gang_id);
    let beneficiary: GangKey = cx.state[gang_id].key.clone();
    for (_, slot) in &room.seats {
        let ghost = cx.state.slot(*slot).and_then(|slot| slot.ghost());
        let Some((id, pod)) = ghost.and_then(|id| Some((id, cx.state.pod(id)?))) else {
            continue;
        };
        let wait = match pod.eviction {
            Eviction::CameBack(at) => cx.now < at + PAUSES.first,
            one => one.is_under_way(),
        };
        // One that is on its way is asked to go when it is there.
        if wait || pod.terminating || !pod.holds_node() {
            continue;
        }
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
