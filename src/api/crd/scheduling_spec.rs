//! SchedulingSpec: how the pods of one controller are scheduled.
#![expect(
    clippy::duplicated_attributes,
    reason = "each printer column has a name, a type and a path"
)]
#![expect(
    unreachable_pub,
    reason = "the schema derive puts a copy of each type inside a function"
)]

use super::PodGroupStatus;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a SchedulingSpec asks for.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "SchedulingSpec",
    root = "JobSchedulingSpec",
    doc = "How the pods of one controller are scheduled: as one gang. It has the name of the controller.",
    namespaced,
    status = "PodGroupStatus",
    shortname = "mspec",
    category = "muster",
    derive = "PartialEq",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Bound", type_ = "integer", json_path = ".status.bound"),
    printcolumn(name = "Min", type_ = "integer", json_path = ".status.minAvailable"),
    printcolumn(name = "Position", type_ = "integer", json_path = ".status.position"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Scheduled")].reason"#
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.priority) || !has(self.priorityClassName)")
        .message("priority and priorityClassName exclude each other")
)]
pub struct JobSpec {
    /// How many of the pods must run. Without it: 1. 0: they are placed one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 2147483647")
        .message("must be between 0 and 2147483647"))]
    pub min_available: Option<i32>,

    /// Their priority by class. Without it: the highest of the pods. Unless the configuration says
    /// otherwise it counts up to that, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 253")
        .message("must have between 1 and 253 characters"))]
    pub priority_class_name: Option<String>,

    /// Their priority as a number, instead of a class. Unless the configuration says otherwise it
    /// counts up to the highest of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= -2147483648 && self <= 1000000000")
        .message("must be between -2147483648 and 1000000000"))]
    pub priority: Option<i32>,

    /// Labels that every node of the pods must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
}
