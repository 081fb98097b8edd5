//! The same plugin after all filters: beside which other pods a pod had better be.

use crate::framework::{Context, MAX_SCORE, Plugin, Scope, Score};
use crate::state::{Id, KeyId, NodeSet, Rules, Shape, ValueId};
use muster_model::Reads;
use muster_model::units::Double;

/// Scores by the preferred terms of pod affinity and anti-affinity, of the pod and of those that have a
/// place, and by the required affinity of the latter (source: kube-scheduler's `InterPodAffinity`).
#[derive(Debug)]
pub(in crate::plugins) struct PreferredTerms {
    /// What each required term of a pod with a place weighs that is about this one
    /// (`hardPodAffinityWeight`).
    pub(in crate::plugins) required: i64,
    /// Whether others' terms count only for pods that have preferred terms of their own
    /// (`ignorePreferredTermsOfExistingPods`).
    pub(in crate::plugins) own_only: bool,
}

impl Plugin for PreferredTerms {
    fn name(&self) -> &'static str {
        super::NAME
    }
}

impl PreferredTerms {
    fn rules<'a>(&self, shape: &'a Shape) -> Option<&'a Rules> {
        let rules = shape.rules.as_deref();
        rules.filter(|rules| !self.own_only || !rules.likes.is_empty())
    }
}

impl Score for PreferredTerms {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        let mut sums = Sums::default();
        if let Some(rules) = self.rules(cx.shape) {
            self.add_all(cx, rules, &mut sums);
        }
        let labels = cx.state.label_domains();
        scores.extend(nodes.iter().map(|node| {
            let of_key = |(key, sums): &(KeyId, Vec<i64>)| {
                let value = labels.value_of(*key, node)?;
                sums.get(value.index()).copied()
            };
            sums.by_key.iter().filter_map(of_key).sum::<i64>()
        }));
    }

    fn scope(&self, shape: &Shape) -> Scope {
        // Who asks for nothing may come to be asked about, and has another shape then.
        match self.rules(shape) {
            Some(_) => Scope::Cluster,
            None => Scope::Unconcerned,
        }
    }

    fn is_even(&self, cx: &Context<'_>) -> bool {
        let Some(rules) = self.rules(cx.shape) else {
            return true;
        };
        let counts = cx.state.counts();
        let mut about = rules.counted_in.iter();
        rules.likes.is_empty() && !about.any(|query| !counts.draws_of(*query).is_empty())
    }

    fn reads(&self) -> Reads {
        Reads {
            pod_terms: true,
            ..Reads::default()
        }
    }

    /// The best has all, the worst nothing, and the others what is in proportion between.
    fn normalize(&self, scores: &mut [i64]) {
        let range = scores.iter().min().zip(scores.iter().max());
        let Some((low, high)) = range.map(|(low, high)| (*low, *high)) else {
            return;
        };
        let distance = |from: i64| Double::from_int(from.abs_diff(low));
        let span = distance(high);
        let most = Double::from_int(MAX_SCORE.unsigned_abs());
        for score in scores {
            *score = most.times(distance(*score).divide(span)).whole();
        }
    }
}

impl PreferredTerms {
    /// Adds up all that says something about a pod.
    fn add_all(&self, cx: &Context<'_>, rules: &Rules, sums: &mut Sums) {
        let counts = cx.state.counts();
        for (query, key, weight) in &rules.likes {
            for (value, pods) in counts.by_value(*query, *key) {
                sums.add(*key, value, weight * i64::from(pods));
            }
        }
        let about = rules.counted_in.iter();
        for term in about.flat_map(|query| counts.draws_of(*query)) {
            let Some((pull, key)) = counts.pull(*term) else {
                continue;
            };
            let weight = i64::from(pull.required) * self.required + i64::from(pull.preferred);
            for (value, pods) in counts.holders(*term) {
                sums.add(key, value, weight * i64::from(pods));
            }
        }
    }
}

/// What speaks for the values of some labels.
#[derive(Default)]
struct Sums {
    by_key: Vec<(KeyId, Vec<i64>)>,
}

impl Sums {
    fn add(&mut self, key: KeyId, value: ValueId, weight: i64) {
        let known = self.by_key.iter().position(|(one, _)| *one == key);
        let index = known.unwrap_or_else(|| {
            self.by_key.push((key, Vec::new()));
            self.by_key.len() - 1
        });
        let (_, sums) = &mut self.by_key[index];
        if sums.len() <= value.index() {
            sums.resize(value.index() + 1, 0);
        }
        sums[value.index()] += weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_has_all_and_the_worst_nothing() {
        let plugin = PreferredTerms {
            required: 1,
            own_only: false,
        };
        let normalized = |sums: &[i64]| {
            let mut scores = sums.to_vec();
            plugin.normalize(&mut scores);
            scores
        };
        assert_eq!(normalized(&[3, 3]), [0, 0]);
        assert_eq!(normalized(&[-5, 0, 5]), [0, 50, 100]);
        assert_eq!(normalized(&[]), [0; 0]);
        // In binary64 this is a little less than 29.
        assert_eq!(normalized(&[0, 29, 100]), [0, 28, 100]);
    }
}
