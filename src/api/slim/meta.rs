//! Object metadata, cut down while it is decoded.
//!
//! Managed fields, finalizers, owners that are no controller and foreign annotations never
//! reach memory. The type stays Kubernetes' own because kube asks for it.

use crate::api::conventions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Trimmed {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<Annotations>,
    owner_references: Option<Vec<OwnerReference>>,
}

/// Decodes metadata and keeps what is read.
pub(crate) fn trimmed<'de, D: Deserializer<'de>>(decoder: D) -> Result<ObjectMeta, D::Error> {
    let found = Trimmed::deserialize(decoder)?;
    let owners = found.owner_references.map(|mut owners| {
        owners.retain(|owner| owner.controller == Some(true));
        owners
    });
    Ok(ObjectMeta {
        name: found.name,
        namespace: found.namespace,
        uid: found.uid,
        resource_version: found.resource_version,
        generation: found.generation,
        creation_timestamp: found.creation_timestamp,
        deletion_timestamp: found.deletion_timestamp,
        labels: found.labels,
        annotations: found.annotations.map(|kept| kept.0),
        owner_references: owners.filter(|owners| !owners.is_empty()),
        ..ObjectMeta::default()
    })
}

/// Our own annotations and those of the conventions; values of others are not even copied.
#[derive(Default)]
struct Annotations(BTreeMap<String, String>);

fn is_read(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    domain == "muster.dev" || domain.ends_with(".muster.dev") || conventions::reads_annotation(key)
}

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(decoder: D) -> Result<Self, D::Error> {
        decoder.deserialize_map(AnnotationsVisitor)
    }
}

struct AnnotationsVisitor;

impl<'de> Visitor<'de> for AnnotationsVisitor {
    type Value = Annotations;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("annotations: a map of text to text")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Annotations, A::Error> {
        let mut kept = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if is_read(&key) {
                kept.insert(key, map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Annotations(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_keeps_only_what_is_read() {
        let meta = trimmed(json!({
            "name": "a", "namespace": "n", "uid": "u", "generateName": "a-",
            "creationTimestamp": null, "labels": {"x": "y"},
            "managedFields": [{"manager": "kubectl"}], "finalizers": ["f"],
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{...}",
                "muster.dev/lifetime": "90s", "simulate.muster.dev/at": "5s",
                "scheduling.k8s.io/group-name": "g", "notmuster.dev/x": "no",
                "scheduling.volcano.sh/group-name": "g", "pod-group-name": "g",
            },
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1"},
                {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "2", "controller": true},
            ],
        }))
        .unwrap();
        let kept: Vec<_> = meta.annotations.unwrap().into_keys().collect();
        assert_eq!(
            kept,
            [
                "muster.dev/lifetime",
                "pod-group-name",
                "scheduling.k8s.io/group-name",
                "scheduling.volcano.sh/group-name",
                "simulate.muster.dev/at"
            ]
        );
        assert_eq!(meta.owner_references.unwrap()[0].kind, "B");
        assert_eq!((meta.managed_fields, meta.finalizers), (None, None));
        assert_eq!(meta.labels.unwrap()["x"], "y");
    }
}
