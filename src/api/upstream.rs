//! Upstream's PodGroup (`scheduling.k8s.io/v1beta1`, Kubernetes 1.37), as far as it is honoured.

use super::said::SeenCondition;
use super::slim::{Present, nullable, trimmed};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Deserialize;

/// The condition that says whether a group was ever scheduled.
pub const INITIALLY_SCHEDULED: &str = "PodGroupInitiallyScheduled";

/// `scheduling.k8s.io/v1beta1` PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::scheduling::v1beta1::PodGroup")]
pub struct PodGroup {
    /// Identity.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What it asks for.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PodGroupSpec,
    /// What was said of it.
    #[serde(default, deserialize_with = "nullable")]
    pub status: PodGroupStatus,
}

/// `status` of upstream's PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodGroupStatus {
    /// Among them [`INITIALLY_SCHEDULED`].
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<SeenCondition>,
}

/// `spec` of upstream's PodGroup. `disruptionMode` is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodGroupSpec {
    /// Gang or not.
    #[serde(deserialize_with = "nullable")]
    pub scheduling_policy: SchedulingPolicy,
    /// Priority by class.
    pub priority_class_name: Option<String>,
    /// Priority as admission resolved it.
    pub priority: Option<i32>,
    /// Topology, which is not honoured.
    #[serde(deserialize_with = "nullable")]
    pub scheduling_constraints: SchedulingConstraints,
    /// Claims on devices, which are not honoured.
    #[serde(deserialize_with = "nullable")]
    pub resource_claims: Vec<Present>,
}

/// `spec.schedulingPolicy`: one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SchedulingPolicy {
    /// Pods are placed one by one.
    pub basic: Option<Present>,
    /// All or nothing.
    pub gang: Option<GangPolicy>,
}

/// `spec.schedulingPolicy.gang`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GangPolicy {
    /// How many must run.
    pub min_count: i32,
}

/// `spec.schedulingConstraints`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SchedulingConstraints {
    /// Required topology.
    #[serde(deserialize_with = "nullable")]
    pub topology: Vec<Present>,
}
