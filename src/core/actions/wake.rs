//! Looking again at gangs: when something changed that could help them, or when it is time.

use super::claims::returning;
use super::notes::Stage;
use super::order::queue;
use super::preempt::HEADS;
use super::{Cycle, finish, reservation};
use crate::placement::may_be_free;
use crate::state::{ClusterState, GangId, NodeId, Place, PodId, QueueId, ShapeId};
use muster_model::{ProfileId, RoomNote};
use std::collections::{BTreeMap, BTreeSet};

/// Queues the parked gangs that one of the changed nodes could help: a member without a place fits
/// there. Of those with the same want that is the first; the next follows if that one gets a place.
/// For all others the answer would be the one they have. One that is not admitted is also helped by
/// room that was held for others and is not any more.
pub fn wake_parked(cx: &mut Cycle<'_>, changed: &BTreeSet<NodeId>, room_set_free: bool) {
    if cx.agenda.take_terms_changed() {
        reservation::wake_all(cx);
    }
    if !changed.is_empty() {
        reservation::wake(cx, changed);
    }
    if changed.is_empty() && !room_set_free {
        return;
    }
    cx.agenda.ease_room();
    wake_who_awaits(cx, changed);
    for (shape, gang_id) in cx.agenda.wanted_shapes() {
        if could_fit(cx, gang_id, changed) {
            for want in cx.agenda.wants(cx.claims.views(cx.now), shape) {
                cx.agenda
                    .wake(cx.state, cx.claims.views(cx.now), want, BTreeMap::new());
            }
        }
    }
    let others = cx.agenda.parked_others().map(|key| key.gang);
    let unreserved = |gang: &GangId| !cx.claims.reserved.contains_key(gang);
    let others: Vec<GangId> = others.filter(unreserved).collect();
    let mut known = BTreeMap::new();
    for gang_id in others {
        let could = if cx.agenda.note(gang_id).admitted {
            let equals = equals_of(cx.state, gang_id);
            let before = equals.and_then(|equals| known.get(&equals).copied());
            let could = before.unwrap_or_else(|| could_fit(cx, gang_id, changed));
            known.extend(equals.map(|equals| (equals, could)));
            could
        } else {
            could_be_admitted(cx.state, gang_id)
        };
        if could {
            queue(cx, gang_id);
        }
    }
}

/// Queues those parked for whom room is held on one of the changed nodes: what is theirs already looks taken to
/// every hint.
fn wake_who_awaits(cx: &mut Cycle<'_>, changed: &BTreeSet<NodeId>) {
    let pods = changed.iter().flat_map(|node| cx.state.nodes().pods(*node));
    let awaited = |pod: &PodId| {
        let pod = cx.state.pod(*pod).filter(|pod| pod.nominated.is_some());
        pod.and_then(|pod| pod.gang)
    };
    let gangs: BTreeSet<GangId> = pods.filter_map(awaited).collect();
    for gang_id in gangs {
        queue_if_parked(cx, gang_id);
    }
}

/// Queues some of those parked for whom room is held.
pub(super) fn wake_nominated(cx: &mut Cycle<'_>, which: fn(&ClusterState, GangId) -> bool) {
    let nominated: Vec<GangId> = cx.claims.nominated.iter().copied().collect();
    for gang_id in nominated {
        if which(cx.state, gang_id) {
            queue_if_parked(cx, gang_id);
        }
    }
}

pub(super) fn queue_if_parked(cx: &mut Cycle<'_>, gang_id: GangId) {
    if matches!(cx.agenda.note(gang_id).stage(), Stage::Parked(_)) {
        queue(cx, gang_id);
    }
}

/// Queues the heads of all queues that found no place: others may have to go for them by now.
pub fn wake_heads(cx: &mut Cycle<'_>) {
    let queues: Vec<QueueId> = cx.state.queues().iter().map(|(id, _)| id).collect();
    wake_heads_of(cx, &queues, |_| true);
}

/// Queues those who have become one of the first of their queue without a place: others may have to go for
/// these.
pub fn wake_who_moved_up(cx: &mut Cycle<'_>) {
    let queues: Vec<QueueId> = cx.agenda.take_left_lines().into_iter().collect();
    wake_heads_of(cx, &queues, |room| room == Some(RoomNote::Behind));
}

fn wake_heads_of(cx: &mut Cycle<'_>, queues: &[QueueId], which: fn(Option<RoomNote>) -> bool) {
    let heads = |queue: &QueueId| cx.agenda.askers(cx.claims, *queue, HEADS);
    let heads: Vec<GangId> = queues.iter().flat_map(heads).collect();
    for gang_id in heads {
        let note = cx.agenda.note_mut(gang_id);
        if matches!(note.stage(), Stage::Parked(_)) && which(note.search.room) {
            note.search.planned = None;
            queue(cx, gang_id);
        }
    }
}

/// Whether all nodes together have what a gang asks for before it is admitted.
fn could_be_admitted(state: &ClusterState, gang_id: GangId) -> bool {
    state.held_for(gang_id).is_some() || may_be_free(state, &state.room_wanted(gang_id))
}

/// What decides whether a gang could fit, where its members are all equal and no room is held for it that nobody
/// else may have: thousands for whom others leave have one answer.
fn equals_of(state: &ClusterState, gang_id: GangId) -> Option<(ProfileId, ShapeId, bool)> {
    let gang = state.gang(gang_id)?;
    let shape = gang.pending.only_class()?.shape;
    let equals = (state.profile_of(gang), shape, gang.pending.len() == 1);
    state.held_for(gang_id).is_none().then_some(equals)
}

/// Whether a member fits one of the nodes, or the nodes cannot tell.
fn could_fit(cx: &mut Cycle<'_>, gang_id: GangId, nodes: &BTreeSet<NodeId>) -> bool {
    if cx.state.held_for(gang_id).is_some() {
        // It may have what others may not.
        return true;
    }
    let profile = cx.profile_of(gang_id);
    let pending = &cx.state[gang_id].pending;
    let (members, alone): (Vec<PodId>, bool) = (pending.different().collect(), pending.len() == 1);
    members.into_iter().any(|pod| {
        let shape = cx.state.shape_of(pod);
        if !shape.is_some_and(|shape| profile.is_confined(shape)) {
            return true;
        }
        let mut nodes = nodes.iter();
        nodes.any(|node| {
            if alone {
                cx.placer.fits(cx.state, profile, pod, *node)
            } else {
                cx.placer.may_fit(cx.state, profile, pod, *node)
            }
        })
    })
}

/// Looks again at the gangs whose time has come: ends back-offs and forgives binds that came back.
pub fn fire_timers(cx: &mut Cycle<'_>) {
    returning::drop_late_holds(cx);
    for gang_id in cx.agenda.take_due(cx.now) {
        let Some(gang) = cx.state.gang(gang_id) else {
            continue;
        };
        let retry = cx
            .agenda
            .note(gang_id)
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
            cx.agenda.note_mut(gang_id).retry_at = None;
            if *cx.agenda.note(gang_id).stage() == Stage::BackingOff {
                cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
            }
        }
        finish::note_time(cx, gang_id);
        cx.state.touch(gang_id);
    }
}
