//! kube-scheduler's scores, in whole numbers and with its results (docs/kubernetes-parity.md, "Scores").
//!
//! What a score needs to know of a pod beyond what filters look at is in its shape's
//! [`Preferences`](crate::core::model::Preferences), and only where a profile scores by it.

mod balanced;
mod fit;
mod images;
mod resources;

pub(super) use balanced::NodeResourcesBalancedAllocation;
pub(super) use fit::FitScore;
pub use fit::{MAX_UTILIZATION, Point, Strategy};
pub(super) use images::ImageLocality;
pub use resources::ResourceWeight;

use super::node_affinity::Added;
use std::sync::Arc;

/// What the plugins of kube-scheduler can be told (`pluginConfig`).
#[derive(Clone, Debug)]
pub struct Arguments {
    /// Of `NodeResourcesFit`: by which rule a node is scored.
    pub strategy: Strategy,
    /// And by which resources.
    pub resources: Vec<ResourceWeight>,
    /// Of `NodeResourcesBalancedAllocation`: which resources are to be used alike.
    pub balanced: Vec<ResourceWeight>,
    /// Of `NodeAffinity`: what counts for every pod of the profile besides what it says itself.
    pub added_affinity: Arc<Added>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            strategy: Strategy::LeastAllocated,
            resources: ResourceWeight::cpu_and_memory(),
            balanced: ResourceWeight::cpu_and_memory(),
            added_affinity: Arc::default(),
        }
    }
}
