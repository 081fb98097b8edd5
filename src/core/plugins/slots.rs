//! `Slots`: a pod that claims slots of a testbed runs on one of them, or not at all.

use crate::framework::{Context, Filter, Mates, Plugin, Reason, Scope, Verdict};
use crate::state::{NoSlot, NodeId, NodeSet, Shape};
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
            return Verdict::Unfit(vec![Reason::Slot(in_words(cx, claim, &why))]);
        }
        let mut here = cx.state.slots_claimed(claim);
        let mut reasons = Vec::new();
        if here.any(|(id, slot)| match cx.state.may_have(cx.pod_id, slot) {
            Ok(its) => its == node,
            Err(why) => {
                if slot.node() == Some(node) {
                    let position = id.position();
                    let one = SlotClaim {
                        positions: vec![position],
                        ..claim.clone()
                    };
                    reasons.push(Reason::Slot(in_words(cx, &one, &why)));
                }
                false
            }
        }) {
            return Verdict::Fit;
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
            let mut here = cx.state.slots_claimed(claim);
            here.any(|(_, slot)| cx.state.may_have(cx.pod_id, slot) == Ok(node))
        }
    }

    fn retain(&self, cx: &Context<'_>, nodes: &mut NodeSet) {
        let Some(claim) = cx.shape.claim.as_deref() else {
            return;
        };
        let mut free = NodeSet::default();
        if cx.state.may_claim(cx.shape, claim).is_ok() {
            let slots = cx.state.slots_claimed(claim);
            let on = slots.filter_map(|(_, slot)| cx.state.may_have(cx.pod_id, slot).ok());
            on.for_each(|node| free.insert(node));
        }
        nodes.intersect(&free);
    }
}

/// Why a pod may not have what it claims.
fn in_words(cx: &Context<'_>, claim: &SlotClaim, why: &NoSlot) -> String {
    let testbed = &claim.testbed;
    match why {
        NoSlot::NoTestbed => format!("testbed {testbed} does not exist"),
        NoSlot::NotAllowed => {
            let namespace = &claim.namespace;
            format!("testbed {testbed} is not for pods of namespace {namespace}")
        }
        NoSlot::TooLarge(dimension) => {
            let name = cx.state.dimensions().name(*dimension);
            format!("the pod asks for more {name} than a slot of testbed {testbed} has")
        }
        NoSlot::NotThere => format!("{claim} is not there"),
        NoSlot::NoRoom => format!("{claim} waits for room on its node"),
        NoSlot::Taken(other) => {
            let who = cx.state.pod(*other).map(|pod| pod.key.to_string());
            let who = who.unwrap_or_default();
            format!("{claim} is occupied by {who}")
        }
    }
}
