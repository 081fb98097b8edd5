//! Looking again at gangs that wait for other pods to come or to go: somebody to be near, or somebody
//! who keeps them away.
//!
//! What room is taken or set free on a node is noted there (`wake.rs`). This is about the rest: pods that
//! change what nodes far away say. Each shape that asks about others has a number that is another when
//! that may be so ([`PodCounts::hope`](crate::state::PodCounts::hope), and
//! [`ClusterState::mark_of_spread`] for how pods are spread), and the same again when
//! it was only tried; who waits is looked at when it is not the one with which he was refused.

use super::Cycle;
use super::order::queue;
use super::wake::wake_nominated;
use crate::state::{ClusterState, GangId, PodId, ShapeId, View};
use std::collections::BTreeMap;

/// What pods of a shape hope for; `None` if they ask about nobody.
pub(super) fn hope_of(state: &ClusterState, shape: ShapeId) -> Option<(u64, u64)> {
    let serial = state.shapes().serial(shape)?;
    let shape = state.shapes().get(shape)?;
    let rules = shape.rules.as_deref().filter(|rules| rules.bind());
    let asks = rules.is_some() || !shape.spread.is_empty();
    let of_rules = rules.map_or(0, |rules| state.counts().hope(rules));
    asks.then(|| (serial, of_rules ^ state.mark_of_spread(&shape.spread)))
}

/// Whether any member of a gang asks about other pods.
#[must_use]
pub fn asks_about_others(state: &ClusterState, gang: GangId) -> bool {
    if state.counts().is_empty() {
        return false;
    }
    let members = state.gang(gang).into_iter().flat_map(|one| &one.members);
    let mut shapes = members.filter_map(|pod| Some(state.pod(*pod)?.shape));
    shapes.any(|shape| hope_of(state, shape).is_some())
}

/// Whether any member of a gang that could be placed asks about other pods.
fn some_wait_for_others(state: &ClusterState, gang: GangId) -> bool {
    let members = state[gang].pending.different();
    let mut shapes = members.filter_map(|pod| Some(state.pod(pod)?.shape));
    shapes.any(|shape| hope_of(state, shape).is_some())
}

/// What they hope for of others who get a place; zero if they ask about nobody.
pub(super) fn hope_by_others(state: &ClusterState, shape: ShapeId) -> u64 {
    let Some(shape) = state.shapes().get(shape) else {
        return 0;
    };
    let rules = shape.rules.as_deref();
    let of_rules = rules.map_or(0, |rules| state.counts().hope_by_others(rules));
    of_rules ^ state.mark_of_spread(&shape.spread)
}

/// The numbers of all members that could be placed, as one.
fn hope_of_gang(state: &ClusterState, gang: GangId) -> u64 {
    if state.counts().is_empty() {
        return 0;
    }
    let members = state[gang].pending.different();
    let shapes = members.filter_map(|pod| Some(state.pod(pod)?.shape));
    let hopes = shapes.filter_map(|shape| hope_of(state, shape));
    hopes.fold(0, |sum: u64, (_, hope)| sum.rotate_left(7) ^ hope)
}

/// Notes with what a gang is put aside.
pub(super) fn note_hope(cx: &mut Cycle<'_>, gang: GangId, alike: Option<ShapeId>) {
    if let Some(shape) = alike {
        if let Some((serial, hope)) = hope_of(cx.state, shape) {
            let others = cx.agenda.is_wanted(shape);
            let known = cx.agenda.hopes.get(&serial).copied().flatten();
            let same = !others || known == Some(hope);
            cx.agenda.hopes.insert(serial, same.then_some(hope));
        }
        return;
    }
    let hope = hope_of_gang(cx.state, gang);
    cx.agenda.note_mut(gang).tried.hope = hope;
}

/// Pods that somebody asks about came, went or changed.
pub fn company_changed(cx: &mut Cycle<'_>) {
    cx.agenda.ease_room();
    wake_nominated(cx, some_wait_for_others);
    wake_by_company(cx);
}

/// Queues those parked for whom there is a node now that will do, of those for whom that may be otherwise
/// than it was. Says whether there were any.
pub(super) fn wake_by_company(cx: &mut Cycle<'_>) -> bool {
    if cx.state.counts().is_empty() {
        cx.agenda.hopes.clear();
        return false;
    }
    cx.state.show(View::OPEN);
    let mut before = std::mem::take(&mut cx.agenda.hopes);
    let mut any = false;
    for (shape, gang) in cx.agenda.wanted_shapes() {
        let Some((serial, hope)) = hope_of(cx.state, shape) else {
            continue;
        };
        cx.agenda.hopes.insert(serial, Some(hope));
        if before.remove(&serial).flatten() == Some(hope) || !fits_anywhere(cx, gang) {
            continue;
        }
        for want in cx.agenda.wants(cx.claims.views(cx.now), shape) {
            cx.agenda
                .wake(cx.state, cx.claims.views(cx.now), want, BTreeMap::new());
            any = true;
        }
    }
    let others: Vec<GangId> = cx.agenda.parked_others().map(|key| key.gang).collect();
    for gang in others {
        let hope = hope_of_gang(cx.state, gang);
        let known = std::mem::replace(&mut cx.agenda.note_mut(gang).tried.hope, hope);
        if known != hope && fits_anywhere(cx, gang) {
            queue(cx, gang);
            any = true;
        }
    }
    any
}

/// Whether some member fits some node, or the nodes cannot tell.
fn fits_anywhere(cx: &mut Cycle<'_>, gang: GangId) -> bool {
    if cx.state.held_for(gang).is_some() {
        // It may have what others may not.
        return true;
    }
    let profile = cx.profile_of(gang);
    let members: Vec<PodId> = cx.state[gang].pending.different().collect();
    let mut members = members.into_iter();
    members.any(|pod| cx.placer.fits_anywhere(cx.state, profile, pod))
}
