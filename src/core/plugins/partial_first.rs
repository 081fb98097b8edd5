//! `PartialFirst`: a gang that is partly bound comes before everything else.

use crate::core::framework::{Plugin, QueueSort};
use crate::core::state::{ClusterState, Gang, Progress};

/// Gangs of which some members are bound and others are missing go first: until they are complete
/// they hold room without using it.
#[derive(Debug)]
pub(super) struct PartialFirst;

impl Plugin for PartialFirst {
    fn name(&self) -> &'static str {
        "PartialFirst"
    }
}

impl QueueSort for PartialFirst {
    fn rank(&self, _: &ClusterState, _: &Gang, progress: &Progress) -> i64 {
        i64::from(progress.partial_since.is_none())
    }
}
