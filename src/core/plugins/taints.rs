//! `TaintToleration`: taints keep off pods that do not tolerate them, or make the node worse for them.

use crate::framework::{Context, Filter, MAX_SCORE, Plugin, Reason, Scope, Score, Verdict};
use crate::state::{NodeId, NodeSet, Shape};
use muster_model::{Taint, TaintEffect, Toleration};

/// Filters by taints of effect NoSchedule and NoExecute, and scores by those of effect PreferNoSchedule
/// (source: kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct TaintToleration;

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }
}

impl Filter for TaintToleration {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let tolerations = tolerations(cx);
        let repels = |taint: &Taint| {
            taint.effect != TaintEffect::PreferNoSchedule
                && !tolerations.iter().any(|one| one.tolerates(taint))
        };
        let taints = &cx.state.nodes().facts(node).taints;
        Verdict::fit_unless(taints.iter().any(repels), Reason::Taint)
    }
}

impl Score for TaintToleration {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        scores.extend(nodes.iter().map(|node| self.score_one(cx, node)));
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn is_even(&self, cx: &Context<'_>) -> bool {
        !cx.state.nodes().appeal().discourages()
    }

    /// The fewer taints that would rather not have the pod, the better.
    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        let tolerations = tolerations(cx);
        let taints = cx.state.nodes().facts(node).taints.iter();
        let deters = |taint: &&Taint| {
            taint.effect == TaintEffect::PreferNoSchedule
                && !tolerations.iter().any(|one| one.tolerates(taint))
        };
        -i64::try_from(taints.filter(deters).count()).unwrap_or(0)
    }

    fn normalize(&self, scores: &mut [i64]) {
        let most = scores.iter().map(|score| -score).max().unwrap_or(0);
        for score in scores {
            let part = (-*score * MAX_SCORE).checked_div(most).unwrap_or(0);
            *score = MAX_SCORE - part;
        }
    }
}

fn tolerations<'a>(cx: &Context<'a>) -> &'a [Toleration] {
    let constraints = cx.state.shapes().constraints(cx.shape.constraints);
    constraints.map_or(&[], |one| &one.tolerations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_with_most_taints_against_a_pod_scores_nothing_and_one_without_all() {
        let normalized = |taints: &[i64]| {
            let mut scores: Vec<i64> = taints.iter().map(|count| -count).collect();
            TaintToleration.normalize(&mut scores);
            scores
        };
        assert_eq!(normalized(&[0, 0]), [100, 100]);
        assert_eq!(normalized(&[0, 1, 2]), [100, 50, 0]);
        assert_eq!(normalized(&[3, 1, 2]), [0, 67, 34]);
        assert_eq!(normalized(&[]), [0; 0]);
    }
}
