//! Why a gang is where it is.

use super::Eyes;
use super::books::{self, Books};
use super::running::{self, Runs};
use super::waiting::{self, Waits};
use crate::actions::{Disruption, Stage};
use crate::engine::words;
use crate::state::{GangId, Standing};
use muster_model::units::Time;
use muster_model::{Condition, GangPhase};
use muster_model::{GangKey, Lifetime};

/// Why a gang is where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangExplanation {
    /// As of when.
    pub at: Time,
    /// Which gang.
    pub key: GangKey,
    /// What people call it: namespace and name.
    pub title: String,
    /// How far it is.
    pub phase: GangPhase,
    /// The condition of its PodGroup that says why it is not further, or else `Scheduled`.
    pub says: Condition,
    /// Its priority.
    pub priority: i32,
    /// How long it is protected from its start.
    pub lifetime: Lifetime,
    /// When it was submitted.
    pub submitted: Option<Time>,
    /// Its members.
    pub members: Members,
    /// The books of its queue.
    pub queue: Option<Books>,
    /// What members without a place wait for.
    pub waits: Option<Waits>,
    /// What the others hold.
    pub runs: Option<Runs>,
    /// How it last lost its place, if it does not run again; or some of its members.
    pub disruption: Option<Disruption>,
    /// Who refuses that it leaves: a pod, and the API server's words.
    pub refused: Option<(String, String)>,
    /// When it is tried again, while it backs off.
    pub back_at: Option<Time>,
}

/// How many members stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// How many must run.
    pub minimum: u32,
    /// Known.
    pub all: u32,
    /// Bound to a node and not about to leave it.
    pub bound: u32,
    /// Running, of these.
    pub running: u32,
    /// On their way to a node.
    pub assumed: u32,
    /// About to leave their node.
    pub leaving: u32,
    /// Ended well.
    pub succeeded: u32,
    /// Ended badly.
    pub failed: u32,
}

/// Explains a gang.
pub(super) fn explain(eyes: &mut Eyes<'_>, id: GangId, at_most: u32) -> GangExplanation {
    let sight = eyes.sight;
    let (state, agenda) = (sight.state, sight.agenda);
    let (gang, progress) = (&state[id], agenda.progress(id));
    let position = agenda.position(id, at_most);
    let status = words::status(state, id, agenda, position);
    let counts = gang.counts();
    let queue = gang
        .queue
        .and_then(|id| Some((id, state.queues().get(id)?)));
    let release = progress.release.as_ref();
    let stuck = release.and_then(|release| release.stuck.as_ref());
    let ended = matches!(status.phase, GangPhase::Finished | GangPhase::Failed);
    let missing = gang.missing() > 0 && progress.stage() != Stage::Releasing;
    let grows = progress.why.is_some() && !gang.pending.is_empty();
    GangExplanation {
        at: sight.now,
        key: gang.key.clone(),
        title: state.gang_title(id),
        phase: status.phase,
        says: says(status.conditions),
        priority: gang.priority,
        lifetime: gang.lifetime,
        submitted: gang.submitted,
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
        waits: ((missing && !ended) || grows).then(|| waiting::explain(sight, id, position)),
        runs: (counts.placed() > 0).then(|| running::explain(eyes, id)),
        disruption: progress.disruption.clone(),
        refused: stuck.map(|one| (one.pod.clone(), one.setback.message.clone())),
        back_at: progress
            .retry_at
            .filter(|_| progress.stage() == Stage::BackingOff),
    }
}

/// The condition that says why it is not further; where none does, the one that says it is.
pub(super) fn says(conditions: Vec<Condition>) -> Condition {
    let mut scheduled = None;
    for condition in conditions {
        let asked = ["Admitted", "Scheduled"].contains(&condition.kind);
        if asked && !condition.status {
            return condition;
        }
        if condition.kind == "Scheduled" {
            scheduled = Some(condition);
        }
    }
    scheduled.unwrap_or_default()
}
