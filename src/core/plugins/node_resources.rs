//! `NodeResourcesFit`: what the pod requests must be left on the node.

use crate::framework::{Context, Filter, Mates, Plugin, Reason, Scope, Verdict};
use crate::state::{NodeId, NodeSet, Shape};
use muster_model::resources::Dimension;

/// Its name.
pub(super) const NAME: &str = "NodeResourcesFit";

/// Filters by the resources of which the pod requests more than nothing, and by the number of
/// pods (source: kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct NodeResourcesFit;

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Filter for NodeResourcesFit {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    fn mates(&self, _: &Shape) -> Mates {
        Mates::ByAmounts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        if has_its_own_room(cx) {
            return Verdict::Fit;
        }
        let nodes = cx.state.nodes();
        let short = |(dimension, amount)| amount > nodes.free(node, dimension);
        let reason = |(dimension, _)| match dimension {
            Dimension::PODS => Reason::TooManyPods,
            other => Reason::Insufficient(other),
        };
        let request = cx.shape.request.iter();
        let known = request.filter(|(one, _)| *one != Dimension::NOWHERE);
        let unknown = cx.shape.unknown.iter();
        let unknown = unknown.map(|(name, _)| Reason::Unknown(name.clone()));
        let reasons = known.filter(|one| short(*one)).map(reason);
        let reasons: Vec<_> = reasons.chain(unknown).collect();
        if reasons.is_empty() {
            Verdict::Fit
        } else {
            Verdict::Unfit(reasons)
        }
    }

    fn suits(&self, cx: &Context<'_>, node: NodeId) -> bool {
        let nodes = cx.state.nodes();
        let mut request = cx.shape.request.iter();
        has_its_own_room(cx)
            || request.all(|(dimension, amount)| amount <= nodes.free(node, dimension))
    }

    fn room(&self, cx: &Context<'_>, node: NodeId) -> u32 {
        if has_its_own_room(cx) {
            return u32::MAX;
        }
        let nodes = cx.state.nodes();
        let times = |(dimension, amount): (Dimension, i64)| {
            let times = nodes.free(node, dimension).max(0).checked_div(amount);
            times.map_or(u32::MAX, |times| u32::try_from(times).unwrap_or(u32::MAX))
        };
        cx.shape.request.iter().map(times).min().unwrap_or(u32::MAX)
    }

    fn retain(&self, cx: &Context<'_>, nodes: &mut NodeSet) {
        if has_its_own_room(cx) {
            return;
        }
        for (dimension, amount) in cx.shape.request.iter() {
            cx.state.nodes().retain_with_room(nodes, dimension, amount);
        }
    }
}

/// The room of a pod that claims a slot is its slot's: that it fits there says `Slots`, and nobody else has it.
fn has_its_own_room(cx: &Context<'_>) -> bool {
    cx.shape.claim.is_some()
}
