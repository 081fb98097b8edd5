//! Which node is the best for a pod.

use muster_core::framework::{Context, Plugin, Scope, Score};
use muster_core::plugins::{Weights, registry};
use muster_core::state::{Id, NodeId, NodeSet, Shape};
use muster_model::resources::Dimension;
use std::fmt;
use std::sync::Arc;

/// Best fit: the node on which least stays free, weighted as Muster weights it; whether the node was in use
/// before does not matter.
#[derive(Debug)]
pub(super) struct BestFit;

/// First fit: the first node.
#[derive(Debug)]
pub(super) struct FirstFit;

/// Spread: kube-scheduler's LeastAllocated, which is in the registry.
pub(super) struct Spread(Option<Arc<dyn Score>>);

/// KAI's: a pod without GPUs prefers nodes without any; then the node with the fewest free GPUs, or CPUs
/// (source: KAI's plugins resourcetype and nodeplacement, strategy binpack).
#[derive(Debug)]
pub(super) struct Binpack;

impl Default for Spread {
    fn default() -> Self {
        let mut scores = registry::scores().into_iter();
        Self(scores.find(|one| one.name() == "LeastAllocated"))
    }
}

impl fmt::Debug for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spread")
    }
}

/// Adds a score for each node.
fn all(nodes: &NodeSet, scores: &mut Vec<i64>, one: impl Fn(NodeId) -> i64) {
    scores.extend(nodes.iter().map(one));
}

impl Plugin for BestFit {
    fn name(&self) -> &'static str {
        "BestFit"
    }
}

impl BestFit {
    fn left(cx: &Context<'_>, weights: &Weights, node: NodeId) -> i64 {
        let free = |one| cx.state.nodes().free(node, one);
        weights.sum(|one| free(one) - cx.shape.request.get(one))
    }
}

/// Those of the cycle.
fn with_weights<T>(cx: &Context<'_>, what: impl FnOnce(&Weights) -> T) -> T {
    match cx.store.get::<Weights>() {
        Some(weights) => what(weights),
        None => what(&Weights::of(cx.state)),
    }
}

impl Score for BestFit {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        with_weights(cx, |weights| {
            all(nodes, scores, |node| -Self::left(cx, weights, node));
        });
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    fn basis(&self, cx: &Context<'_>) -> u64 {
        with_weights(cx, Weights::digest)
    }

    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        with_weights(cx, |weights| -Self::left(cx, weights, node))
    }
}

impl Plugin for FirstFit {
    fn name(&self) -> &'static str {
        "FirstFit"
    }
}

impl Score for FirstFit {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        all(nodes, scores, |node| self.score_one(cx, node));
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn score_one(&self, _: &Context<'_>, node: NodeId) -> i64 {
        i64::try_from(node.index()).map_or(i64::MIN + 2, |index| -index)
    }
}

impl Plugin for Spread {
    fn name(&self) -> &'static str {
        "Spread"
    }
}

impl Score for Spread {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        all(nodes, scores, |node| self.score_one(cx, node));
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        self.0.as_ref().map_or(0, |one| one.score_one(cx, node))
    }
}

impl Plugin for Binpack {
    fn name(&self) -> &'static str {
        "Binpack"
    }
}

impl Score for Binpack {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        all(nodes, scores, |node| self.score_one(cx, node));
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        /// More than any node has of what is counted.
        const OF_ANOTHER_TYPE: i64 = 1 << 40;
        let nodes = cx.state.nodes();
        let Some(gpu) = cx.state.dimensions().get("nvidia.com/gpu") else {
            return -nodes.free(node, Dimension::CPU);
        };
        if cx.shape.request.get(gpu) > 0 {
            return -nodes.free(node, gpu);
        }
        let has_gpus = nodes.allocatable(node, gpu) > 0;
        let other = if has_gpus { OF_ANOTHER_TYPE } else { 0 };
        -nodes.free(node, Dimension::CPU) - other
    }
}
