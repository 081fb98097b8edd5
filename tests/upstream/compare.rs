//! What differs between kube-scheduler and Muster.

use super::case::Case;
use super::oracle::{Answer, Verdict};
use super::ours::Ours;

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
    found.extend(score_differences(case, theirs, ours));
    found.extend(outcome(case, theirs, ours));
    found
}

/// Where a plugin gives a node another score. One that upstream skips says the same of all nodes.
fn score_differences(case: &Case, theirs: &Answer, ours: &Ours) -> Vec<String> {
    let mut found = Vec::new();
    for plugin in theirs.scores.keys().filter(|name| !name.is_empty()) {
        if !ours.scores.contains_key(plugin) {
            found.push(format!("scores of {plugin}: only upstream has them"));
        }
    }
    // A single node is not scored.
    if theirs.scores.is_empty() {
        return found;
    }
    for (plugin, mine) in &ours.scores {
        let same = match theirs.scores.get(plugin) {
            // What the pod as a whole asks for is overlooked there, and nowhere else.
            Some(_) if plugin == "NodeResourcesFit" && asks_as_a_whole(case) => true,
            Some(wanted) => mine == wanted,
            None => {
                let mut values = mine.values();
                let first = values.next();
                values.all(|one| Some(one) == first)
            }
        };
        if !same {
            let wanted = theirs.scores.get(plugin);
            found.push(format!(
                "scores of {plugin}: {mine:?}, and upstream {wanted:?}"
            ));
        }
    }
    found
}

/// Whether the waiting pod has resources beside those of its containers.
fn asks_as_a_whole(case: &Case) -> bool {
    case.pod["spec"]["resources"].is_object()
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
        // Of several with the highest score kube-scheduler takes one by lot.
        let total = theirs.scores.get("").filter(|_| !asks_as_a_whole(case));
        let score = |node: &String| total.and_then(|total| total.get(node));
        let best = fit.iter().map(|node| score(node)).max().flatten();
        let fit: Vec<&String> = fit.into_iter().filter(|node| score(node) == best).collect();
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
        let also = [" (", " Who could ", " preemption: "];
        rest.is_empty() || also.iter().any(|words| rest.starts_with(words))
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
