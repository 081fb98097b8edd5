//! How far a BatchJob is for one Scheduling.

use super::read::{Job, Name, Plan};
use muster_api::crd::{BatchJobState, ScheduledJobState};

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// There is none of this name.
    Missing,
    /// Another Scheduling has it, or something is left of its last run.
    Taken(Option<Name>),
    /// It can be claimed.
    Free,
    /// The Scheduling has it, and has not asked it to start; whether it follows the claim.
    Held {
        /// Its status says so.
        follows: bool,
    },
    /// It was asked to start.
    Started,
    /// It has ended.
    Ended {
        /// Not well.
        failed: bool,
        /// The status of the Scheduling says so, too: its claim is not needed any more.
        recorded: bool,
    },
}

impl Phase {
    /// How far the BatchJob of this name is for the Scheduling.
    pub(super) fn of(scheduling: &Name, plan: &Plan, name: &str, job: Option<&Job>) -> Self {
        if let Some(recorded) = plan.recorded(name) {
            return Self::Ended {
                failed: recorded.state == ScheduledJobState::Failed,
                recorded: true,
            };
        }
        let Some(job) = job else {
            return Self::Missing;
        };
        match job.claim() {
            None if job.is_free() => Self::Free,
            None => Self::Taken(None),
            Some(other) if other != scheduling => Self::Taken(Some(other.clone())),
            Some(_) if job.has_ended() => Self::Ended {
                failed: job.state == BatchJobState::Failed,
                recorded: false,
            },
            Some(_) if job.request().is_none() => Self::Held {
                follows: job.is_ready_to_start(),
            },
            Some(_) => Self::Started,
        }
    }

    pub(super) const fn has_ended(&self) -> bool {
        matches!(self, Self::Ended { .. })
    }

    /// Whether it is yet to be asked to start.
    pub(super) const fn is_to_start(&self) -> bool {
        !matches!(self, Self::Ended { .. } | Self::Started)
    }

    pub(super) const fn is_held(&self) -> bool {
        matches!(self, Self::Held { .. })
    }
}
