//! What a plugin was asked to reserve, to be given back.

use crate::framework::{Reserve, Spot};
use crate::state::ClusterState;
use muster_model::PodKey;
use std::fmt;
use std::sync::Arc;

/// A plugin was asked to reserve what a pod needs on a node.
#[derive(Clone)]
pub struct Reserved {
    /// The pod.
    pub pod: PodKey,
    /// The node's name.
    pub node: String,
    /// The plugin.
    pub(super) plugin: Arc<dyn Reserve>,
}

impl Reserved {
    /// The plugin is told that nothing came of it.
    pub fn give_back(&self, state: &ClusterState) {
        self.plugin.unreserve(&Spot {
            state,
            pod: &self.pod,
            node: &self.node,
        });
    }
}

impl fmt::Debug for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plugin, pod, node) = (self.plugin.name(), &self.pod, &self.node);
        write!(f, "{plugin} for {pod} on {node}")
    }
}
