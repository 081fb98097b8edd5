//! What was decided, for the log, and what took how long, for histograms.

use crate::core::units::Millis;
use std::sync::Arc;

/// What was decided on one gang in one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Which gang, as people call it: the PodGroup's or the pod's namespace and name.
    pub gang: String,
    /// Its queue.
    pub queue: String,
    /// What was decided.
    pub outcome: Outcome,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// These many pods got a place, on these many nodes.
    Placed {
        /// Pods placed in this step.
        pods: u32,
        /// Different nodes they go to.
        nodes: u32,
    },
    /// It cannot be placed, and has not been able to for a while.
    Waits {
        /// Typed reason.
        reason: &'static str,
        /// In words.
        message: Arc<str>,
    },
    /// It was partly bound and could not be completed: these many members are evicted.
    Released {
        /// Members evicted.
        pods: u32,
        /// Why.
        message: Arc<str>,
    },
}

/// Something that took a while and is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What it was.
    pub kind: SpanKind,
    /// In which queue.
    pub queue: String,
    /// How long it took.
    pub length: Millis,
}

/// What takes a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpanKind {
    /// A gang waited, from its submission until its minimum got its place.
    Waiting,
    /// A gang was partly bound: until its minimum was bound, or its release began.
    PartlyBound,
}
