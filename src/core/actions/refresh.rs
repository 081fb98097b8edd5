//! What is next for a gang of which something changed.

use super::agenda::{Lane, MAX_RANKS, OrderKey, Stage};
use super::back_off::back_off_from_refusal;
use super::{Cycle, finish, partial, preempt, recall, release, reservation};
use crate::fairness;
use crate::state::{Gang, GangId, Place, Standing};
use muster_model::resources::Tally;
use muster_model::units::Millis;
use muster_model::{Why, counted};

/// A gang that is partly bound, and of which somebody outside said no to a member, is tried again so soon.
const RETRY_IN_PART: Millis = Millis(1_000);

/// Finds out what is next for a gang: nothing, waiting, the queue, or a release.
pub fn refresh(cx: &mut Cycle<'_>, gang_id: GangId) {
    cx.state.resolve(gang_id);
    if cx.state.gang(gang_id).is_none() {
        return;
    }
    cx.orders.seen.insert(gang_id);
    keep_the_charge(cx, gang_id);
    keep_the_start(cx, gang_id);
    reservation::note_term(cx, gang_id);
    cx.agenda.progress_mut(gang_id).planned = None;
    let stage = cx.agenda.progress(gang_id).stage();
    if stage == Stage::Releasing {
        if !release::is_needless(cx, gang_id) {
            return release::proceed(cx, gang_id);
        }
        release::call_off(cx, gang_id);
    }
    if matches!(stage, Stage::Held(_)) && finish::still_stands(cx, gang_id) {
        if !partial::is_overdue(cx, gang_id) {
            return;
        }
        // Nobody may hold up what completes it for longer than it may be in part.
        finish::give_up(cx, gang_id);
    }
    if partial::is_overdue(cx, gang_id) {
        return release::release(cx, gang_id);
    }
    if stage == Stage::BackingOff {
        return hurry_if_partly_bound(cx, gang_id);
    }
    retry_after_setbacks(cx, gang_id);
    queue_or_wait(cx, gang_id);
}

/// One that backs off because a plugin said no to more members, and lost others since, has no time.
fn hurry_if_partly_bound(cx: &mut Cycle<'_>, gang_id: GangId) {
    let soon = cx.now + RETRY_IN_PART;
    let is_late = cx
        .agenda
        .progress(gang_id)
        .retry_at
        .is_none_or(|at| at > soon);
    if is_late && cx.state[gang_id].is_partly_bound() {
        cx.agenda.progress_mut(gang_id).retry_at = Some(soon);
        cx.agenda.at(soon, gang_id);
    }
}

/// A gang that holds nothing any more gives its charge back; one that was found running, by another
/// process that is gone, is charged as if it started now.
fn keep_the_charge(cx: &mut Cycle<'_>, gang_id: GangId) {
    let holds = cx.state[gang_id].in_use != Tally::default();
    let charged = std::mem::replace(&mut cx.agenda.progress_mut(gang_id).charged, holds);
    if holds && !charged {
        let charge = fairness::charge_of_running(cx.state, gang_id);
        cx.state.charge_budget(gang_id, charge);
    } else if charged && !holds {
        cx.state.give_back_budget(gang_id);
    }
}

/// A gang that was found running, by another process that is gone, started when that bound it; one
/// that holds nothing any more starts anew.
fn keep_the_start(cx: &mut Cycle<'_>, gang_id: GangId) {
    let gang = &cx.state[gang_id];
    if gang.counts().holding() == 0 {
        cx.state.forget_start(gang_id);
    } else if gang.unsecured() == 0 && gang.started_at.is_some() {
        let started = gang.started_at;
        let progress = cx.agenda.progress_mut(gang_id);
        progress.scheduled_at = progress.scheduled_at.or(started);
    }
}

