//! Affinity and anti-affinity between pods, both ways.

use super::super::case::{Case, NAMESPACE, list};
use super::super::dice::Dice;
use super::selectors::{label_keys, selector};
use serde_json::{Value, json};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const OTHER: &str = "other";
/// A label of few values, one of each node, one that some nodes lack, one that none has.
const TOPOLOGIES: [&str; 5] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/zone",
    "kubernetes.io/hostname",
    "disk",
    "none",
];

pub(super) fn add(case: &mut Case, dice: &mut Dice) {
    case.add(
        "namespaces",
        json!({"metadata": {"name": NAMESPACE, "labels": {"team": "x"}}}),
    );
    case.add(
        "namespaces",
        json!({"metadata": {"name": OTHER, "labels": {"team": "y"}}}),
    );
    for pod in &mut case.pods {
        if dice.percent(25) {
            pod["metadata"]["namespace"] = json!(OTHER);
        }
        pod["metadata"]["labels"]["version"] = json!(dice.one_of(&["1", "2"]));
        if dice.percent(20) {
            dice.note("pod affinity: a running pod repels");
            terms(pod, "podAntiAffinity", dice);
        }
    }
    case.pod["metadata"]["labels"]["version"] = json!("1");
    let kinds = dice.one_of(&[
        &["podAffinity"][..],
        &["podAntiAffinity"],
        &["podAffinity", "podAntiAffinity"],
        &[],
    ]);
    for kind in kinds {
        dice.note(format!("pod affinity: the pod's {kind}"));
        terms(&mut case.pod, kind, dice);
    }
}

fn terms(pod: &mut Value, kind: &str, dice: &mut Dice) {
    for _ in 0..dice.one_of(&[1, 1, 2]) {
        let one = term(dice);
        list(pod, &["spec", "affinity", kind, REQUIRED]).push(one);
    }
}

pub(super) fn term(dice: &mut Dice) -> Value {
    let mut term = json!({"topologyKey": dice.one_of(&TOPOLOGIES)});
    if let Some(selector) = selector(dice) {
        term["labelSelector"] = selector;
        for kind in ["matchLabelKeys", "mismatchLabelKeys"] {
            if let Some(keys) = label_keys(kind, dice) {
                term[kind] = keys;
                break;
            }
        }
    }
    if dice.percent(25) {
        dice.note("pod affinity: namespaces");
        term["namespaces"] = json!(dice.some_of(&[NAMESPACE, OTHER, "nobodys"], 50));
    }
    match dice.below(6) {
        0 => {
            dice.note("pod affinity: every namespace");
            term["namespaceSelector"] = json!({});
        }
        1 => {
            dice.note("pod affinity: namespaces by label");
            let team = dice.one_of(&["x", "y", "z"]);
            term["namespaceSelector"] = json!({"matchLabels": {"team": team}});
        }
        _ => {}
    }
    term
}
