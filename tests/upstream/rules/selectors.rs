//! Selectors of pods.

use super::super::case::Case;
use super::super::dice::Dice;
use serde_json::{Value, json};

/// Gives every pod a label beside `app`.
pub(super) fn pods_with_versions(case: &mut Case, dice: &mut Dice) {
    for pod in &mut case.pods {
        pod["metadata"]["labels"]["version"] = json!(dice.one_of(&["1", "2"]));
    }
    case.pod["metadata"]["labels"]["version"] = json!("1");
}

/// Of pods by the labels `app` and `version`; none at all selects nobody, an empty one everybody.
pub(super) fn selector(dice: &mut Dice) -> Option<Value> {
    let one = match dice.below(10) {
        0 => {
            dice.note("selectors: none");
            return None;
        }
        1 => {
            dice.note("selectors: empty");
            json!({})
        }
        2 => {
            let operator = dice.one_of(&["Exists", "DoesNotExist"]);
            dice.note(format!("selectors: {operator}"));
            let key = dice.one_of(&["app", "version"]);
            json!({"matchExpressions": [{"key": key, "operator": operator}]})
        }
        3 | 4 => {
            let operator = dice.one_of(&["In", "NotIn"]);
            dice.note(format!("selectors: {operator}"));
            let values = dice.one_of(&[&["a", "b"][..], &["c"], &["b"]]);
            json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]})
        }
        _ => json!({"matchLabels": {"app": dice.one_of(&["a", "b", "c"])}}),
    };
    Some(one)
}

/// Labels of the pod itself that are added to a selector.
pub(super) fn label_keys(kind: &str, dice: &mut Dice) -> Option<Value> {
    if !dice.percent(15) {
        return None;
    }
    dice.note(format!("selectors: {kind}"));
    Some(json!(dice.one_of(&[
        &["version"][..],
        &["none"],
        &["version", "none"]
    ])))
}
