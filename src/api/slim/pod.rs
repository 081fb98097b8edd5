//! A pod: what decides where it may run and how far it is.

use super::{
    LabelSelector, Moment, NodeAffinity, Object, PodTerm, Present, Texts, Toleration, Volume,
    nullable, trimmed,
};
use crate::protobuf::FromProtobuf;
use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use prost::{DecodeError, Message};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `v1` Pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::core::v1::Pod")]
pub struct Pod {
    /// Identity, labels, annotations that are read, the controller.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What it asks for.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PodSpec,
    /// How far it is.
    #[serde(default, deserialize_with = "nullable")]
    pub status: PodStatus,
    /// Why it could not be decoded as a whole: the rest is not known.
    #[serde(skip)]
    pub unreadable: Option<Box<str>>,
}

impl FromProtobuf for Pod {
    fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError> {
        let found: Object<_, _> = Message::decode(bytes)?;
        Ok(Self {
            metadata: found.metadata.into(),
            spec: found.spec,
            status: found.status,
            unreadable: None,
        })
    }
}

/// `spec` of a pod.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    /// Who schedules it; empty means `default-scheduler`.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "19")]
    pub scheduler_name: String,
    /// Where it is bound; empty while it is not.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "10")]
    pub node_name: String,
    /// As admission resolved it.
    #[prost(int32, optional, tag = "25")]
    pub priority: Option<i32>,
    /// As the user named it; empty where nobody did.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "24")]
    pub priority_class_name: String,
    /// Whether it may have others go: `PreemptLowerPriority` or `Never`, as admission resolved it.
    #[prost(string, optional, tag = "31")]
    pub preemption_policy: Option<String>,
    /// What holds it back.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "38")]
    pub scheduling_gates: Vec<Gate>,
    /// Upstream's way to name a gang.
    #[prost(message, optional, tag = "43")]
    pub scheduling_group: Option<SchedulingGroup>,
    /// Containers.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "2")]
    pub containers: Vec<Container>,
    /// Init containers and sidecars, in order.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "20")]
    pub init_containers: Vec<Container>,
    /// What the runtime needs on top.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, message", tag = "32")]
    pub overhead: Texts,
    /// Pod-level resources.
    #[prost(message, optional, tag = "40")]
    pub resources: Option<Resources>,
    /// Labels that the node must have.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, string", tag = "7")]
    pub node_selector: BTreeMap<String, String>,
    /// Affinity.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "18")]
    pub affinity: Affinity,
    /// Tolerations.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "22")]
    pub tolerations: Vec<Toleration>,
    /// Volumes.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "1")]
    pub volumes: Vec<Volume>,
    /// Spread over domains.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "33")]
    pub topology_spread_constraints: Vec<SpreadConstraint>,
    /// Claims on devices.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "39")]
    pub resource_claims: Vec<Present>,
    /// Seconds it may run.
    #[prost(int64, optional, tag = "5")]
    pub active_deadline_seconds: Option<i64>,
    /// Whether its ports are the node's.
    #[serde(deserialize_with = "nullable")]
    #[prost(bool, tag = "11")]
    pub host_network: bool,
    /// Whether its users are the node's; unless it is false, they are.
    #[prost(bool, optional, tag = "37")]
    pub host_users: Option<bool>,
    /// Containers for debugging, which may be there before it has a node.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "34")]
    pub ephemeral_containers: Vec<EphemeralContainer>,
}

/// A scheduling gate.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct Gate {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
}

/// `spec.schedulingGroup`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct SchedulingGroup {
    /// Name of a `scheduling.k8s.io` PodGroup in the pod's namespace.
    #[prost(string, optional, tag = "1")]
    pub pod_group_name: Option<String>,
}

/// A container of any sort.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    /// Its name, by which its status is found.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its image.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "2")]
    pub image: String,
    /// Its resources.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "8")]
    pub resources: Resources,
    /// Its ports.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "6")]
    pub ports: Vec<ContainerPort>,
    /// `Always` on an init container makes it a sidecar.
    #[prost(string, optional, tag = "24")]
    pub restart_policy: Option<String>,
    /// What its end leads to.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "25")]
    pub restart_policy_rules: Vec<RestartRule>,
    /// Its mounts.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "9")]
    pub volume_mounts: Mounts,
}

/// A container for debugging: only what asks something of the node.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(transparent)]
pub struct EphemeralContainer {
    /// What it has in common with containers.
    #[prost(message, required, tag = "1")]
    pub common: EphemeralCommon,
}

/// What a container for debugging has in common with containers.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct EphemeralCommon {
    /// Its mounts.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "9")]
    pub volume_mounts: Mounts,
}

/// What the end of a container leads to.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct RestartRule {
    /// `Restart` or `RestartAllContainers`.
    #[prost(string, tag = "1")]
    pub action: String,
}

/// The mounts of a container, all in one: only what asks something of the node. In protobuf a message
/// that comes again adds to the first, so that mounts which ask for nothing take no room.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(from = "Vec<Mount>")]
pub struct Mounts {
    /// Options beyond the usual.
    #[prost(string, repeated, tag = "8")]
    pub bind_mount_options: Vec<String>,
}

