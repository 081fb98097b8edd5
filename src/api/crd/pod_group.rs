//! PodGroup: pods that start together or not at all.
#![expect(
    clippy::duplicated_attributes,
    reason = "each printer column has a name, a type and a path"
)]
#![expect(
    unreachable_pub,
    reason = "the schema derive puts a copy of each type inside a function"
)]

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{TopologyConstraint, schema};
use crate::condition::Condition;

/// What a PodGroup asks for.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "PodGroup",
    doc = "A gang: pods that start together or not at all.",
    namespaced,
    status = "PodGroupStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.bound",
        label_selector_path = ".status.selector"
    ),
    shortname = "mpg",
    category = "muster",
    derive = "PartialEq",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Bound", type_ = "integer", json_path = ".status.bound"),
    printcolumn(name = "Min", type_ = "integer", json_path = ".status.minAvailable"),
    printcolumn(name = "Queue", type_ = "string", json_path = ".spec.queue"),
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
        .message("priority and priorityClassName exclude each other"),
    validation = Rule::new(
        "!has(self.minAvailable) || self.minAvailable != 0 || \
         (has(self.minResources) && size(self.minResources) > 0)"
    ).message("minAvailable 0 needs minResources"),
    validation = Rule::new(
        "has(self.minAvailable) || !has(self.subgroups) || size(self.subgroups) == 0 || \
         self.subgroups.exists(s, s.min != 0) || \
         (has(self.minResources) && size(self.minResources) > 0)"
    ).message("subgroups whose minima are all 0 need minAvailable or minResources"),
    validation = Rule::new(
        "!has(self.minAvailable) || !has(self.subgroups) || size(self.subgroups) == 0 || \
         self.subgroups.exists(s, !has(s.max)) || \
         self.subgroups.map(s, s.max).sum() >= self.minAvailable"
    ).message("minAvailable exceeds the sum of the subgroups' maxima"),
    validation = Rule::new(
        "!has(self.replicas) || !has(self.minAvailable) || self.replicas >= self.minAvailable"
    ).message("replicas is below minAvailable"),
    validation = Rule::new(
        "!has(self.replicas) || !has(self.subgroups) || size(self.subgroups) == 0 || \
         self.replicas >= self.subgroups.map(s, s.min).sum()"
    ).message("replicas is below the sum of the subgroups' minima")
)]
pub struct PodGroupSpec {
    /// How many pods must run. Without it: the sum of the subgroups' minima, or 1 where there
    /// are no subgroups. 0 needs minResources. With subgroups, it is at least their minima.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 2147483647")
        .message("must be between 0 and 2147483647"))]
    pub min_available: Option<i32>,

    /// The queue it waits in. Without it: the one that the namespace names in its annotation
    /// muster.dev/queue, or else the queue default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 253")
        .message("must have between 1 and 253 characters"))]
    pub queue: Option<String>,

    /// Its priority by class. Without it: the highest of its pods. Unless the configuration says
    /// otherwise it counts up to that, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 253")
        .message("must have between 1 and 253 characters"))]
    pub priority_class_name: Option<String>,

    /// Its priority as a number, instead of a class. Unless the configuration says otherwise it
    /// counts up to the highest of its pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= -2147483648 && self <= 1000000000")
        .message("must be between -2147483648 and 1000000000"))]
    pub priority: Option<i32>,

    /// Labels that every node of the gang must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,

    /// Room that must be free before the gang is admitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub min_resources: BTreeMap<String, Quantity>,

    /// How long it is protected from its start, such as 90s or 1h30m; 0s is preemptible at any
    /// time. Without it: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 64))]
    #[x_kube(validation = Rule::new(
        r"self.size() <= 64 && self.matches('^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+)$')"
    ).message("must be a duration such as 90s, 1h30m or 0s"))]
    pub lifetime: Option<String>,

    /// How many of its pods may run at once, over all subgroups and with the minimum. Without it:
    /// as many as the subgroups' maxima allow. What the scale subresource changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= 1 && self <= 2147483647")
        .message("must be between 1 and 2147483647"))]
    pub replicas: Option<i32>,

    /// What becomes of it when it has run and falls below its minimum. Without it: Preempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Disruption")]
    pub disruption: Option<Disruption>,

    /// How close together all its pods have to be. Within each subgroup the number of hops
    /// between two pods is made as small as can be, with or without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TopologyConstraint")]
    pub topology: Option<TopologyConstraint>,

    /// Whether it takes whole nodes: no pod of another gang is placed there, and nodes on which
    /// others run are not taken. Pods of DaemonSets do not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,

    /// Sets of identical pods, each with a minimum of its own. Pods say which one is theirs by
    /// the label muster.dev/subgroup.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".to_owned()]),
        validation = Rule::new("self.size() <= 64").message("must have at most 64 items"),
        validation = Rule::new("self.all(a, self.exists_one(b, b.name == a.name))")
            .message("names must be unique")
    )]
    pub subgroups: Vec<Subgroup>,
}

