//! A pod's volumes: only the kinds that decide where it may run, and what is read of them.

use super::{Present, nullable};
use prost::Message;
use serde::Deserialize;

/// A volume of a pod.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(from = "FlatVolume")]
pub struct Volume {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What it is.
    #[prost(message, required, tag = "2")]
    pub source: VolumeSource,
}

/// What a volume is, if it is one of these.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct VolumeSource {
    /// A claim.
    #[prost(message, optional, tag = "10")]
    pub persistent_volume_claim: Option<ClaimSource>,
    /// A claim made for the pod.
    #[prost(message, optional, tag = "29")]
    pub ephemeral: Option<Present>,
    /// A disk of GCE.
    #[prost(message, optional, tag = "3")]
    pub gce_persistent_disk: Option<GceDisk>,
    /// A disk of AWS.
    #[prost(message, optional, tag = "4")]
    pub aws_elastic_block_store: Option<AwsDisk>,
    /// A disk by iSCSI.
    #[prost(message, optional, tag = "8")]
    pub iscsi: Option<IscsiDisk>,
    /// A Ceph block device.
    #[prost(message, optional, tag = "11")]
    pub rbd: Option<RbdDisk>,
    /// A volume of OpenStack.
    #[prost(message, optional, tag = "12")]
    pub cinder: Option<NamedVolume>,
    /// A disk of Azure.
    #[prost(message, optional, tag = "22")]
    pub azure_disk: Option<AzureDisk>,
    /// A volume of Portworx.
    #[prost(message, optional, tag = "24")]
    pub portworx_volume: Option<NamedVolume>,
    /// An image as a volume.
    #[prost(message, optional, tag = "30")]
    pub image: Option<ImageVolume>,
}

/// `image`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct ImageVolume {
    /// Which image.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "1")]
    pub reference: String,
}

/// `persistentVolumeClaim`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimSource {
    /// The claim's name.
    #[prost(string, tag = "1")]
    pub claim_name: String,
}

/// `gcePersistentDisk`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct GceDisk {
    /// The disk.
    #[prost(string, tag = "1")]
    pub pd_name: String,
    /// Mounted for reading only.
    #[serde(deserialize_with = "nullable")]
    #[prost(bool, tag = "4")]
    pub read_only: bool,
}

/// `awsElasticBlockStore`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct AwsDisk {
    /// The disk.
    #[serde(rename = "volumeID")]
    #[prost(string, tag = "1")]
    pub volume_id: String,
}

/// `azureDisk`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct AzureDisk {
    /// The disk.
    #[serde(rename = "diskURI")]
    #[prost(string, tag = "2")]
    pub disk_uri: String,
}

/// A volume of a driver that calls it by a name.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct NamedVolume {
    /// Its name.
    #[serde(rename = "volumeID")]
    #[prost(string, tag = "1")]
    pub volume_id: String,
}

/// `iscsi`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct IscsiDisk {
    /// The target.
    #[prost(string, tag = "2")]
    pub iqn: String,
    /// Mounted for reading only.
    #[serde(deserialize_with = "nullable")]
    #[prost(bool, tag = "6")]
    pub read_only: bool,
}

/// `rbd`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct RbdDisk {
    /// The monitors.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, repeated, tag = "1")]
    pub monitors: Vec<String>,
    /// The image.
    #[prost(string, tag = "2")]
    pub image: String,
    /// The pool; empty means `rbd`.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "4")]
    pub pool: String,
    /// Mounted for reading only.
    #[serde(deserialize_with = "nullable")]
    #[prost(bool, tag = "8")]
    pub read_only: bool,
}

/// A volume in JSON, which has the source's fields beside the name.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FlatVolume {
    name: String,
    persistent_volume_claim: Option<ClaimSource>,
    ephemeral: Option<Present>,
    gce_persistent_disk: Option<GceDisk>,
    aws_elastic_block_store: Option<AwsDisk>,
    iscsi: Option<IscsiDisk>,
    rbd: Option<RbdDisk>,
    cinder: Option<NamedVolume>,
    azure_disk: Option<AzureDisk>,
    portworx_volume: Option<NamedVolume>,
    image: Option<ImageVolume>,
}

impl From<FlatVolume> for Volume {
    fn from(found: FlatVolume) -> Self {
        Self {
            name: found.name,
            source: VolumeSource {
                persistent_volume_claim: found.persistent_volume_claim,
                ephemeral: found.ephemeral,
                gce_persistent_disk: found.gce_persistent_disk,
                aws_elastic_block_store: found.aws_elastic_block_store,
                iscsi: found.iscsi,
                rbd: found.rbd,
                cinder: found.cinder,
                azure_disk: found.azure_disk,
                portworx_volume: found.portworx_volume,
                image: found.image,
            },
        }
    }
}
