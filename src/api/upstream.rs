//! Upstream's PodGroup (`scheduling.k8s.io/v1beta1`, Kubernetes 1.37), as far as it is honoured.

use super::condition::Condition;
use super::protobuf::FromProtobuf;
use super::slim::{Moment, Object, Present, nullable, trimmed};
use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use prost::{DecodeError, Message};
use serde::{Deserialize, Serialize};

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

impl FromProtobuf for PodGroup {
    fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError> {
        let found = Object::<PodGroupSpec, StatusMessage>::decode(bytes)?;
        let conditions = found.status.conditions.into_iter();
        Ok(Self {
            metadata: found.metadata.into(),
            spec: found.spec,
            status: PodGroupStatus {
                conditions: conditions.map(ConditionMessage::into).collect(),
            },
        })
    }
}

/// `status` of upstream's PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct PodGroupStatus {
    /// Among them [`INITIALLY_SCHEDULED`].
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
}

/// `status` in protobuf.
#[derive(Clone, PartialEq, Eq, Message)]
struct StatusMessage {
    #[prost(message, repeated, tag = "1")]
    conditions: Vec<ConditionMessage>,
}

/// `meta.v1.Condition` in protobuf.
#[derive(Clone, PartialEq, Eq, Message)]
struct ConditionMessage {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(string, tag = "2")]
    status: String,
    #[prost(int64, tag = "3")]
    observed_generation: i64,
    #[prost(message, optional, tag = "4")]
    last_transition_time: Option<Moment>,
    #[prost(string, tag = "5")]
    reason: String,
    #[prost(string, tag = "6")]
    message: String,
}

impl From<ConditionMessage> for Condition {
    fn from(found: ConditionMessage) -> Self {
        let generation = found.observed_generation;
        Self {
            kind: found.kind,
            status: found.status,
            reason: found.reason,
            message: found.message,
            last_transition_time: found.last_transition_time.and_then(Moment::time),
            observed_generation: (generation != 0).then_some(generation),
            transition_id: None,
        }
    }
}

/// `spec` of upstream's PodGroup.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct PodGroupSpec {
    /// The CompositePodGroup of which it is a part, which is not honoured; empty where there is none.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "1")]
    pub parent_composite_pod_group_name: String,
    /// Gang or not.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "3")]
    pub scheduling_policy: SchedulingPolicy,
    /// Priority by class; empty where there is none.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "7")]
    pub priority_class_name: String,
    /// Priority as admission resolved it.
    #[prost(int32, optional, tag = "8")]
    pub priority: Option<i32>,
    /// On which nodes its pods may be.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "4")]
    pub scheduling_constraints: SchedulingConstraints,
    /// Claims on devices, which are not honoured.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "5")]
    pub resource_claims: Vec<Present>,
    /// How its pods go.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "6")]
    pub disruption_mode: DisruptionMode,
}

/// `spec.disruptionMode`. The API server writes `single` where nothing is said.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct DisruptionMode {
    /// Together.
    #[prost(message, optional, tag = "2")]
    pub all: Option<Present>,
}

/// `spec.schedulingPolicy`: one of the two.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct SchedulingPolicy {
    /// Pods are placed one by one.
    #[prost(message, optional, tag = "1")]
    pub basic: Option<Present>,
    /// All or nothing.
    #[prost(message, optional, tag = "2")]
    pub gang: Option<GangPolicy>,
}

/// `spec.schedulingPolicy.gang`.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct GangPolicy {
    /// How many must run.
    #[prost(int32, tag = "1")]
    pub min_count: i32,
}

/// `spec.schedulingConstraints`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct SchedulingConstraints {
    /// In which domains all of them have to be. The API server lets in one.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "1")]
    pub topology: Vec<TopologyConstraint>,
}

/// An item of `spec.schedulingConstraints.topology`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct TopologyConstraint {
    /// The label of nodes by whose values there are domains.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "1")]
    pub key: String,
}
