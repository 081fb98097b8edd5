//! Whom a queue takes, whatever it holds: who runs queues says so.

use crate::state::{ClusterState, Gang, Queue, QueueId};
use muster_model::{Labels, QueueSpec, Why};

/// Why a queue takes no member of a gang in, whatever it holds.
#[must_use]
pub fn refuses(state: &ClusterState, gang: &Gang, queue: QueueId) -> Option<Why> {
    let queue = state.queues().get(queue)?;
    let Some(spec) = &queue.spec else {
        let words = format!("queue \"{}\" does not exist", queue.name);
        return Some(Why::new("QueueNotFound", &words));
    };
    closed_to(state, gang, queue, spec)
}

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
