//! Whether pods are beside others whom they, or the others, keep away; and whether those are there
//! beside whom they have to be: by names and labels.

use super::Note;
use super::account::{Account, Pod};
use muster_model::{Effect, Plan};
use muster_model::{METADATA_NAME, PodKey, PodTerm};
use std::collections::BTreeSet;

/// The pods of a plan that may be the first of their kind: nobody of those who had a place before, and keep
/// it, is one beside whom they want to be.
pub(super) fn firsts(account: &Account, plan: &Plan) -> BTreeSet<PodKey> {
    let binds = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Bind(order) => account.pod(&order.pod),
        _ => None,
    });
    let held = plan.held.iter().filter(|one| one.node.is_some());
    let held = held.filter_map(|one| account.pod(&one.pod));
    let let_go = plan.held.iter().filter(|one| one.node.is_none());
    let let_go: BTreeSet<&PodKey> = let_go.map(|one| &one.pod).collect();
    let alone = binds
        .chain(held)
        .filter(|pod| is_first(account, pod, |other| !let_go.contains(other)));
    alone.map(|pod| pod.key.clone()).collect()
}

/// Whether a pod asks for company, and none of some pods with a place is one beside whom it wants to be.
fn is_first(account: &Account, pod: &Pod, counts: impl Fn(&PodKey) -> bool) -> bool {
    let mut others = account.all_placed();
    !pod.rules.affinity.is_empty()
        && !others.any(|(other, node)| {
            let mut keys = pod.rules.affinity.iter().map(|term| &term.topology_key);
            counts(&other.key)
                && is_wanted(account, pod, other)
                && keys.any(|key| value(account, node, key).is_some())
        })
}

/// Whether nobody with a place is one beside whom a pod wants to be that asks for company.
pub(super) fn may_be_first(account: &Account, pod: &PodKey) -> bool {
    let found = account.pod(pod);
    found.is_some_and(|pod| is_first(account, pod, |_| true))
}

/// A pod is beside nobody whom it keeps away or who keeps it away, and beside those it wants to be with.
pub(super) fn in_company(
    account: &Account,
    pod: &PodKey,
    node: &str,
    firsts: &BTreeSet<PodKey>,
) -> Option<Note> {
    if let Some(note) = too_near(account, pod, node) {
        return Some(note);
    }
    let pod = account.pod(pod)?;
    let note = |what: String| Some(format!("{} gets a place on {node}: {what}", pod.key));
    let others = || others(account, pod);
    let terms = &pod.rules.affinity;
    let lacks = terms.iter().find(|term| {
        let mut wanted = others().filter(|(other, _)| is_wanted(account, pod, other));
        !wanted.any(|(_, there)| together(account, node, there, &term.topology_key))
    });
    let lacks = lacks?;
    let key = &lacks.topology_key;
    if value(account, node, key).is_none() {
        return note(format!("the node has no label {key}"));
    }
    if is_wanted(account, pod, pod) && firsts.contains(&pod.key) {
        return None;
    }
    note(format!("nobody it has to be with has the same {key}"))
}

/// The pods with a place but this one, and where.
fn others<'a>(account: &'a Account, pod: &'a Pod) -> impl Iterator<Item = (&'a Pod, &'a String)> {
    let all = account.all_placed();
    all.filter(|(other, _)| other.key != pod.key)
}

/// A pod is beside nobody whom it keeps away or who keeps it away.
pub(super) fn too_near(account: &Account, pod: &PodKey, node: &str) -> Option<Note> {
    let pod = account.pod(pod)?;
    let away = |holder: &Pod, other: &Pod, there: &str| {
        let terms = holder.rules.anti_affinity.iter();
        let mut near = terms.filter(|term| together(account, node, there, &term.topology_key));
        near.any(|term| matches(account, term, other))
    };
    let keeps = |other: &Pod, there: &str| away(pod, other, there) || away(other, pod, there);
    let mut in_the_way = account.keepers().filter(|(other, _)| other.key != pod.key);
    let in_the_way = match pod.rules.anti_affinity.is_empty() {
        true => in_the_way.find(|(other, there)| away(other, pod, there)),
        false => others(account, pod).find(|(other, there)| keeps(other, there)),
    };
    let (other, there) = in_the_way?;
    let (pod, other) = (&pod.key, &other.key);
    Some(format!(
        "{pod} gets a place on {node}: {other} on {there} is too near"
    ))
}

/// Whether a pod matches all terms of another's affinity.
fn is_wanted(account: &Account, by: &Pod, pod: &Pod) -> bool {
    let mut terms = by.rules.affinity.iter();
    terms.all(|term| matches(account, term, pod))
}

fn matches(account: &Account, term: &PodTerm, pod: &Pod) -> bool {
    let namespace = &pod.key.namespace;
    let labels = account.namespaces.get(namespace);
    let of_namespace = |key: &str| match key {
        METADATA_NAME => Some(namespace.as_str()),
        _ => labels
            .and_then(|labels| labels.get(key))
            .map(String::as_str),
    };
    let label = |key: &str| pod.labels.get(key).map(String::as_str);
    term.namespaces.has(namespace, of_namespace) && term.selector.matches_with(label)
}

/// Whether two nodes have the same value of a label.
fn together(account: &Account, node: &str, other: &str, key: &str) -> bool {
    let of_node = value(account, node, key);
    of_node.is_some() && of_node == value(account, other, key)
}

fn value<'a>(account: &'a Account, node: &str, key: &str) -> Option<&'a String> {
    account.label(node, key).filter(|_| account.has_node(node))
}
