//! `TaintToleration`: taints keep off pods that do not tolerate them.

use crate::core::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::core::model::{Taint, TaintEffect, Toleration};
use crate::core::state::{NodeId, Shape};

/// Filters by taints of effect NoSchedule and NoExecute; PreferNoSchedule does not filter
/// (source: kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct TaintToleration;

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }
}

impl Filter for TaintToleration {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let constraints = cx.state.shapes().constraints(cx.shape.constraints);
        let tolerations: &[Toleration] = constraints.map_or(&[], |one| &one.tolerations);
        let repels = |taint: &Taint| {
            taint.effect != TaintEffect::PreferNoSchedule
                && !tolerations.iter().any(|one| one.tolerates(taint))
        };
        let taints = &cx.state.nodes().facts(node).taints;
        Verdict::fit_unless(taints.iter().any(repels), Reason::Taint)
    }
}
