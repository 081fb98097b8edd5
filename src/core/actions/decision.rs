//! What was decided, for the log.

use crate::core::model::GangKey;

/// What was decided on one gang in one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Which gang.
    pub gang: GangKey,
    /// What people call it: [`ClusterState::gang_title`](crate::core::state::ClusterState::gang_title).
    pub name: String,
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
    /// It cannot be placed now.
    Waits {
        /// Typed reason.
        reason: &'static str,
        /// In words.
        message: String,
    },
    /// It was partly bound and could not be completed: these many members are evicted.
    Released {
        /// Members evicted.
        pods: u32,
        /// Why.
        message: String,
    },
}
