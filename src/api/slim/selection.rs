//! Which nodes a pod asks for, as written.

use super::nullable;
use serde::Deserialize;

/// `spec.affinity.nodeAffinity`; preferences are not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeAffinity {
    /// What a node must have.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<NodeSelector>,
}

/// Terms of which one must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelector {
    /// The terms.
    #[serde(deserialize_with = "nullable")]
    pub node_selector_terms: Vec<Term>,
}

/// Expressions that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Term {
    /// Over labels.
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<Requirement>,
    /// Over fields.
    #[serde(deserialize_with = "nullable")]
    pub match_fields: Vec<Requirement>,
}

/// One expression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Requirement {
    /// Label key or field path.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.
    pub operator: String,
    /// What it is compared with.
    #[serde(deserialize_with = "nullable")]
    pub values: Vec<String>,
}

/// One of `spec.tolerations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Toleration {
    /// The key; empty is every key.
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// `Equal` (or nothing), `Exists`, `Lt`, `Gt`.
    #[serde(deserialize_with = "nullable")]
    pub operator: String,
    /// The value.
    #[serde(deserialize_with = "nullable")]
    pub value: String,
    /// The effect; empty is every effect.
    #[serde(deserialize_with = "nullable")]
    pub effect: String,
}
