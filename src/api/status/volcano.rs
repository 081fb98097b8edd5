//! The status of Volcano's PodGroup.

use super::scheduled;
use crate::condition::Condition;
use crate::volcano;
use muster_model::{GangPhase, GangStatus};

impl From<&GangStatus> for volcano::PodGroupStatus {
    fn from(status: &GangStatus) -> Self {
        // Volcano's clients know that a gang is not scheduled by a condition of its own type.
        let condition = |found: &muster_model::Condition| Condition {
            kind: if found.status {
                "Scheduled"
            } else {
                "Unschedulable"
            }
            .to_owned(),
            status: "True".to_owned(),
            observed_generation: None,
            transition_id: Some(status.uid.clone()),
            ..Condition::of(found, 0)
        };
        Self {
            phase: phase(status.phase).to_owned(),
            running: status.running,
            succeeded: status.succeeded,
            failed: status.failed,
            conditions: scheduled(status).map(condition).into_iter().collect(),
        }
    }
}

/// Volcano's clients know fewer phases.
const fn phase(phase: GangPhase) -> &'static str {
    match phase {
        GangPhase::Scheduling => "Inqueue",
        GangPhase::Finished | GangPhase::Failed => "Completed",
        phase => phase.as_str(),
    }
}
