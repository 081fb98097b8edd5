//! Queues, priority classes and namespaces as the core is told of them.

use super::Labels;

/// The queue that exists by itself.
pub const DEFAULT_QUEUE: &str = "default";

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; empty for the queue that exists by itself.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// `spec.priority`: queues of a higher tier go first.
    pub tier: i32,
    /// `spec.weight`: its part among its siblings.
    pub weight: u32,
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            name: DEFAULT_QUEUE.to_owned(),
            uid: String::new(),
            generation: 0,
            tier: 0,
            weight: 1,
        }
    }
}

/// A `scheduling.k8s.io/v1` PriorityClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriorityClassSpec {
    /// `metadata.name`.
    pub name: String,
    /// `value`.
    pub value: i32,
    /// `globalDefault`: what pods without a class get.
    pub global_default: bool,
}

/// A namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceSpec {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.labels`.
    pub labels: Labels,
    /// Annotation `muster.dev/queue`: the queue of gangs here that name none.
    pub queue: Option<String>,
}
