//! Taints, tolerations and cordons.

use super::super::case::{Case, list};
use super::super::dice::Dice;
use serde_json::{Value, json};

const KEYS: [&str; 4] = ["dedicated", "cost", "other", CORDON];
const VALUES: [&str; 9] = [
    "",
    "a",
    "b",
    "5",
    "7",
    "-3",
    "05",
    "+5",
    "99999999999999999999",
];
const EFFECTS: [&str; 3] = ["NoSchedule", "NoExecute", "PreferNoSchedule"];
const CORDON: &str = "node.kubernetes.io/unschedulable";

pub(super) fn add(case: &mut Case, dice: &mut Dice) {
    for node in &mut case.nodes {
        for _ in 0..dice.one_of(&[0, 0, 1, 1, 2]) {
            let taint = json!({
                "key": dice.one_of(&KEYS), "value": dice.one_of(&VALUES),
                "effect": dice.one_of(&EFFECTS),
            });
            list(node, &["spec", "taints"]).push(taint);
        }
    }
    for _ in 0..dice.below(4) {
        let one = toleration(dice);
        list(&mut case.pod, &["spec", "tolerations"]).push(one);
    }
}

fn toleration(dice: &mut Dice) -> Value {
    let operator = dice.one_of(&["", "Equal", "Exists", "Exists", "Lt", "Gt"]);
    dice.note(format!("tolerations: operator {operator:?}"));
    let mut one = json!({"key": dice.one_of(&KEYS)});
    if operator == "Exists" && dice.percent(20) {
        dice.note("tolerations: every key");
        one = json!({});
    }
    if !operator.is_empty() {
        one["operator"] = json!(operator);
    }
    if operator != "Exists" {
        one["value"] = json!(dice.one_of(&VALUES));
    }
    match dice.one_of(&["", "", "NoSchedule", "NoExecute", "PreferNoSchedule"]) {
        "" => dice.note("tolerations: every effect"),
        effect => one["effect"] = json!(effect),
    }
    one
}

pub(super) fn cordon(case: &mut Case, dice: &mut Dice) {
    for node in &mut case.nodes {
        if dice.percent(50) {
            node["spec"]["unschedulable"] = json!(true);
        }
    }
    if dice.percent(30) {
        dice.note("cordon: tolerated");
        let one = json!({"key": CORDON, "operator": "Exists", "effect": "NoSchedule"});
        list(&mut case.pod, &["spec", "tolerations"]).push(one);
    }
}
