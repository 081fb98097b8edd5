//! What is next for a gang of which something changed.

use super::back_off::{back_off_from_refusal, back_off_from_release};
use super::charges::keep_the_charge;
use super::claims::{held, nominated, reserved};
use super::grant::grant;
use super::next::queue_or_wait;
use super::notes::Stage;
use super::terms::note_term;
use super::{Cycle, finish, partial, release};
use crate::state::{GangId, Place};
use muster_model::Why;
use muster_model::units::Millis;

/// A gang that is partly bound, and of which somebody outside said no to a member, is tried again so soon.
const RETRY_IN_PART: Millis = Millis(1_000);

/// Finds out what is next for a gang: nothing, waiting, the queue, or a release.
pub fn refresh(cx: &mut Cycle<'_>, gang_id: GangId) {
    cx.state.resolve(gang_id);
    if cx.state.gang(gang_id).is_some() {
        look_at(cx, gang_id);
        // Its places may have been given back.
        keep_the_charge(cx, gang_id);
    }
}

fn look_at(cx: &mut Cycle<'_>, gang_id: GangId) {
    cx.orders.seen.insert(gang_id);
    keep_the_charge(cx, gang_id);
    grant(cx, gang_id);
    keep_the_start(cx, gang_id);
    note_term(cx, gang_id);
    cx.state.settle_hold(gang_id, &[]);
    cx.agenda.note_mut(gang_id).search.planned = None;
    if cx.agenda.note(gang_id).release().is_some() {
        if !release::is_needless(cx, gang_id) {
            return release::proceed(cx, gang_id);
        }
        release::call_off(cx, gang_id);
    }
    if matches!(cx.agenda.note(gang_id).stage(), Stage::Held(_))
        && finish::still_stands(cx, gang_id)
    {
        if !partial::is_overdue(cx, gang_id) {
            return;
        }
        // Nobody may hold up what completes it for longer than it may be in part.
        finish::give_up(cx, gang_id);
    }
    if partial::is_overdue(cx, gang_id) {
        return release::release(cx, gang_id);
    }
    if *cx.agenda.note(gang_id).stage() == Stage::BackingOff {
        return hurry_if_partly_bound(cx, gang_id);
    }
    if let Some(why) = held::end_if_idle(cx, gang_id) {
        return let_others_go_first(cx, gang_id, why);
    }
    retry_after_setbacks(cx, gang_id);
    queue_or_wait(cx, gang_id);
}

/// One that did not use the room that was held for it has to be let in anew, after a while.
fn let_others_go_first(cx: &mut Cycle<'_>, gang_id: GangId, why: Why) {
    // What it claimed for the members that are there ends, too.
    nominated::give_up(cx, gang_id);
    reserved::cancel(cx, gang_id);
    back_off_from_release(cx, gang_id);
    let note = cx.agenda.note_mut(gang_id);
    note.admitted = false;
    note.let_in_on = None;
    note.not_admitted = Some(why.clone());
    note.why = Some(why);
    cx.agenda.set_stage(cx.state, gang_id, Stage::BackingOff);
}

/// One that backs off because a plugin said no to more members, and lost others since, has no time.
fn hurry_if_partly_bound(cx: &mut Cycle<'_>, gang_id: GangId) {
    let soon = cx.now + RETRY_IN_PART;
    let is_late = cx.agenda.note(gang_id).retry_at.is_none_or(|at| at > soon);
    if is_late && cx.state[gang_id].is_partly_bound() {
        cx.agenda.note_mut(gang_id).retry_at = Some(soon);
        cx.agenda.at(soon, gang_id);
    }
}

/// A gang that was found running, by another process that is gone, started when that bound it, or now if
/// nobody says when; one that holds nothing any more starts anew.
fn keep_the_start(cx: &mut Cycle<'_>, gang_id: GangId) {
    let gang = &cx.state[gang_id];
    if gang.counts().holding() == 0 {
        cx.state.forget_start(gang_id);
    } else if gang.unsecured() == 0 {
        let started = gang.started_at.unwrap_or(cx.now);
        let note = cx.agenda.note_mut(gang_id);
        note.run.scheduled_at.get_or_insert(started);
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
