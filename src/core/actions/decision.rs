//! What was decided, for the log, and what took how long, for histograms.

use crate::core::model::GangKey;
use crate::core::placement::Neighbours;
use crate::core::state::{ClusterState, GangId};
use crate::core::units::Millis;
use std::sync::Arc;

/// What was decided on one gang in one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Which gang, as people call it: the PodGroup's or the pod's namespace and name.
    pub gang: String,
    /// The key of its PodGroup, if it is more than a pod.
    pub group: Option<GangKey>,
    /// Its queue.
    pub queue: String,
    /// What was decided.
    pub outcome: Outcome,
}

impl Decision {
    /// What was decided on a gang.
    pub(in crate::core) fn on(state: &ClusterState, id: GangId, outcome: Outcome) -> Self {
        let gang = state.gang(id).filter(|gang| !gang.is_single());
        Self {
            gang: state.gang_title(id),
            group: gang.map(|gang| gang.key.clone()),
            queue: state.queue_name(id).to_owned(),
            outcome,
        }
    }
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
        /// What stays free on those of them on which nobody else is, in worth.
        lost: u64,
        /// What it had to lose at least, in worth, where that is known.
        at_least: Option<u64>,
        /// How far those with a rank are from the next, if there are any.
        ranks: Option<Neighbours>,
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
