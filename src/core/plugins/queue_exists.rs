//! `QueueExists`: a gang waits for its queue and for its priority class.

use crate::core::framework::{Plugin, PreEnqueue};
use crate::core::model::Why;
use crate::core::state::{ClusterState, Gang};

/// Holds back gangs whose queue or priority class does not exist.
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
        let class = gang.unknown_priority_class.as_ref()?;
        let message = format!("priority class \"{class}\" does not exist");
        Some(Why::new("PriorityClassNotFound", &message))
    }
}
