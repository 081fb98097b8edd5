//! When a gang is tried again after a setback: later each time, up to a bound.

use super::Cycle;
use crate::state::GangId;
use muster_model::units::Millis;

/// The first back-off after a bind that came back; it doubles from time to time, up to
/// [`LONGEST_BACK_OFF`].
const REFUSAL_BACK_OFF: Millis = Millis(1_000);
/// The first back-off after a gang was released; it doubles likewise.
const RELEASE_BACK_OFF: Millis = Millis(10_000);
/// No back-off is longer.
const LONGEST_BACK_OFF: Millis = Millis(300_000);

/// Sets the time of the next try after a setback, unless one is set.
pub(super) fn back_off_from_refusal(cx: &mut Cycle<'_>, gang_id: GangId) {
    let progress = cx.agenda.progress_mut(gang_id);
    if progress.retry_at.is_none() {
        let times = progress.backoffs;
        progress.backoffs = times.saturating_add(1);
        retry_in(cx, gang_id, REFUSAL_BACK_OFF, times);
    }
}

/// Sets the time of the next try after a release.
pub(super) fn back_off_from_release(cx: &mut Cycle<'_>, gang_id: GangId) {
    let progress = cx.agenda.progress_mut(gang_id);
    let times = progress.releases;
    progress.releases = times.saturating_add(1);
    retry_in(cx, gang_id, RELEASE_BACK_OFF, times);
}

fn retry_in(cx: &mut Cycle<'_>, gang_id: GangId, first: Millis, doublings: u32) {
    let span = first.0.saturating_mul(1 << doublings.min(16));
    let at = cx.now + Millis(span.min(LONGEST_BACK_OFF.0));
    cx.agenda.progress_mut(gang_id).retry_at = Some(at);
    cx.agenda.at(at, gang_id);
}
