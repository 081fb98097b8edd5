//! `NodePorts`: a host port serves one pod.

use crate::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::state::{NodeId, NodeSet, Shape};

/// Filters out nodes on which a host port of the pod is taken (source: kube-scheduler's plugin of
/// this name).
#[derive(Debug)]
pub(super) struct NodePorts;

impl Plugin for NodePorts {
    fn name(&self) -> &'static str {
        "NodePorts"
    }
}

impl Filter for NodePorts {
    fn scope(&self, shape: &Shape) -> Scope {
        if shape.ports.is_empty() {
            Scope::Unconcerned
        } else {
            Scope::NodeUsage
        }
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let taken = cx.state.nodes().ports(node);
        let conflict = |wanted| taken.iter().any(|(port, _)| port.conflicts(wanted));
        Verdict::fit_unless(cx.shape.ports.iter().any(conflict), Reason::Ports)
    }

    fn room(&self, cx: &Context<'_>, node: NodeId) -> u32 {
        u32::from(self.suits(cx, node))
    }

    fn retain(&self, cx: &Context<'_>, nodes: &mut NodeSet) {
        if !cx.shape.ports.is_empty() {
            nodes.retain(|node| self.check(cx, node) == Verdict::Fit);
        }
    }
}
