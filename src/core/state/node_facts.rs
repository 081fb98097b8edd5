//! What filters look at of a node that does not depend on usage, as one value.

use muster_model::{Labels, NodeFeatures, NodeSpec, Taint};

/// What filters look at that does not depend on usage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Labels.
    pub labels: Labels,
    /// Taints.
    pub taints: Vec<Taint>,
    /// Cordoned.
    pub unschedulable: bool,
    /// What the kubelet declares.
    pub features: NodeFeatures,
}

impl NodeFacts {
    /// Whether a node that says this has these. Both are taken apart in full, so that what is new in
    /// either has to be thought of here.
    pub(super) fn are_those_of(&self, spec: &NodeSpec) -> bool {
        let NodeSpec {
            labels,
            taints,
            unschedulable,
            features,
            name: _,
            allocatable: _,
            images: _,
        } = spec;
        let said = (labels, taints, unschedulable, features);
        let Self {
            labels,
            taints,
            unschedulable,
            features,
        } = self;
        said == (labels, taints, unschedulable, features)
    }
}

impl From<NodeSpec> for NodeFacts {
    fn from(spec: NodeSpec) -> Self {
        Self {
            labels: spec.labels,
            taints: spec.taints,
            unschedulable: spec.unschedulable,
            features: spec.features,
        }
    }
}
