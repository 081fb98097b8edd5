//! Why a gang is where it is.

use super::Eyes;
use super::{books, running, slots, waiting};
use crate::actions::Stage;
use crate::engine::words;
use crate::state::{GangId, Standing};
use muster_model::explanation::{Clock, GangExplanation, Members, Reason};
use muster_model::{Code, Condition, GangPhase};

/// Explains a gang.
pub(super) fn explain(eyes: &mut Eyes<'_>, id: GangId, at_most: u32) -> GangExplanation {
    let sight = eyes.sight;
    let (state, agenda) = (sight.state, sight.agenda);
    let (gang, note) = (&state[id], agenda.note(id));
    let position = agenda.position(id, at_most);
    let status = words::status(state, agenda, sight.claims, id, position);
    let counts = gang.counts();
    let queue = gang
        .queue
        .and_then(|id| Some((id, state.queues().get(id)?)));
    let release = note.release();
    let stuck = release.and_then(|release| release.stuck.as_ref());
    let ended = matches!(status.phase, GangPhase::Finished | GangPhase::Failed);
    let missing = gang.missing() > 0 && release.is_none();
    let (claimants, claimant_count) = slots::claimants(sight, id);
    let grows = note.why.is_some() && !gang.pending.is_empty();
    GangExplanation {
        kind: Code::new(gang.key.space.kind()),
        namespace: gang.key.namespace.clone(),
        name: state.gang_name(id).to_owned(),
        clock: Clock::default(),
        as_of: sight.now,
        not_ours: None,
        phase: Code::new(status.phase.as_str()),
        condition: says(status.conditions),
        priority: gang.priority,
        lifetime: gang.lifetime,
        not_granted: note
            .not_granted
            .as_ref()
            .map(|refusal| refusal.why.message.to_string()),
        read_otherwise: gang
            .definition()
            .map(|spec| spec.read_otherwise.clone())
            .unwrap_or_default(),
        submitted_at: gang.submitted,
        members: Members {
            minimum: gang.min_available(),
            all: counts.all(),
            bound: counts.bound(),
            running: counts.of(Standing::Running),
            assumed: counts.of(Standing::Assumed),
            leaving: counts.of(Standing::Leaving),
            succeeded: status.succeeded,
            failed: counts.of(Standing::Failed),
        },
        queue: queue.map(|(id, queue)| books::of(sight, id, queue)),
        claims: sight.claims.of(state, id),
        claimants,
        claimant_count,
        waits: ((missing && !ended) || grows).then(|| waiting::explain(sight, id, position)),
        runs: (counts.placed() > 0).then(|| running::explain(eyes, id)),
        disruption: note.history.disruption.clone(),
        refused: stuck.map(|one| Reason {
            name: one.pod.clone(),
            message: one.setback.message.clone(),
        }),
        back_at: note.retry_at.filter(|_| *note.stage() == Stage::BackingOff),
    }
}

/// The condition that says why it is not further; where none does, the one that says it is.
pub(super) fn says(conditions: Vec<Condition>) -> Condition {
    let mut scheduled = None;
    for condition in conditions {
        let asked = ["Admitted", "Scheduled"].contains(&&*condition.kind);
        if asked && !condition.status {
            return condition;
        }
        if condition.kind == "Scheduled" {
            scheduled = Some(condition);
        }
    }
    scheduled.unwrap_or_default()
}
