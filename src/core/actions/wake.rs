//! Looking again at gangs: when something changed that could help them, or when it is time.

use super::{Cycle, refresh::order_key};
use crate::core::framework::Scope;
use crate::core::state::{GangId, NodeId, Place, PodId, ShapeId, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// Queues every parked gang that one of the changed nodes could help: one of its members without
/// a place fits there. For all others the answer would be the one they have. One that is not
/// admitted is also helped by room that was set aside for others and is not any more.
pub fn wake_parked(cx: &mut Cycle<'_>, changed: &BTreeSet<NodeId>, room_set_free: bool) {
    if changed.is_empty() && !room_set_free {
        return;
    }
    let anything_helps = cx
        .profile
        .filter
        .iter()
        .any(|one| one.scope() == Scope::Cluster);
    let mut fits: BTreeMap<ShapeId, bool> = BTreeMap::new();
    let parked: Vec<GangId> = cx.agenda.parked().map(|key| key.gang).collect();
    for gang_id in parked {
        let not_admitted = !cx.state.progress(gang_id).admitted;
        if anything_helps || not_admitted || could_fit(cx, gang_id, changed, &mut fits) {
            let key = order_key(cx, gang_id);
            cx.agenda.set_stage(cx.state, gang_id, Stage::Queued(key));
        }
    }
}

fn could_fit(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    changed: &BTreeSet<NodeId>,
    fits: &mut BTreeMap<ShapeId, bool>,
) -> bool {
    let Some(gang) = cx.state.gang(gang_id) else {
        return false;
    };
    let pending: Vec<PodId> = gang.pending.iter().collect();
    pending.into_iter().any(|pod_id| {
        let Some(pod) = cx.state.pod(pod_id) else {
            return false;
        };
        let (shape, narrowed) = (pod.shape, !pod.avoid.is_empty());
        if !narrowed && let Some(known) = fits.get(&shape) {
            return *known;
        }
        let mut nodes = changed.iter();
        let fit = nodes.any(|node| cx.placer.fits(cx.state, cx.profile, pod_id, *node));
        if !narrowed {
            fits.insert(shape, fit);
        }
        fit
    })
}

/// Looks again at the gangs whose time has come: ends back-offs and forgives binds that came back.
pub fn fire_timers(cx: &mut Cycle<'_>) {
    for gang_id in cx.agenda.take_due(cx.now) {
        let Some(gang) = cx.state.gang(gang_id) else {
            continue;
        };
        let retry = cx
            .state
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
            cx.state.progress_mut(gang_id).retry_at = None;
            if cx.state.progress(gang_id).stage == Stage::BackingOff {
                cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
            }
        }
        cx.state.touch(gang_id);
    }
}
