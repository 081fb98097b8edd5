//! Nodes, namespaces and priority classes.

use super::{Texts, nullable, trimmed};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Deserialize;

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

/// `spec` of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Cordoned.
    #[serde(deserialize_with = "nullable")]
    pub unschedulable: bool,
    /// Taints.
    #[serde(deserialize_with = "nullable")]
    pub taints: Vec<Taint>,
}

/// A taint as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Taint {
    /// The key.
    pub key: String,
    /// The value.
    #[serde(deserialize_with = "nullable")]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// `status` of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// What pods may use.
    #[serde(deserialize_with = "nullable")]
    pub allocatable: Texts,
    /// What it has; counts where `allocatable` is absent, as it may be in a scenario.
    #[serde(deserialize_with = "nullable")]
    pub capacity: Texts,
}

/// `v1` Namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::core::v1::Namespace")]
pub struct Namespace {
    /// Name, labels, annotations of ours.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
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
}
