//! The messages of kube-scheduler's extenders (`k8s.io/kube-scheduler/extender/v1`).
//!
//! Their fields have no JSON names of their own, so they are called as in Go, and Go reads names in any
//! case: extenders in other languages rely on that. `write` makes what an extender is sent, around pods
//! and nodes as the API server has them; `read_filter` and `read_scores` check what it answers.

use super::read::{Asked, Wrong, parse, within, words};
use muster_model::{AskedNode, NodeVerdicts, PodKey, RemoteAnswer};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The best priority that an extender gives (`MaxExtenderPriority`).
const MAX_PRIORITY: i64 = 10;
/// What one of these is worth among scores up to 100.
const SCALE: i64 = 10;

/// `ExtenderArgs`: a pod, and the nodes as names or whole.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Arguments<'a> {
    /// The pod as the API server has it.
    pub pod: &'a Value,
    /// The nodes, for one that does not know them.
    pub nodes: Option<NodeList<'a>>,
    /// The names of the nodes, for one that does.
    pub node_names: Option<Vec<&'a str>>,
}

/// `ExtenderBindingArgs`: a pod, and the node that it is to be bound to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Binding<'a> {
    pod_name: &'a str,
    pod_namespace: &'a str,
    #[serde(rename = "PodUID")]
    pod_uid: &'a str,
    node: &'a str,
}

impl<'a> Binding<'a> {
    /// The bind of a pod to a node.
    #[must_use]
    pub fn of(pod: &'a PodKey, node: &'a str) -> Self {
        Self {
            pod_name: &pod.name,
            pod_namespace: &pod.namespace,
            pod_uid: &pod.uid,
            node,
        }
    }
}

/// A `v1.NodeList`.
#[derive(Debug, Serialize)]
pub struct NodeList<'a> {
    /// The nodes as the API server has them.
    pub items: Vec<&'a Value>,
}

/// The field of a name in any case, as Go reads it; `null` is nothing.
fn field<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let exact = object.get(name);
    let found = exact.or_else(|| {
        let mut pairs = object.iter();
        let found = pairs.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    });
    found.filter(|value| !value.is_null())
}

fn text<'a>(value: &'a Value, name: &'static str) -> Result<&'a str, Wrong> {
    let wrong = || Wrong::Unreadable(format!("{name}: expected a text"));
    value.as_str().ok_or_else(wrong)
}

fn error(object: &Map<String, Value>) -> Result<(), Wrong> {
    match field(object, "Error")
        .map(|one| text(one, "Error"))
        .transpose()?
    {
        None | Some("") => Ok(()),
        Some(said) => Err(Wrong::Said(words(said))),
    }
}

/// Reads an `ExtenderFilterResult`: what is not among its nodes does not suit.
///
/// # Errors
/// What is wrong with it, and in which field.
pub fn read_filter(nodes: &[AskedNode], body: &[u8]) -> Result<RemoteAnswer, Wrong> {
    let object: Map<String, Value> = parse(body)?;
    error(&object)?;
    let asked = Asked::new(nodes);
    let mut fit = BTreeSet::new();
    if let Some(names) = field(&object, "NodeNames") {
        let wrong = || Wrong::Unreadable("NodeNames: expected a list".to_owned());
        for name in names.as_array().ok_or_else(wrong)? {
            let name = text(name, "NodeNames")?;
            asked.check("NodeNames", name)?;
            fit.insert(name);
        }
    } else if let Some(list) = field(&object, "Nodes").and_then(Value::as_object) {
        let items = field(list, "items").and_then(Value::as_array);
        for node in items.into_iter().flatten() {
            let name = node.pointer("/metadata/name");
            let name = text(name.unwrap_or(&Value::Null), "Nodes.items[].metadata.name")?;
            asked.check("Nodes", name)?;
            fit.insert(name);
        }
    }
    let said = |name: &str| {
        let in_map = |map| {
            let failed: &Map<String, Value> = field(&object, map)?.as_object()?;
            failed.get(name)?.as_str().map(words)
        };
        // The latter counts where a node is in both.
        in_map("FailedAndUnresolvableNodes").or_else(|| in_map("FailedNodes"))
    };
    let unfit = nodes
        .iter()
        .filter(|node| !fit.contains(node.name.as_str()));
    let refused = unfit.map(|node| (node.name.clone(), said(&node.name).unwrap_or_default()));
    Ok(RemoteAnswer::Nodes(NodeVerdicts {
        refused: refused.collect(),
        ..NodeVerdicts::default()
    }))
}

