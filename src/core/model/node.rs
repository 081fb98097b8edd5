//! A node as the core is told of it.

use super::{Amounts, Labels, NodeFeatures, NodeImage, Taint};

/// What a node offers and what keeps pods off it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct NodeSpec {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`: the node is cordoned.
    pub unschedulable: bool,
    /// Of `status.declaredFeatures` those that a pod may need.
    pub features: NodeFeatures,
    /// `status.allocatable`, with `pods`. Negative amounts are read as zero.
    pub allocatable: Amounts,
    /// The images it has; empty unless a profile scores by them.
    pub images: Vec<NodeImage>,
}
