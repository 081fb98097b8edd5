//! Whether a pod's fields allow the node it is bound to: by the node's name, labels, taints, cordon and
//! declared features, and by the ports that others take there.

use super::Note;
use super::account::{Account, Pod};
use muster_model::{Bind, Constraints, GangSpec, NodeSpec, Taint, TaintEffect, Term, labels_match};

/// The taint that stands for a cordon.
const CORDON: &str = "node.kubernetes.io/unschedulable";

/// No pod is bound to a node that its fields rule out.
pub(super) fn not_allowed(account: &Account, order: &Bind) -> Option<Note> {
    let pod = account.pod(&order.pod)?;
    let wanted = &pod.constraints;
    let gang = account.gangs.get(&pod.gang);
    let definition = gang.and_then(|gang| gang.definition());
    let of_gang = definition.map(|spec| &spec.node_selector);
    let node = account.facts(&order.node)?;
    let problem = if !tolerated(wanted, node) {
        "has a taint or a cordon that it does not tolerate"
    } else if !chosen(wanted, node) {
        "is not one that its selector and affinity choose"
    } else if of_gang.is_some_and(|wanted| !labels_match(wanted, &node.labels)) {
        "is not one that its PodGroup's selector chooses"
    } else if definition.is_some_and(|spec| is_nowhere(spec, pod, node)) {
        "lacks the label by which the topology of its gang is"
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

/// Whether a node is in none of the domains of which the gang or the pod's subgroup requires one.
fn is_nowhere(gang: &GangSpec, pod: &Pod, node: &NodeSpec) -> bool {
    let named = pod.subgroup.as_deref().unwrap_or_default();
    let own = gang.subgroups.iter().find(|one| one.name == named);
    let own = own.or_else(|| gang.subgroups.iter().find(|one| one.name.is_empty()));
    let of_group = own.and_then(|one| one.topology.as_ref());
    let mut wishes = gang.topology.iter().chain(of_group);
    wishes.any(|wish| {
        let label = wish.needed_label();
        label.is_some_and(|label| !node.labels.contains_key(label))
    })
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