/// Puts a gang into the queue if it has something to place and nothing holds it back.
pub(super) fn queue_or_wait(cx: &mut Cycle<'_>, gang_id: GangId) {
    let gang = &cx.state[gang_id];
    if let Some(why) = held_back(cx, gang, true) {
        cx.state.expel(gang_id);
        let progress = cx.agenda.progress_mut(gang_id);
        progress.admitted = false;
        progress.not_admitted = Some(why.clone());
        return wait(cx, gang_id, why);
    }
    if gang.min_resources.iter().next().is_none() {
        cx.state.expel(gang_id);
        let progress = cx.agenda.progress_mut(gang_id);
        progress.admitted = true;
        progress.not_admitted = None;
    }
    let gang = &cx.state[gang_id];
    if !cx.agenda.progress(gang_id).admitted {
        return queue(cx, gang_id);
    }
    let missing = gang.missing();
    let can_grow = can_grow(gang);
    if missing == 0 {
        preempt::give_up(cx, gang_id);
        reservation::cancel(cx, gang_id);
        preempt::note_refusals(cx, gang_id);
    }
    if missing == 0 && !can_grow {
        cx.state.forget_advice(gang_id);
        cx.agenda.progress_mut(gang_id).why = at_its_maximum(&cx.state[gang_id]);
        let agenda = &mut *cx.agenda;
        return agenda.set_stage(cx.state, gang_id, Stage::Settled);
    }
    let gang = &cx.state[gang_id];
    match held_back(cx, gang, false) {
        Some(why) => {
            if missing > 0 {
                // Without news it will not be whole: what is not bound yet need not be.
                recall::recall(cx, gang_id);
            }
            wait(cx, gang_id, why);
        }
        None => queue(cx, gang_id),
    }
}

/// Puts a gang into the queue, at the place where it stands now.
pub(super) fn queue(cx: &mut Cycle<'_>, gang_id: GangId) {
    let key = order_key(cx, gang_id);
    cx.agenda.set_stage(cx.state, gang_id, Stage::Queued(key));
}

/// Has a gang wait for news.
pub(super) fn wait(cx: &mut Cycle<'_>, gang_id: GangId, why: Why) {
    preempt::give_up(cx, gang_id);
    reservation::cancel(cx, gang_id);
    let progress = cx.agenda.progress_mut(gang_id);
    progress.forget_try();
    progress.why = Some(why);
    cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
}

/// What the plugins say that guard admission, or the others.
pub(super) fn held_back(cx: &Cycle<'_>, gang: &Gang, admission: bool) -> Option<Why> {
    let plugins = cx.profiles.of(cx.state, gang).pre_enqueue.iter();
    let mut plugins = plugins.filter(|plugin| plugin.guards_admission() == admission);
    plugins.find_map(|plugin| plugin.holds_back(cx.state, gang))
}

/// Whether a member could be placed beyond the minimum.
fn can_grow(gang: &Gang) -> bool {
    let mut subgroups = gang.subgroups.iter();
    subgroups.any(|one| one.counts.of(Standing::Pending) > 0 && gang.room_to_grow(one) > 0)
}

/// Why members wait of a gang that has all it may have.
fn at_its_maximum(gang: &Gang) -> Option<Why> {
    let mut subgroups = gang.subgroups.iter();
    let full = subgroups.find(|one| one.counts.of(Standing::Pending) > 0)?;
    let message = match gang.definition().and_then(|spec| spec.replicas) {
        Some(most) if full.room() > 0 => {
            let most = counted(most as usize, "member");
            format!("the PodGroup's replicas let {most} run at once")
        }
        _ => format!(
            "at most {} members of subgroup {} may run at once",
            full.max, full.name
        ),
    };
    Some(Why::new("AtMaximum", &message))
}

/// Where a gang stands in the order.
pub(super) fn order_key(cx: &Cycle<'_>, gang_id: GangId) -> OrderKey {
    let gang = &cx.state[gang_id];
    let lane = if gang.is_partly_bound() {
        Lane::Urgent
    } else if gang.lifetime.is_zero() {
        Lane::Free
    } else {
        Lane::Charged
    };
    let mut ranks = [0; MAX_RANKS];
    for (rank, plugin) in ranks.iter_mut().zip(&cx.profiles.first().queue_sort) {
        *rank = plugin.rank(cx.state, gang);
    }
    OrderKey {
        ranks,
        arrival: gang.arrival,
        gang: gang_id,
        queue: cx.state.queue_of(gang_id),
        lane,
    }
}

/// Has members whose bind came back tried afresh after a while.
fn retry_after_setbacks(cx: &mut Cycle<'_>, gang_id: GangId) {
    let gang = &cx.state[gang_id];
    let mut members = gang.members.iter().filter_map(|id| cx.state.pod(*id));
    let setback = members.any(|pod| pod.setbacks > 0 && pod.place == Place::None);
    if setback {
        back_off_from_refusal(cx, gang_id);
    }
}
