//! The promise: a gang that is partly bound is completed, or released, in time.
//!
//! The clock of a gang starts when it falls below its minimum, by whatever it lost or whoever
//! raised the minimum, and starts anew with every bind of it that succeeds: a wave that advances
//! is never cut. docs/reliability.md says how this adds up to ten seconds.

use super::{Agenda, Cycle};
use crate::core::state::{ClusterState, GangId};
use crate::core::units::{Millis, Time};

/// How long a gang may stay partly bound without a bind of it succeeding.
pub const PATIENCE: Millis = Millis(5_000);
/// The same where this process found it so: its last bind was some time ago, by another process.
pub const PATIENCE_IF_FOUND: Millis = Millis(2_000);

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
        progress.disrupted = None;
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
    let patience = if found { PATIENCE_IF_FOUND } else { PATIENCE };
    let deadline = clock + patience;
    // The deadline only moves on: one timer at a time is enough.
    let progress = cx.agenda.progress_mut(gang_id);
    if deadline > now && progress.partial_timer.is_none_or(|at| at <= now) {
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
