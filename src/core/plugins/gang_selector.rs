//! `GangSelector`: the labels that a PodGroup wants of all its nodes.

use crate::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::state::{NodeId, NodeSet, Shape};
use muster_model::labels_match;

/// Filters out nodes that lack a label of the PodGroup's `nodeSelector`. It is part of its members'
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
        let wanted = cx.state.shapes().constraints(cx.shape.constraints);
        let labels = &cx.state.nodes().facts(node).labels;
        let lacks = wanted.is_some_and(|wanted| !labels_match(&wanted.gang_selector, labels));
        Verdict::fit_unless(lacks, Reason::GangSelector)
    }

    fn at_most(&self, cx: &Context<'_>) -> Option<(NodeSet, Reason)> {
        let wanted = cx.state.shapes().constraints(cx.shape.constraints)?;
        let nodes = cx.state.nodes().carriers(&wanted.gang_selector)?;
        Some((nodes, Reason::GangSelector))
    }
}
