//! Slots are their ghosts' and their claimants', and nobody else's.

use super::Note;
use super::account::{Account, Pod};
use super::books::SlotKey;
use muster_model::{Bind, Evict, Labels, PodKey};

/// Whether a pod stands for a slot that there is.
pub(super) fn is_ghost(account: &Account, pod: &Pod) -> bool {
    slot_of_ghost(account, pod).is_some()
}

fn slot_of_ghost(account: &Account, pod: &Pod) -> Option<SlotKey> {
    let uid = pod.ghost_of.as_ref()?;
    let (key, _) = account.slots.of_ghost(uid, &pod.key.name)?;
    Some(key)
}

/// The slot that a bind takes.
fn slot_of(account: &Account, order: &Bind) -> Option<SlotKey> {
    let pod = account.pod(&order.pod)?;
    match &pod.claim {
        Some(claim) => Some((claim.testbed.clone(), order.slot?)),
        None => slot_of_ghost(account, pod),
    }
}

/// A pod that claims slots is bound to one of them that it may have, that nobody has; a ghost to its own.
pub(super) fn bind(account: &Account, order: &Bind) -> Option<Note> {
    let pod = account.pod(&order.pod)?;
    if pod.claim.is_none() && pod.ghost_of.is_none() {
        let wrong = order.slot.is_some();
        return wrong.then(|| format!("bind of {}: it claims no slot, and gets one", order.pod));
    }
    let wrong = match slot_of(account, order) {
        None => "it gets no slot".to_owned(),
        Some(key) => not_its(account, pod, &key, &order.node)?,
    };
    Some(format!("bind of {} to {}: {wrong}", order.pod, order.node))
}

fn not_its(account: &Account, pod: &Pod, key: &SlotKey, node: &str) -> Option<String> {
    let (name, position) = key;
    let Some(slot) = account.slots.slot(key) else {
        return Some(format!("testbed {name} has no slot {position}"));
    };
    if slot.node != node {
        return Some(format!("slot {position} is on {}", slot.node));
    }
    let here = |other: &&Pod| other.key != pod.key && other.is_there();
    let ghost = account.pods_on(node).filter(here);
    let mut ghosts = ghost.filter(|other| slot_of_ghost(account, other).as_ref() == Some(key));
    if let Some(ghost) = ghosts.next() {
        return Some(format!("ghost {} is on slot {position}", ghost.key));
    }
    not_free(account, pod, key)
}

/// Why a pod may not have a slot, whether its ghost is there or not.
fn not_free(account: &Account, pod: &Pod, key: &SlotKey) -> Option<String> {
    let (name, position) = key;
    let node = account.slots.slot(key).map(|slot| slot.node.as_str());
    // A slot that it was bound to in vain may not be the one that is held for it by now.
    let here =
        |other: &&Pod| other.key != pod.key && node.is_some_and(|node| other.was_sent_to(node));
    let sits = account
        .slots
        .sits(key)
        .and_then(|uid| account.pod_of_uid(uid));
    if let Some(other) = sits.filter(here) {
        return Some(format!("{} is on slot {position}", other.key));
    }
    let claim = pod.claim.as_ref()?;
    let testbed = account.slots.testbed(name)?;
    let chosen = testbed.namespace_selector.as_ref().is_none_or(|selector| {
        let labels = account.namespaces.get(&pod.key.namespace);
        selector.matches(labels.unwrap_or(&Labels::new()))
    });
    let larger = pod.amounts().find(|(resource, amount)| {
        let mut slot = testbed.request.iter();
        let slot = slot
            .find(|(name, _)| name == resource)
            .map(|(_, amount)| *amount);
        *amount > slot.unwrap_or(i64::from(*resource == "pods"))
    });
    if !claim.positions.contains(position) {
        Some(format!("it does not claim slot {position}"))
    } else if !chosen {
        Some(format!("testbed {name} is not for its namespace"))
    } else {
        larger.map(|(resource, _)| format!("it asks for more {resource} than a slot has"))
    }
}

/// The first of the slots on a node that a pod claims and may have, as one that is there; but for these.
pub(super) fn may_be_had(
    account: &Account,
    pod: &PodKey,
    node: &str,
    taken: &[SlotKey],
) -> Option<SlotKey> {
    let pod = account.pod(pod)?;
    let claim = pod.claim.as_ref()?;
    let mut keys = claim
        .positions
        .iter()
        .map(|position| (claim.testbed.clone(), *position));
    keys.find(|key| {
        let slot = account.slots.slot(key);
        let is_ghost = |other: &Pod| slot_of_ghost(account, other).as_ref() == Some(key);
        slot.is_some_and(|slot| slot.node == node)
            && !taken.contains(key)
            && (account.slots.is_held(key) || account.pods_on(node).any(is_ghost))
            && not_free(account, pod, key).is_none()
    })
}

/// Takes down which slot a bind takes.
pub(super) fn take_down(account: &mut Account, order: &Bind) {
    let Some(key) = slot_of(account, order) else {
        return;
    };
    let sits = account.pod(&order.pod).filter(|pod| pod.ghost_of.is_none());
    let uid = sits.map(|pod| pod.key.uid.clone());
    account.slots.take(key, uid.as_deref());
}

/// A ghost goes only for a gang with a member that claims its slot.
pub(super) fn evict(account: &Account, order: &Evict, ghost: &Pod) -> Option<&'static str> {
    let Some(key) = slot_of_ghost(account, ghost) else {
        return Some("stands for no slot");
    };
    let claims = |pod: &&Pod| {
        let claim = pod.claim.as_ref();
        claim.is_some_and(|one| one.testbed == key.0 && one.positions.contains(&key.1))
    };
    let gang = order.beneficiary.as_ref();
    let mut members = account.pods().filter(|pod| Some(&pod.gang) == gang);
    members
        .find(claims)
        .is_none()
        .then_some("goes for somebody who does not claim its slot")
}

/// Nobody is placed where slots have their room: the others on a node, and all its slots, are no more than it
/// offers, of what those who are placed request.
pub(super) fn respected(account: &Account, taken: &[(&PodKey, &str)]) -> Vec<Note> {
    let mut notes = Vec::new();
    for (key, node) in taken {
        let Some(pod) = account.pod(key) else {
            continue;
        };
        if pod.claim.is_some() || pod.ghost_of.is_some() {
            continue;
        }
        let over = pod.amounts().find_map(|(resource, _)| {
            let held: Vec<(&SlotKey, i64)> = account.slots.held_on(node, resource).collect();
            let slots: i128 = held.iter().map(|(_, amount)| i128::from(*amount)).sum();
            if slots == 0 {
                return None;
            }
            // Who claims one has its room there; on which it is, is said when it is bound.
            let on_slot = |pod: &&Pod| {
                let ghost = slot_of_ghost(account, pod);
                pod.claim.is_some() || held.iter().any(|(key, _)| ghost.as_ref() == Some(*key))
            };
            let others = account.pods_on(node).filter(|pod| !on_slot(pod));
            let others: i128 = others.map(|pod| i128::from(pod.requests(resource))).sum();
            let offered = account.offers(node, resource);
            (others + slots > offered).then(|| {
                format!(
                    "{key} is placed on {node}, where slots have {slots} of {offered} {resource}, and \
                     others {others}"
                )
            })
        });
        notes.extend(over);
    }
    notes
}
