//! Volumes as the core is told of them: claims, volumes and classes, what nodes can attach, and what
//! pods ask for.

mod disk;
mod needs;
mod task;

pub use disk::Disk;
pub use needs::{Attach, Reach, VolumeNeeds, VolumePlace, VolumeWant};
pub use task::{VOLUME_BINDING, VolumeDeed, VolumeTask};

use super::{NodeSelector, Requirement, Term};
use crate::Labels;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Where a PersistentVolumeClaim is found.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClaimKey {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A set of access modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AccessModes(u8);

impl AccessModes {
    /// `ReadWriteOnce`.
    pub const READ_WRITE_ONCE: Self = Self(1);
    /// `ReadOnlyMany`.
    pub const READ_ONLY_MANY: Self = Self(2);
    /// `ReadWriteMany`.
    pub const READ_WRITE_MANY: Self = Self(4);
    /// `ReadWriteOncePod`.
    pub const READ_WRITE_ONCE_POD: Self = Self(8);
    /// One that nobody knows, and no volume has.
    pub const UNKNOWN: Self = Self(128);

    /// Those of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it has all of the other's.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct ClaimSpec {
    /// Namespace and name.
    pub key: ClaimKey,
    /// `metadata.uid`.
    pub uid: String,
    /// The uid of the object that controls it, if one does.
    pub owner: Option<String>,
    /// Its class; empty for none.
    pub class: String,
    /// `spec.volumeName`; empty while it has none.
    pub volume: String,
    /// Whether the binding is complete, by annotation `pv.kubernetes.io/bind-completed`.
    pub bind_completed: bool,
    /// The node for which it is to be provisioned, by annotation `volume.kubernetes.io/selected-node`.
    pub selected_node: Option<String>,
    /// Its phase is `Lost`: the volume it was bound to is gone.
    pub lost: bool,
    /// It is being deleted.
    pub deleting: bool,
    /// The bytes it asks for; `None` where it does not say.
    pub size: Option<i64>,
    /// The access modes it asks for.
    pub modes: AccessModes,
    /// Whether it asks for a raw device.
    pub block: bool,
    /// What the labels of its volume must satisfy.
    pub selector: Option<Vec<Requirement>>,
    /// `spec.volumeAttributesClassName`; empty for none.
    pub attributes_class: String,
}

impl ClaimSpec {
    /// Whether it is bound for good (source: kube-scheduler's volume binder: it has a volume, and the
    /// annotation that says that both sides know).
    #[must_use]
    pub const fn is_bound(&self) -> bool {
        !self.volume.is_empty() && self.bind_completed
    }
}

/// The claim that a volume is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClaimRef {
    /// Namespace and name.
    pub key: ClaimKey,
    /// Its uid; empty where whoever has the name is meant.
    pub uid: String,
}

impl ClaimRef {
    /// Whether this claim is meant (source: component-helpers' `IsVolumeBoundToClaim`).
    #[must_use]
    pub fn names(&self, claim: &ClaimSpec) -> bool {
        self.key == claim.key && (self.uid.is_empty() || self.uid == claim.uid)
    }
}

/// What a node attaches for a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Handle {
    /// The CSI driver.
    pub driver: String,
    /// The volume, as the driver calls it.
    pub handle: String,
    /// The plugin of Kubernetes that the driver stands in for; it counts on nodes with a CSINode only.
    pub in_tree: Option<String>,
}

/// A PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct VolumeSpec {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
    /// How many bytes it has.
    pub size: i64,
    /// How it can be mounted.
    pub modes: AccessModes,
    /// Whether it is a raw device.
    pub block: bool,
    /// Its class; empty for none.
    pub class: String,
    /// `spec.volumeAttributesClassName`; empty for none.
    pub attributes_class: String,
    /// The claim it is for.
    pub claim: Option<ClaimRef>,
    /// Its phase is `Available`.
    pub available: bool,
    /// It is being deleted.
    pub deleting: bool,
    /// The nodes that reach it; `None` for all.
    pub affinity: Option<NodeSelector>,
    /// The same, as it reads on nodes where a CSI driver stands in for the plugin of Kubernetes.
    pub migrated_affinity: Option<NodeSelector>,
    /// What a node attaches, where that is counted.
    pub handle: Option<Handle>,
}

/// When volumes of a class are bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BindingMode {
    /// As soon as the claim is there.
    #[default]
    Immediate,
    /// When a pod that uses it has a node.
    WaitForFirstConsumer,
}

/// A StorageClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct StorageClassSpec {
    /// Its name.
    pub name: String,
    /// Who makes volumes; empty or `kubernetes.io/no-provisioner` for nobody.
    pub provisioner: String,
    /// When volumes are bound.
    pub mode: BindingMode,
    /// Where volumes can be made; empty for everywhere.
    pub topologies: Vec<Term>,
}

impl StorageClassSpec {
    /// Whether somebody makes volumes of this class.
    #[must_use]
    pub fn provisions(&self) -> bool {
        !self.provisioner.is_empty() && self.provisioner != "kubernetes.io/no-provisioner"
    }
}

/// A CSINode: which drivers a node has, and how many volumes each may attach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct CsiNodeSpec {
    /// The node's name.
    pub name: String,
    /// Drivers by name, with their limit if they have one.
    pub drivers: BTreeMap<String, Option<u32>>,
    /// Plugins of Kubernetes for which drivers stand in there.
    pub migrated: BTreeSet<String>,
}

/// A CSIDriver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct CsiDriverSpec {
    /// Its name.
    pub name: String,
    /// Whether it publishes how much room it has.
    pub tracks_capacity: bool,
    /// Whether pods must not go to nodes without it.
    pub must_be_installed: bool,
}

/// A CSIStorageCapacity: how much room a driver has for a class, where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct StorageCapacitySpec {
    /// Namespace and name.
    pub key: ClaimKey,
    /// The class.
    pub class: String,
    /// What nodes reach it; `None` for none.
    pub nodes: Option<Vec<Requirement>>,
    /// How many bytes are left.
    pub capacity: Option<i64>,
    /// The largest volume that can be made.
    pub largest: Option<i64>,
}

/// A VolumeAttachment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct AttachmentSpec {
    /// Its name.
    pub name: String,
    /// The node.
    pub node: String,
    /// The driver.
    pub driver: String,
    /// The PersistentVolume; empty where it names none.
    pub volume: String,
}

/// One of a pod's volumes, of those that decide where it may run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PodVolume {
    /// By a claim of this name.
    Claim(String),
    /// By a claim of this name that is made for the pod.
    Ephemeral(String),
    /// A disk without a claim.
    Disk(Disk),
}

impl PodVolume {
    /// The name of the claim, and whether it is made for the pod.
    #[must_use]
    pub fn claim(&self) -> Option<(&str, bool)> {
        match self {
            Self::Claim(name) => Some((name, false)),
            Self::Ephemeral(name) => Some((name, true)),
            Self::Disk(_) => None,
        }
    }
}
