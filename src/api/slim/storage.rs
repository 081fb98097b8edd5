//! `storage.k8s.io/v1`: classes, drivers, what they have on nodes, and how much room.

use super::meta::Metadata;
use super::{LabelSelector, Object, Text, nullable, trimmed};
use crate::protobuf::FromProtobuf;
use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use prost::{DecodeError, Message};
use serde::Deserialize;

/// StorageClass.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::storage::v1::StorageClass")]
#[serde(rename_all = "camelCase")]
pub struct StorageClass {
    /// Its name.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// Who makes volumes.
    #[serde(default, deserialize_with = "nullable")]
    pub provisioner: String,
    /// `Immediate` or `WaitForFirstConsumer`.
    #[serde(default)]
    pub volume_binding_mode: Option<String>,
    /// Where volumes can be made.
    #[serde(default, deserialize_with = "nullable")]
    pub allowed_topologies: Vec<TopologyTerm>,
}

impl FromProtobuf for StorageClass {
    fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError> {
        let found = StorageClassMessage::decode(bytes)?;
        Ok(Self {
            metadata: found.metadata.into(),
            provisioner: found.provisioner,
            volume_binding_mode: found.volume_binding_mode,
            allowed_topologies: found.allowed_topologies,
        })
    }
}

/// A StorageClass in protobuf.
#[derive(Clone, PartialEq, Message)]
struct StorageClassMessage {
    #[prost(message, required, tag = "1")]
    metadata: Metadata,
    #[prost(string, tag = "2")]
    provisioner: String,
    #[prost(string, optional, tag = "7")]
    volume_binding_mode: Option<String>,
    #[prost(message, repeated, tag = "8")]
    allowed_topologies: Vec<TopologyTerm>,
}

/// A `TopologySelectorTerm`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct TopologyTerm {
    /// All must hold.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "1")]
    pub match_label_expressions: Vec<TopologyLabel>,
}

/// A label of which a node has to have one of the values.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct TopologyLabel {
    /// The label.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The values.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, repeated, tag = "2")]
    pub values: Vec<String>,
}

/// CSINode.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::storage::v1::CSINode")]
pub struct CSINode {
    /// The node's name, and the annotation of plugins that have moved to drivers.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// The drivers.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: CSINodeSpec,
}

impl FromProtobuf for CSINode {
    fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError> {
        let found = Object::<CSINodeSpec, ()>::decode(bytes)?;
        Ok(Self {
            metadata: found.metadata.into(),
            spec: found.spec,
        })
    }
}

/// `spec` of a CSINode.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct CSINodeSpec {
    /// The drivers.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "1")]
    pub drivers: Vec<CSINodeDriver>,
}

/// A driver on a node.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct CSINodeDriver {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// How much it takes.
    #[prost(message, optional, tag = "4")]
    pub allocatable: Option<VolumeLimits>,
}

/// `allocatable` of a driver on a node.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct VolumeLimits {
    /// How many volumes it can attach.
    #[prost(int32, optional, tag = "1")]
    pub count: Option<i32>,
}

/// CSIDriver.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::storage::v1::CSIDriver")]
pub struct CSIDriver {
    /// Its name.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What it wants.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: CSIDriverSpec,
}

impl FromProtobuf for CSIDriver {
    fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError> {
        let found = Object::<CSIDriverSpec, ()>::decode(bytes)?;
        Ok(Self {
            metadata: found.metadata.into(),
            spec: found.spec,
        })
    }
}

/// `spec` of a CSIDriver.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct CSIDriverSpec {
    /// Whether it publishes how much room it has.
    #[prost(bool, optional, tag = "4")]
    pub storage_capacity: Option<bool>,
    /// Whether pods must not go to nodes without it.
    #[prost(bool, optional, tag = "11")]
    pub prevent_pod_scheduling_if_missing: Option<bool>,
}

/// CSIStorageCapacity.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::storage::v1::CSIStorageCapacity")]
#[serde(rename_all = "camelCase")]
pub struct CSIStorageCapacity {
    /// Namespace and name.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// The nodes that reach it.
    #[serde(default)]
    pub node_topology: Option<LabelSelector>,
    /// The class.
    #[serde(default, deserialize_with = "nullable")]
    pub storage_class_name: String,
    /// How much is left.
    #[serde(default)]
    pub capacity: Option<Text>,
    /// The largest volume that can be made.
    #[serde(default)]
    pub maximum_volume_size: Option<Text>,
}

impl FromProtobuf for CSIStorageCapacity {
    fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError> {
        let found = CapacityMessage::decode(bytes)?;
        Ok(Self {
            metadata: found.metadata.into(),
            node_topology: found.node_topology,
            storage_class_name: found.storage_class_name,
            capacity: found.capacity,
            maximum_volume_size: found.maximum_volume_size,
        })
    }
}

/// A CSIStorageCapacity in protobuf.
#[derive(Clone, PartialEq, Message)]
struct CapacityMessage {
    #[prost(message, required, tag = "1")]
    metadata: Metadata,
    #[prost(message, optional, tag = "2")]
    node_topology: Option<LabelSelector>,
    #[prost(string, tag = "3")]
    storage_class_name: String,
    #[prost(message, optional, tag = "4")]
    capacity: Option<Text>,
    #[prost(message, optional, tag = "5")]
    maximum_volume_size: Option<Text>,
}

/// VolumeAttachment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::storage::v1::VolumeAttachment")]
pub struct VolumeAttachment {
    /// Its name.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What is attached where.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: VolumeAttachmentSpec,
}

impl FromProtobuf for VolumeAttachment {
    fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError> {
        let found = Object::<VolumeAttachmentSpec, ()>::decode(bytes)?;
        Ok(Self {
            metadata: found.metadata.into(),
            spec: found.spec,
        })
    }
}

/// `spec` of a VolumeAttachment.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeAttachmentSpec {
    /// The driver.
    #[prost(string, tag = "1")]
    pub attacher: String,
    /// The volume.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "2")]
    pub source: AttachedVolume,
    /// The node.
    #[prost(string, tag = "3")]
    pub node_name: String,
}

/// The volume that is attached.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct AttachedVolume {
    /// A PersistentVolume.
    #[prost(string, optional, tag = "1")]
    pub persistent_volume_name: Option<String>,
}
