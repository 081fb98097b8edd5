//! The promise: a gang that is partly bound is completed, or released, in time.
//!
//! The clock of a gang starts when it falls below its minimum, by whatever it lost or whoever
//! raised the minimum, and starts anew with every bind of it that succeeds: a wave that advances
//! is never cut. docs/reliability.md says how this adds up to ten seconds.
//!
//! One that has run and whose PodGroup asks to be repaired has until its deadline, from when it fell
//! below its minimum (docs/elastic.md).

use super::{Agenda, Cycle, Progress};
use crate::state::{ClusterState, Gang, GangId};
use muster_model::explanation::Lost;
use muster_model::units::{Millis, Time};

/// How long a gang may stay partly bound without a bind of it succeeding.
pub const PATIENCE: Millis = Millis(5_000);
/// The same where this process found it so: its last bind was some time ago, by another process.
pub const PATIENCE_IF_FOUND: Millis = Millis(2_000);
/// Within so long after its last bind a gang is whole, or is being released.
const PROMISE: Millis = Millis(10_000);

/// Keeps book of whether a gang is whole, partly bound, or neither; says whether its time is up.
pub(super) fn is_overdue(cx: &mut Cycle<'_>, gang_id: GangId) -> bool {
    let gang = &cx.state[gang_id];
    if gang.is_partly_bound() {
        return out_of_patience(cx, gang_id);
    }
    let (bound, succeeded) = (gang.counts().bound() > 0, gang.secured() > 0);
    let (minimum, whole) = (gang.min_available(), gang.unsecured() == 0);
    cx.end_partial(gang_id);
    let progress = cx.agenda.progress_mut(gang_id);
    if !bound && !succeeded {
        progress.ran_with = None;
    } else if bound && whole && minimum > 0 {
        progress.ran_with = Some(minimum);
        progress.backoffs = 0;
        progress.releases = 0;
        progress.shunned.clear();
        progress.disrupted = None;
        progress.disruption.take_if(|one| one.why != Lost::Surplus);
        cx.state.forget_loss(gang_id);
    }
    false
}

fn out_of_patience(cx: &mut Cycle<'_>, gang_id: GangId) -> bool {
    let now = cx.now;
    cx.agenda
        .progress_mut(gang_id)
        .partial_since
        .get_or_insert(now);
    cx.agenda.partial.insert(gang_id);
    let Some(clock) = clock(cx.state, cx.agenda, gang_id) else {
        return false;
    };
    let never_advanced = cx.state[gang_id].advanced_at.is_none();
    let found = never_advanced && cx.agenda.progress(gang_id).ran_with.is_none();
    if found {
        take_for_one_that_ran(cx, gang_id);
    }
    let patience = if found { PATIENCE_IF_FOUND } else { PATIENCE };
    let repaired = repairs_until(cx.state, cx.agenda, gang_id);
    let deadline = repaired.unwrap_or(now).max(clock + patience);
    // A deadline that moves on is looked at when the timer fires; only an earlier one needs another.
    let progress = cx.agenda.progress_mut(gang_id);
    let timer = progress.partial_timer;
    if deadline > now && timer.is_none_or(|at| at <= now || at > deadline) {
        progress.partial_timer = Some(deadline);
        cx.agenda.at(deadline, gang_id);
    }
    deadline <= now
}

/// Since when a partly bound gang has not advanced.
pub(super) fn clock(state: &ClusterState, agenda: &Agenda, gang_id: GangId) -> Option<Time> {
    let since = agenda.progress(gang_id).partial_since?;
    let advanced = state[gang_id].advanced_at;
    Some(advanced.map_or(since, |at| at.max(since)))
}

/// A gang that is found in part, and that started long ago, was whole: a start that is cut is
/// completed or released sooner. Nobody else knows, and only a gang to be repaired is judged by it.
fn take_for_one_that_ran(cx: &mut Cycle<'_>, gang_id: GangId) {
    let gang = &cx.state[gang_id];
    let long_ago = |at: Time| cx.now.since(at) > PROMISE;
    if gang.repair_for().is_some() && gang.started_at.is_some_and(long_ago) {
        cx.agenda.progress_mut(gang_id).ran_with = Some(gang.min_available());
    }
}

/// Until when a gang that fell below its minimum is repaired; `None`: it is not.
pub(crate) fn repairs_until(
    state: &ClusterState,
    agenda: &Agenda,
    gang_id: GangId,
) -> Option<Time> {
    let progress = agenda.progress(gang_id);
    progress.ran_with?;
    Some(progress.partial_since? + state[gang_id].repair_for()?)
}

/// What brought a gang below its minimum, each after a semicolon: what was raised, who was lost.
#[must_use]
pub fn what_happened(gang: &Gang, progress: &Progress) -> String {
    let (mut words, of) = (String::new(), gang.min_available());
    if let Some(before) = progress.ran_with.filter(|before| *before < of) {
        words.push_str(&format!("; the minimum was raised from {before} to {of}"));
    }
    if let Some(loss) = &gang.loss {
        words.push_str(&format!("; {loss}"));
    }
    words
}
