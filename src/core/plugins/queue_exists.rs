//! `QueueExists`: a gang waits for its queue, which must take it, and for its priority class.

use crate::fairness;
use crate::framework::{Plugin, PreEnqueue};
use crate::state::{ClusterState, Gang};
use muster_model::Why;

/// Holds back gangs whose queue or priority class does not exist, and those that their queue does not
/// take.
#[derive(Debug)]
pub(super) struct QueueExists;

impl Plugin for QueueExists {
    fn name(&self) -> &'static str {
        "QueueExists"
    }
}

impl PreEnqueue for QueueExists {
    fn guards_admission(&self) -> bool {
        true
    }

    fn holds_back(&self, state: &ClusterState, gang: &Gang) -> Option<Why> {
        let queue = gang.queue.and_then(|id| state.queues().get(id));
        if let Some(queue) = queue.filter(|queue| queue.spec.is_none()) {
            let name = &queue.name;
            return Some(Why::new(
                "QueueNotFound",
                &format!("queue \"{name}\" does not exist"),
            ));
        }
        if let Some(class) = &gang.unknown_priority_class {
            let message = format!("priority class \"{class}\" does not exist");
            return Some(Why::new("PriorityClassNotFound", &message));
        }
        // Who has begun goes on, whatever becomes of the queue.
        let begun = gang.available() > 0;
        gang.queue
            .filter(|_| !begun)
            .and_then(|queue| fairness::refuses(state, gang, queue))
    }

    fn holds_back_growth(&self, state: &ClusterState, gang: &Gang) -> Option<Why> {
        fairness::refuses(state, gang, gang.queue?)
    }
}
