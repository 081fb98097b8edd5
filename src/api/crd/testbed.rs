//! Testbed: slots on nodes, for pods that name the slots they may run on.
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
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self, LabelSelector};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which slots there are, and who may claim them.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "Testbed",
    doc = "Slots on nodes, each of them held until a pod that claims it comes.",
    status = "TestbedStatus",
    shortname = "mtb",
    category = "muster",
    derive = "PartialEq",
    printcolumn(name = "Slots", type_ = "integer", json_path = ".status.total"),
    printcolumn(name = "Free", type_ = "integer", json_path = ".status.free"),
    printcolumn(name = "Occupied", type_ = "integer", json_path = ".status.occupied"),
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
pub struct TestbedSpec {
    /// The label of the nodes that have slots. Its values order them: numbers as numbers, then names.
    #[schemars(length(min = 1, max = 316))]
    #[x_kube(validation = Rule::new(
        "self.size() <= 316 && self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')"
    ).message("must be the name of a label, such as example.com/testbed"))]
    pub node_label: String,

    /// How many slots each of these nodes has.
    #[x_kube(validation = Rule::new("self >= 1 && self <= 100")
        .message("must be between 1 and 100"))]
    pub slots_per_node: i32,

    /// What a pod on a slot may ask for.
    #[schemars(schema_with = "schema::quantities")]
    #[x_kube(validation = Rule::new("self.size() >= 1")
        .message("must name at least one resource"))]
    pub resources_per_slot: BTreeMap<String, Quantity>,

    /// The namespaces whose pods may claim slots. Without it: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
}

/// Which slots there are, and who sits where.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TestbedStatus {
    /// The generation that this speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Nodes with slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<i32>,
    /// Slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i32>,
    /// Slots that may be claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<i32>,
    /// Slots whose pod is on its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<i32>,
    /// Slots on which a pod sits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupied: Option<i32>,
    /// The slots, by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
    /// What is wrong on single nodes: of the first 20 of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_problems: Vec<NodeProblem>,
    /// Ready: whether every free slot is held, and if not, why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<v1::Condition>")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

/// A slot.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    /// Its number, for as long as it exists.
    pub position: i32,
    /// Its node.
    pub node_name: String,
    /// What the label of the Testbed says on that node.
    pub node_id: String,
    /// Which of the slots of its node it is.
    pub node_position: i32,
    /// The name of the pod that holds it while it is free.
    pub ghost: String,
    /// Whether somebody sits there.
    pub state: SlotState,
    /// The namespace of the pod that sits there, or is on its way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_namespace: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_name: Option<String>,
    /// Its uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_uid: Option<String>,
}

/// Whether somebody sits on a slot.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotState {
    /// Nobody but its ghost.
    #[default]
    Free,
    /// Its ghost goes, or has gone, for a pod that comes.
    Reserved,
    /// A pod that claimed it.
    Occupied,
}

/// What is wrong on a node.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct NodeProblem {
    /// The node.
    pub node_name: String,
    /// In words.
    pub message: String,
}
