//! What is next for a gang of which something changed.

use super::back_off::back_off_from_refusal;
use super::{Cycle, Outcome, release};
use crate::core::state::{
    Gang, GangId, MAX_RANKS, OrderKey, Place, Stage, Standing, Subgroup, Why,
};

/// Finds out what is next for a gang: nothing, waiting, the queue, or a release.
pub fn refresh(cx: &mut Cycle<'_>, gang_id: GangId) {
    cx.state.resolve(gang_id);
    if cx.state.gang(gang_id).is_none() {
        return;
    }
    cx.orders.seen.insert(gang_id);
    match cx.state.progress(gang_id).stage {
        Stage::Releasing => return release::proceed(cx, gang_id),
        Stage::BackingOff | Stage::Held(_) => return,
        _ => {}
    }
    if is_partial_for_too_long(cx, gang_id) {
        return release::release(cx, gang_id);
    }
    retry_after_setbacks(cx, gang_id);
    queue_or_wait(cx, gang_id);
}

/// Puts a gang into the queue if it has something to place and nothing holds it back.
pub(super) fn queue_or_wait(cx: &mut Cycle<'_>, gang_id: GangId) {
    let Some(gang) = cx.state.gang(gang_id) else {
        return;
    };
    if let Some(why) = held_back(cx, gang, true) {
        let progress = cx.state.progress_mut(gang_id);
        progress.admitted = false;
        progress.not_admitted = Some(why.clone());
        return wait(cx, gang_id, why);
    }
    if gang.min_resources.iter().next().is_none() {
        let progress = cx.state.progress_mut(gang_id);
        progress.admitted = true;
        progress.not_admitted = None;
    }
    let Some(gang) = cx.state.gang(gang_id) else {
        return;
    };
    if !cx.state.progress(gang_id).admitted {
        let key = order_key(cx, gang_id);
        return set_queued(cx, gang_id, key);
    }
    if gang.missing() == 0 && !can_grow(gang) {
        cx.state.progress_mut(gang_id).why = None;
        let agenda = &mut *cx.agenda;
        return agenda.set_stage(cx.state, gang_id, Stage::Settled);
    }
    match held_back(cx, gang, false) {
        Some(why) => wait(cx, gang_id, why),
        None => {
            let key = order_key(cx, gang_id);
            set_queued(cx, gang_id, key);
        }
    }
}

fn set_queued(cx: &mut Cycle<'_>, gang_id: GangId, key: OrderKey) {
    cx.agenda.set_stage(cx.state, gang_id, Stage::Queued(key));
}

/// Has a gang wait for news. A decision only where the reason is another one: the words change
/// with every member that comes.
fn wait(cx: &mut Cycle<'_>, gang_id: GangId, why: Why) {
    let before = cx.state.progress(gang_id).why.as_ref();
    if before.is_none_or(|before| before.reason != why.reason) {
        let (reason, message) = (why.reason, why.message.clone());
        cx.decide(gang_id, Outcome::Waits { reason, message });
    }
    cx.state.progress_mut(gang_id).why = Some(why);
    cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
}

/// What the plugins say that guard admission, or the others.
fn held_back(cx: &Cycle<'_>, gang: &Gang, admission: bool) -> Option<Why> {
    let plugins = cx.profile.pre_enqueue.iter();
    let mut plugins = plugins.filter(|plugin| plugin.guards_admission() == admission);
    plugins.find_map(|plugin| plugin.holds_back(cx.state, gang))
}

/// Whether a member could be placed beyond the minimum.
fn can_grow(gang: &Gang) -> bool {
    let mut subgroups = gang.subgroups.iter();
    subgroups.any(|one| one.counts.of(Standing::Pending) > 0 && one.available() < one.max)
}

/// Where a gang stands in the order.
pub(super) fn order_key(cx: &Cycle<'_>, gang_id: GangId) -> OrderKey {
    let mut ranks = [0; MAX_RANKS];
    if let Some(gang) = cx.state.gang(gang_id) {
        let progress = cx.state.progress(gang_id);
        for (rank, plugin) in ranks.iter_mut().zip(&cx.profile.queue_sort) {
            *rank = plugin.rank(cx.state, gang, progress);
        }
    }
    OrderKey {
        ranks,
        gang: gang_id,
    }
}

/// Keeps book of whether a gang is complete, partly bound, or neither.
fn is_partial_for_too_long(cx: &mut Cycle<'_>, gang_id: GangId) -> bool {
    let Some(gang) = cx.state.gang(gang_id) else {
        return false;
    };
    let counts = gang.counts();
    let missing = missing_to_what_was_met(gang, cx.state.progress(gang_id).met.as_deref());
    let minima: Vec<u32> = gang.subgroups.iter().map(|one| one.min).collect();
    let complete = gang.missing() == 0 && gang.min_available() > 0;
    let placed = counts.placed() > 0;
    let now = cx.now;
    let progress = cx.state.progress_mut(gang_id);
    if placed && missing > 0 {
        let since = *progress.partial_since.get_or_insert(now);
        cx.agenda.at(since + super::REPAIR_GRACE, gang_id);
        return since + super::REPAIR_GRACE <= now;
    }
    if !placed {
        progress.partial_since = None;
        if counts.of(Standing::Succeeded) == 0 {
            progress.met = None;
        }
    } else if counts.of(Standing::Assumed) == 0 {
        progress.partial_since = None;
        if complete {
            progress.met = Some(minima);
            progress.backoffs = 0;
            progress.releases = 0;
            progress.disrupted = None;
        }
    }
    false
}

/// Members missing to what makes the gang whole. A minimum that was raised after it was met is a
/// wish for more, not a loss.
fn missing_to_what_was_met(gang: &Gang, met: Option<&[u32]>) -> u32 {
    let Some(met) = met else {
        return gang.missing();
    };
    let missing = |(index, one): (usize, &Subgroup)| {
        one.missing(one.min.min(met.get(index).copied().unwrap_or(u32::MAX)))
    };
    gang.subgroups.iter().enumerate().map(missing).sum()
}

/// Has members whose bind came back tried afresh after a while.
fn retry_after_setbacks(cx: &mut Cycle<'_>, gang_id: GangId) {
    let Some(gang) = cx.state.gang(gang_id) else {
        return;
    };
    let mut members = gang.members.iter().filter_map(|id| cx.state.pod(*id));
    let setback = members.any(|pod| pod.setbacks > 0 && pod.place == Place::None);
    if setback {
        back_off_from_refusal(cx, gang_id);
    }
}
