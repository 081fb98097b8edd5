//! What a Job asks for, and the pods that are made for it.

use serde_json::{Map, Value, json};

/// Of more pods at a time than this, so many are made.
const MOST_AT_A_TIME: u64 = 10_000;
/// Of more pods than this, so many are made.
const MOST: u64 = 100_000;
/// How many pods may fail where a Job says nothing of it.
const BACKOFF_LIMIT: u64 = 6;

/// The labels by which pods are found, and the one with the index.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
/// Label and annotation: which of the pods of an indexed Job it is.
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// What a Job asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// How many pods are there at a time.
    pub(super) parallelism: usize,
    /// How many have to succeed; `None`: any, and then no more are made.
    pub(super) completions: Option<usize>,
    /// Whether each of them has a number of its own.
    pub(super) indexed: bool,
    /// How many may fail.
    pub(super) backoff_limit: usize,
    template: Value,
}

impl Asked {
    /// Reads the spec of a Job.
    pub(super) fn read(spec: &Value) -> Self {
        let number = |name: &str, most: u64| {
            let number = spec.get(name).and_then(Value::as_u64);
            number.map(|number| usize::try_from(number.min(most)).unwrap_or_default())
        };
        let parallelism = number("parallelism", MOST_AT_A_TIME);
        let completions = number("completions", MOST);
        Self {
            parallelism: parallelism.unwrap_or(1),
            // As the API server fills in: without both, one.
            completions: completions.or_else(|| parallelism.is_none().then_some(1)),
            indexed: spec.get("completionMode").and_then(Value::as_str) == Some("Indexed"),
            backoff_limit: number("backoffLimit", u64::MAX)
                .or_else(|| usize::try_from(BACKOFF_LIMIT).ok())
                .unwrap_or_default(),
            template: spec.get("template").cloned().unwrap_or_default(),
        }
    }
}

/// A pod of a Job of this namespace, name and uid.
pub(super) fn body(
    asked: &Asked,
    (namespace, job, uid): (&str, &str, &str),
    name: &str,
    index: Option<usize>,
) -> Value {
    let of_template = |field: &str| -> Map<String, Value> {
        let metadata = asked.template.get("metadata");
        let found = metadata.and_then(|metadata| metadata.get(field));
        found
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let (mut labels, mut annotations) = (of_template("labels"), of_template("annotations"));
    for (key, value) in [
        (JOB_NAME, job),
        ("job-name", job),
        (CONTROLLER_UID, uid),
        ("controller-uid", uid),
    ] {
        labels.insert(key.to_owned(), json!(value));
    }
    if let Some(index) = index {
        labels.insert(INDEX.to_owned(), json!(index.to_string()));
        annotations.insert(INDEX.to_owned(), json!(index.to_string()));
    }
    let spec = asked.template.get("spec").cloned();
    let mut metadata = json!({
        "namespace": namespace,
        "name": name,
        "labels": labels,
        "ownerReferences": [{
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": job,
            "uid": uid,
            "controller": true,
            "blockOwnerDeletion": false,
        }],
    });
    if !annotations.is_empty() {
        metadata["annotations"] = json!(annotations);
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec.filter(Value::is_object).unwrap_or_else(|| json!({})),
    })
}
