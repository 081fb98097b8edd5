//! `Priority`: the more important first.

use crate::framework::{Plugin, QueueSort};
use crate::state::{ClusterState, Gang};
use muster_model::QueueOrder;

/// Gangs of a higher priority go first, but in a queue whose order is FIFO.
#[derive(Debug)]
pub(super) struct Priority;

impl Plugin for Priority {
    fn name(&self) -> &'static str {
        "Priority"
    }
}

impl QueueSort for Priority {
    fn rank(&self, state: &ClusterState, gang: &Gang) -> i64 {
        let queue = gang.queue.and_then(|id| state.queues().get(id));
        let spec = queue.and_then(|queue| queue.spec.as_ref());
        if spec.is_some_and(|spec| spec.order == QueueOrder::Fifo) {
            return 0;
        }
        -i64::from(gang.priority)
    }
}
