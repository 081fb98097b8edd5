//! `GangSelector`: the labels that a PodGroup wants of all its nodes.

use crate::core::framework::{Context, Plugin, PreFilter, PreFilterVerdict, Reason};
use crate::core::model::labels_match;

/// Narrows the nodes to those that carry the labels of the PodGroup's `nodeSelector`.
#[derive(Debug)]
pub(super) struct GangSelector;

impl Plugin for GangSelector {
    fn name(&self) -> &'static str {
        "GangSelector"
    }
}

impl PreFilter for GangSelector {
    fn pre_filter(&self, cx: &Context<'_>) -> PreFilterVerdict {
        let gang = cx.pod.gang.and_then(|id| cx.state.gang(id));
        let Some(wanted) = gang.and_then(|gang| gang.node_selector()) else {
            return PreFilterVerdict::Continue;
        };
        let mut nodes = cx.state.nodes().present().clone();
        nodes.retain(|node| labels_match(wanted, &cx.state.nodes().facts(node).labels));
        PreFilterVerdict::Narrow(nodes, Reason::GangSelector)
    }
}
