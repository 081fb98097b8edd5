//! `PodTopologySpread`: pods are spread evenly over the domains of nodes.

use crate::framework::{Context, Filter, MAX_SCORE, Mates, Plugin, Reason, Scope, Score, Verdict};
use crate::state::{ClusterState, Evenness, Id, KeyId, NodeId, NodeSet, Shape, Spread, ValueId};
use muster_model::units::{LOG_BITS, natural_log};
use muster_model::{DefaultSpread, HOSTNAME, Reads, SpreadRule};

/// Its name.
pub(super) const NAME: &str = "PodTopologySpread";

/// The label of a node's zone.
const ZONE: &str = "topology.kubernetes.io/zone";

/// By which rules pods are spread that have none of their own where nothing else is configured (source:
/// kube-scheduler's `systemDefaultConstraints`). A node may lack the labels.
pub(super) fn system_defaults() -> DefaultSpread {
    let rule = |key: &str, max_skew| SpreadRule {
        key: key.to_owned(),
        max_skew,
        min_domains: 1,
        honors_affinity: true,
        label_optional: true,
        ..SpreadRule::default()
    };
    DefaultSpread {
        required: Vec::new(),
        preferred: vec![rule(HOSTNAME, 3), rule(ZONE, 5)],
    }
}

/// Filters by the pod's required `topologySpreadConstraints`: no domain gets further ahead of the one with
/// fewest pods than a rule allows; and scores by the others: the fewer pods a node's domains have the better
/// (source: kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct PodTopologySpread;

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Filter for PodTopologySpread {
    fn scope(&self, shape: &Shape) -> Scope {
        if shape.spread.is_empty() {
            Scope::Unconcerned
        } else {
            Scope::Cluster
        }
    }

    fn confines(&self, _: &Shape) -> bool {
        true
    }

    fn mates(&self, shape: &Shape) -> Mates {
        if shape.spread.is_empty() {
            Mates::Ignored
        } else {
            Mates::Otherwise
        }
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let mut rules = cx.shape.spread.iter();
        let refuses = rules.find_map(|rule| match cx.state.evenness(*rule, node) {
            Evenness::Even => None,
            Evenness::Uneven => Some(Reason::Spread),
            Evenness::NoDomain => Some(Reason::NoSpreadDomain),
        });
        refuses.map_or(Verdict::Fit, |reason| Verdict::Unfit(vec![reason]))
    }

    fn still_suits(&self, _: &Context<'_>, _: NodeId) -> bool {
        true
    }

    fn retain(&self, cx: &Context<'_>, nodes: &mut NodeSet) {
        for rule in cx.shape.spread.iter().filter_map(|id| cx.state.spread(*id)) {
            nodes.intersect(rule.suits());
        }
    }
}

/// What a node scores that lacks one of the labels, before scores are brought to their scale.
const NO_DOMAIN: i64 = i64::MIN;

impl Score for PodTopologySpread {
    /// Below zero, by as much as there are pods: in each rule's domain as many, times the logarithm of how
    /// many domains there are, so that many small ones count as much as few large ones.
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        let labels = cx.state.label_domains();
        let rules = cx.shape.preferred_spread.iter();
        let rules: Vec<&Spread> = rules.filter_map(|id| cx.state.spread(*id)).collect();
        let keys = rules.first().map_or(&[][..], |rule| rule.keys());
        let mut counted = nodes.clone();
        counted.retain(|node| keys.iter().all(|key| labels.value_of(*key, node).is_some()));
        let measures: Vec<Measure<'_>> = rules
            .into_iter()
            .map(|rule| Measure::of(cx.state, rule, &counted))
            .collect();
        scores.extend(nodes.iter().map(|node| {
            if !counted.contains(node) {
                return NO_DOMAIN;
            }
            let sum: u128 = measures.iter().map(|one| one.pods(cx.state, node)).sum();
            let whole = (sum + (1 << (LOG_BITS - 1))) >> LOG_BITS;
            -i64::try_from(whole).unwrap_or(i64::MAX)
        }));
    }

    fn scope(&self, shape: &Shape) -> Scope {
        if shape.preferred_spread.is_empty() {
            Scope::Unconcerned
        } else {
            Scope::Cluster
        }
    }

    fn is_even(&self, cx: &Context<'_>) -> bool {
        cx.shape.preferred_spread.is_empty()
    }

    fn reads(&self) -> Reads {
        Reads {
            spread: true,
            ..Reads::default()
        }
    }

    fn normalize(&self, scores: &mut [i64]) {
        let there = scores.iter().filter(|score| **score != NO_DOMAIN);
        let (fewest, most) = there.fold((i64::MAX, 0), |(fewest, most), score| {
            (fewest.min(-score), most.max(-score))
        });
        for score in scores {
            *score = match *score {
                NO_DOMAIN => 0,
                _ if most == 0 => MAX_SCORE,
                found => {
                    let part = i128::from(most) + i128::from(fewest) + i128::from(found);
                    let part = i128::from(MAX_SCORE) * part / i128::from(most);
                    i64::try_from(part).unwrap_or(MAX_SCORE)
                }
            };
        }
    }
}

