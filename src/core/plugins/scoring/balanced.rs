//! `NodeResourcesBalancedAllocation`: the node whose resources the pod brings nearest to being used alike.

use super::resources::{Counting, ResourceWeight, requests_none, uses};
use crate::framework::{Context, MAX_SCORE, Plugin, Scope, Score};
use crate::state::{NodeId, NodeSet, Shape};
use muster_model::units::Double;

/// Scores a node by how much further apart, or nearer, the used parts of its resources are with the pod
/// (source: kube-scheduler's plugin of this name). A node that it makes no difference to scores 75.
#[derive(Debug)]
pub(in crate::plugins) struct NodeResourcesBalancedAllocation {
    pub(in crate::plugins) resources: Vec<ResourceWeight>,
}

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> &'static str {
        "NodeResourcesBalancedAllocation"
    }
}

impl Score for NodeResourcesBalancedAllocation {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        scores.extend(nodes.iter().map(|node| self.on_scale(cx, node)));
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    /// A pod that asks for nothing changes no balance: all of them would go to one node.
    fn is_even(&self, cx: &Context<'_>) -> bool {
        requests_none(cx, &self.resources)
    }

    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        self.on_scale(cx, node)
    }

    fn has_scale(&self) -> bool {
        true
    }

    fn on_scale(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        if self.is_even(cx) {
            return 0;
        }
        let uses = || uses(cx, node, &self.resources, Counting::Said);
        let with = balance(uses().map(|one| (one.with, one.of)));
        let without = balance(uses().map(|one| (one.without, one.of)));
        HALF + (HALF + with - without) / 2
    }
}

const HALF: i64 = MAX_SCORE / 2;

/// How alike the parts of these wholes are: the best score if they are equal, half of it if one is all
/// and the other nothing. That is by their standard deviation, rounded where kube-scheduler rounds.
fn balance(parts: impl Iterator<Item = (i64, i64)>) -> i64 {
    let one = Double::from_int(1);
    let int = |amount: i64| Double::from_int(u64::try_from(amount).unwrap_or(0));
    let part = |(amount, of): (i64, i64)| int(amount).divide(int(of)).min(one);
    let parts: Vec<Double> = parts.map(part).collect();
    let deviation = match parts[..] {
        [] | [_] => Double::ZERO,
        [first, second] => first.difference(second).half(),
        _ => {
            let count = Double::from_int(parts.len() as u64);
            let sum = parts.iter().fold(Double::ZERO, |sum, one| sum.plus(*one));
            let mean = sum.divide(count);
            let squares = parts.iter().map(|part| {
                let apart = part.difference(mean);
                apart.times(apart)
            });
            squares
                .fold(Double::ZERO, Double::plus)
                .divide(count)
                .root()
        }
    };
    one.difference(deviation).times(int(MAX_SCORE)).whole()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(parts: &[(i64, i64)]) -> i64 {
        balance(parts.iter().copied())
    }

    #[test]
    fn resources_that_are_used_alike_are_balanced() {
        assert_eq!(of(&[]), 100);
        assert_eq!(of(&[(3000, 4000)]), 100);
        assert_eq!(of(&[(3000, 6000), (5000, 10000)]), 100);
        // Upstream's table: 75 % and 50 %: 1 - 0.125 = 87.5.
        assert_eq!(of(&[(3000, 4000), (5000, 10000)]), 87);
        assert_eq!(of(&[(6000, 10000), (0, 20000)]), 70);
        // More than there is counts as all of it.
        assert_eq!(of(&[(7000, 6000), (0, 10000)]), 50);
    }

    #[test]
    fn three_resources_are_as_balanced_as_their_standard_deviation_says() {
        // 0.75, 0.25, 0.125: the deviation is 0.2700..., so 72.9... of 100.
        assert_eq!(of(&[(3, 4), (1, 4), (1, 8)]), 72);
        assert_eq!(of(&[(1, 3), (1, 3), (1, 3)]), 100);
    }

    /// The same in floating point, as kube-scheduler has it.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "so it is there"
    )]
    fn upstream(parts: &[(i64, i64)]) -> i64 {
        let parts = parts
            .iter()
            .map(|(amount, of)| (*amount as f64 / *of as f64).min(1.0));
        let parts: Vec<f64> = parts.collect();
        let deviation = match parts[..] {
            [] | [_] => 0.0,
            [first, second] => ((first - second) / 2.0).abs(),
            _ => {
                let mean = parts.iter().sum::<f64>() / parts.len() as f64;
                let squares = parts.iter().map(|part| (part - mean) * (part - mean));
                (squares.sum::<f64>() / parts.len() as f64).sqrt()
            }
        };
        ((1.0 - deviation) * 100.0) as i64
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn every_balance_is_what_floating_point_gives(
            parts in prop::collection::vec((0_i64..300, 1_i64..200), 0..5),
            scale in 1_i64..1 << 40,
        ) {
            let parts: Vec<(i64, i64)> =
                parts.iter().map(|(amount, of)| (amount * scale, of * scale)).collect();
            prop_assert_eq!(of(&parts), upstream(&parts));
            prop_assert!((HALF..=MAX_SCORE).contains(&of(&parts)));
        }
    }
}
