//! Scheduling: BatchJobs that run on the slots of a Testbed, in the order or on the slots that somebody chose.
#![expect(
    clippy::duplicated_attributes,
    reason = "each printer column has a name, a type and a path"
)]
#![expect(
    unreachable_pub,
    reason = "the schema derive puts a copy of each type inside a function"
)]

use crate::condition::Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which BatchJobs run, and where.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "Scheduling",
    doc = "A plan: which BatchJobs run on which slots of a Testbed.",
    namespaced,
    status = "SchedulingStatus",
    shortname = "msched",
    category = "muster",
    derive = "PartialEq",
    printcolumn(name = "Testbed", type_ = "string", json_path = ".spec.testbed"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.queueBased) != has(self.slotBased)")
    .message("needs exactly one of queueBased and slotBased"))]
pub struct SchedulingSpec {
    /// The Testbed. It stays.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(
        validation = Rule::new("self.size() >= 1 && self.size() <= 63")
            .message("must have between 1 and 63 characters"),
        validation = Rule::new("self == oldSelf").message("may not change")
    )]
    pub testbed: String,

    /// BatchJobs of its namespace, each on so many free slots, one after the other: none goes before those that
    /// stand before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<QueuedJob>", length(min = 1, max = 100))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".to_owned()]),
        validation = Rule::new("self.size() >= 1 && self.size() <= 100")
            .message("must have between 1 and 100 items"),
        validation = Rule::new("self.all(a, self.exists_one(b, b.name == a.name))")
            .message("names must be unique")
    )]
    pub queue_based: Option<Vec<QueuedJob>>,

    /// BatchJobs of its namespace, each on slots of its own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SlotBased")]
    pub slot_based: Option<SlotBased>,
}

/// A BatchJob that takes as many slots as it needs, whichever are free.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct QueuedJob {
    /// The BatchJob.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 63")
        .message("must have between 1 and 63 characters"))]
    pub name: String,
    /// How many slots it gets, and so many pods.
    #[x_kube(validation = Rule::new("self >= 1 && self <= 1000")
        .message("must be between 1 and 1000"))]
    pub slots: i32,
}

/// BatchJobs on given slots.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SlotBased {
    /// Whether those that stand later may go before those that do not fit yet.
    #[serde(default)]
    pub mode: SlotMode,
    /// The BatchJobs.
    #[schemars(length(min = 1, max = 100))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".to_owned()]),
        validation = Rule::new("self.size() >= 1 && self.size() <= 100")
            .message("must have between 1 and 100 items"),
        validation = Rule::new("self.all(a, self.exists_one(b, b.name == a.name))")
            .message("names must be unique")
    )]
    pub jobs: Vec<PlacedJob>,
}

/// In which order BatchJobs on given slots go.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SlotMode {
    /// One after the other as they stand there.
    #[default]
    Strict,
    /// Whichever fits.
    Relaxed,
}

/// A BatchJob on given slots.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PlacedJob {
    /// The BatchJob.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 63")
        .message("must have between 1 and 63 characters"))]
    pub name: String,
    /// Its slots; it has as many pods.
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
pub struct SchedulingStatus {
    /// The generation that this speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<SchedulingState>,
    /// How far its BatchJobs are, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<ScheduledJob>,
    /// When the first of them was asked to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When the last of them ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
    /// Accepted: whether it can go on, and if not, what it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<v1::Condition>")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

/// How far a Scheduling is. Any may be skipped.
#[derive(
    JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord,
)]
pub enum SchedulingState {
    /// Nothing was done yet.
    #[default]
    Initial,
    /// It claims its BatchJobs, all of them or none.
    Acquire,
    /// It has them, and waits for those that it has asked to start, or for slots.
    Confirmation,
    /// It asks some of them to start.
    Submission,
    /// All of them were started.
    AwaitCompletion,
    /// All of them have succeeded.
    Completed,
    /// All of them have ended, and some have failed.
    Failed,
}

/// A BatchJob of a Scheduling.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledJob {
    /// The BatchJob.
    pub name: String,
    /// How far it is.
    pub state: ScheduledJobState,
    /// Its slots, once it has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<i32>,
}

/// How far a BatchJob of a Scheduling is.
#[derive(
    JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord,
)]
pub enum ScheduledJobState {
    /// It is not claimed yet.
    #[default]
    Acquiring,
    /// It is claimed, and waits for its turn.
    InQueue,
    /// It was asked to start.
    Submitted,
    /// All its pods have run.
    Scheduled,
    /// It has succeeded.
    Completed,
    /// It has failed.
    Failed,
}
