//! Topology: how far nodes are from each other.
#![expect(
    clippy::duplicated_attributes,
    reason = "each printer column has a name, a type and a path"
)]
#![expect(
    unreachable_pub,
    reason = "the schema derive puts a copy of each type inside a function"
)]

use crate::condition::Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// What a network looks like.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "Topology",
    doc = "How far nodes are from each other.",
    status = "TopologyStatus",
    shortname = "mtopo",
    category = "muster",
    derive = "PartialEq",
    printcolumn(
        name = "Levels",
        type_ = "string",
        json_path = ".spec.levels[*].nodeLabel"
    ),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.nodes"),
    printcolumn(
        name = "Outside",
        type_ = "integer",
        json_path = ".status.nodesOutside"
    ),
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
#[x_kube(validation = Rule::new("has(self.levels) != has(self.links)")
    .message("needs either levels or links"))]
pub struct TopologySpec {
    /// The levels of a tree, from the widest to the narrowest: nodes with the same value of a level's
    /// label, and of the labels of all wider levels, are in one domain. Nodes that lack one of the
    /// labels are in none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 16))]
    #[x_kube(
        validation = Rule::new("self.size() >= 1 && self.size() <= 16")
            .message("must have between 1 and 16 items"),
        validation = Rule::new("self.all(a, self.exists_one(b, b.nodeLabel == a.nodeLabel))")
            .message("labels must be unique"),
        validation = Rule::new(
            "self.size() == 0 || \
             !self.exists(a, a.nodeLabel == 'kubernetes.io/hostname') || \
             self[self.size() - 1].nodeLabel == 'kubernetes.io/hostname'"
        ).message("kubernetes.io/hostname can only be the last level"),
    )]
    pub levels: Vec<TopologyLevel>,

    /// The links of a network of any form: two nodes are as far from each other as the shortest path
    /// between them.
    // As many as fit into what etcd takes (1.5 MiB), with names of ten letters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 50000))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 50000")
        .message("must have between 1 and 50000 items"))]
    pub links: Vec<TopologyLink>,
}

/// A link, in both directions. An end that has the name of a node is that node; any other is a switch.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TopologyLink {
    /// One end.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 253")
        .message("must have between 1 and 253 characters"))]
    pub a: String,

    /// The other end.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 253")
        .message("must have between 1 and 253 characters"))]
    pub b: String,

    /// How many hops it counts for. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= 1 && self <= 1000000")
        .message("must be between 1 and 1000000"))]
    pub cost: Option<i32>,
}

/// A level.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.hops) || (self.nodeLabel == 'kubernetes.io/hostname') == (self.hops == 0)")
    .message("hops must be 0 for kubernetes.io/hostname, as pods on one node are 0 hops apart, and at least 1 for any other level"))]
pub struct TopologyLevel {
    /// The label; kubernetes.io/hostname, as the last one, is the single node whatever its labels.
    #[schemars(length(min = 1, max = 316))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 316")
        .message("must have between 1 and 316 characters"))]
    pub node_label: String,

    /// The hops between two nodes of one domain that have no narrower one in common. Without it: twice
    /// the number of levels from here to the single node. Wider levels have more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 1000000")
        .message("must be between 0 and 1000000"))]
    pub hops: Option<i32>,
}

/// Which nodes it is about.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TopologyStatus {
    /// Nodes in a domain, or with links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<i32>,
    /// Nodes that lack a label, or have no links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes_outside: Option<i32>,
    /// Domains of each level, from the widest on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<i32>,
    /// Ready: whether gangs may name it, and what is odd about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<v1::Condition>")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

/// How close together pods have to be, or should.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "has(self.name) || has(self.maxHops) || has(self.requiredLevel) || has(self.preferredLevel)"
).message("says nothing"))]
pub struct TopologyConstraint {
    /// The Topology: ours by its name, those of others as kueue:NAME, kai:NAME and volcano:hypernodes.
    /// Without it: the only one there is, ours before those of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 253")
        .message("must have between 1 and 253 characters"))]
    pub name: Option<String>,

    /// The most hops between any two pods; 0 is a single node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 2147483647")
        .message("must be between 0 and 2147483647"))]
    pub max_hops: Option<i32>,

    /// The label of a level: all pods are in one domain of it. A Topology of links has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 316))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 316")
        .message("must have between 1 and 316 characters"))]
    pub required_level: Option<String>,

    /// The same where there is room for that. As the number of hops is always made as small as can be,
    /// this asks for nothing that would not be done without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 316))]
    #[x_kube(validation = Rule::new("self.size() >= 1 && self.size() <= 316")
        .message("must have between 1 and 316 characters"))]
    pub preferred_level: Option<String>,
}