/// Reads a `HostPriorityList`, as scores up to 100.
///
/// # Errors
/// What is wrong with it, and in which field.
pub fn read_scores(nodes: &[AskedNode], body: &[u8]) -> Result<RemoteAnswer, Wrong> {
    let list: Vec<Map<String, Value>> = parse(body)?;
    let asked = Asked::new(nodes);
    let mut scores = Vec::with_capacity(list.len());
    for one in &list {
        let host = text(field(one, "Host").ok_or(Wrong::Missing("Host"))?, "Host")?;
        asked.check("Host", host)?;
        let score = field(one, "Score").map_or(Some(0), Value::as_i64);
        let wrong = || Wrong::Unreadable("Score: expected a whole number".to_owned());
        let score = score.ok_or_else(wrong)?;
        within("Score", score, 0, MAX_PRIORITY)?;
        scores.push((host.to_owned(), score * SCALE));
    }
    Ok(RemoteAnswer::Scores(scores))
}

/// Reads an `ExtenderBindingResult`: without an error the pod is bound.
///
/// # Errors
/// What is wrong with it, and in which field.
pub fn read_binding(body: &[u8]) -> Result<RemoteAnswer, Wrong> {
    match error(&parse(body)?) {
        Ok(()) => Ok(RemoteAnswer::Allow),
        // It is about this pod: there is nothing wrong with the answer.
        Err(Wrong::Said(said)) => Ok(RemoteAnswer::Deny(said)),
        Err(wrong) => Err(wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn nodes() -> Vec<AskedNode> {
        ["n1", "n2", "n3"]
            .map(|name| AskedNode {
                name: name.to_owned(),
                labels: Vec::new(),
            })
            .into()
    }

    fn refused(body: &Value) -> Vec<(String, String)> {
        let read = read_filter(&nodes(), body.to_string().as_bytes()).unwrap();
        let RemoteAnswer::Nodes(verdicts) = read else {
            panic!("{read:?}");
        };
        verdicts.refused
    }

    #[test]
    fn what_an_extender_does_not_let_pass_does_not_suit_with_its_words() {
        let answer = json!({
            "NodeNames": ["n1"],
            "FailedNodes": {"n2": "no card", "n3": "no card"},
            "FailedAndUnresolvableNodes": {"n3": "never a card"},
            "Error": "",
        });
        let wanted = [("n2", "no card"), ("n3", "never a card")];
        let wanted = wanted.map(|(node, words)| (node.to_owned(), words.to_owned()));
        assert_eq!(refused(&answer), wanted);
        let whole = json!({"nodes": {"items": [
            {"metadata": {"name": "n1"}}, {"metadata": {"name": "n3"}},
        ]}});
        assert_eq!(refused(&whole), [("n2".to_owned(), String::new())]);
    }

    #[test]
    fn names_of_fields_are_read_in_any_case_as_go_does() {
        let answer = json!({"nodenames": ["n1", "n2", "n3"], "error": null});
        assert!(refused(&answer).is_empty());
    }

    #[test]
    fn an_extender_that_names_other_nodes_or_an_error_is_not_believed() {
        let wrong = |body: Value| {
            let wrong = read_filter(&nodes(), body.to_string().as_bytes());
            wrong.unwrap_err().to_string()
        };
        assert_eq!(
            wrong(json!({"NodeNames": ["n9"]})),
            "NodeNames: node \"n9\" was not asked about"
        );
        assert_eq!(wrong(json!({"Error": "broken"})), "it says: broken");
    }

    #[test]
    fn a_pod_is_bound_by_name_and_uid_and_an_error_is_a_no() {
        let pod = PodKey {
            namespace: "ns".to_owned(),
            name: "p".to_owned(),
            uid: "u".to_owned(),
        };
        let sent = serde_json::to_value(Binding::of(&pod, "n1")).unwrap();
        let wanted = json!({"PodName": "p", "PodNamespace": "ns", "PodUID": "u", "Node": "n1"});
        assert_eq!(sent, wanted);
        let read = |body: Value| read_binding(body.to_string().as_bytes());
        assert_eq!(read(json!({"Error": ""})), Ok(RemoteAnswer::Allow));
        let no = RemoteAnswer::Deny("sold out".to_owned());
        assert_eq!(read(json!({"error": "sold out"})), Ok(no));
        let wrong = read(json!({"Error": 7})).unwrap_err().to_string();
        assert!(wrong.ends_with("Error: expected a text"), "{wrong}");
        assert!(read_binding(b"[]").is_err());
    }

    #[test]
    fn priorities_up_to_ten_are_scores_up_to_a_hundred() {
        let read = |body: Value| read_scores(&nodes(), body.to_string().as_bytes());
        let list = json!([{"Host": "n1", "Score": 10}, {"host": "n2", "score": 3}]);
        let wanted = [("n1", 100), ("n2", 30)].map(|(node, score)| (node.to_owned(), score));
        assert_eq!(read(list), Ok(RemoteAnswer::Scores(wanted.into())));
        let wrong = read(json!([{"Host": "n1", "Score": 11}])).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "Score: found 11: expected a number from 0 to 10"
        );
    }
}