/// A set of identical pods.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.max) || self.max >= self.min")
    .message("max is below min"))]
pub struct Subgroup {
    /// What pods say in their label muster.dev/subgroup.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 63")
        .message("must have between 1 and 63 characters"))]
    pub name: String,

    /// How many must run.
    #[serde(default = "one")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 2147483647")
        .message("must be between 0 and 2147483647"))]
    pub min: i32,

    /// How many may run. Without it: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= 1 && self <= 2147483647")
        .message("must be between 1 and 2147483647"))]
    pub max: Option<i32>,

    /// How close together its pods have to be. Beside what the PodGroup says of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TopologyConstraint")]
    pub topology: Option<TopologyConstraint>,

    /// Whether its pods take whole nodes: no pod of another gang is placed there, and nodes on which
    /// others run are not taken. Pods of DaemonSets do not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
}

/// What becomes of a gang that has run and falls below its minimum.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("(self.policy == 'Repair') == has(self.deadline)")
    .message("policy Repair needs a deadline, and no other policy has one"))]
pub struct Disruption {
    /// Preempt: what is left of it goes unless it is whole again in a few seconds. Repair: members
    /// it lost are replaced first, until the deadline.
    #[serde(default)]
    pub policy: DisruptionPolicy,

    /// How long it may be below its minimum, such as 2m; what is left of it goes then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 64))]
    #[x_kube(validation = Rule::new(
        r"self.size() <= 64 && self.matches('^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+)$')"
    ).message("must be a duration such as 90s or 2m"))]
    pub deadline: Option<String>,
}

/// What is done first.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DisruptionPolicy {
    /// It goes as a whole.
    #[default]
    Preempt,
    /// Its lost members are replaced.
    Repair,
}

fn one() -> i32 {
    1
}

/// On what terms a gang was granted what it holds.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Granted {
    /// In which queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// For how long from its start it is protected. Without it: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<String>,
    /// The largest minAvailable with which its queue let it in, or with which it ran in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_available: Option<i32>,
    /// The minResources with which its queue let it in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub min_resources: BTreeMap<String, Quantity>,
}

/// How far a PodGroup is, and why not further.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PodGroupStatus {
    /// Pending, Inqueue, Scheduling, Running, Unknown, Finished or Failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// How many pods must run, over all subgroups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_available: Option<i32>,
    /// Pods bound to a node and not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<i32>,
    /// Which pods are its own, for whoever scales it: those that carry the label
    /// muster.dev/pod-group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Pods that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<i32>,
    /// Pods that ended well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<i32>,
    /// Pods that ended badly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<i32>,
    /// Place among those that wait, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<i32>,
    /// When it is expected to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_start: Option<Time>,
    /// The largest number of hops between two of its pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_hops: Option<i32>,
    /// On what terms it was granted what it holds. What it asks for while it runs it has once its
    /// queue would let a new gang start so: until then the condition Granted says why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted: Option<Granted>,
    /// Admitted, Scheduled, Repairing, Granted, Disrupted: each with its reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<v1::Condition>")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}
