//! `Packing`: the node on which the pod leaves least unused.

use crate::framework::{Context, MAX_SCORE, Plugin, Scope, Score};
use crate::state::{ClusterState, NodeId, NodeSet, Nodes, Shape};
use muster_model::digest;
use muster_model::resources::{Dimension, Dimensions};
use std::borrow::Cow;

/// Its name.
pub(super) const NAME: &str = "Packing";

/// Prefers nodes that are in use to those it would open: what is left free of an opened node is lost to
/// whoever needs whole nodes (source: mission, "Packing"; docs/placement.md). Before that, whoever asks
/// for no device keeps off nodes with devices: without cores to go with them they are of no use. Among nodes of either
/// kind it scores by the leftover after the pod, summed over resources, each weighted so that the whole
/// cluster's amount of it weighs as much as its CPUs.
#[derive(Debug)]
pub(super) struct Packing;

impl Plugin for Packing {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Score for Packing {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        let table = cx.state.nodes();
        let first = scores.len();
        scores.resize(first + nodes.len(), 0);
        // Resource by resource, each in one run over its columns; `for_each` compiles to plain
        // loops over the words of the set, a `for` loop would not.
        for weight in &*weights(cx).by_resource {
            let free = table.free_column(weight.dimension);
            let amount = cx.shape.request.get(weight.dimension);
            let mut slots = scores[first..].iter_mut();
            nodes.iter().for_each(|node| {
                if let Some(score) = slots.next() {
                    let leftover = weight.apply(free(node) - amount);
                    *score = score.saturating_sub(leftover);
                }
            });
        }
        let devices = cx.devices_to_spare();
        let mut slots = scores[first..].iter_mut();
        nodes.iter().for_each(|node| {
            if let Some(score) = slots.next() {
                *score = score.saturating_sub(opening(table, node));
                *score = score.saturating_sub(sparing(devices, node));
            }
        });
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    fn basis(&self, cx: &Context<'_>) -> u64 {
        weights(cx).digest
    }

    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        let nodes = cx.state.nodes();
        let leftover = |weight: &Weight| {
            let free = nodes.free(node, weight.dimension);
            weight.apply(free - cx.shape.request.get(weight.dimension))
        };
        let weights = weights(cx);
        let leftovers = weights.by_resource.iter().map(leftover);
        leftovers
            .fold(0, i64::saturating_sub)
            .saturating_sub(opening(nodes, node))
            .saturating_sub(sparing(cx.devices_to_spare(), node))
    }

    fn has_scale(&self) -> bool {
        true
    }

    /// Half of it for a node that is in use, and half for how little of the node is left over; nothing for
    /// one whose devices are not asked for.
    fn on_scale(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        const HALF: i64 = MAX_SCORE / 2;
        if sparing(cx.devices_to_spare(), node) > 0 {
            return 0;
        }
        let (nodes, weights) = (cx.state.nodes(), weights(cx));
        let left = |one| nodes.free(node, one) - cx.shape.request.get(one);
        let left = weights.sum(|one| left(one).max(0));
        let all = weights.sum(|one| nodes.allocatable(node, one));
        let lost = (i128::from(left) * i128::from(HALF)).checked_div(i128::from(all));
        let lost = lost.and_then(|lost| i64::try_from(lost).ok()).unwrap_or(0);
        let in_use = if nodes.in_use_by(node) > 0 { HALF } else { 0 };
        in_use + (HALF - lost).clamp(0, HALF)
    }
}

/// More than any leftover weighs: see [`Weight`].
const OPENING: i64 = 1 << 61;

/// What it weighs that a node is opened, if it would be.
fn opening(nodes: &Nodes, node: NodeId) -> i64 {
    if nodes.in_use_by(node) == 0 {
        OPENING
    } else {
        0
    }
}

/// More than any leftover and an opened node weigh together.
const SPARING: i64 = 1 << 62;

/// What it weighs that a node's devices are to be spared.
fn sparing(devices: Option<&NodeSet>, node: NodeId) -> i64 {
    if devices.is_some_and(|nodes| nodes.contains(node)) {
        SPARING
    } else {
        0
    }
}

/// The weights of this cycle.
fn weights<'a>(cx: &Context<'a>) -> Cow<'a, Weights> {
    match cx.store.get::<Weights>() {
        Some(weights) => Cow::Borrowed(weights),
        None => Cow::Owned(Weights::of(cx.state)),
    }
}

/// How much one unit of a resource weighs, in fixed point: `(amount >> shift) * factor`. The whole
/// cluster's amount of any resource weighs about 2^56, so that 32 resources sum without overflow.
#[derive(Clone, Copy, Debug, Hash)]
struct Weight {
    dimension: Dimension,
    shift: u32,
    factor: i64,
}

impl Weight {
    fn new(dimension: Dimension, total: i64) -> Option<Self> {
        let bits = i64::BITS - total.leading_zeros();
        let shift = bits.saturating_sub(28);
        let factor = (1_i64 << 56).checked_div(total >> shift)?;
        (total > 0).then_some(Self {
            dimension,
            shift,
            factor,
        })
    }

    const fn apply(self, amount: i64) -> i64 {
        (amount >> self.shift).saturating_mul(self.factor)
    }
}

/// The weights of all resources for the cluster as it is: those that pods share a node's capacity
/// of, so neither `pods` nor `ephemeral-storage`.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    by_resource: Vec<Weight>,
    digest: u64,
}

impl Weights {
    /// From what the nodes offer now.
    #[must_use]
    pub fn of(state: &ClusterState) -> Self {
        let dimensions: &Dimensions = state.dimensions();
        let counts =
            |one: &Dimension| ![Dimension::PODS, Dimension::EPHEMERAL_STORAGE].contains(one);
        let weight = |one| Weight::new(one, state.nodes().total(one));
        let counted = dimensions.iter().filter(counts);
        let by_resource: Vec<Weight> = counted.filter_map(weight).collect();
        Self {
            digest: digest::of(&by_resource),
            by_resource,
        }
    }

    /// Amounts of these resources together.
    #[must_use]
    pub fn sum(&self, amount: impl Fn(Dimension) -> i64) -> i64 {
        let weighted = |one: &Weight| one.apply(amount(one.dimension));
        let amounts = self.by_resource.iter().map(weighted);
        amounts.fold(0, i64::saturating_add)
    }

    /// Another number where they differ.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_cluster_of_any_resource_weighs_the_same() {
        for total in [8, 64_000, 1 << 50, i64::MAX] {
            let weight = Weight::new(Dimension::CPU, total).unwrap();
            let whole = weight.apply(total) as f64 / (1_i64 << 56) as f64;
            assert!((0.999..=1.001).contains(&whole), "{total}: {whole}");
        }
    }

    #[test]
    fn a_resource_nobody_offers_weighs_nothing() {
        assert!(Weight::new(Dimension::CPU, 0).is_none());
    }
}
