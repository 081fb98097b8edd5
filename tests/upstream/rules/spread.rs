//! Spreading pods over domains.

use super::super::case::{Case, list};
use super::super::dice::Dice;
use super::selectors::{label_keys, pods_with_versions, selector};
use serde_json::{Value, json};

pub(super) fn add(case: &mut Case, dice: &mut Dice) {
    pods_with_versions(case, dice);
    let keys = [
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
        "disk",
        "none",
    ];
    let mut used = Vec::new();
    for _ in 0..dice.one_of(&[1, 1, 2]) {
        let key = keys[dice.one_of(&[0, 0, 0, 1, 1, 2, 2, 3])];
        // The API takes each key once.
        if !used.contains(&key) {
            used.push(key);
            let one = constraint(key, dice);
            list(&mut case.pod, &["spec", "topologySpreadConstraints"]).push(one);
        }
    }
}

pub(super) fn constraint(key: &str, dice: &mut Dice) -> Value {
    let mut one = json!({
        "topologyKey": key, "maxSkew": dice.one_of(&[1, 1, 2, 3]),
        "whenUnsatisfiable": "DoNotSchedule",
    });
    if dice.percent(10) {
        dice.note("spread: ScheduleAnyway");
        one["whenUnsatisfiable"] = json!("ScheduleAnyway");
    } else if dice.percent(30) {
        dice.note("spread: minDomains");
        one["minDomains"] = json!(dice.between(1, 4));
    }
    for kind in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
        if dice.percent(40) {
            let policy = dice.one_of(&["Honor", "Ignore"]);
            dice.note(format!("spread: {kind} {policy}"));
            one[kind] = json!(policy);
        }
    }
    if let Some(selector) = selector(dice) {
        one["labelSelector"] = selector;
        if let Some(keys) = label_keys("matchLabelKeys", dice) {
            one["matchLabelKeys"] = keys;
        }
    }
    one
}
