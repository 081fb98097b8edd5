//! `PartialFirst`: a gang that is partly bound comes before everything else.

use crate::core::framework::{Plugin, QueueSort};
use crate::core::state::{ClusterState, Gang};

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
    fn rank(&self, _: &ClusterState, gang: &Gang) -> i64 {
        i64::from(!gang.is_partly_bound())
    }
}
