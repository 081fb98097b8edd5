//! PersistentVolumes and the claims on them.

use super::object::decoded_from_object;
use super::volume::{AwsDisk, AzureDisk, GceDisk, NamedVolume};
use super::{LabelSelector, NodeSelector, Resources, Texts, nullable, trimmed};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use prost::Message;
use serde::Deserialize;

/// `v1` PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::core::v1::PersistentVolumeClaim")]
pub struct PersistentVolumeClaim {
    /// Namespace, name, uid, the annotations of binding, the controller.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What it asks for.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PersistentVolumeClaimSpec,
    /// How far it is.
    #[serde(default, deserialize_with = "nullable")]
    pub status: PersistentVolumeClaimStatus,
}

decoded_from_object!(PersistentVolumeClaim);

/// `spec` of a claim.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct PersistentVolumeClaimSpec {
    /// How it is to be mounted.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, repeated, tag = "1")]
    pub access_modes: Vec<String>,
    /// How much it asks for.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "2")]
    pub resources: Resources,
    /// The volume it is bound to, or is to be.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "3")]
    pub volume_name: String,
    /// What the labels of its volume must satisfy.
    #[prost(message, optional, tag = "4")]
    pub selector: Option<LabelSelector>,
    /// Its class.
    #[prost(string, optional, tag = "5")]
    pub storage_class_name: Option<String>,
    /// `Block` or `Filesystem`.
    #[prost(string, optional, tag = "6")]
    pub volume_mode: Option<String>,
    /// The class of its volume's attributes.
    #[prost(string, optional, tag = "9")]
    pub volume_attributes_class_name: Option<String>,
}

/// `status` of a claim.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct PersistentVolumeClaimStatus {
    /// `Pending`, `Bound` or `Lost`.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "1")]
    pub phase: String,
}

/// `v1` PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::core::v1::PersistentVolume")]
pub struct PersistentVolume {
    /// Name and labels.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What it is.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PersistentVolumeSpec,
    /// How far it is.
    #[serde(default, deserialize_with = "nullable")]
    pub status: PersistentVolumeStatus,
}

decoded_from_object!(PersistentVolume);

/// `spec` of a volume.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(from = "FlatSpec")]
pub struct PersistentVolumeSpec {
    /// How much it has.
    #[prost(btree_map = "string, message", tag = "1")]
    pub capacity: Texts,
    /// What it is.
    #[prost(message, required, tag = "2")]
    pub source: PersistentVolumeSource,
    /// How it can be mounted.
    #[prost(string, repeated, tag = "3")]
    pub access_modes: Vec<String>,
    /// The claim it is for.
    #[prost(message, optional, tag = "4")]
    pub claim_ref: Option<ClaimReference>,
    /// Its class.
    #[prost(string, tag = "6")]
    pub storage_class_name: String,
    /// `Block` or `Filesystem`.
    #[prost(string, optional, tag = "8")]
    pub volume_mode: Option<String>,
    /// The nodes that reach it.
    #[prost(message, optional, tag = "9")]
    pub node_affinity: Option<VolumeNodeAffinity>,
    /// The class of its attributes.
    #[prost(string, optional, tag = "10")]
    pub volume_attributes_class_name: Option<String>,
}

/// What a volume is, if it is one of those that nodes attach and count.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct PersistentVolumeSource {
    /// Of a CSI driver.
    #[prost(message, optional, tag = "22")]
    pub csi: Option<CsiVolume>,
    /// A disk of GCE.
    #[prost(message, optional, tag = "1")]
    pub gce_persistent_disk: Option<GceDisk>,
    /// A disk of AWS.
    #[prost(message, optional, tag = "2")]
    pub aws_elastic_block_store: Option<AwsDisk>,
    /// A volume of OpenStack.
    #[prost(message, optional, tag = "8")]
    pub cinder: Option<NamedVolume>,
    /// A disk of Azure.
    #[prost(message, optional, tag = "16")]
    pub azure_disk: Option<AzureDisk>,
    /// A volume of Portworx.
    #[prost(message, optional, tag = "18")]
    pub portworx_volume: Option<NamedVolume>,
}

/// `csi` of a volume.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct CsiVolume {
    /// The driver.
    #[prost(string, tag = "1")]
    pub driver: String,
    /// What the driver calls the volume.
    #[prost(string, tag = "2")]
    pub volume_handle: String,
}

/// The claim that a volume is for.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct ClaimReference {
    /// Its namespace.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "2")]
    pub namespace: String,
    /// Its name.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "3")]
    pub name: String,
    /// Its uid.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "4")]
    pub uid: String,
}

/// `spec.nodeAffinity` of a volume.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct VolumeNodeAffinity {
    /// What a node must have.
    #[prost(message, optional, tag = "1")]
    pub required: Option<NodeSelector>,
}

/// `status` of a volume.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct PersistentVolumeStatus {
    /// `Pending`, `Available`, `Bound`, `Released` or `Failed`.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "1")]
    pub phase: String,
}

/// `spec` of a volume in JSON, which has the source's fields beside its own.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FlatSpec {
    #[serde(deserialize_with = "nullable")]
    capacity: Texts,
    csi: Option<CsiVolume>,
    gce_persistent_disk: Option<GceDisk>,
    aws_elastic_block_store: Option<AwsDisk>,
    cinder: Option<NamedVolume>,
    azure_disk: Option<AzureDisk>,
    portworx_volume: Option<NamedVolume>,
    #[serde(deserialize_with = "nullable")]
    access_modes: Vec<String>,
    claim_ref: Option<ClaimReference>,
    #[serde(deserialize_with = "nullable")]
    storage_class_name: String,
    volume_mode: Option<String>,
    node_affinity: Option<VolumeNodeAffinity>,
    volume_attributes_class_name: Option<String>,
}

impl From<FlatSpec> for PersistentVolumeSpec {
    fn from(found: FlatSpec) -> Self {
        Self {
            capacity: found.capacity,
            source: PersistentVolumeSource {
                csi: found.csi,
                gce_persistent_disk: found.gce_persistent_disk,
                aws_elastic_block_store: found.aws_elastic_block_store,
                cinder: found.cinder,
                azure_disk: found.azure_disk,
                portworx_volume: found.portworx_volume,
            },
            access_modes: found.access_modes,
            claim_ref: found.claim_ref,
            storage_class_name: found.storage_class_name,
            volume_mode: found.volume_mode,
            node_affinity: found.node_affinity,
            volume_attributes_class_name: found.volume_attributes_class_name,
        }
    }
}
