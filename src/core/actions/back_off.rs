//! When a gang is tried again after a setback: later each time, up to a bound.

use super::Cycle;
use crate::state::GangId;
use muster_model::units::{Doubling, Millis};

/// No back-off is longer.
const LONGEST: Millis = Millis(300_000);
/// After binds that came back.
const REFUSALS: Doubling = Doubling {
    first: Millis(1_000),
    longest: LONGEST,
};
/// The same while nothing can be written, of a gang that is partly bound: it has to be known when
/// something can.
const IN_OUTAGE: Millis = Millis(2_000);
/// After releases.
const RELEASES: Doubling = Doubling {
    first: Millis(10_000),
    longest: LONGEST,
};

/// Sets the time of the next try after a setback, unless one is set.
pub(super) fn back_off_from_refusal(cx: &mut Cycle<'_>, gang_id: GangId) {
    let note = cx.agenda.note_mut(gang_id);
    if note.retry_at.is_none() {
        let times = note.setbacks.backoffs;
        note.setbacks.backoffs = times.saturating_add(1);
        let mut wait = REFUSALS.after(times);
        if cx.state[gang_id].is_partly_bound() && cx.state.writes().stalled(cx.now).is_some() {
            wait = wait.min(IN_OUTAGE);
        }
        retry_in(cx, gang_id, wait);
    }
}

/// Sets the time of the next try after a release.
pub(super) fn back_off_from_release(cx: &mut Cycle<'_>, gang_id: GangId) {
    let note = cx.agenda.note_mut(gang_id);
    let times = note.setbacks.releases;
    note.setbacks.releases = times.saturating_add(1);
    retry_in(cx, gang_id, RELEASES.after(times));
}

fn retry_in(cx: &mut Cycle<'_>, gang_id: GangId, wait: Millis) {
    let at = cx.now + wait;
    cx.agenda.note_mut(gang_id).retry_at = Some(at);
    cx.agenda.at(at, gang_id);
}
