//! The promise: a gang that is partly bound is completed, or released, in time.
//!
//! The clock of a gang starts when it falls below its minimum, by whatever it lost or whoever
//! raised the minimum, and starts anew with every bind of it that succeeds: a wave that advances
//! is never cut. What is on its way may still arrive, so that nobody is cut at the usual time because of a lost
//! answer. docs/reliability.md says how this adds up to ten seconds.
//!
//! One that has run and whose PodGroup asks to be repaired has until its deadline, from when it fell
//! below its minimum (docs/elastic.md).
//!
//! What nobody could do does not count against a gang: while nothing comes of any write no time is up,
//! and after an outage a gang has its patience anew; not without end, for one whose own binds are all
//! that comes to nothing looks just like it.

use super::notes::{Partial, Respite};
use super::{Agenda, Cycle, Note};
use crate::state::{ClusterState, Gang, GangId, Standing};
use muster_model::units::{Millis, Time};

/// How long a gang may stay partly bound without a bind of it succeeding.
pub const PATIENCE: Millis = Millis(5_000);
/// So much longer while binds of it are decided or on their way: one that was lost is known to be after 4 s, and a
/// second one in its place, too.
const WHILE_ON_ITS_WAY: Millis = Millis(4_000);
/// The same where this process found it so: its last bind was some time ago, by another process.
pub const PATIENCE_IF_FOUND: Millis = Millis(2_000);
/// By then a broken connection has been noticed: an API server that answers nobody looks like one that is
/// about to answer.
const WHILE_ON_ITS_WAY_IF_FOUND: Millis = Millis(1_000);
/// Within so long after its last bind a gang is whole, or is being released.
const PROMISE: Millis = Millis(10_000);

/// So many outages in a row give a gang its patience anew, until a bind of it succeeds.
const RESPITES: u32 = 3;

/// Keeps book of whether a gang is whole, partly bound, or neither; says whether its time is up.
pub(super) fn is_overdue(cx: &mut Cycle<'_>, gang_id: GangId) -> bool {
    let gang = &cx.state[gang_id];
    if gang.is_partly_bound() {
        return out_of_patience(cx, gang_id);
    }
    let (bound, succeeded) = (gang.counts().bound() > 0, gang.secured() > 0);
    let (minimum, whole) = (gang.min_available(), gang.unsecured() == 0);
    cx.end_partial(gang_id);
    let note = cx.agenda.note_mut(gang_id);
    if !bound && !succeeded {
        note.run.ran_with = None;
    } else if bound && whole && minimum > 0 {
        note.runs_in_full(minimum);
        cx.state.forget_loss(gang_id);
    }
    false
}

fn out_of_patience(cx: &mut Cycle<'_>, gang_id: GangId) -> bool {
    let now = cx.now;
    let partial = &mut cx.agenda.note_mut(gang_id).partial;
    partial.get_or_insert(Partial {
        since: now,
        respite: None,
    });
    cx.agenda.partial.insert(gang_id);
    give_respite(cx, gang_id);
    let Some(clock) = clock(cx.state, cx.agenda, gang_id) else {
        return false;
    };
    let never_advanced = cx.state[gang_id].advanced_at.is_none();
    let found = never_advanced && cx.agenda.note(gang_id).run.ran_with.is_none();
    if found {
        take_for_one_that_ran(cx, gang_id);
    }
    let is_known = !found || cx.agenda.note(gang_id).respite().is_some();
    let (patience, longer) = if is_known {
        (PATIENCE, WHILE_ON_ITS_WAY)
    } else {
        (PATIENCE_IF_FOUND, WHILE_ON_ITS_WAY_IF_FOUND)
    };
    let mut deadline = clock + patience;
    if cx.state[gang_id].counts().of(Standing::Assumed) > 0 {
        deadline = deadline + longer;
    }
    if let Some(repaired) = repairs_until(cx.state, cx.agenda, gang_id) {
        deadline = deadline.max(repaired);
    }
    if deadline <= now {
        deadline = cx.state.writes().grace(clock, deadline, now);
    }
    // A deadline that moves on is looked at when the timer fires; only an earlier one needs another.
    let note = cx.agenda.note_mut(gang_id);
    let timer = note.partial_timer;
    if deadline > now && timer.is_none_or(|at| at <= now || at > deadline) {
        note.partial_timer = Some(deadline);
        cx.agenda.at(deadline, gang_id);
    }
    deadline <= now
}

