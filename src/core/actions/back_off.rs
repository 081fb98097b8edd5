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
/// After releases.
const RELEASES: Doubling = Doubling {
    first: Millis(10_000),
    longest: LONGEST,
};

/// Sets the time of the next try after a setback, unless one is set.
pub(super) fn back_off_from_refusal(cx: &mut Cycle<'_>, gang_id: GangId) {
    let progress = cx.agenda.progress_mut(gang_id);
    if progress.retry_at.is_none() {
        let times = progress.backoffs;
        progress.backoffs = times.saturating_add(1);
        retry_in(cx, gang_id, REFUSALS.after(times));
    }
}

/// Sets the time of the next try after a release.
pub(super) fn back_off_from_release(cx: &mut Cycle<'_>, gang_id: GangId) {
    let progress = cx.agenda.progress_mut(gang_id);
    let times = progress.releases;
    progress.releases = times.saturating_add(1);
    retry_in(cx, gang_id, RELEASES.after(times));
}

fn retry_in(cx: &mut Cycle<'_>, gang_id: GangId, wait: Millis) {
    let at = cx.now + wait;
    cx.agenda.progress_mut(gang_id).retry_at = Some(at);
    cx.agenda.at(at, gang_id);
}
