//! The status of coscheduling's PodGroup.

use crate::coscheduling;
use muster_model::{GangPhase, GangStatus};

impl From<&GangStatus> for coscheduling::PodGroupStatus {
    fn from(status: &GangStatus) -> Self {
        Self {
            phase: phase(status.phase).to_owned(),
            running: status.running,
            succeeded: status.succeeded,
            failed: status.failed,
        }
    }
}

/// Its clients do not know whether a group was let in.
const fn phase(phase: GangPhase) -> &'static str {
    match phase {
        GangPhase::Inqueue => GangPhase::Pending.as_str(),
        phase => phase.as_str(),
    }
}
