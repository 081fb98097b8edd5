//! `Submission`: first come, first served.

use crate::framework::{Plugin, QueueSort};
use crate::state::{ClusterState, Gang};

/// Gangs submitted earlier go first.
#[derive(Debug)]
pub(super) struct Submission;

impl Plugin for Submission {
    fn name(&self) -> &'static str {
        "Submission"
    }
}

impl QueueSort for Submission {
    fn rank(&self, _: &ClusterState, gang: &Gang) -> i64 {
        gang.submitted
            .map_or(i64::MAX, |time| i64::try_from(time.0).unwrap_or(i64::MAX))
    }
}
