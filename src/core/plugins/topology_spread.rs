//! `PodTopologySpread`: pods are spread evenly over the domains of nodes.

use crate::core::framework::{Context, Filter, Mates, Plugin, Reason, Scope, Verdict};
use crate::core::state::{Evenness, NodeId, NodeSet, Shape};

/// Its name.
pub(super) const NAME: &str = "PodTopologySpread";

/// Filters by the pod's required `topologySpreadConstraints`: no domain gets further ahead of the one with
/// fewest pods than a rule allows (source: kube-scheduler's plugin of this name).
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
