//! QueueJob: pods of several templates that run together or not at all.
#![expect(
    clippy::duplicated_attributes,
    reason = "each printer column has a name, a type and a path"
)]
#![expect(
    unreachable_pub,
    reason = "the schema derive puts a copy of each type inside a function"
)]

use super::schema;
use crate::condition::Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self, LabelSelector, Time};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Which pods are made, and how many of them have to run at once.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "QueueJob",
    doc = "Pods of several templates, of which so many have to run at once.",
    namespaced,
    status = "QueueJobStatus",
    shortname = "mqj",
    category = "muster",
    derive = "PartialEq",
    printcolumn(name = "Min", type_ = "integer", json_path = ".status.minAvailable"),
    printcolumn(name = "Pending", type_ = "integer", json_path = ".status.pending"),
    printcolumn(name = "Running", type_ = "integer", json_path = ".status.running"),
    printcolumn(name = "Succeeded", type_ = "integer", json_path = ".status.succeeded"),
    printcolumn(name = "Failed", type_ = "integer", json_path = ".status.failed"),
    printcolumn(name = "Restarts", type_ = "integer", json_path = ".status.restarts"),
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Accepted")].reason"#
    ),
    printcolumn(
        name = "Complete",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Complete")].status"#
    ),
    printcolumn(
        name = "Why",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Failed")].reason"#
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(self.schedSpec.minAvailable) || \
     self.taskSpecs.map(t, t.replicas).sum() >= self.schedSpec.minAvailable"
).message("schedSpec.minAvailable exceeds the sum of the replicas"))]
pub struct QueueJobSpec {
    /// The labels of every template have to match it. It chooses no pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,

    /// The spec of the SchedulingSpec that is made for its pods.
    #[serde(default)]
    pub sched_spec: SchedSpec,

    /// Its pods.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(
        validation = Rule::new("self.size() >= 1 && self.size() <= 64")
            .message("must have between 1 and 64 items"),
        validation = Rule::new(
            "self.all(a, !has(a.name) || self.exists_one(b, has(b.name) && b.name == a.name))"
        ).message("names must be unique")
    )]
    pub task_specs: Vec<TaskSpec>,

    /// How many failures there may be.
    #[serde(default = "backoff_limit")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 2147483647")
        .message("must be between 0 and 2147483647"))]
    pub backoff_limit: i32,

    /// So many seconds after its end it is deleted. Without it: it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 2147483647")
        .message("must be between 0 and 2147483647"))]
    pub ttl_seconds_after_finished: Option<i32>,
}

/// As a Job's.
const fn backoff_limit() -> i32 {
    6
}

/// What the SchedulingSpec of a QueueJob says.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.priority) || !has(self.priorityClassName)")
    .message("priority and priorityClassName exclude each other"))]
pub struct SchedSpec {
    /// How many pods have to run, or have succeeded, at once. Without it: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 2147483647")
        .message("must be between 0 and 2147483647"))]
    pub min_available: Option<i32>,

    /// Its priority by class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 253")
        .message("must have between 1 and 253 characters"))]
    pub priority_class_name: Option<String>,

    /// Its priority as a number, instead of a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= -2147483648 && self <= 1000000000")
        .message("must be between -2147483648 and 1000000000"))]
    pub priority: Option<i32>,

    /// Labels that every node of its pods must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
}

/// So many pods of one template.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TaskSpec {
    /// Its name. Without it: its place in the list, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new(
        "self.size() <= 63 && self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
    ).message("must have at most 63 small letters, digits and dashes, a letter first and no dash last"))]
    pub name: Option<String>,

    /// How many pods.
    #[serde(default = "replicas")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 10000")
        .message("must be between 0 and 10000"))]
    pub replicas: i32,

    /// The pod, as a PodTemplateSpec.
    #[schemars(schema_with = "schema::any_object")]
    pub template: Value,
}

const fn replicas() -> i32 {
    1
}

/// How far it is, and all that is remembered of pods that are gone.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct QueueJobStatus {
    /// The generation that this speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many of its pods have to run at once.
    #[serde(default)]
    pub min_available: i32,
    /// Pods that do not run yet.
    #[serde(default)]
    pub pending: i32,
    /// Pods that run.
    #[serde(default)]
    pub running: i32,
    /// Pods that have succeeded, each index once.
    #[serde(default)]
    pub succeeded: i32,
    /// Pods that have failed by themselves.
    #[serde(default)]
    pub failed: i32,
    /// What counts against `backoffLimit`.
    #[serde(default)]
    pub failures: i32,
    /// How often all its pods were made anew.
    #[serde(default)]
    pub restarts: i32,
    /// When it was first looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When it was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// Since when its minimum runs or has succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_since: Option<Time>,
    /// When all its pods were last made anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_restart_time: Option<Time>,
    /// When a failure was counted last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure_time: Option<Time>,
    /// Its tasks, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub tasks: Vec<TaskStatus>,
    /// Uids of failed pods that are counted and still to be deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted_pods: Vec<String>,
    /// Complete, Failed; and Accepted: whether it can do what its spec says, and if not, why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<v1::Condition>")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

/// How far a task is.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// Its name or place.
    pub name: String,
    /// The hash of its template.
    pub template_hash: String,
    /// Which of its pods have succeeded, such as `0-2,5`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub completed_indexes: String,
}
