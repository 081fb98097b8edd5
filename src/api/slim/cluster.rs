//! Nodes, namespaces and priority classes.

use super::meta::Metadata;
use super::object::decoded_from_object;
use super::{Object, Texts, nullable, trimmed};
use crate::protobuf::FromProtobuf;
use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use prost::{DecodeError, Message};
use serde::{Deserialize, Deserializer};

/// `v1` Node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::core::v1::Node")]
pub struct Node {
    /// Name, labels, annotations of ours.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What keeps pods off.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: NodeSpec,
    /// What it offers.
    #[serde(default, deserialize_with = "nullable")]
    pub status: NodeStatus,
}

decoded_from_object!(Node);

/// `spec` of a node.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct NodeSpec {
    /// Cordoned.
    #[serde(deserialize_with = "nullable")]
    #[prost(bool, tag = "4")]
    pub unschedulable: bool,
    /// Taints.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "5")]
    pub taints: Vec<Taint>,
}

/// A taint as written.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct Taint {
    /// The key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "2")]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    #[prost(string, tag = "3")]
    pub effect: String,
}

/// `status` of a node.
#[derive(Clone, Eq, Deserialize, Message)]
#[serde(default)]
pub struct NodeStatus {
    /// What pods may use.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, message", tag = "2")]
    pub allocatable: Texts,
    /// What it has; counts where `allocatable` is absent, as it may be in a scenario.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, message", tag = "1")]
    pub capacity: Texts,
    /// Features of its kubelet.
    #[serde(rename = "declaredFeatures", deserialize_with = "nullable")]
    #[prost(string, repeated, tag = "14")]
    pub declared_features: Vec<String>,
    /// The images it has, each as it came: most nodes have many, and few ask for them.
    #[serde(deserialize_with = "encoded")]
    #[prost(bytes = "bytes", repeated, tag = "8")]
    pub images: Vec<Bytes>,
}

/// The same images may be encoded in several ways.
impl PartialEq for NodeStatus {
    fn eq(&self, other: &Self) -> bool {
        self.allocatable == other.allocatable
            && self.capacity == other.capacity
            && self.declared_features == other.declared_features
            && self.images().eq(other.images())
    }
}

impl NodeStatus {
    /// The images it has; what cannot be read is none.
    pub fn images(&self) -> impl Iterator<Item = Image> + '_ {
        let images = self.images.iter();
        images.filter_map(|one| Image::decode(one.clone()).ok())
    }
}

/// An image that a node has.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct Image {
    /// Its names.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, repeated, tag = "1")]
    pub names: Vec<String>,
    /// Its size.
    #[serde(deserialize_with = "nullable")]
    #[prost(int64, tag = "2")]
    pub size_bytes: i64,
}

/// Images of JSON, as protobuf has them.
fn encoded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Bytes>, D::Error> {
    let images: Vec<Image> = nullable(deserializer)?;
    let encode = |one: &Image| Bytes::from(one.encode_to_vec());
    Ok(images.iter().map(encode).collect())
}

/// `v1` Namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::core::v1::Namespace")]
pub struct Namespace {
    /// Name, labels, annotations of ours.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
}

impl FromProtobuf for Namespace {
    fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError> {
        let found = Object::<(), ()>::decode(bytes)?;
        Ok(Self {
            metadata: found.metadata.into(),
        })
    }
}

/// `scheduling.k8s.io/v1` PriorityClass.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::scheduling::v1::PriorityClass")]
#[serde(rename_all = "camelCase")]
pub struct PriorityClass {
    /// Its name.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// The number it stands for.
    #[serde(default)]
    pub value: i32,
    /// Whether pods without a class get it.
    #[serde(default, deserialize_with = "nullable")]
    pub global_default: bool,
    /// Whether who has it may have others go: `PreemptLowerPriority` or `Never`.
    #[serde(default)]
    pub preemption_policy: Option<String>,
}

impl FromProtobuf for PriorityClass {
    fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError> {
        let found = PriorityClassMessage::decode(bytes)?;
        Ok(Self {
            metadata: found.metadata.into(),
            value: found.value,
            global_default: found.global_default,
            preemption_policy: found.preemption_policy,
        })
    }
}

/// A PriorityClass in protobuf.
#[derive(Clone, PartialEq, Message)]
struct PriorityClassMessage {
    #[prost(message, required, tag = "1")]
    metadata: Metadata,
    #[prost(int32, tag = "2")]
    value: i32,
    #[prost(bool, tag = "3")]
    global_default: bool,
    #[prost(string, optional, tag = "5")]
    preemption_policy: Option<String>,
}
