//! `GangSelector`: the labels that a gang wants of all its nodes.

use crate::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::state::{NodeId, NodeSet, Shape};
use muster_model::labels_match;

/// Filters out nodes that lack a label of the PodGroup's `nodeSelector`, or the one by whose values its topology is. It is part of its members'
/// constraints, so that equal members of other gangs have another shape.
#[derive(Debug)]
pub(super) struct GangSelector;

impl Plugin for GangSelector {
    fn name(&self) -> &'static str {
        "GangSelector"
    }
}

impl Filter for GangSelector {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let Some(wanted) = cx.state.shapes().constraints(cx.shape.constraints) else {
            return Verdict::Fit;
        };
        let (wanted, labels) = (&wanted.gang, &cx.state.nodes().facts(node).labels);
        let has_all = wanted.labels.iter().all(|label| labels.contains_key(label));
        let suits = has_all && labels_match(&wanted.selector, labels);
        Verdict::fit_unless(!suits, Reason::GangSelector)
    }

    fn at_most(&self, cx: &Context<'_>) -> Option<(NodeSet, Reason)> {
        let wanted = cx.state.shapes().constraints(cx.shape.constraints)?;
        let nodes = cx.state.nodes().carriers(&wanted.gang.selector)?;
        Some((nodes, Reason::GangSelector))
    }
}
