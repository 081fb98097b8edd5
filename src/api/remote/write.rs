//! From a question of the core to the message that a plugin gets.

use super::wire::{API_VERSION, Gang, Node, Pod, Request};
use muster_model::{AskedGang, AskedNode, AskedPod, GangSpace, PodLabels, RemoteQuestion};
use std::collections::BTreeMap;

/// The message; `id` is the question's number, and of several messages about one which.
#[must_use]
pub fn write(id: String, question: &RemoteQuestion) -> Request {
    Request {
        api_version: API_VERSION.to_owned(),
        id,
        plugin: question.plugin.to_string(),
        point: question.point,
        gang: gang(&question.gang),
        pods: question.pods.iter().map(pod).collect(),
        pod_count: question.pod_count,
        nodes: question.nodes.iter().map(node).collect(),
    }
}

fn gang(gang: &AskedGang) -> Gang {
    let is_group = gang.key.space != GangSpace::Own;
    Gang {
        namespace: gang.key.namespace.clone(),
        pod_group: is_group.then(|| gang.key.name.clone()),
        uid: Some(gang.uid.clone()).filter(|uid| is_group && !uid.is_empty()),
        queue: gang.queue.clone(),
        priority: gang.priority,
        min_available: gang.min_available,
    }
}

fn pod(pod: &AskedPod) -> Pod {
    let requests = pod.requests.iter();
    Pod {
        namespace: pod.key.namespace.clone(),
        name: pod.key.name.clone(),
        uid: pod.key.uid.clone(),
        labels: labels(&pod.labels),
        requests: requests
            .map(|(name, amount)| (name.clone(), quantity(name, *amount)))
            .collect(),
        node: pod.node.clone(),
    }
}

fn node(node: &AskedNode) -> Node {
    Node {
        name: node.name.clone(),
        labels: node.labels.iter().cloned().collect(),
    }
}

fn labels(labels: &PodLabels) -> BTreeMap<String, String> {
    let pairs = labels
        .text()
        .split(',')
        .filter_map(|one| one.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn quantity(resource: &str, amount: i64) -> String {
    if resource == "cpu" {
        format!("{amount}m")
    } else {
        amount.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{GangKey, Labels, PodKey, RemotePoint};

    #[test]
    fn a_question_has_the_pods_with_labels_and_quantities_and_the_nodes() {
        let own: Labels = [("app", "a"), ("licence", "solver")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let question = RemoteQuestion {
            plugin: "licences".into(),
            point: RemotePoint::Filter,
            gang: AskedGang {
                key: GangKey {
                    namespace: "ns".to_owned(),
                    space: GangSpace::Named,
                    name: "train".to_owned(),
                },
                uid: "g1".to_owned(),
                queue: "default".to_owned(),
                priority: 3,
                min_available: 2,
            },
            pods: vec![AskedPod {
                key: PodKey {
                    namespace: "ns".to_owned(),
                    name: "p".to_owned(),
                    uid: "u".to_owned(),
                },
                labels: PodLabels::new(&own),
                requests: vec![("cpu".to_owned(), 1_500), ("memory".to_owned(), 7)],
                node: None,
            }],
            pod_count: 2,
            nodes: vec![AskedNode {
                name: "n1".to_owned(),
                labels: vec![("zone".to_owned(), "a".to_owned())],
            }]
            .into(),
        };
        let written = serde_json::to_value(write("7".to_owned(), &question)).unwrap();
        let wanted = serde_json::json!({
            "apiVersion": API_VERSION, "id": "7", "plugin": "licences", "point": "Filter",
            "gang": {
                "namespace": "ns", "podGroup": "train", "uid": "g1", "queue": "default",
                "priority": 3, "minAvailable": 2,
            },
            "pods": [{
                "namespace": "ns", "name": "p", "uid": "u",
                "labels": {"app": "a", "licence": "solver"},
                "requests": {"cpu": "1500m", "memory": "7"},
            }],
            "podCount": 2,
            "nodes": [{"name": "n1", "labels": {"zone": "a"}}],
        });
        assert_eq!(written, wanted);
    }
}
