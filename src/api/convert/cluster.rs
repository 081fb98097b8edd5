//! Nodes, namespaces and priority classes.

use super::Reading;
use crate::requests::Reader;
use crate::written::offered;
use crate::{names, slim};
use muster_model::{
    NamespaceSpec, NodeFeatures, NodeImage, NodeSpec, PriorityClassSpec, Taint, TaintEffect,
};

/// The preemptionPolicy of who makes nobody go.
pub(super) const NEVER: &str = "Never";

/// A node. Amounts that cannot be read, or are negative, count as nothing. Its images are read only where a
/// profile scores by them.
#[must_use]
pub fn node(node: &slim::Node, reading: &Reading) -> NodeSpec {
    let status = &node.status;
    NodeSpec {
        name: node.metadata.name.clone().unwrap_or_default(),
        labels: node.metadata.labels.clone().unwrap_or_default(),
        taints: node.spec.taints.iter().filter_map(taint).collect(),
        unschedulable: node.spec.unschedulable,
        features: status
            .declared_features
            .iter()
            .fold(NodeFeatures::NONE, |all, name| {
                all.and(NodeFeatures::named(name))
            }),
        allocatable: offered(node),
        images: if reading.any().images {
            images(status)
        } else {
            Vec::new()
        },
    }
}

/// The images of a node, one for each name.
fn images(status: &slim::NodeStatus) -> Vec<NodeImage> {
    let mut all = Vec::new();
    for image in status.images() {
        let size = image.size_bytes;
        let names = image.names.into_iter();
        all.extend(names.map(|name| NodeImage { name, size }));
    }
    all
}

/// What of a node's amounts cannot be read or is negative, by field path.
#[must_use]
pub fn unreadable_amounts(node: &slim::Node) -> Vec<String> {
    let mut reader = Reader::default();
    reader.bag("status.capacity", &node.status.capacity);
    // A node without it offers its capacity; the same is not said twice.
    if node.status.allocatable != node.status.capacity {
        reader.bag("status.allocatable", &node.status.allocatable);
    }
    reader.finish()
}

/// A taint; one of an unknown effect keeps nothing off, as in kube-scheduler.
fn taint(taint: &slim::Taint) -> Option<Taint> {
    Some(Taint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: effect(&taint.effect)?,
    })
}

/// A taint's effect by its word.
pub(super) fn effect(word: &str) -> Option<TaintEffect> {
    match word {
        "NoSchedule" => Some(TaintEffect::NoSchedule),
        "PreferNoSchedule" => Some(TaintEffect::PreferNoSchedule),
        "NoExecute" => Some(TaintEffect::NoExecute),
        _ => None,
    }
}

/// A namespace.
#[must_use]
pub fn namespace(namespace: &slim::Namespace, reading: &Reading) -> NamespaceSpec {
    let meta = &namespace.metadata;
    let queue = names::filled_annotation(meta, names::QUEUE);
    NamespaceSpec {
        name: meta.name.clone().unwrap_or_default(),
        labels: meta.labels.clone().unwrap_or_default(),
        queue: queue.map(str::to_owned),
        claims: reading.is_claimed(meta),
    }
}

/// A priority class.
#[must_use]
pub fn priority_class(class: &slim::PriorityClass) -> PriorityClassSpec {
    PriorityClassSpec {
        name: class.metadata.name.clone().unwrap_or_default(),
        value: class.value,
        never_preempts: class.preemption_policy.as_deref() == Some(NEVER),
        global_default: class.global_default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_node_offers_its_allocatable_in_core_units() {
        let reading = Reading::default();
        let read = |value| node(&serde_json::from_value(value).unwrap(), &reading);
        let found = read(json!({
            "metadata": {"name": "n", "labels": {"zone": "a"}},
            "spec": {"unschedulable": true, "taints": [
                {"key": "k", "effect": "NoSchedule"}, {"key": "k", "effect": "Strange"},
            ]},
            "status": {
                "allocatable": {"cpu": "3500m", "memory": "1Ki", "pods": 110, "bad": "x", "less": "-1"},
                "capacity": {"cpu": "4"},
                "declaredFeatures": ["Other", "VolumeBindMountOptions"],
            },
        }));
        let amounts = [("cpu", 3500), ("memory", 1024), ("pods", 110)];
        assert_eq!(
            found.allocatable,
            amounts.map(|(name, amount)| (name.to_owned(), amount))
        );
        assert_eq!((found.name.as_str(), found.unschedulable), ("n", true));
        assert_eq!(found.labels["zone"], "a");
        assert_eq!(found.taints.len(), 1);
        assert_eq!(found.features, NodeFeatures::BIND_MOUNT_OPTIONS);
        let bare = read(json!({"metadata": {"name": "n"}, "status": {"capacity": {"cpu": 4}}}));
        assert_eq!(bare.allocatable, [("cpu".to_owned(), 4000)]);
    }

    #[test]
    fn a_namespace_names_its_queue_by_annotation() {
        let read = |annotations| {
            let value = json!({"metadata": {"name": "n", "annotations": annotations}});
            namespace(&serde_json::from_value(value).unwrap(), &Reading::default()).queue
        };
        assert_eq!(read(json!({"muster.dev/queue": "q"})), Some("q".to_owned()));
        assert_eq!(read(json!({"muster.dev/queue": ""})), None);
        assert_eq!(read(json!(null)), None);
    }

    #[test]
    fn a_namespace_claims_its_groups_by_a_label_that_names_a_scheduler_of_ours() {
        let reading = Reading {
            scheduler_names: vec!["muster".to_owned()],
            ..Reading::default()
        };
        let claims = |labels| {
            let value = json!({"metadata": {"name": "n", "labels": labels}});
            namespace(&serde_json::from_value(value).unwrap(), &reading).claims
        };
        assert!(claims(json!({"muster.dev/scheduler-name": "muster"})));
        assert!(!claims(json!({"muster.dev/scheduler-name": "volcano"})));
        assert!(!claims(json!(null)));
    }

    #[test]
    fn a_priority_class_is_its_number() {
        let value = json!({"metadata": {"name": "high"}, "value": 7, "globalDefault": true});
        let found = priority_class(&serde_json::from_value(value).unwrap());
        assert_eq!(
            (found.name.as_str(), found.value, found.global_default),
            ("high", 7, true)
        );
    }
}
