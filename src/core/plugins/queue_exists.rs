//! `QueueExists`: a gang waits for its queue, which must take it, and for its priority class.

use crate::framework::{Plugin, PreEnqueue};
use crate::state::{ClusterState, Gang, Queue};
use muster_model::{Labels, QueueSpec, Why};

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
        let queue = queue?;
        // Who has begun goes on, whatever becomes of the queue.
        let begun = gang.available() > 0;
        queue
            .spec
            .as_ref()
            .filter(|_| !begun)
            .and_then(|spec| closed_to(state, gang, queue, spec))
    }
}

/// Why a queue takes a gang not in.
fn closed_to(state: &ClusterState, gang: &Gang, queue: &Queue, spec: &QueueSpec) -> Option<Why> {
    let name = &queue.name;
    let says = |words: &str| format!("queue {name}: {words}");
    let not_ready = |words: &str| Some(Why::new("QueueNotReady", &says(words)));
    let forbidden = |words: &str| Some(Why::new("QueueForbidden", &says(words)));
    if let Some(problem) = &queue.misplaced {
        return not_ready(&problem.to_string());
    }
    if let Some(problem) = &spec.invalid {
        return not_ready(problem);
    }
    if let Some(child) = queue
        .children
        .first()
        .and_then(|id| state.queues().get(*id))
    {
        let words = format!(
            "it has queues below it, such as {}; only the lowest take gangs",
            child.name
        );
        return not_ready(&words);
    }
    if !spec.is_open {
        let words = says("it is closed: only what has begun goes on");
        return Some(Why::new("QueueClosed", &words));
    }
    if let Some(selector) = &spec.namespace_selector {
        let namespace = &gang.key.namespace;
        let labels = state.namespace(namespace).map(|one| &one.labels);
        if !selector.matches(labels.unwrap_or(&Labels::new())) {
            let words = format!("its namespaceSelector does not choose namespace {namespace}");
            return forbidden(&words);
        }
    }
    let class = spec.max_priority_class.as_ref()?;
    match state.priority_class(class) {
        None => {
            let words = format!("spec.maxPriorityClassName: class \"{class}\" does not exist");
            not_ready(&words)
        }
        Some(most) if gang.priority > most.value => {
            let (priority, most) = (gang.priority, most.value);
            let words = format!("priority {priority} is above that of its class {class}, {most}");
            forbidden(&words)
        }
        Some(_) => None,
    }
}
