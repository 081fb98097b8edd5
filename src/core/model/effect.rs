//! Orders that touch pods: what to do, without a choice left.

use super::PodKey;

/// `POST pods/binding`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// The pod.
    pub pod: PodKey,
    /// The node's name.
    pub node: String,
}

/// A pod that has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evict {
    /// The pod.
    pub pod: PodKey,
    /// Why, in words for its event and its condition `DisruptionTarget`.
    pub message: String,
}

/// Why a pod waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodWaits {
    /// The pod.
    pub pod: PodKey,
    /// `Unschedulable` or `SchedulerError`: what autoscalers key on.
    pub reason: &'static str,
    /// In words: `0/3 nodes are available: ...`.
    pub message: String,
}
