//! Orders that touch pods: what to do, without a choice left.

use super::{Code, GangKey, PodKey, Question};
use std::sync::Arc;

/// A pod is to be bound: by `POST pods/binding`, or by whoever does it in our place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bind {
    /// The pod.
    pub pod: PodKey,
    /// The node's name.
    pub node: String,
    /// Its slot's number, if it claims one: for the pod's annotation `muster.dev/slot`.
    pub slot: Option<u32>,
    /// Whether its gang has members on nodes and not yet its minimum: it is completed before others begin.
    pub completes: bool,
    /// What somebody outside is asked who is to bind it. Who says that it is not theirs leaves it to us.
    pub asks: Option<Arc<Question>>,
}

/// A pod that has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Evict {
    /// The pod.
    pub pod: PodKey,
    /// What it goes for.
    pub cause: EvictCause,
    /// Whom it makes room for.
    pub beneficiary: Option<GangKey>,
    /// Why, in words for its event and its condition `DisruptionTarget`.
    pub message: Arc<str>,
    /// Whether it was ordered before and refused: the pod has been told why.
    pub again: bool,
}

/// What a pod is evicted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum EvictCause {
    /// Its gang is below its minimum and leaves its nodes as a whole.
    Release,
    /// It makes room for somebody.
    Preemption,
}

/// Why a pod waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodWaits {
    /// The pod.
    pub pod: PodKey,
    /// `Unschedulable` or `SchedulerError`: what autoscalers key on.
    pub reason: Code,
    /// In words: `0/3 nodes are available: ...`.
    pub message: Arc<str>,
    /// The node that it is to have once others have left it (`status.nominatedNodeName`); empty: none any
    /// more. `None`: nothing was ever said of it, and what others say there stays.
    pub nominated: Option<Arc<str>>,
}
