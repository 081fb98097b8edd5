//! `NodeAffinity`: the pod's node selector and its required node affinity.

use crate::core::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::core::model::{Constraints, Term, labels_match};
use crate::core::state::{NodeId, Shape};

/// Its name.
pub(super) const NAME: &str = "NodeAffinity";

/// Filters by `nodeSelector` and by the required terms of node affinity: the selector and one of
/// the terms must match (source: kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct NodeAffinity;

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
        let Some(wanted) = constraints(cx) else {
            return Verdict::Fit;
        };
        let (name, facts) = (cx.state.nodes().name(node), cx.state.nodes().facts(node));
        let affinity = wanted
            .affinity
            .as_ref()
            .is_none_or(|terms| terms.iter().any(|term| term.matches(name, &facts.labels)));
        let matches = affinity && labels_match(&wanted.selector, &facts.labels);
        Verdict::fit_unless(!matches, Reason::NodeAffinity)
    }
}

impl Filter for NamedNodes {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeFacts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let affinity = constraints(cx).and_then(|one| one.affinity.as_ref());
        let Some(terms) = affinity.filter(|terms| terms.iter().all(Term::names_nodes)) else {
            return Verdict::Fit;
        };
        let name = cx.state.nodes().name(node);
        if terms.is_empty() || terms.iter().any(|one| one.may_name(name)) {
            Verdict::Fit
        } else if terms.iter().all(Term::names_nobody) {
            Verdict::Unfit(vec![Reason::AffinityConflict])
        } else {
            Verdict::Unfit(vec![Reason::NotNamed])
        }
    }
}
