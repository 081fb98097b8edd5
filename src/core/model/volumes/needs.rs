//! What a pod's volumes ask of its node: found by the state from claims, volumes and classes.
//!
//! Names of claims are in it only as far as an answer depends on them, so that pods which each have a
//! claim of their own, alike but for its name, are of one shape.

use super::super::{NodeSelector, Requirement, Term};
use super::{AccessModes, ClaimKey, Disk};

/// What a volume that is bound asks of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VolumePlace {
    /// Its claim names a volume that is not there.
    pub is_gone: bool,
    /// The nodes that reach it; `None` for all.
    pub affinity: Option<NodeSelector>,
    /// The plugin of Kubernetes that it is of, and its affinity where a driver stands in for that.
    pub migrated: Option<(String, NodeSelector)>,
    /// Labels by zone and region, and the values of which a node has to have one.
    pub zones: Vec<(String, Vec<String>)>,
}

/// A volume that is to be found or made for the pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VolumeWant {
    /// The bytes.
    pub size: Option<i64>,
    /// The class.
    pub class: String,
    /// The access modes.
    pub modes: AccessModes,
    /// A raw device.
    pub block: bool,
    /// What its labels must satisfy.
    pub selector: Option<Vec<Requirement>>,
    /// Its VolumeAttributesClass.
    pub attributes_class: String,
    /// The node for which it is being made.
    pub selected_node: Option<String>,
    /// Volumes that are for its claim alone.
    pub own: Vec<String>,
    /// Its claim, where other pods name that, too.
    pub shared: Option<ClaimKey>,
    /// Whether volumes of the class are made.
    pub provisions: bool,
    /// Where they can be made; empty for everywhere.
    pub topologies: Vec<Term>,
    /// Whether it has to be looked up how much room there is for them.
    pub tracks_capacity: bool,
}

/// How far what a pod's wants depend on reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reach {
    /// The node's labels alone.
    #[default]
    Facts,
    /// What the pods on the same node have.
    Node,
    /// What pods anywhere have.
    Cluster,
}

/// A volume that the node has to attach.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Attach {
    /// The driver.
    pub driver: String,
    /// The volume; `None` where only the pod itself uses it.
    pub handle: Option<String>,
    /// It counts on nodes with a CSINode only.
    pub in_tree: bool,
}

/// What a pod's volumes ask of its node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct VolumeNeeds {
    /// Why no node will do.
    pub refusal: Option<String>,
    /// Of its bound claims, in the order of its volumes.
    pub places: Vec<VolumePlace>,
    /// For its claims that are not bound, those whose volumes are being made first, then by size.
    pub wants: Vec<VolumeWant>,
    /// How far these depend on others.
    pub reach: Reach,
    /// Claims that one pod at a time may use, and that others name, too.
    pub alone: Vec<ClaimKey>,
    /// Disks without a claim.
    pub disks: Vec<Disk>,
    /// Volumes to attach. Sorted.
    pub attaches: Vec<Attach>,
}

impl VolumeNeeds {
    /// Whether they ask for nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
