//! `WholeCluster`: a gang may go anywhere.

use crate::core::framework::{GangDomains, Plugin};
use crate::core::state::{ClusterState, Gang, NodeSet};

/// Offers one domain with every node in it.
#[derive(Debug)]
pub(super) struct WholeCluster;

impl Plugin for WholeCluster {
    fn name(&self) -> &'static str {
        "WholeCluster"
    }
}

impl GangDomains for WholeCluster {
    fn domains(&self, state: &ClusterState, _gang: &Gang) -> Vec<NodeSet> {
        vec![state.nodes().present().clone()]
    }
}
