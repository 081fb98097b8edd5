//! What differs between kube-scheduler and Muster.

use crate::case::Case;
use crate::oracle::{Answer, Verdict};
use crate::ours::Ours;

/// What differs, in words; nothing where all is the same.
pub(crate) fn differences(case: &Case, theirs: &Answer, ours: &Ours) -> Vec<String> {
    if !theirs.error.is_empty() {
        return vec![format!(
            "kube-scheduler cannot read the case: {}",
            theirs.error
        )];
    }
    let mut found: Vec<String> = ours
        .lint
        .iter()
        .map(|one| format!("the linter: {one}"))
        .collect();
    for (pod, wanted) in &theirs.requests {
        let requests = &ours.requests[pod];
        if requests != wanted {
            found.push(format!(
                "requests of {pod}: {requests:?}, and upstream {wanted:?}"
            ));
        }
    }
    if theirs.gated.is_some() {
        if ours.bound.is_some() {
            found.push("a gated pod is bound".to_owned());
        }
        return found;
    }
    for (node, mine) in &ours.nodes {
        let verdict = theirs.pre_filter.as_ref().or(theirs.nodes.get(node));
        let verdict = verdict.cloned().unwrap_or_default();
        if !same_words(&verdict, mine) {
            found.push(format!("node {node}: {mine:?}, and upstream {verdict:?}"));
        }
    }
    if ours.nodes.len() != case.nodes.len() {
        found.push(format!(
            "{} of {} nodes were asked",
            ours.nodes.len(),
            case.nodes.len()
        ));
    }
    found.extend(outcome(case, theirs, ours));
    found
}

fn same_words(verdict: &Verdict, mine: &[String]) -> bool {
    let mut wanted: Vec<&String> = verdict.reasons.iter().collect();
    let mut mine: Vec<&String> = mine.iter().collect();
    wanted.sort();
    mine.sort();
    verdict.fits() == mine.is_empty() && wanted == mine
}

/// What became of the pod.
fn outcome(case: &Case, theirs: &Answer, ours: &Ours) -> Option<String> {
    let fit: Vec<&String> = theirs.fit().collect();
    if !fit.is_empty() {
        return match &ours.bound {
            Some(node) if fit.contains(&node) => None,
            other => Some(format!(
                "bound to {other:?} ({:?}), and {fit:?} fit",
                ours.waits
            )),
        };
    }
    if let Some(node) = &ours.bound {
        return Some(format!("bound to {node}, and no node fits"));
    }
    let Some((reason, message)) = &ours.waits else {
        return Some(format!(
            "no reason is given, and upstream says {:?}",
            theirs.message
        ));
    };
    if waits_for_room(case, message) {
        return None;
    }
    // Muster adds what helps: the closest node, who holds what, how far it looked for room.
    let rest = message.strip_prefix(theirs.message.as_str());
    let same = rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(" (") || rest.starts_with(" Who could ")
    });
    let same = same && reason == "Unschedulable";
    (!same).then(|| {
        format!(
            "{reason}: {message:?}, and upstream says {:?}",
            theirs.message
        )
    })
}

/// Whether a pod that is going holds the room that is meant for the waiting one: kube-scheduler tells the
/// histogram until that has left, Muster for whom it waits.
fn waits_for_room(case: &Case, message: &str) -> bool {
    let mut pods = case.pods.iter();
    let going = pods.any(|pod| pod["metadata"]["deletionTimestamp"].is_string());
    going && message.starts_with("its place on ") && message.contains(" is held for it until ")
}
