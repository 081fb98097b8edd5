//! Whether a pod's fields allow the node it is bound to: by the node's name, labels, taints, cordon and
//! declared features.

use super::Note;
use super::account::Account;
use muster_model::{Bind, Constraints, NodeSpec, Taint, TaintEffect, Term, labels_match};

/// The taint that stands for a cordon.
const CORDON: &str = "node.kubernetes.io/unschedulable";

/// No pod is bound to a node that its fields rule out.
pub(super) fn not_allowed(account: &Account, order: &Bind) -> Option<Note> {
    let wanted = &account.pod(&order.pod)?.constraints;
    let node = account.facts(&order.node)?;
    let problem = if !tolerated(wanted, node) {
        "has a taint or a cordon that it does not tolerate"
    } else if !chosen(wanted, node) {
        "is not one that its selector and affinity choose"
    } else if !node.features.has(wanted.features) {
        "does not declare what it needs"
    } else {
        return None;
    };
    Some(format!(
        "bind of {} to {}, which {problem}",
        order.pod, order.node
    ))
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
