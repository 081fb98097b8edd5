//! `Exclusive`: gangs that want whole nodes for themselves.

use crate::framework::{Context, Filter, Mates, Plugin, Reason, Scope, Verdict};
use crate::state::{ClusterState, NodeId, NodeSet, Pod, Shape};
use muster_model::Housemates;

/// Filters out nodes that a gang has for itself or is to have at a reserved time, and for such a gang nodes on which others are. Pods
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

    fn mates(&self, _: &Shape) -> Mates {
        // Members of a gang share its nodes.
        Mates::Ignored
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let kept = cx.state.nodes().is_kept_whole(node);
        let apart = kept || keeps_apart(cx.state, cx.shape, node);
        Verdict::fit_unless(apart, Reason::Exclusive)
    }

    fn retain(&self, cx: &Context<'_>, nodes: &mut NodeSet) {
        let wanted = cx.state.shapes().constraints(cx.shape.constraints);
        let concerned = wanted.is_some_and(|wanted| wanted.gang.housemates.is_some());
        let all = cx.state.nodes();
        if concerned || all.has_exclusive() || all.has_kept_whole() {
            nodes.retain(|node| self.suits(cx, node));
        }
    }
}

/// Whether a pod of this shape may not be with those who are on a node.
#[must_use]
pub fn keeps_apart(state: &ClusterState, shape: &Shape, node: NodeId) -> bool {
    let nodes = state.nodes();
    let wanted = state.shapes().constraints(shape.constraints);
    let own = wanted.and_then(|wanted| wanted.gang.housemates.as_ref());
    let alone = own.is_some_and(|own| own.exclusive);
    if alone && state.has_slots_on(node) {
        // The room of a slot is its own while nobody is there, too.
        return true;
    }
    let takes_from_others = alone && nodes.in_use_by(node) > 0;
    if !nodes.is_exclusive(node) && !takes_from_others {
        return false;
    }
    let mut pods = nodes.pods(node).iter().filter_map(|pod| state.pod(*pod));
    pods.any(|pod| !pod.facts.daemon && !is_of(state, pod, own))
}

/// Whether a pod is of the gang with which one shares its node.
fn is_of(state: &ClusterState, pod: &Pod, own: Option<&Housemates>) -> bool {
    let gang = pod.gang.and_then(|id| state.gang(id));
    gang.zip(own)
        .is_some_and(|(gang, own)| gang.key == own.gang)
}
