//! Whether a pod's fields allow the node it is bound to: by the node's name, labels, taints, cordon and
//! declared features, and by the ports that others take there.

use super::Note;
use super::account::{Account, Pod};
use muster_model::{Bind, Constraints, NodeSpec, Taint, TaintEffect, Term, labels_match};

/// The taint that stands for a cordon.
const CORDON: &str = "node.kubernetes.io/unschedulable";

/// No pod is bound to a node that its fields rule out.
pub(super) fn not_allowed(account: &Account, order: &Bind) -> Option<Note> {
    let pod = account.pod(&order.pod)?;
    let wanted = &pod.constraints;
    let gang = account.gangs.get(&pod.gang);
    let of_gang = gang.and_then(|gang| Some(&gang.definition()?.node_selector));
    let node = account.facts(&order.node)?;
    let problem = if !tolerated(wanted, node) {
        "has a taint or a cordon that it does not tolerate"
    } else if !chosen(wanted, node) {
        "is not one that its selector and affinity choose"
    } else if of_gang.is_some_and(|wanted| !labels_match(wanted, &node.labels)) {
        "is not one that its PodGroup's selector chooses"
    } else if !node.features.has(wanted.features) {
        "does not declare what it needs"
    } else if ports_are_taken(account, pod, &order.node) {
        "has another pod with a port that it takes"
    } else {
        return None;
    };
    Some(format!(
        "bind of {} to {}, which {problem}",
        order.pod, order.node
    ))
}

fn ports_are_taken(account: &Account, pod: &Pod, node: &str) -> bool {
    let others = account.pods_on(node);
    let mut others = others.filter(|other| other.key != pod.key);
    let taken = |other: &Pod| {
        let mut theirs = other.ports.iter();
        theirs.any(|port| pod.ports.iter().any(|own| own.conflicts(port)))
    };
    !pod.ports.is_empty() && others.any(taken)
}

fn tolerated(wanted: &Constraints, node: &NodeSpec) -> bool {
    let cordon = Taint {
        key: CORDON.to_owned(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    };
    let cordon = node.unschedulable.then_some(&cordon);
    let mut repelling = node.taints.iter().chain(cordon);
    repelling.all(|taint| {
        taint.effect == TaintEffect::PreferNoSchedule
            || wanted.tolerations.iter().any(|one| one.tolerates(taint))
    })
}

fn chosen(wanted: &Constraints, node: &NodeSpec) -> bool {
    let holds = |term: &Term| term.matches(&node.name, &node.labels);
    let affinity = wanted.affinity.as_ref();
    labels_match(&wanted.selector, &node.labels)
        && affinity.is_none_or(|terms| terms.iter().any(holds))
}