/// How a rule counts for scores.
struct Measure<'a> {
    rule: &'a Spread,
    /// Each node is a domain of its own, and counts whatever the rule says of nodes.
    by_node: bool,
    /// What a pod weighs, in units of 2^-[`LOG_BITS`].
    weight: u128,
}

impl<'a> Measure<'a> {
    /// A rule among these nodes.
    fn of(state: &ClusterState, rule: &'a Spread, nodes: &NodeSet) -> Self {
        let labels = state.label_domains();
        let by_node = labels.name(rule.key()) == HOSTNAME;
        let is_optional = !rule.keys().contains(&rule.key());
        let lacks = |node| labels.value_of(rule.key(), node).is_none();
        let domains = match by_node {
            true => nodes.len(),
            // Those that lack the label are a domain together.
            false => {
                let without = is_optional && nodes.iter().any(lacks);
                domains_among(state, rule.key(), nodes) + usize::from(without)
            }
        };
        Self {
            rule,
            by_node,
            weight: natural_log(domains as u64 + 2),
        }
    }

    /// What the pods of a node's domain weigh.
    fn pods(&self, state: &ClusterState, node: NodeId) -> u128 {
        let labels = state.label_domains();
        let Some(value) = labels.value_of(self.rule.key(), node) else {
            return 0;
        };
        let pods = if self.by_node {
            let query = self.rule.query();
            query.map_or(0, |query| state.counts().on_node(query, node))
        } else {
            self.rule.pods_in(value)
        };
        // Differences below `maxSkew` count less beside it.
        let skew = u128::from(self.rule.max_skew() - 1) << LOG_BITS;
        u128::from(pods) * self.weight + skew
    }
}

/// How many values a label has on these nodes.
fn domains_among(state: &ClusterState, key: KeyId, nodes: &NodeSet) -> usize {
    let labels = state.label_domains();
    let mut there = vec![false; labels.count(key)];
    let values = nodes.iter().filter_map(|node| labels.value_of(key, node));
    for value in values {
        mark(&mut there, value);
    }
    there.into_iter().filter(|one| *one).count()
}

fn mark(there: &mut Vec<bool>, value: ValueId) {
    if there.len() <= value.index() {
        there.resize(value.index() + 1, false);
    }
    there[value.index()] = true;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(pods: &[i64]) -> Vec<i64> {
        let mut scores: Vec<i64> = pods.to_vec();
        PodTopologySpread.normalize(&mut scores);
        scores
    }

    #[test]
    fn the_fewer_pods_the_better_and_none_without_the_label() {
        assert_eq!(normalized(&[0, 0]), [100, 100]);
        assert_eq!(normalized(&[0, -1, -4]), [100, 75, 0]);
        assert_eq!(normalized(&[-2, NO_DOMAIN, -4]), [100, 0, 50]);
        assert_eq!(normalized(&[NO_DOMAIN]), [0]);
    }
}
