//! Looking again at gangs: when something changed that could help them, or when it is time.

use super::agenda::{Stage, Want};
use super::{Cycle, refresh::queue};
use crate::core::state::{GangId, NodeId, Place, PodId};
use std::collections::{BTreeMap, BTreeSet};

/// Queues the parked gangs that one of the changed nodes could help: a member without a place fits
/// there. Of those with the same want that is the first; the next follows if that one gets a place.
/// For all others the answer would be the one they have. One that is not admitted is also helped by
/// room that was set aside for others and is not any more.
pub fn wake_parked(cx: &mut Cycle<'_>, changed: &BTreeSet<NodeId>, room_set_free: bool) {
    if changed.is_empty() && !room_set_free {
        return;
    }
    let nominated: Vec<GangId> = cx.agenda.nominated.iter().copied().collect();
    for gang_id in nominated {
        if matches!(cx.agenda.progress(gang_id).stage(), Stage::Parked(_)) {
            queue(cx, gang_id);
        }
    }
    let heads: Vec<(Want, GangId)> = cx.agenda.heads().collect();
    for (want, gang_id) in heads {
        if could_fit(cx, gang_id, changed) {
            cx.agenda.wake(cx.state, want, BTreeMap::new());
        }
    }
    let others: Vec<GangId> = cx.agenda.parked_others().map(|key| key.gang).collect();
    for gang_id in others {
        let not_admitted = !cx.agenda.progress(gang_id).admitted;
        if not_admitted || could_fit(cx, gang_id, changed) {
            queue(cx, gang_id);
        }
    }
}

/// Whether a member fits one of the nodes, or the nodes cannot tell.
fn could_fit(cx: &mut Cycle<'_>, gang_id: GangId, nodes: &BTreeSet<NodeId>) -> bool {
    let members: Vec<PodId> = cx.state[gang_id].pending.different().collect();
    members.into_iter().any(|pod| {
        let shape = cx.state.shape_of(pod);
        if !shape.is_some_and(|shape| cx.profile.is_local(shape)) {
            return true;
        }
        let mut nodes = nodes.iter();
        nodes.any(|node| cx.placer.fits(cx.state, cx.profile, pod, *node))
    })
}

/// Looks again at the gangs whose time has come: ends back-offs and forgives binds that came back.
pub fn fire_timers(cx: &mut Cycle<'_>) {
    for gang_id in cx.agenda.take_due(cx.now) {
        let Some(gang) = cx.state.gang(gang_id) else {
            continue;
        };
        let retry = cx
            .agenda
            .progress(gang_id)
            .retry_at
            .is_some_and(|at| at <= cx.now);
        if retry {
            let setback = |id: &PodId| {
                cx.state
                    .pod(*id)
                    .is_some_and(|pod| pod.setbacks > 0 && pod.place == Place::None)
            };
            let forgiven: Vec<PodId> = gang.members.iter().copied().filter(setback).collect();
            for pod in forgiven {
                cx.state.forgive(pod);
            }
            cx.agenda.progress_mut(gang_id).retry_at = None;
            if cx.agenda.progress(gang_id).stage() == Stage::BackingOff {
                cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
            }
        }
        cx.state.touch(gang_id);
    }
}
