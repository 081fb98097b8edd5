//! `LeastAllocated` and `MostAllocated`: the emptiest node, or the fullest, as kube-scheduler counts it.

use crate::framework::{Context, MAX_SCORE, Plugin, Scope, Score};
use crate::state::{NodeId, NodeSet, Shape};
use muster_model::resources::Dimension;

/// What a node scores that is all free, or all taken: finer than [`MAX_SCORE`], for where no other
/// plugin scores.
const WHOLE: i64 = 1_000_000;

/// Spreads: prefers the node on which the largest part stays free once the pod is there, as the mean over
/// CPU, memory and what else the pod asks for (source: kube-scheduler's NodeResourcesFit, strategy
/// LeastAllocated).
#[derive(Debug)]
pub(super) struct LeastAllocated;

/// The opposite (source: the same, strategy MostAllocated). Unlike `Packing` it sees only how full a node
/// is, not how much that leaves unused, nor whether the node is opened.
#[derive(Debug)]
pub(super) struct MostAllocated;

impl Plugin for LeastAllocated {
    fn name(&self) -> &'static str {
        "LeastAllocated"
    }
}

impl Plugin for MostAllocated {
    fn name(&self) -> &'static str {
        "MostAllocated"
    }
}

impl Score for LeastAllocated {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        scores.extend(nodes.iter().map(|node| free_part(cx, node)));
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        free_part(cx, node)
    }

    fn has_scale(&self) -> bool {
        true
    }

    fn on_scale(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        free_part(cx, node) * MAX_SCORE / WHOLE
    }
}

impl Score for MostAllocated {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        scores.extend(nodes.iter().map(|node| WHOLE - free_part(cx, node)));
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        WHOLE - free_part(cx, node)
    }

    fn has_scale(&self) -> bool {
        true
    }

    fn on_scale(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        (WHOLE - free_part(cx, node)) * MAX_SCORE / WHOLE
    }
}

/// Which part of a node stays free with the pod on it, from 0 to [`WHOLE`].
fn free_part(cx: &Context<'_>, node: NodeId) -> i64 {
    let request = &cx.shape.request;
    let further = request.iter().map(|(dimension, _)| dimension);
    let further = further.filter(|one| !BASE.contains(one) && *one != Dimension::PODS);
    let (mut sum, mut resources) = (0_i128, 0_i128);
    for dimension in BASE.into_iter().chain(further) {
        let offered = cx.state.nodes().allocatable(node, dimension);
        if offered > 0 {
            let free = cx.state.nodes().free(node, dimension) - request.get(dimension);
            let free = free.clamp(0, offered);
            sum += i128::from(free) * i128::from(WHOLE) / i128::from(offered);
            resources += 1;
        }
    }
    let mean = sum.checked_div(resources);
    mean.and_then(|mean| i64::try_from(mean).ok()).unwrap_or(0)
}

/// What counts whether or not the pod asks for it.
const BASE: [Dimension; 2] = [Dimension::CPU, Dimension::MEMORY];
