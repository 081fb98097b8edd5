//! `NodeAffinity`: the pod's node selector and its node affinity, required and preferred.

use crate::framework::{Context, Filter, MAX_SCORE, Plugin, Reason, Scope, Score, Verdict};
use crate::state::{NodeId, NodeSet, Shape};
use muster_model::{Constraints, NodeSelector, Preferred, Reads, Term, labels_match};
use std::sync::Arc;

/// Its name.
pub(super) const NAME: &str = "NodeAffinity";

/// Filters by `nodeSelector` and by the required terms of node affinity: the selector and one of
/// the terms must match; and scores by the preferred terms (source: kube-scheduler's plugin of this
/// name).
#[derive(Debug)]
pub(super) struct NodeAffinity {
    /// What counts for every pod besides.
    pub(super) added: Arc<Added>,
}

/// Node affinity of every pod of a profile, besides its own (`addedAffinity`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// One of these terms must match, if there are any.
    pub required: Option<NodeSelector>,
    /// A node had better match these.
    pub preferred: Vec<Preferred>,
}

/// The same plugin before any filter: where every term names nodes, the others do not come into
/// question, whatever else there is to say of them (source: its PreFilter).
#[derive(Debug)]
pub(super) struct NamedNodes;

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Plugin for NamedNodes {
    fn name(&self) -> &'static str {
        NAME
    }
}

fn constraints<'a>(cx: &Context<'a>) -> Option<&'a Constraints> {
    cx.state.shapes().constraints(cx.shape.constraints)
}

impl Filter for NodeAffinity {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let (name, facts) = (cx.state.nodes().name(node), cx.state.nodes().facts(node));
        let allows = |terms: &NodeSelector| {
            let mut terms = terms.iter();
            terms.any(|term| term.matches(name, &facts.labels))
        };
        if !self.added.required.as_ref().is_none_or(allows) {
            return Verdict::Unfit(vec![Reason::EnforcedAffinity]);
        }
        let Some(wanted) = constraints(cx) else {
            return Verdict::Fit;
        };
        let affinity = wanted.affinity.as_ref().is_none_or(allows);
        let matches = affinity && labels_match(&wanted.selector, &facts.labels);
        Verdict::fit_unless(!matches, Reason::NodeAffinity)
    }

    fn at_most(&self, cx: &Context<'_>) -> Option<(NodeSet, Reason)> {
        // Another reason counts for the nodes that the profile rules out.
        let wanted = constraints(cx).filter(|_| self.added.required.is_none())?;
        let nodes = cx.state.nodes().candidates(wanted)?;
        Some((nodes, Reason::NodeAffinity))
    }
}

/// The required terms, if there are any and each of them names nodes.
fn terms_with_names<'a>(cx: &Context<'a>) -> Option<&'a NodeSelector> {
    let terms = constraints(cx)?.affinity.as_ref()?;
    let name_nodes = !terms.is_empty() && terms.iter().all(Term::names_nodes);
    name_nodes.then_some(terms)
}

/// Why a node that they do not name does not come into question.
fn not_named(terms: &NodeSelector) -> Reason {
    if terms.iter().all(Term::names_nobody) {
        Reason::AffinityConflict
    } else {
        Reason::NotNamed
    }
}

impl Filter for NamedNodes {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let Some(terms) = terms_with_names(cx) else {
            return Verdict::Fit;
        };
        let name = cx.state.nodes().name(node);
        if terms.iter().any(|one| one.may_name(name)) {
            Verdict::Fit
        } else {
            Verdict::Unfit(vec![not_named(terms)])
        }
    }

    fn at_most(&self, cx: &Context<'_>) -> Option<(NodeSet, Reason)> {
        let terms = terms_with_names(cx)?;
        let names = terms.iter().filter_map(Term::named).flatten();
        let nodes = names.filter_map(|name| cx.state.nodes().find(name));
        Some((nodes.collect(), not_named(terms)))
    }
}

impl Score for NodeAffinity {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        scores.extend(nodes.iter().map(|node| self.score_one(cx, node)));
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn is_even(&self, cx: &Context<'_>) -> bool {
        cx.shape.preferences.nodes.is_empty() && self.added.preferred.is_empty()
    }

    fn reads(&self) -> Reads {
        Reads {
            node_terms: true,
            ..Reads::default()
        }
    }

    /// The weights of the terms that match, together.
    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        let (name, facts) = (cx.state.nodes().name(node), cx.state.nodes().facts(node));
        let terms = self
            .added
            .preferred
            .iter()
            .chain(&cx.shape.preferences.nodes);
        let matching = terms.filter(|one| one.term.matches(name, &facts.labels));
        matching.map(|one| i64::from(one.weight)).sum()
    }

    fn normalize(&self, scores: &mut [i64]) {
        let most = scores.iter().copied().max().unwrap_or(0);
        for score in scores {
            *score = (*score * MAX_SCORE).checked_div(most).unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_that_matches_most_scores_all_and_the_others_in_proportion() {
        let plugin = NodeAffinity {
            added: Arc::default(),
        };
        let normalized = |sums: &[i64]| {
            let mut scores = sums.to_vec();
            plugin.normalize(&mut scores);
            scores
        };
        assert_eq!(normalized(&[0, 0]), [0, 0]);
        assert_eq!(normalized(&[2, 5, 7]), [28, 71, 100]);
        assert_eq!(normalized(&[]), [0; 0]);
    }
}
