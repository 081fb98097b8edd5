//! `NodeDeclaredFeatures`: what a pod needs of the kubelet, the kubelet must have declared.

use crate::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::state::{NodeId, Shape};
use muster_model::NodeFeatures;

/// Filters by the features that the pod's fields need and the node's status declares (source:
/// kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct NodeDeclaredFeatures;

impl Plugin for NodeDeclaredFeatures {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatures"
    }
}

impl Filter for NodeDeclaredFeatures {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let constraints = cx.state.shapes().constraints(cx.shape.constraints);
        let needed = constraints.map_or(NodeFeatures::NONE, |one| one.features);
        let declared = cx.state.nodes().facts(node).features;
        Verdict::fit_unless(!declared.has(needed), Reason::Features)
    }
}
