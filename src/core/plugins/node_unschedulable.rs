//! `NodeUnschedulable`: cordoned nodes take no new pods.

use crate::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::state::{NodeId, Shape};
use muster_model::{Taint, TaintEffect, Toleration};

/// Filters out cordoned nodes, unless the pod tolerates the taint that stands for the cordon
/// (source: kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct NodeUnschedulable;

const CORDON_TAINT: &str = "node.kubernetes.io/unschedulable";

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        "NodeUnschedulable"
    }
}

impl Filter for NodeUnschedulable {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        if !cx.state.nodes().facts(node).unschedulable {
            return Verdict::Fit;
        }
        let cordon = Taint {
            key: CORDON_TAINT.to_owned(),
            value: String::new(),
            effect: TaintEffect::NoSchedule,
        };
        let constraints = cx.state.shapes().constraints(cx.shape.constraints);
        let tolerations: &[Toleration] = constraints.map_or(&[], |one| &one.tolerations);
        let tolerated = tolerations.iter().any(|one| one.tolerates(&cordon));
        Verdict::fit_unless(!tolerated, Reason::Unschedulable)
    }
}
