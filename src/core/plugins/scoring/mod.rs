//! kube-scheduler's scores, in whole numbers and with its results (docs/kubernetes-parity.md, "Scores").
//!
//! What a score needs to know of a pod beyond what filters look at is in its shape's
//! [`Preferences`](muster_model::Preferences), and only where a profile scores by it.

mod balanced;
mod fit;
mod images;
mod resources;
mod storage;

pub(super) use balanced::NodeResourcesBalancedAllocation;
pub(super) use fit::FitScore;
pub use fit::{MAX_UTILIZATION, Point, Strategy};
pub(super) use images::ImageLocality;
pub use resources::ResourceWeight;
pub(super) use storage::StorageCapacity;

use super::node_affinity::Added;
use super::topology_spread;
use muster_model::DefaultSpread;
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
    /// Of `InterPodAffinity`: what a required term of affinity weighs, of a pod that has its place.
    pub hard_pod_affinity_weight: i64,
    /// And whether others' preferred terms count only for pods that have some of their own.
    pub ignore_preferred_terms_of_existing_pods: bool,
    /// Of `PodTopologySpread`: by which rules pods are spread that have none of their own.
    pub default_spread: DefaultSpread,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            strategy: Strategy::LeastAllocated,
            resources: ResourceWeight::cpu_and_memory(),
            balanced: ResourceWeight::cpu_and_memory(),
            added_affinity: Arc::default(),
            hard_pod_affinity_weight: 1,
            ignore_preferred_terms_of_existing_pods: false,
            default_spread: topology_spread::system_defaults(),
        }
    }
}
