//! BatchJob: an application that runs on slots, when a Scheduling says so.
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
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is run, and who runs it now.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "BatchJob",
    doc = "An application that runs on slots of a Testbed, as often as it is asked to.",
    namespaced,
    status = "BatchJobStatus",
    shortname = "mbj",
    category = "muster",
    derive = "PartialEq",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(
        name = "Scheduling",
        type_ = "string",
        json_path = ".status.activeScheduling.name"
    ),
    printcolumn(name = "Started", type_ = "date", json_path = ".status.startedAt"),
    printcolumn(name = "Completed", type_ = "date", json_path = ".status.completedAt"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "(has(self.job) ? 1 : 0) + (has(self.sparkApplication) ? 1 : 0) + \
         (has(self.flinkDeployment) ? 1 : 0) == 1"
    ).message("needs exactly one of job, sparkApplication and flinkDeployment"),
    validation = Rule::new("!has(self.podGroupTemplate) || has(self.job)")
        .message("podGroupTemplate goes with job only"),
    validation = Rule::new("!has(self.creationRequest) || has(self.activeScheduling)")
        .message("creationRequest needs activeScheduling")
)]
pub struct BatchJobSpec {
    /// A Job (batch/v1), as a JobTemplateSpec. How many pods it has, and where, the creationRequest says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub job: Option<Value>,

    /// What the PodGroup of the Job's pods says beside its minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub pod_group_template: Option<Value>,

    /// The spec of a SparkApplication (sparkoperator.k8s.io/v1beta2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub spark_application: Option<Value>,

    /// The spec of a FlinkDeployment (flink.apache.org/v1beta1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub flink_deployment: Option<Value>,

    /// The Scheduling that claims it. Without it: nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchedulingReference")]
    pub active_scheduling: Option<SchedulingReference>,

    /// Where it is to run. Without it, it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CreationRequest")]
    pub creation_request: Option<CreationRequest>,
}

/// A Scheduling.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingReference {
    /// Its namespace, which is that of the BatchJob.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 63")
        .message("must have between 1 and 63 characters"))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 253")
        .message("must have between 1 and 253 characters"))]
    pub name: String,
}

/// On which slots an application is to run.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.replication <= self.slots.size()")
    .message("replication exceeds the number of slots"))]
pub struct CreationRequest {
    /// How many pods on slots it has: executors, TaskManagers, pods of the Job.
    #[x_kube(validation = Rule::new("self >= 1 && self <= 1000")
        .message("must be between 1 and 1000"))]
    pub replication: i32,
    /// The Testbed.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 63")
        .message("must have between 1 and 63 characters"))]
    pub testbed: String,
    /// The slots on which these pods may be.
    #[schemars(length(min = 1, max = 1000))]
    #[x_kube(
        validation = Rule::new("self.size() >= 1 && self.size() <= 1000")
            .message("must have between 1 and 1000 items"),
        validation = Rule::new("self.all(s, s >= 0 && s <= 99999)")
            .message("slots are numbers from 0 to 99999")
    )]
    pub slots: Vec<i32>,
}

/// How far it is.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct BatchJobStatus {
    /// The generation that this speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<BatchJobState>,
    /// The Scheduling whose claim counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_scheduling: Option<SchedulingReference>,
    /// What it runs by, or ran by last: the uid of its application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_uid: Option<String>,
    /// Where it runs, or ran last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub testbed: Option<String>,
    /// On which slots its pods are, or were last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<i32>,
    /// When all its pods first ran in this run, or the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When this run, or the last, ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
    /// The last ten runs that ended, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Run>,
    /// Accepted: whether it can do what its spec says, and if not, why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<v1::Condition>")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

/// How far a BatchJob is. Any may be skipped.
#[derive(
    JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord,
)]
pub enum BatchJobState {
    /// Nobody claims it.
    #[default]
    Ready,
    /// A Scheduling claims it, and has not said where it is to run.
    InQueue,
    /// Its application is there; not all of its pods run yet.
    Submitted,
    /// All its pods have run.
    Running,
    /// Its application has succeeded.
    Completed,
    /// Its application has failed.
    Failed,
}

/// A run that has ended.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Completed, Failed, or Ready: it was released before it ended.
    pub state: BatchJobState,
    /// Which Scheduling ran it.
    pub scheduling: SchedulingReference,
    /// On which Testbed.
    pub testbed: String,
    /// On which slots.
    #[serde(default)]
    pub slots: Vec<i32>,
    /// When all its pods first ran, if they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
}