/// Since when a partly bound gang has not advanced although it could.
pub(super) fn clock(state: &ClusterState, agenda: &Agenda, gang_id: GangId) -> Option<Time> {
    let note = agenda.note(gang_id);
    let since = note.partial?.since;
    let advanced = state[gang_id].advanced_at;
    let resumed = note.respite().map(|respite| respite.outage.until);
    [Some(since), advanced, resumed].into_iter().flatten().max()
}

/// Has the clock start anew after an outage.
fn give_respite(cx: &mut Cycle<'_>, gang_id: GangId) {
    let outage = cx.state.writes().outage(cx.now);
    let Some((clock, outage)) = clock(cx.state, cx.agenda, gang_id).zip(outage) else {
        return;
    };
    if outage.until <= clock {
        return;
    }
    let advanced = cx.state[gang_id].advanced_at;
    let Some(partial) = &mut cx.agenda.note_mut(gang_id).partial else {
        return;
    };
    let before = partial.respite.filter(|respite| {
        let at = respite.outage.until;
        advanced.is_none_or(|advanced| advanced <= at)
    });
    let in_a_row = 1 + before.map_or(0, |respite| respite.in_a_row);
    if in_a_row <= RESPITES {
        partial.respite = Some(Respite { outage, in_a_row });
    }
}

/// Nothing could be written, and something can be again: gangs that were cut try again at once.
pub fn resume(state: &mut ClusterState, agenda: &mut Agenda, now: Time) {
    for gang_id in agenda.partial.clone() {
        let note = agenda.note_mut(gang_id);
        if note.retry_at.is_some() && note.release().is_none() {
            note.retry_at = Some(now);
            agenda.at(now, gang_id);
        }
        state.touch(gang_id);
    }
}

/// A gang that is found in part, and that started long ago, was whole: a start that is cut is
/// completed or released sooner. Nobody else knows, and only a gang to be repaired is judged by it.
fn take_for_one_that_ran(cx: &mut Cycle<'_>, gang_id: GangId) {
    let gang = &cx.state[gang_id];
    let long_ago = |at: Time| cx.now.since(at) > PROMISE;
    if gang.repair_for().is_some() && gang.started_at.is_some_and(long_ago) {
        cx.agenda.note_mut(gang_id).run.ran_with = Some(gang.min_available());
    }
}

/// Until when a gang that fell below its minimum is repaired; `None`: it is not.
pub(crate) fn repairs_until(
    state: &ClusterState,
    agenda: &Agenda,
    gang_id: GangId,
) -> Option<Time> {
    let note = agenda.note(gang_id);
    note.run.ran_with?;
    Some(note.partial?.since + state[gang_id].repair_for()?)
}

/// What brought a gang below its minimum and kept it there, each after a semicolon: what was raised, who
/// was lost, when nothing could be written.
#[must_use]
pub fn what_happened(gang: &Gang, note: &Note) -> String {
    let (mut words, of) = (String::new(), gang.min_available());
    if let Some(before) = note.run.ran_with.filter(|before| *before < of) {
        words.push_str(&format!("; the minimum was raised from {before} to {of}"));
    }
    if let Some(loss) = &gang.loss {
        words.push_str(&format!("; {loss}"));
    }
    if let Some(Respite { outage, .. }) = note.respite() {
        let seconds = Millis::from_secs(outage.until.since(outage.since).0 / 1_000);
        words.push_str(&format!(
            "; nothing could be written for {seconds}, and its time began anew"
        ));
    }
    words
}
