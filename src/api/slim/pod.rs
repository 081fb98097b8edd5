//! A pod: what decides where it may run and how far it is.

use super::{NodeAffinity, Present, Texts, Toleration, nullable, trimmed};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
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
}

/// `spec` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    /// Who schedules it; absent means `default-scheduler`.
    pub scheduler_name: Option<String>,
    /// Where it is bound.
    pub node_name: Option<String>,
    /// As admission resolved it.
    pub priority: Option<i32>,
    /// As the user named it.
    pub priority_class_name: Option<String>,
    /// What holds it back.
    #[serde(deserialize_with = "nullable")]
    pub scheduling_gates: Vec<Gate>,
    /// Upstream's way to name a gang.
    pub scheduling_group: Option<SchedulingGroup>,
    /// Containers.
    #[serde(deserialize_with = "nullable")]
    pub containers: Vec<Container>,
    /// Init containers and sidecars, in order.
    #[serde(deserialize_with = "nullable")]
    pub init_containers: Vec<Container>,
    /// What the runtime needs on top.
    #[serde(deserialize_with = "nullable")]
    pub overhead: Texts,
    /// Pod-level resources.
    pub resources: Option<Resources>,
    /// Labels that the node must have.
    #[serde(deserialize_with = "nullable")]
    pub node_selector: BTreeMap<String, String>,
    /// Affinity.
    #[serde(deserialize_with = "nullable")]
    pub affinity: Affinity,
    /// Tolerations.
    #[serde(deserialize_with = "nullable")]
    pub tolerations: Vec<Toleration>,
    /// Volumes, by kind only.
    #[serde(deserialize_with = "nullable")]
    pub volumes: Vec<Volume>,
    /// Spread over domains.
    #[serde(deserialize_with = "nullable")]
    pub topology_spread_constraints: Vec<SpreadConstraint>,
    /// Claims on devices.
    #[serde(deserialize_with = "nullable")]
    pub resource_claims: Vec<Present>,
    /// Seconds it may run.
    pub active_deadline_seconds: Option<i64>,
    /// Whether its ports are the node's.
    #[serde(deserialize_with = "nullable")]
    pub host_network: bool,
}

/// A scheduling gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Gate {
    /// Its name.
    pub name: String,
}

/// `spec.schedulingGroup`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SchedulingGroup {
    /// Name of a `scheduling.k8s.io` PodGroup in the pod's namespace.
    pub pod_group_name: Option<String>,
}

/// A container of any sort.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    /// Its name, by which its status is found.
    pub name: String,
    /// Its resources.
    #[serde(deserialize_with = "nullable")]
    pub resources: Resources,
    /// Its ports.
    #[serde(deserialize_with = "nullable")]
    pub ports: Vec<ContainerPort>,
    /// `Always` on an init container makes it a sidecar.
    pub restart_policy: Option<String>,
}

impl Container {
    /// Whether an init container keeps running beside the others.
    #[must_use]
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

/// Requests and limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// What is set aside.
    #[serde(deserialize_with = "nullable")]
    pub requests: Texts,
    /// What is never exceeded; stands in for an absent request.
    #[serde(deserialize_with = "nullable")]
    pub limits: Texts,
}

/// A port of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerPort {
    /// In the container.
    pub container_port: Option<i64>,
    /// On the node.
    pub host_port: Option<i64>,
    /// On which address of the node.
    #[serde(rename = "hostIP", deserialize_with = "nullable")]
    pub host_ip: String,
    /// `TCP` (or nothing), `UDP`, `SCTP`.
    #[serde(deserialize_with = "nullable")]
    pub protocol: String,
}

/// `spec.affinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Affinity {
    /// To nodes.
    pub node_affinity: Option<NodeAffinity>,
    /// To pods.
    #[serde(deserialize_with = "nullable")]
    pub pod_affinity: PodTerms,
    /// Away from pods.
    #[serde(deserialize_with = "nullable")]
    pub pod_anti_affinity: PodTerms,
}

/// Terms over other pods: only how many are required.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodTerms {
    /// The required ones.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "nullable"
    )]
    pub required: Vec<Present>,
}

/// A volume: only the kinds that decide where a pod may run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// A claim.
    pub persistent_volume_claim: Option<Present>,
    /// A claim made for the pod.
    pub ephemeral: Option<Present>,
    /// A disk of GCE: attached to one node.
    pub gce_persistent_disk: Option<Present>,
    /// A disk of AWS: attached to one node.
    pub aws_elastic_block_store: Option<Present>,
    /// A disk by iSCSI: attached to one node.
    pub iscsi: Option<Present>,
    /// A Ceph block device: attached to one node.
    pub rbd: Option<Present>,
}

/// `spec.topologySpreadConstraints[]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// `DoNotSchedule` (or nothing) or `ScheduleAnyway`.
    #[serde(deserialize_with = "nullable")]
    pub when_unsatisfiable: String,
}

/// `status` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    /// Pending, Running, Succeeded, Failed or Unknown.
    #[serde(deserialize_with = "nullable")]
    pub phase: String,
    /// Conditions.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<PodCondition>,
    /// Of the containers.
    #[serde(deserialize_with = "nullable")]
    pub container_statuses: Vec<ContainerStatus>,
    /// Of the init containers and sidecars.
    #[serde(deserialize_with = "nullable")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// Pod-level: what the kubelet set aside.
    pub allocated_resources: Option<Texts>,
    /// Pod-level: what is in force.
    pub resources: Option<Resources>,
}

/// A condition of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodCondition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False`, `Unknown`.
    pub status: String,
    /// Why.
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    /// In words.
    #[serde(deserialize_with = "nullable")]
    pub message: String,
}

/// What the kubelet says of a container's resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    /// Which container.
    pub name: String,
    /// What the kubelet set aside.
    pub allocated_resources: Option<Texts>,
    /// What is in force.
    pub resources: Option<Resources>,
}
