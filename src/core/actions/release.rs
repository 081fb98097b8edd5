//! Taking a gang off its nodes as a whole, because it could not be completed in time.

use super::back_off::back_off_from_release;
use super::{Cycle, Outcome};
use crate::core::model::Evict;
use crate::core::state::{ClusterState, Gang, GangId, Place, Pod, PodId, Stage, Standing, Why};

/// Starts the release: members that are bound are evicted, those whose bind is on its way follow
/// when its outcome is known.
pub(super) fn release(cx: &mut Cycle<'_>, gang_id: GangId) {
    let Some(gang) = cx.state.gang(gang_id) else {
        return;
    };
    let message = explain(cx.state, gang);
    let progress = cx.state.progress_mut(gang_id);
    progress.partial_since = None;
    progress.met = None;
    progress.scheduled_at = None;
    progress.retry_at = None;
    progress.disrupted = Some(message.clone());
    progress.why = Some(Why::new("Released", message.clone()));
    cx.agenda.set_stage(cx.state, gang_id, Stage::Releasing);
    let pods = evict_members(cx, gang_id, &message);
    cx.decide(gang_id, Outcome::Released { pods, message });
    finish_if_done(cx, gang_id);
}

/// Goes on with a release: evicts what got bound meanwhile.
pub(super) fn proceed(cx: &mut Cycle<'_>, gang_id: GangId) {
    let message = cx
        .state
        .progress(gang_id)
        .disrupted
        .clone()
        .unwrap_or_default();
    evict_members(cx, gang_id, &message);
    finish_if_done(cx, gang_id);
}

fn finish_if_done(cx: &mut Cycle<'_>, gang_id: GangId) {
    let counts = cx.state.gang(gang_id).map(Gang::counts);
    if counts.is_some_and(|counts| counts.placed() == 0) {
        back_off_from_release(cx, gang_id);
        cx.agenda.admitted.remove(&gang_id);
        cx.agenda.set_stage(cx.state, gang_id, Stage::BackingOff);
    }
}

fn evict_members(cx: &mut Cycle<'_>, gang_id: GangId, message: &str) -> u32 {
    let Some(gang) = cx.state.gang(gang_id) else {
        return 0;
    };
    let must_go = |id: &PodId| cx.state.pod(*id).is_some_and(is_to_be_evicted);
    let pods: Vec<PodId> = gang.members.iter().copied().filter(must_go).collect();
    for id in &pods {
        if let Some(pod) = cx.state.pod(*id) {
            let evict = Evict {
                pod: pod.key.clone(),
                message: message.to_owned(),
            };
            cx.orders.evictions.push(evict);
        }
        cx.state.set_evicting(*id, true);
    }
    u32::try_from(pods.len()).unwrap_or(u32::MAX)
}

/// Bound, not ended, and not going already.
fn is_to_be_evicted(pod: &Pod) -> bool {
    matches!(pod.place, Place::Bound(_)) && pod.uses_room() && !pod.terminating && !pod.evicting
}

/// Says how incomplete the gang is, and which member is to blame.
fn explain(state: &ClusterState, gang: &Gang) -> String {
    let (have, of) = (gang.available(), gang.min_available());
    let mut message = format!("only {have} of {of} members could be bound");
    let mut members = gang.members.iter().filter_map(|id| state.pod(*id));
    let unplaced = |pod: &&Pod| pod.place == Place::None && state.standing(pod) != Standing::Failed;
    let blamed = members
        .clone()
        .find(|pod| unplaced(pod) && pod.refusal.is_some());
    if let Some(pod) = blamed {
        let refusal = pod.refusal.as_deref().unwrap_or_default();
        message.push_str(&format!("; pod {}: {refusal}", pod.key.name));
    } else if let Some(pod) = members.find(unplaced) {
        let why = state
            .progress_of(gang)
            .and_then(|progress| progress.why.as_ref());
        let why = why.map_or("", |why| &why.message);
        message.push_str(&format!("; pod {} waits: {why}", pod.key.name));
    }
    message
}
