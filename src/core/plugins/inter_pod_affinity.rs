//! `InterPodAffinity`: beside which other pods a pod has to be, and beside which it may not be.

mod preferred;

pub(super) use preferred::PreferredTerms;

use crate::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::state::{LabelDomains, NearPods, NodeId, NodeSet, PodCounts, Rules, Shape};

/// Its name.
pub(super) const NAME: &str = "InterPodAffinity";

/// Filters by the required terms of pod affinity and anti-affinity, of the pod and of those that have a
/// place (source: kube-scheduler's plugin of this name). Members of a gang that were placed before count
/// as all others do.
///
/// What it says of a node hangs on other nodes, too, where a label's value is that of several. It is
/// known to be other than before by [`Filter::basis`], or by the node having been touched.
#[derive(Debug)]
pub(super) struct InterPodAffinity;

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Filter for InterPodAffinity {
    fn scope(&self, shape: &Shape) -> Scope {
        match bound_by(shape) {
            Some(_) => Scope::NodeUsage,
            None => Scope::Unconcerned,
        }
    }

    fn basis(&self, cx: &Context<'_>) -> u64 {
        let rules = bound_by(cx.shape);
        rules.map_or(0, |rules| cx.state.counts().basis(rules))
    }

    fn is_helped(&self, shape: &Shape) -> bool {
        bound_by(shape).is_some_and(|rules| rules.near.is_some())
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let Some(rules) = bound_by(cx.shape) else {
            return Verdict::Fit;
        };
        match Judge::of(cx, rules).refuses(node) {
            Some(reason) => Verdict::Unfit(vec![reason]),
            None => Verdict::Fit,
        }
    }

    fn suits(&self, cx: &Context<'_>, node: NodeId) -> bool {
        let rules = bound_by(cx.shape);
        rules.is_none_or(|rules| Judge::of(cx, rules).refuses(node).is_none())
    }

    fn still_suits(&self, cx: &Context<'_>, node: NodeId) -> bool {
        // Another scheduler's pods respect nobody who waits.
        let is_kept_away = |rules| {
            let judge = Judge::of(cx, rules);
            judge.is_kept_away_by_own(node) || judge.is_kept_away_by_others(node)
        };
        !bound_by(cx.shape).is_some_and(is_kept_away)
    }

    fn room(&self, cx: &Context<'_>, node: NodeId) -> u32 {
        let Some(rules) = bound_by(cx.shape) else {
            return u32::MAX;
        };
        let judge = Judge::of(cx, rules);
        if judge.refuses(node).is_some() {
            return 0;
        }
        // Who keeps his like away is alone.
        let own = |term| {
            let Some((query, key)) = judge.counts.term(term) else {
                return false;
            };
            rules.is_counted_in(query) && judge.domains.value_of(key, node).is_some()
        };
        match rules.apart.iter().any(|term| own(*term)) {
            true => 1,
            false => u32::MAX,
        }
    }

    fn retain(&self, cx: &Context<'_>, nodes: &mut NodeSet) {
        if let Some(rules) = bound_by(cx.shape) {
            Judge::of(cx, rules).retain(nodes);
        }
    }
}

/// The rules that say something about where pods of a shape may go.
fn bound_by(shape: &Shape) -> Option<&Rules> {
    shape.rules.as_deref().filter(|rules| rules.bind())
}

/// What is asked, and the counts that answer.
struct Judge<'a> {
    rules: &'a Rules,
    counts: &'a PodCounts,
    domains: &'a LabelDomains,
}

impl<'a> Judge<'a> {
    const fn of(cx: &Context<'a>, rules: &'a Rules) -> Self {
        Self {
            rules,
            counts: cx.state.counts(),
            domains: cx.state.label_domains(),
        }
    }

    /// Why a node will not do: the first of the three rules that says so.
    fn refuses(&self, node: NodeId) -> Option<Reason> {
        if let Some(near) = &self.rules.near
            && !self.is_near(near, node)
        {
            return Some(Reason::PodAffinity);
        }
        if self.is_kept_away_by_own(node) {
            return Some(Reason::PodAntiAffinity);
        }
        self.is_kept_away_by_others(node)
            .then_some(Reason::OthersAntiAffinity)
    }

    /// Whether pods that match all terms are within each label's value; or there are none anywhere, and
    /// the pod is one of them itself: somebody has to be the first. A node without one of the labels never
    /// will do.
    fn is_near(&self, near: &NearPods, node: NodeId) -> bool {
        let mut all = true;
        for key in &near.keys {
            let Some(value) = self.domains.value_of(*key, node) else {
                return false;
            };
            all &= self.counts.in_domain(near.query, *key, value) > 0;
        }
        all || self.may_be_first(near)
    }

    fn may_be_first(&self, near: &NearPods) -> bool {
        let mut keys = near.keys.iter();
        self.rules.is_counted_in(near.query)
            && !keys.any(|key| self.counts.is_anywhere(near.query, *key))
    }

    fn is_kept_away_by_own(&self, node: NodeId) -> bool {
        self.rules.apart.iter().any(|term| {
            self.counts.term(*term).is_some_and(|(query, key)| {
                let value = self.domains.value_of(key, node);
                value.is_some_and(|value| self.counts.in_domain(query, key, value) > 0)
            })
        })
    }

    fn is_kept_away_by_others(&self, node: NodeId) -> bool {
        let queries = self.rules.repelled_by.iter();
        let mut terms = queries.flat_map(|query| self.counts.terms_of(*query));
        terms.any(|term| {
            let key = self.counts.term(*term).map(|(_, key)| key);
            let value = key.and_then(|key| self.domains.value_of(key, node));
            value.is_some_and(|value| self.counts.holders_in(*term, value) > 0)
        })
    }

    /// Keeps the nodes that will do: by whole domains, where few are concerned.
    fn retain(&self, nodes: &mut NodeSet) {
        if let Some(near) = &self.rules.near {
            let first = self.may_be_first(near);
            for key in &near.keys {
                let mut there = NodeSet::default();
                let mut add = |value| there.add_all(self.domains.nodes_with(*key, value));
                if first {
                    self.domains.values(*key).for_each(&mut add);
                } else {
                    let values = self.counts.values_with_any(near.query, *key);
                    values.for_each(&mut add);
                }
                nodes.intersect(&there);
            }
        }
        for term in &self.rules.apart {
            if let Some((query, key)) = self.counts.term(*term) {
                for value in self.counts.values_with_any(query, key) {
                    nodes.subtract(self.domains.nodes_with(key, value));
                }
            }
        }
        let queries = self.rules.repelled_by.iter();
        for term in queries.flat_map(|query| self.counts.terms_of(*query)) {
            if let Some((_, key)) = self.counts.term(*term) {
                for value in self.counts.values_with_holders(*term) {
                    nodes.subtract(self.domains.nodes_with(key, value));
                }
            }
        }
    }
}
