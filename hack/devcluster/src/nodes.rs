//! Nodes that exist only in the API server and are played by kwok.

use serde_json::{Map, Value, json};

/// kwok plays the nodes with this annotation, and no others.
pub(crate) const FAKE: (&str, &str) = ("kwok.x-k8s.io/node", "fake");

/// A node with the usual labels and this capacity, all of it allocatable.
/// Change the value at will, for example
/// `node["metadata"]["labels"]["zone"] = "a".into()`.
///
/// Room for 110 pods unless `capacity` names `pods`.
pub fn fake_node(name: &str, capacity: &[(&str, &str)]) -> Value {
    let mut resources = Map::from_iter([("pods".to_owned(), json!("110"))]);
    for (resource, quantity) in capacity {
        resources.insert((*resource).to_owned(), json!(quantity));
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        "status": {"capacity": resources, "allocatable": resources},
    })
}

/// Adds what every fake node has: kwok's annotation, and a Ready condition
/// unless the test gave conditions. Being Ready from the start saves the wait
/// for kwok, and a write for every node.
pub(crate) fn complete(node: &mut Value) {
    let (key, value) = FAKE;
    if node["metadata"]["annotations"][key].is_null() {
        node["metadata"]["annotations"][key] = json!(value);
    }
    if node["status"]["conditions"].is_null() {
        node["status"]["conditions"] = json!([
            {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "created by the test"},
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fake_node_is_ready_and_kwoks() {
        let mut node = fake_node("n", &[("cpu", "8"), ("pods", "5")]);
        complete(&mut node);
        assert_eq!(
            node["status"]["allocatable"],
            json!({"cpu": "8", "pods": "5"})
        );
        assert_eq!(
            node["metadata"]["annotations"],
            json!({"kwok.x-k8s.io/node": "fake"})
        );
        assert_eq!(node["status"]["conditions"][0]["status"], "True");
    }

    #[test]
    fn what_the_test_gave_is_kept() {
        let mut node = fake_node("n", &[]);
        node["metadata"]["annotations"] = json!({"kwok.x-k8s.io/node": "mine"});
        node["status"]["conditions"] = json!([]);
        let before = node.clone();
        complete(&mut node);
        assert_eq!(node, before);
    }
}
