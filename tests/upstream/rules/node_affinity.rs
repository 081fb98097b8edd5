//! Node selectors and required node affinity.

use super::super::case::{Case, list};
use super::super::dice::Dice;
use serde_json::{Value, json};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const ZONE: &str = "topology.kubernetes.io/zone";

pub(super) fn add(case: &mut Case, dice: &mut Dice) {
    if dice.percent(30) {
        dice.note("node affinity: selector");
        let (key, value) = dice.one_of(&[("disk", "ssd"), (ZONE, "z1"), ("none", "x")]);
        case.pod["spec"]["nodeSelector"] = json!({key: value});
    }
    if dice.percent(80) {
        let names = case.node_names();
        let by_name = dice.percent(35);
        for _ in 0..dice.between(1, 2) {
            let one = term(&names, by_name, dice);
            let path = [
                "spec",
                "affinity",
                "nodeAffinity",
                REQUIRED,
                "nodeSelectorTerms",
            ];
            list(&mut case.pod, &path).push(one);
        }
    }
}

fn term(names: &[String], by_name: bool, dice: &mut Dice) -> Value {
    let mut term = json!({});
    let fields = if by_name {
        dice.one_of(&[1, 1, 2])
    } else {
        usize::from(dice.percent(15))
    };
    for index in 0..fields {
        let operator = if by_name && index == 0 || dice.percent(60) {
            "In"
        } else {
            "NotIn"
        };
        dice.note(format!("node affinity: field {operator}"));
        // The API takes one value here; a filter would take more.
        let value = match names {
            [] => "nobody".to_owned(),
            _ if dice.percent(10) => "nobody".to_owned(),
            _ => names[dice.below(names.len())].clone(),
        };
        list(&mut term, &["matchFields"]).push(json!({
            "key": "metadata.name", "operator": operator, "values": [value],
        }));
    }
    let expressions = if fields > 0 {
        dice.below(2)
    } else {
        dice.below(3)
    };
    for _ in 0..expressions {
        let one = expression(dice);
        list(&mut term, &["matchExpressions"]).push(one);
    }
    if fields + expressions == 0 {
        dice.note("node affinity: empty term");
    }
    term
}

pub(super) fn expression(dice: &mut Dice) -> Value {
    let operator = dice.one_of(&["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]);
    dice.note(format!("node affinity: {operator}"));
    match operator {
        "Gt" | "Lt" => json!({
            "key": dice.one_of(&["cores", "cores", "disk", "none"]), "operator": operator,
            "values": [dice.one_of(&["3", "5", "8", "0", "-2"])],
        }),
        "In" | "NotIn" => {
            let (key, values) = dice.one_of(&[
                ("disk", &["ssd", "nvme"][..]),
                (ZONE, &["z1", "z2"]),
                ("cores", &["4", ""]),
                ("none", &["x"]),
            ]);
            json!({"key": key, "operator": operator, "values": values})
        }
        _ => json!({"key": dice.one_of(&["disk", ZONE, "cores", "none"]), "operator": operator}),
    }
}
