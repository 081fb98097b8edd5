//! Who chooses pods that belong together: Services, and controllers of pods that are alike.

use super::policy;
use crate::slim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::{
    LabelCondition, LabelRequirement, LabelSelector, PodSelectorKey, PodSelectorSpec, SelectorKind,
};
use std::collections::BTreeMap;

/// A Service.
#[must_use]
pub fn service(found: &slim::Service) -> PodSelectorSpec {
    let labels = &found.spec.selector;
    spec(SelectorKind::Service, &found.metadata, by_labels(labels))
}

/// A ReplicationController.
#[must_use]
pub fn replication_controller(found: &slim::ReplicationController) -> PodSelectorSpec {
    let kind = SelectorKind::ReplicationController;
    spec(kind, &found.metadata, by_labels(&found.spec.selector))
}

/// A ReplicaSet.
#[must_use]
pub fn replica_set(found: &slim::ReplicaSet) -> PodSelectorSpec {
    let selector = found.spec.selector.as_ref();
    let selector = selector.and_then(policy::selector);
    spec(SelectorKind::ReplicaSet, &found.metadata, selector)
}

/// A StatefulSet.
#[must_use]
pub fn stateful_set(found: &slim::StatefulSet) -> PodSelectorSpec {
    let selector = found.spec.selector.as_ref();
    let selector = selector.and_then(policy::selector);
    spec(SelectorKind::StatefulSet, &found.metadata, selector)
}

/// One that has none chooses nobody; neither does one that cannot be read.
fn spec(kind: SelectorKind, meta: &ObjectMeta, selector: Option<LabelSelector>) -> PodSelectorSpec {
    PodSelectorSpec {
        key: PodSelectorKey {
            namespace: meta.namespace.clone().unwrap_or_default(),
            kind,
            name: meta.name.clone().unwrap_or_default(),
        },
        selector,
    }
}

fn by_labels(labels: &BTreeMap<String, String>) -> Option<LabelSelector> {
    let requirement = |(key, value): (&String, &String)| LabelRequirement {
        key: key.clone(),
        holds: LabelCondition::In(vec![value.clone()]),
    };
    (!labels.is_empty()).then(|| LabelSelector {
        requirements: labels.iter().map(requirement).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_chooses_nobody_has_no_selector() {
        let found = |spec: serde_json::Value| {
            let value = json!({"metadata": {"namespace": "n", "name": "s"}, "spec": spec});
            service(&serde_json::from_value(value).unwrap()).selector
        };
        assert_eq!(found(json!({})), None);
        assert_eq!(found(json!({"selector": null})), None);
        let one = found(json!({"selector": {"app": "db"}})).unwrap();
        assert!(one.matches(&BTreeMap::from([("app".to_owned(), "db".to_owned())])));
    }

    #[test]
    fn the_selector_of_a_controller_is_read_whole_or_not_at_all() {
        let found = |operator: &str| {
            let selector = json!({
                "matchLabels": {"app": "db"},
                "matchExpressions": [{"key": "tier", "operator": operator}],
            });
            let value = json!({
                "metadata": {"namespace": "n", "name": "s"}, "spec": {"selector": selector},
            });
            replica_set(&serde_json::from_value(value).unwrap())
        };
        let read = found("Exists");
        assert_eq!(read.key.kind, SelectorKind::ReplicaSet);
        assert_eq!(read.selector.unwrap().requirements.len(), 2);
        assert_eq!(found("Like").selector, None);
    }
}