/// A mount in JSON.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Mount {
    #[serde(deserialize_with = "nullable")]
    bind_mount_options: Vec<String>,
}

impl From<Vec<Mount>> for Mounts {
    fn from(found: Vec<Mount>) -> Self {
        let options = found.into_iter().flat_map(|one| one.bind_mount_options);
        Self {
            bind_mount_options: options.collect(),
        }
    }
}

impl Container {
    /// Whether an init container keeps running beside the others.
    #[must_use]
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

/// Requests and limits.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct Resources {
    /// What is set aside.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, message", tag = "2")]
    pub requests: Texts,
    /// What is never exceeded; stands in for an absent request.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, message", tag = "1")]
    pub limits: Texts,
}

/// A port of a container.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerPort {
    /// In the container; 0 where none is named.
    #[serde(deserialize_with = "nullable")]
    #[prost(int32, tag = "3")]
    pub container_port: i32,
    /// On the node; 0 for none.
    #[serde(deserialize_with = "nullable")]
    #[prost(int32, tag = "2")]
    pub host_port: i32,
    /// On which address of the node.
    #[serde(rename = "hostIP", deserialize_with = "nullable")]
    #[prost(string, tag = "5")]
    pub host_ip: String,
    /// `TCP` (or nothing), `UDP`, `SCTP`.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "4")]
    pub protocol: String,
}

/// `spec.affinity`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct Affinity {
    /// To nodes.
    #[prost(message, optional, tag = "1")]
    pub node_affinity: Option<NodeAffinity>,
    /// To pods.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "2")]
    pub pod_affinity: PodTerms,
    /// Away from pods.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "3")]
    pub pod_anti_affinity: PodTerms,
}

/// Terms over other pods.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct PodTerms {
    /// The required ones.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "nullable"
    )]
    #[prost(message, repeated, tag = "1")]
    pub required: Vec<PodTerm>,
    /// Those that had better hold.
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "nullable"
    )]
    #[prost(message, repeated, tag = "2")]
    pub preferred: Vec<WeightedPodTerm>,
}

/// A term over other pods and how much it counts.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct WeightedPodTerm {
    /// How much it counts: 1 to 100.
    #[serde(deserialize_with = "nullable")]
    #[prost(int32, tag = "1")]
    pub weight: i32,
    /// The term.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "2")]
    pub pod_affinity_term: PodTerm,
}

/// `spec.topologySpreadConstraints[]`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// By how much one domain may be ahead of the last.
    #[serde(deserialize_with = "nullable")]
    #[prost(int32, tag = "1")]
    pub max_skew: i32,
    /// The label of nodes whose values are the domains.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "2")]
    pub topology_key: String,
    /// `DoNotSchedule` (or nothing) or `ScheduleAnyway`.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "3")]
    pub when_unsatisfiable: String,
    /// Whom it counts; where there is none, nobody.
    #[prost(message, optional, tag = "4")]
    pub label_selector: Option<LabelSelector>,
    /// With fewer domains the last counts as empty.
    #[prost(int32, optional, tag = "5")]
    pub min_domains: Option<i32>,
    /// Whether nodes count that the pod's affinity leaves out: `Honor` (or nothing) or `Ignore`.
    #[prost(string, optional, tag = "6")]
    pub node_affinity_policy: Option<String>,
    /// Whether nodes count whose taints keep the pod off: `Honor` or `Ignore` (or nothing).
    #[prost(string, optional, tag = "7")]
    pub node_taints_policy: Option<String>,
    /// Labels of the pod whose values those have who are counted.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, repeated, tag = "8")]
    pub match_label_keys: Vec<String>,
}

/// `status` of a pod.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    /// The node that somebody means it to have once there is room.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "11")]
    pub nominated_node_name: String,
    /// Pending, Running, Succeeded, Failed or Unknown.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "1")]
    pub phase: String,
    /// Conditions.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "2")]
    pub conditions: Vec<PodCondition>,
    /// Of the containers.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "8")]
    pub container_statuses: Vec<ContainerStatus>,
    /// Of the init containers and sidecars.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "10")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// Pod-level: what the kubelet set aside.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, message", tag = "19")]
    pub allocated_resources: Texts,
    /// Pod-level: what is in force.
    #[prost(message, optional, tag = "20")]
    pub resources: Option<Resources>,
}

/// A condition of a pod.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct PodCondition {
    /// Its type.
    #[serde(rename = "type")]
    #[prost(string, tag = "1")]
    pub kind: String,
    /// `True`, `False`, `Unknown`.
    #[prost(string, tag = "2")]
    pub status: String,
    /// Since when its status is what it is.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "4")]
    pub last_transition_time: Moment,
    /// Why.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "5")]
    pub reason: String,
    /// In words.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "6")]
    pub message: String,
}

/// What the kubelet says of a container's resources.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    /// Which container.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What the kubelet set aside.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, message", tag = "10")]
    pub allocated_resources: Texts,
    /// What is in force.
    #[prost(message, optional, tag = "11")]
    pub resources: Option<Resources>,
}
