//! `Exclusive`: gangs that want whole nodes for themselves.

use crate::core::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::core::model::Housemates;
use crate::core::state::{NodeId, NodeSet, Pod, PodId, Shape};

/// Filters out nodes that a gang has for itself, and for such a gang nodes on which others are. Pods
/// of DaemonSets, which are on every node, count for neither.
#[derive(Debug)]
pub(super) struct Exclusive;

impl Plugin for Exclusive {
    fn name(&self) -> &'static str {
        "Exclusive"
    }
}

impl Filter for Exclusive {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let nodes = cx.state.nodes();
        let wanted = cx.state.shapes().constraints(cx.shape.constraints);
        let own = wanted.and_then(|wanted| wanted.housemates.as_ref());
        let wants_it = own.is_some_and(|own| own.exclusive);
        let takes_from_others = wants_it && nodes.in_use_by(node) > 0;
        if !nodes.is_exclusive(node) && !takes_from_others {
            return Verdict::Fit;
        }
        let mut pods = nodes.pods(node).iter();
        let stands_against = |pod: &PodId| {
            let pod = cx.state.pod(*pod).filter(|pod| !pod.daemon);
            pod.is_some_and(|pod| !is_of(cx, pod, own))
        };
        Verdict::fit_unless(pods.any(stands_against), Reason::Exclusive)
    }

    fn retain(&self, cx: &Context<'_>, nodes: &mut NodeSet) {
        let wanted = cx.state.shapes().constraints(cx.shape.constraints);
        let concerned = wanted.is_some_and(|wanted| wanted.housemates.is_some());
        if concerned || cx.state.nodes().has_exclusive() {
            nodes.retain(|node| self.suits(cx, node));
        }
    }
}

/// Whether a pod is of the gang with which one shares its node.
fn is_of(cx: &Context<'_>, pod: &Pod, own: Option<&Housemates>) -> bool {
    let gang = pod.gang.and_then(|id| cx.state.gang(id));
    gang.zip(own)
        .is_some_and(|(gang, own)| gang.key == own.gang)
}
