//! `QueueTier` and `Priority`: the more important first.

use crate::core::framework::{Plugin, QueueSort};
use crate::core::state::{ClusterState, Gang};

/// Gangs of queues of a higher tier go first.
#[derive(Debug)]
pub(super) struct QueueTier;

impl Plugin for QueueTier {
    fn name(&self) -> &'static str {
        "QueueTier"
    }
}

impl QueueSort for QueueTier {
    fn rank(&self, state: &ClusterState, gang: &Gang) -> i64 {
        let queue = gang.queue.and_then(|id| state.queues().get(id));
        let spec = queue.and_then(|queue| queue.spec.as_ref());
        -spec.map_or(0, |spec| i64::from(spec.tier))
    }
}

/// Gangs of a higher priority go first.
#[derive(Debug)]
pub(super) struct Priority;

impl Plugin for Priority {
    fn name(&self) -> &'static str {
        "Priority"
    }
}

impl QueueSort for Priority {
    fn rank(&self, _: &ClusterState, gang: &Gang) -> i64 {
        -i64::from(gang.priority)
    }
}
