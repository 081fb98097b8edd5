//! Volcano's PodGroup and Queue (`scheduling.volcano.sh/v1beta1`), as far as they are honoured.

use super::condition::Condition;
use super::slim::{LabelSelector, Texts, nullable, trimmed};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// `scheduling.volcano.sh/v1beta1` PodGroup. It has no status subresource.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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

/// `status` of Volcano's PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodGroupStatus {
    /// Pending, Inqueue, Running, Unknown or Completed.
    #[serde(deserialize_with = "nullable")]
    pub phase: String,
    /// Members that run.
    pub running: u32,
    /// Members that ended well.
    pub succeeded: u32,
    /// Members that ended badly.
    pub failed: u32,
    /// `Scheduled` or `Unschedulable`.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
}

/// `spec` of Volcano's PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodGroupSpec {
    /// How many must run.
    pub min_member: Option<i32>,
    /// How many of each task must run, by the task's name.
    #[serde(deserialize_with = "nullable")]
    pub min_task_member: BTreeMap<String, i32>,
    /// Its queue.
    pub queue: Option<String>,
    /// Its priority class.
    pub priority_class_name: Option<String>,
    /// Room that must be free before it is admitted. Keys may be those of resource quotas.
    #[serde(deserialize_with = "nullable")]
    pub min_resources: Texts,
    /// How close together its pods have to be, or should.
    pub network_topology: Option<NetworkTopology>,
    /// Groups inside of it.
    #[serde(deserialize_with = "nullable")]
    pub sub_group_policy: Vec<SubGroupPolicy>,
}

/// One of `spec.subGroupPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SubGroupPolicy {
    /// Its name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// How many pods of a group have to run; one, if nothing is said.
    pub sub_group_size: Option<i32>,
    /// How many of its groups have to run; zero: no group has to.
    pub min_sub_groups: Option<i32>,
    /// Whose pods are in its groups; if nothing is said, all are.
    pub label_selector: Option<LabelSelector>,
    /// The labels by whose values these pods are grouped.
    #[serde(deserialize_with = "nullable")]
    pub match_label_keys: Vec<String>,
    /// How close together the pods of each of its groups have to be, or should.
    pub network_topology: Option<NetworkTopology>,
}

/// `spec.networkTopology`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkTopology {
    /// `hard` (or nothing) or `soft`.
    #[serde(deserialize_with = "nullable")]
    pub mode: String,
    /// The highest tier of a HyperNode that may hold them.
    pub highest_tier_allowed: Option<i64>,
    /// The same by the name of the tier.
    #[serde(deserialize_with = "nullable")]
    pub highest_tier_name: String,
}

impl kube::Resource for PodGroup {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "PodGroup".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "scheduling.volcano.sh".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1beta1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "podgroups".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// `scheduling.volcano.sh/v1beta1` Queue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Queue {
    /// Identity.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What it is given: read field by field, for what there is nothing for is said.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: Map<String, Value>,
    /// What Volcano's controller says of it.
    #[serde(default, deserialize_with = "nullable")]
    pub status: QueueStatus,
}

/// `status` of Volcano's Queue, of which only the state is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct QueueStatus {
    /// Open, Closed, Closing or Unknown.
    #[serde(deserialize_with = "nullable")]
    pub state: String,
}

impl kube::Resource for Queue {
    type DynamicType = ();
    type Scope = ClusterResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Queue".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "scheduling.volcano.sh".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1beta1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "queues".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
