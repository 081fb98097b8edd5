//! Queue: where gangs wait for their turn.
#![expect(
    clippy::duplicated_attributes,
    reason = "each printer column has a name, a type and a path"
)]
#![expect(
    unreachable_pub,
    reason = "the schema derive puts a copy of each type inside a function"
)]

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self, LabelSelector, MicroTime};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::schema;
use crate::condition::Condition;

/// What a Queue is given.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "Queue",
    doc = "A queue of gangs.",
    status = "QueueStatus",
    shortname = "mq",
    category = "muster",
    derive = "PartialEq",
    printcolumn(name = "Parent", type_ = "string", json_path = ".spec.parent"),
    printcolumn(name = "Weight", type_ = "integer", json_path = ".spec.weight"),
    printcolumn(name = "Share", type_ = "string", json_path = ".status.fairShare"),
    printcolumn(name = "Usage", type_ = "string", json_path = ".status.usage"),
    printcolumn(name = "Flow", type_ = "string", json_path = ".status.flow"),
    printcolumn(name = "Pending", type_ = "integer", json_path = ".status.pending"),
    printcolumn(name = "Running", type_ = "integer", json_path = ".status.running"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct QueueSpec {
    /// The queue whose share it has a part of. Without it: the whole cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 253")
        .message("must have between 1 and 253 characters"))]
    pub parent: Option<String>,

    /// Its part among its siblings.
    #[x_kube(validation = Rule::new("self >= 1 && self <= 65535")
        .message("must be between 1 and 65535"))]
    #[serde(default = "one")]
    pub weight: i32,

    /// Its tier: queues of a higher one go first.
    #[x_kube(validation = Rule::new("self >= -2147483648 && self <= 2147483647")
        .message("must be between -2147483648 and 2147483647"))]
    #[serde(default)]
    pub priority: i32,

    /// What gangs of other queues that have an unlimited lifetime leave free for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub guaranteed: BTreeMap<String, Quantity>,

    /// The most that its gangs, and those of the queues below it, may hold.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub limit: BTreeMap<String, Quantity>,

    /// How far gangs with an unlimited lifetime may raise its flow, in fair shares.
    #[x_kube(validation = Rule::new("self >= 1.0 && self <= 1000000.0")
        .message("must be between 1 and 1000000"))]
    #[serde(default = "over_share_factor")]
    pub over_share_factor: f64,

    /// What gangs with a limited lifetime may be charged together for what they hold beyond its
    /// fair share, in core-minutes. Without it: an hour of its fair share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 1000000000000")
        .message("must be between 0 and 1000000000000"))]
    pub excess_budget: Option<i64>,

    /// The lifetime of gangs that name none, such as 90s or 1h30m. Without it: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 64))]
    #[x_kube(validation = Rule::new(
        r"self.size() <= 64 && self.matches('^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+)$')"
    ).message("must be a duration such as 90s, 1h30m or 0s"))]
    pub default_lifetime: Option<String>,

    /// When gangs of it may have to make room for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "QueuePreemption")]
    pub preemption: Option<QueuePreemption>,

    /// In which order gangs leave it: Priority, or FIFO: by submission, whatever their priority.
    #[serde(default)]
    pub order: QueueOrder,

    /// Who may pass its head while that does not fit: with easy those who do not delay it, with strict
    /// of these nobody of this queue, with none everybody who fits.
    #[serde(default)]
    pub reservation: QueueReservation,

    /// How long its head waits before a place is held for it although nobody knows when that will be
    /// free, such as 90s or 1h30m. Without it: 5m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 64))]
    #[x_kube(validation = Rule::new(
        r"self.size() <= 64 && self.matches('^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+)$')"
    ).message("must be a duration such as 90s, 1h30m or 0s"))]
    pub reserve_after: Option<String>,

    /// The namespaces whose gangs may use it. Without it: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,

    /// No gang in it may have a higher priority than this class has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 253")
        .message("must have between 1 and 253 characters"))]
    pub max_priority_class_name: Option<String>,

    /// Open, or Closed: gangs that run go on, and no other starts.
    #[serde(default)]
    pub state: QueueState,
}

/// When gangs of a queue may have to make room for others.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct QueuePreemption {
    /// For so long from its start, such as 10m, nobody has a gang of it make room. Without it: what
    /// the nearest queue above it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 64))]
    #[x_kube(validation = Rule::new(
        r"self.size() <= 64 && self.matches('^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+)$')"
    ).message("must be a duration such as 90s, 1h30m or 0s"))]
    pub min_runtime: Option<String>,

    /// Whether its gangs may be moved to other nodes so that another gang has room, where the
    /// configuration lets gangs be moved. Without it: what the nearest queue above it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub movable: Option<bool>,
}

/// In which order gangs leave a queue.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueOrder {
    /// The higher priority first, then the earlier submission.
    #[default]
    Priority,
    /// The earlier submission first.
    #[serde(rename = "FIFO")]
    Fifo,
}

/// Who may pass the head of a queue that does not fit.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum QueueReservation {
    /// Who does not delay it: its place is reserved.
    #[default]
    Easy,
    /// The same, and nobody of its own queue.
    Strict,
    /// Everybody who fits.
    None,
}

/// Whether gangs may start.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueState {
    /// They may.
    #[default]
    Open,
    /// Only what has begun goes on.
    Closed,
}

fn one() -> i32 {
    1
}

fn over_share_factor() -> f64 {
    1.2
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            parent: None,
            weight: one(),
            priority: 0,
            guaranteed: BTreeMap::new(),
            limit: BTreeMap::new(),
            over_share_factor: over_share_factor(),
            excess_budget: None,
            default_lifetime: None,
            preemption: None,
            order: QueueOrder::default(),
            reservation: QueueReservation::default(),
            reserve_after: None,
            namespace_selector: None,
            max_priority_class_name: None,
            state: QueueState::default(),
        }
    }
}

/// How many gangs of a Queue are where, and what they hold.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatus {
    /// Gangs not admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<i32>,
    /// Gangs admitted that wait for pods or a place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inqueue: Option<i32>,
    /// Gangs that run, or start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<i32>,
    /// Gangs that fell below their minimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<i32>,
    /// Gangs that ended well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<i32>,
    /// Gangs that ended badly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<i32>,
    /// What its gangs, and those of the queues below it, hold, in cores' worth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    /// The same with a memory, as of flowTime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// When its usage last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_time: Option<MicroTime>,
    /// Its fair share of the cluster, in cores' worth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_share: Option<String>,
    /// What is left of its excess budget, in core-minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_left: Option<i64>,
    /// Ready: whether gangs may start in it, and why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<v1::Condition>")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}
