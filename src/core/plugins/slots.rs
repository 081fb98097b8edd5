//! `Slots`: a pod that claims slots of a testbed runs on one of them, or not at all.

use crate::framework::{Context, Filter, Mates, Plugin, Reason, Scope, Verdict};
use crate::state::{NodeId, NodeSet, Shape};
use muster_model::SlotClaim;

/// Filters out all nodes but those of claimed slots that nobody has (source: mission, "Slots"). Whether a
/// ghost is there does not matter: it goes for the pod.
#[derive(Debug)]
pub(super) struct Slots;

impl Plugin for Slots {
    fn name(&self) -> &'static str {
        "Slots"
    }
}

impl Filter for Slots {
    fn scope(&self, shape: &Shape) -> Scope {
        match shape.claim {
            None => Scope::Unconcerned,
            Some(_) => Scope::Cluster,
        }
    }

    fn confines(&self, shape: &Shape) -> bool {
        shape.claim.is_some()
    }

    fn mates(&self, shape: &Shape) -> Mates {
        match shape.claim {
            None => Mates::Ignored,
            Some(_) => Mates::Otherwise,
        }
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let Some(claim) = cx.shape.claim.as_deref() else {
            return Verdict::Fit;
        };
        if let Err(why) = cx.state.may_claim(cx.shape, claim) {
            return Verdict::Unfit(vec![Reason::Slot(cx.state.no_slot_in_words(claim, &why))]);
        }
        let mut reasons = Vec::new();
        for (id, slot) in cx.state.slots_claimed_on(claim, node) {
            let Err(why) = cx.state.may_have(cx.pod_id, slot) else {
                return Verdict::Fit;
            };
            let one = SlotClaim {
                namespace: claim.namespace.clone(),
                testbed: claim.testbed.clone(),
                positions: vec![id.position()],
            };
            reasons.push(Reason::Slot(cx.state.no_slot_in_words(&one, &why)));
        }
        if reasons.is_empty() {
            let words = format!("node(s) had none of {claim}");
            reasons.push(Reason::Slot(words));
        }
        Verdict::Unfit(reasons)
    }

    fn suits(&self, cx: &Context<'_>, node: NodeId) -> bool {
        let Some(claim) = cx.shape.claim.as_deref() else {
            return true;
        };
        cx.state.may_claim(cx.shape, claim).is_ok() && {
            let mut here = cx.state.slots_claimed_on(claim, node);
            here.any(|(_, slot)| cx.state.may_have(cx.pod_id, slot).is_ok())
        }
    }

    fn retain(&self, cx: &Context<'_>, nodes: &mut NodeSet) {
        let Some(claim) = cx.shape.claim.as_deref() else {
            return;
        };
        let mut free = NodeSet::default();
        if cx.state.may_claim(cx.shape, claim).is_ok() {
            let slots = cx.state.slots_open_to(cx.pod_id, claim);
            slots.for_each(|(_, node)| free.insert(node));
        }
        nodes.intersect(&free);
    }
}
