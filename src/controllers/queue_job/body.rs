//! What is made for a QueueJob: its pods and its SchedulingSpec.

use super::asked::{Task, label_value};
use muster_api::names;
use serde_json::{Map, Value, json};

/// Who schedules where a template says nothing of it.
const SCHEDULER: &str = "muster";

/// The fields of a SchedulingSpec's spec that are written here; any other is left alone.
const FIELDS: [&str; 4] = [
    "minAvailable",
    "priority",
    "priorityClassName",
    "nodeSelector",
];

/// A QueueJob as its things name it.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
}

impl Owner<'_> {
    fn references(self) -> Value {
        json!([{
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "QueueJob",
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": false,
        }])
    }
}

/// A pod of a task, made after so many restarts.
pub(super) fn pod(owner: Owner<'_>, task: &Task, name: &str, restarts: i32) -> Value {
    let of_template = |field: &str| -> Map<String, Value> {
        let metadata = task.template.get("metadata");
        let found = metadata.and_then(|metadata| metadata.get(field));
        found
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let (mut labels, annotations) = (of_template("labels"), of_template("annotations"));
    for (key, value) in [
        (names::QUEUE_JOB, label_value(owner.name)),
        (names::QUEUE_JOB_TASK, task.label.clone()),
        (names::TEMPLATE_HASH, task.hash.clone()),
        (names::RESTART, restarts.to_string()),
    ] {
        labels.insert(key.to_owned(), json!(value));
    }
    let spec = task.template.get("spec").and_then(Value::as_object);
    let mut spec = spec.cloned().unwrap_or_default();
    for (field, value) in [("schedulerName", SCHEDULER), ("restartPolicy", "Never")] {
        let said = spec.get(field).and_then(Value::as_str).unwrap_or_default();
        if said.is_empty() {
            spec.insert(field.to_owned(), json!(value));
        }
    }
    let mut metadata = json!({
        "namespace": owner.namespace,
        "name": name,
        "labels": labels,
        "ownerReferences": owner.references(),
    });
    if !annotations.is_empty() {
        metadata["annotations"] = json!(annotations);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

/// The SchedulingSpec.
pub(super) fn scheduling_spec(owner: Owner<'_>, spec: &Map<String, Value>) -> Value {
    json!({
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "SchedulingSpec",
        "metadata": {
            "namespace": owner.namespace,
            "name": owner.name,
            "ownerReferences": owner.references(),
        },
        "spec": spec,
    })
}

/// What makes of a SchedulingSpec's spec the one that is wanted.
pub(super) fn changes(is: &Value, wanted: &Map<String, Value>) -> Vec<Value> {
    let Some(is) = is.as_object() else {
        return vec![json!({"op": "add", "path": "/spec", "value": wanted})];
    };
    // An empty map says as much as none.
    let says = |value: &&Value| {
        let is_empty = value.as_object().is_some_and(Map::is_empty);
        !value.is_null() && !is_empty
    };
    let change = |field: &&str| {
        let path = format!("/spec/{field}");
        match (is.get(*field).filter(says), wanted.get(*field).filter(says)) {
            (is, wanted) if is == wanted => None,
            (_, Some(wanted)) => Some(json!({"op": "add", "path": path, "value": wanted})),
            (_, None) => Some(json!({"op": "remove", "path": path})),
        }
    };
    FIELDS.iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduling_spec_is_changed_where_it_differs_and_left_alone_elsewhere() {
        let wanted = json!({"minAvailable": 2, "priority": 3});
        let wanted = wanted.as_object().unwrap();
        let is =
            json!({"minAvailable": 1, "priorityClassName": "x", "other": 5, "nodeSelector": {}});
        let min = json!({"op": "add", "path": "/spec/minAvailable", "value": 2});
        let priority = json!({"op": "add", "path": "/spec/priority", "value": 3});
        let class = json!({"op": "remove", "path": "/spec/priorityClassName"});
        assert_eq!(changes(&is, wanted), [min, priority, class]);
        let same = json!({"minAvailable": 2, "priority": 3, "other": 5});
        assert_eq!(changes(&same, wanted), [] as [Value; 0]);
        let all = json!({"op": "add", "path": "/spec", "value": wanted});
        assert_eq!(changes(&Value::Null, wanted), [all]);
    }
}
