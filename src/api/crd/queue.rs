//! Queue: where gangs wait for their turn.
#![expect(
    clippy::duplicated_attributes,
    reason = "each printer column has a name, a type and a path"
)]
#![expect(
    unreachable_pub,
    reason = "the schema derive puts a copy of each type inside a function"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

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
    printcolumn(name = "Weight", type_ = "integer", json_path = ".spec.weight"),
    printcolumn(name = "Priority", type_ = "integer", json_path = ".spec.priority"),
    printcolumn(name = "Pending", type_ = "integer", json_path = ".status.pending"),
    printcolumn(name = "Running", type_ = "integer", json_path = ".status.running"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct QueueSpec {
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
}

fn one() -> i32 {
    1
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            weight: one(),
            priority: 0,
        }
    }
}

/// How many gangs of a Queue are where.
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
    /// What is wrong with the queue, if anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}
