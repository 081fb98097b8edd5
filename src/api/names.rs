//! Labels and annotations of ours, and how they are looked up.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Label: a pod's gang.
pub const POD_GROUP: &str = "muster.dev/pod-group";

/// Label: a pod's subgroup.
pub const SUBGROUP: &str = "muster.dev/subgroup";

/// Label of a pod without a gang and of an upstream PodGroup, annotation of a namespace: a queue.
pub const QUEUE: &str = "muster.dev/queue";

/// Annotation: lifetime of a pod without a gang.
pub const LIFETIME: &str = "muster.dev/lifetime";

/// The value of a label.
pub(super) fn label<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    Some(meta.labels.as_ref()?.get(key)?.as_str())
}

/// The value of an annotation.
pub(super) fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    Some(meta.annotations.as_ref()?.get(key)?.as_str())
}
