//! Object metadata, cut down while it is decoded.
//!
//! Managed fields, finalizers, owners that are no controller and foreign annotations never
//! reach memory. The type stays Kubernetes' own because kube asks for it.

use crate::{names, ranks};
use bytes::Bytes;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use prost::Message;
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
    Ok(ObjectMeta {
        name: found.name,
        namespace: found.namespace,
        uid: found.uid,
        resource_version: found.resource_version,
        generation: found.generation,
        creation_timestamp: found.creation_timestamp,
        deletion_timestamp: found.deletion_timestamp,
        labels: found.labels,
        annotations: found
            .annotations
            .and_then(|kept| filled(kept.0, BTreeMap::is_empty)),
        owner_references: found.owner_references.and_then(controllers),
        ..ObjectMeta::default()
    })
}

/// The owners that control the object: there is at most one.
fn controllers(mut owners: Vec<OwnerReference>) -> Option<Vec<OwnerReference>> {
    owners.retain(|owner| owner.controller == Some(true));
    filled(owners, Vec::is_empty)
}

/// In protobuf what is empty is written all the same; in JSON it is absent.
fn filled<T>(found: T, is_empty: impl FnOnce(&T) -> bool) -> Option<T> {
    (!is_empty(&found)).then_some(found)
}

/// Metadata in protobuf.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Metadata {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "5")]
    uid: String,
    #[prost(string, tag = "6")]
    resource_version: String,
    #[prost(int64, tag = "7")]
    generation: i64,
    #[prost(message, optional, tag = "8")]
    creation_timestamp: Option<Moment>,
    #[prost(message, optional, tag = "9")]
    deletion_timestamp: Option<Moment>,
    #[prost(btree_map = "string, string", tag = "11")]
    labels: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "12")]
    annotations: Vec<Annotation>,
    #[prost(message, repeated, tag = "13")]
    owner_references: Vec<Owner>,
}

/// The same without owners and annotations, at which the API server does not look closely.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CheckedMetadata {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "5")]
    uid: String,
    #[prost(string, tag = "6")]
    resource_version: String,
    #[prost(message, optional, tag = "8")]
    creation_timestamp: Option<Moment>,
    #[prost(message, optional, tag = "9")]
    deletion_timestamp: Option<Moment>,
    #[prost(btree_map = "string, string", tag = "11")]
    labels: BTreeMap<String, String>,
}

impl From<CheckedMetadata> for Metadata {
    fn from(found: CheckedMetadata) -> Self {
        Self {
            name: found.name,
            namespace: found.namespace,
            uid: found.uid,
            resource_version: found.resource_version,
            creation_timestamp: found.creation_timestamp,
            deletion_timestamp: found.deletion_timestamp,
            labels: found.labels,
            ..Self::default()
        }
    }
}

/// A point in time, to the second; the zero time has no seconds.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Moment {
    #[prost(int64, optional, tag = "1")]
    seconds: Option<i64>,
}

/// An annotation in protobuf, as slices of what came: it is copied only if it is read.
#[derive(Clone, PartialEq, Eq, Message)]
struct Annotation {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    value: Bytes,
}

/// An owner in protobuf.
#[derive(Clone, PartialEq, Eq, Message)]
struct Owner {
    #[prost(string, tag = "5")]
    api_version: String,
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(string, tag = "4")]
    uid: String,
    #[prost(bool, optional, tag = "6")]
    controller: Option<bool>,
    #[prost(bool, optional, tag = "7")]
    block_owner_deletion: Option<bool>,
}

impl From<Metadata> for ObjectMeta {
    fn from(found: Metadata) -> Self {
        let owners = found
            .owner_references
            .into_iter()
            .map(Owner::into)
            .collect();
        let annotations: BTreeMap<_, _> = found
            .annotations
            .into_iter()
            .filter_map(Annotation::if_read)
            .collect();
        Self {
            name: filled(found.name, String::is_empty),
            namespace: filled(found.namespace, String::is_empty),
            uid: filled(found.uid, String::is_empty),
            resource_version: filled(found.resource_version, String::is_empty),
            generation: filled(found.generation, |generation| *generation == 0),
            creation_timestamp: found.creation_timestamp.and_then(Moment::time),
            deletion_timestamp: found.deletion_timestamp.and_then(Moment::time),
            labels: filled(found.labels, BTreeMap::is_empty),
            annotations: filled(annotations, BTreeMap::is_empty),
            owner_references: controllers(owners),
            ..Self::default()
        }
    }
}

impl Moment {
    /// The time, if it is one.
    pub(crate) fn time(self) -> Option<Time> {
        Timestamp::from_second(self.seconds?).ok().map(Time)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(decoder: D) -> Result<Self, D::Error> {
        let Time(at) = Time::deserialize(decoder)?;
        Ok(Self {
            seconds: Some(at.as_second()),
        })
    }
}

impl Annotation {
    fn if_read(self) -> Option<(String, String)> {
        let key = str::from_utf8(&self.key)
            .ok()
            .filter(|key| annotation_is_read(key))?;
        Some((
            key.to_owned(),
            String::from_utf8_lossy(&self.value).into_owned(),
        ))
    }
}

impl From<Owner> for OwnerReference {
    fn from(found: Owner) -> Self {
        Self {
            api_version: found.api_version,
            kind: found.kind,
            name: found.name,
            uid: found.uid,
            controller: found.controller,
            block_owner_deletion: found.block_owner_deletion,
        }
    }
}

/// Our own annotations and those of the conventions; values of others are not even copied.
#[derive(Default)]
struct Annotations(BTreeMap<String, String>);

/// What Kubernetes writes on claims and CSINodes.
const OF_STORAGE: [&str; 4] = [
    names::BIND_COMPLETED,
    names::SELECTED_NODE,
    names::BETA_STORAGE_CLASS,
    names::MIGRATED_PLUGINS,
];

/// Whether the annotation of this name is read.
pub(crate) fn annotation_is_read(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let ours = domain == "muster.dev" || domain.ends_with(".muster.dev");
    let of_gangs = names::OF_GANGS.contains(&key) || ranks::reads_annotation(key);
    ours || of_gangs || OF_STORAGE.contains(&key)
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
            if annotation_is_read(&key) {
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
