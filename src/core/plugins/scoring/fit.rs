//! `NodeResourcesFit` as a score: how much of a node is requested with the pod on it.

use super::resources::{Counting, ResourceWeight, Use, uses};
use crate::framework::{Context, MAX_SCORE, Plugin, Scope, Score};
use crate::plugins::node_resources;
use crate::state::{NodeId, NodeSet, Shape};
use muster_model::Reads;

/// All of a resource, in percent.
pub const MAX_UTILIZATION: i64 = 100;

/// By which rule a node is scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The emptier the better.
    LeastAllocated,
    /// The fuller the better.
    MostAllocated,
    /// As these points say, and on the line between two of them; by rising utilization.
    RequestedToCapacityRatio(Vec<Point>),
}

/// What a node scores of which so much is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// In percent.
    pub utilization: i64,
    /// From 0 to [`MAX_SCORE`].
    pub score: i64,
}

/// Scores a node by how much of each resource is requested there with the pod (source:
/// kube-scheduler's `NodeResourcesFit`, `scoringStrategy`).
#[derive(Debug)]
pub(in crate::plugins) struct FitScore {
    pub(in crate::plugins) strategy: Strategy,
    pub(in crate::plugins) resources: Vec<ResourceWeight>,
}

impl Plugin for FitScore {
    fn name(&self) -> &'static str {
        node_resources::NAME
    }
}

impl Score for FitScore {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        scores.extend(nodes.iter().map(|node| self.on_scale(cx, node)));
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    fn reads(&self) -> Reads {
        Reads {
            unsaid: true,
            ..Reads::default()
        }
    }

    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        self.on_scale(cx, node)
    }

    fn has_scale(&self) -> bool {
        true
    }

    fn on_scale(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        score(
            &self.strategy,
            uses(cx, node, &self.resources, Counting::Unsaid),
        )
    }
}

/// The mean over the resources, by weight.
fn score(strategy: &Strategy, uses: impl Iterator<Item = Use>) -> i64 {
    let (mut sum, mut weights) = (0_i64, 0_i64);
    for one in uses {
        let score = match strategy {
            Strategy::LeastAllocated if one.with > one.of => 0,
            Strategy::LeastAllocated => part(one.of - one.with, one.of),
            Strategy::MostAllocated => part(one.with.min(one.of), one.of),
            Strategy::RequestedToCapacityRatio(points) => {
                let utilization = if one.with > one.of {
                    MAX_UTILIZATION
                } else {
                    part(one.with, one.of)
                };
                let score = on_line(points, utilization);
                if score <= 0 {
                    continue;
                }
                score
            }
        };
        sum += score * one.weight;
        weights += one.weight;
    }
    match strategy {
        _ if weights == 0 => 0,
        // Half is rounded up; the others are cut.
        Strategy::RequestedToCapacityRatio(_) => (2 * sum + weights) / (2 * weights),
        _ => sum / weights,
    }
}

/// A part of a whole, in percent, cut.
pub(super) fn part(amount: i64, of: i64) -> i64 {
    let part = i128::from(amount) * i128::from(MAX_SCORE) / i128::from(of);
    i64::try_from(part).unwrap_or(0)
}

/// The value of a broken line (source: kube-scheduler's `BuildBrokenLinearFunction`): before the first
/// point and after the last it is level.
fn on_line(points: &[Point], at: i64) -> i64 {
    let after = points.iter().position(|one| at <= one.utilization);
    match after {
        None => points.last().map_or(0, |last| last.score),
        Some(0) => points[0].score,
        Some(index) => {
            let (from, to) = (points[index - 1], points[index]);
            let rise = (to.score - from.score) * (at - from.utilization);
            from.score + rise / (to.utilization - from.utilization)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert, proptest};

    fn uses_of(list: &[(i64, i64, i64)]) -> impl Iterator<Item = Use> {
        let one = |(with, of, weight): &(i64, i64, i64)| Use {
            with: *with,
            without: 0,
            of: *of,
            weight: *weight,
        };
        list.iter().map(one).collect::<Vec<_>>().into_iter()
    }

    fn ratio(points: &[(i64, i64)]) -> Strategy {
        let point = |(utilization, score): &(i64, i64)| Point {
            utilization: *utilization,
            score: score * 10,
        };
        Strategy::RequestedToCapacityRatio(points.iter().map(point).collect())
    }

    /// Upstream's table "nothing scheduled, resources requested, differently sized nodes".
    #[test]
    fn the_least_allocated_node_scores_by_what_is_left_of_it() {
        let least = |list| score(&Strategy::LeastAllocated, uses_of(list));
        // cpu: (4000 - 3000) * 100 / 4000 = 25, memory: (10000 - 5000) * 100 / 10000 = 50.
        assert_eq!(least(&[(3000, 4000, 1), (5000, 10000, 1)]), 37);
        assert_eq!(least(&[(3000, 6000, 1), (5000, 10000, 1)]), 50);
        // More than there is scores nothing, but counts.
        assert_eq!(least(&[(7000, 6000, 1), (0, 10000, 1)]), 50);
        assert_eq!(least(&[(3000, 4000, 3), (5000, 10000, 1)]), (75 + 50) / 4);
        assert_eq!(least(&[]), 0);
    }

    #[test]
    fn the_most_allocated_node_scores_by_what_is_taken_of_it() {
        let most = |list| score(&Strategy::MostAllocated, uses_of(list));
        assert_eq!(most(&[(3000, 4000, 1), (5000, 10000, 1)]), 62);
        assert_eq!(most(&[(9000, 4000, 1), (5000, 10000, 1)]), 75);
    }

    #[test]
    fn a_ratio_scores_on_the_line_between_two_points() {
        let bins = ratio(&[(0, 10), (100, 0)]);
        let of = |list| score(&bins, uses_of(list));
        // 75 % and 50 % of nodes: 100 - 75 = 25, 50; the mean 37.5 is rounded up.
        assert_eq!(of(&[(3000, 4000, 1), (5000, 10000, 1)]), 38);
        assert_eq!(of(&[(3000, 6000, 1), (5000, 10000, 1)]), 50);
        let steps = ratio(&[(0, 0), (40, 8), (80, 2)]);
        let at = |percent| score(&steps, uses_of(&[(percent, 100, 1)]));
        assert_eq!([0, 10, 40, 60, 80, 95].map(at), [0, 20, 80, 50, 20, 20]);
        // What scores nothing does not count either.
        assert_eq!(score(&steps, uses_of(&[(0, 100, 5), (40, 100, 1)])), 80);
        // A falling line is cut toward its start, as integers are in Go.
        assert_eq!(
            score(&ratio(&[(0, 10), (30, 0)]), uses_of(&[(1, 100, 1)])),
            97
        );
    }

    proptest! {
        #[test]
        fn every_score_is_from_0_to_100(
            list in prop::collection::vec((0_i64..2000, 1_i64..1000, 1_i64..=100), 0..4),
            scores in prop::collection::vec(0_i64..=10, 1..4),
        ) {
            let points = scores.iter().zip([0, 30, 60, 100]);
            let points: Vec<(i64, i64)> = points.map(|(score, at)| (at, *score)).collect();
            for strategy in [Strategy::LeastAllocated, Strategy::MostAllocated, ratio(&points)] {
                let found = score(&strategy, uses_of(&list));
                prop_assert!((0..=MAX_SCORE).contains(&found), "{:?}: {}", strategy, found);
            }
        }
    }
}
