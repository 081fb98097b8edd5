//! Which nodes and which other pods a pod asks for, as written.

use super::{LabelSelector, nullable};
use prost::Message;
use serde::Deserialize;

/// `spec.affinity.nodeAffinity`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeAffinity {
    /// What a node must have.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    #[prost(message, optional, tag = "1")]
    pub required: Option<NodeSelector>,
    /// What it had better have.
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "nullable"
    )]
    #[prost(message, repeated, tag = "2")]
    pub preferred: Vec<PreferredTerm>,
}

/// A term and how much it counts.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct PreferredTerm {
    /// From 1 to 100.
    #[serde(deserialize_with = "nullable")]
    #[prost(int32, tag = "1")]
    pub weight: i32,
    /// The term.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, required, tag = "2")]
    pub preference: Term,
}

/// Terms of which one must hold.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelector {
    /// The terms.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "1")]
    pub node_selector_terms: Vec<Term>,
}

/// Expressions that must all hold.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct Term {
    /// Over labels.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "1")]
    pub match_expressions: Vec<Requirement>,
    /// Over fields.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "2")]
    pub match_fields: Vec<Requirement>,
}

/// One expression.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct Requirement {
    /// Label key or field path.
    #[prost(string, tag = "1")]
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.
    #[prost(string, tag = "2")]
    pub operator: String,
    /// What it is compared with.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, repeated, tag = "3")]
    pub values: Vec<String>,
}

/// One of `spec.tolerations`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct Toleration {
    /// The key; empty is every key.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "1")]
    pub key: String,
    /// `Equal` (or nothing), `Exists`, `Lt`, `Gt`.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "2")]
    pub operator: String,
    /// The value.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "3")]
    pub value: String,
    /// The effect; empty is every effect.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "4")]
    pub effect: String,
}

/// One term of pod affinity or anti-affinity.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct PodTerm {
    /// Which pods it is about; absent, none.
    #[prost(message, optional, tag = "1")]
    pub label_selector: Option<LabelSelector>,
    /// Where they are, by name.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, repeated, tag = "2")]
    pub namespaces: Vec<String>,
    /// The node label that says what is together.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, tag = "3")]
    pub topology_key: String,
    /// Where they are, by labels; absent, nowhere else, and empty, everywhere.
    #[prost(message, optional, tag = "4")]
    pub namespace_selector: Option<LabelSelector>,
    /// Labels of which they have the pod's own value. The API server writes that into the selector.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, repeated, tag = "5")]
    pub match_label_keys: Vec<String>,
    /// Labels of which they have another value. The API server writes that into the selector.
    #[serde(deserialize_with = "nullable")]
    #[prost(string, repeated, tag = "6")]
    pub mismatch_label_keys: Vec<String>,
}
