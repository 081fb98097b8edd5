//! `NodeAffinity`: the pod's node selector and its required node affinity.

use crate::core::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::core::model::labels_match;
use crate::core::state::{NodeId, Shape};

/// Filters by `nodeSelector` and by the required terms of node affinity: the selector and one of
/// the terms must match (source: kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct NodeAffinity;

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }
}

impl Filter for NodeAffinity {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let Some(wanted) = cx.state.shapes().constraints(cx.shape.constraints) else {
            return Verdict::Fit;
        };
        let (name, facts) = (cx.state.nodes().name(node), cx.state.nodes().facts(node));
        let affinity = wanted
            .affinity
            .as_ref()
            .is_none_or(|terms| terms.iter().any(|term| term.matches(name, &facts.labels)));
        let matches = affinity && labels_match(&wanted.selector, &facts.labels);
        Verdict::fit_unless(!matches, Reason::NodeAffinity)
    }
}
