//! PodDisruptionBudgets: whom they choose, and how many of those may go.

use super::object::decoded_from_object;
use super::{Present, Requirement, nullable, trimmed};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use prost::Message;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `policy/v1` PodDisruptionBudget.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::policy::v1::PodDisruptionBudget")]
pub struct PodDisruptionBudget {
    /// Namespace and name.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// Whom it chooses.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PodDisruptionBudgetSpec,
    /// How many may go, as the disruption controller found.
    #[serde(default, deserialize_with = "nullable")]
    pub status: PodDisruptionBudgetStatus,
}

decoded_from_object!(PodDisruptionBudget);

/// `spec` of a PodDisruptionBudget; how many may go now is the disruption controller's business.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct PodDisruptionBudgetSpec {
    /// How many must stay.
    #[prost(message, optional, tag = "1")]
    pub min_available: Option<IntOrString>,
    /// The pods it is about.
    #[prost(message, optional, tag = "2")]
    pub selector: Option<LabelSelector>,
}

/// A number, or a share of all in words: `50%`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(from = "Either")]
pub struct IntOrString {
    #[prost(int64, tag = "1")]
    is_text: i64,
    #[prost(int32, tag = "2")]
    number: i32,
    #[prost(string, tag = "3")]
    text: String,
}

/// The two in JSON.
#[derive(Deserialize)]
#[serde(untagged)]
enum Either {
    Number(i32),
    Text(String),
}

impl From<Either> for IntOrString {
    fn from(either: Either) -> Self {
        match either {
            Either::Number(number) => Self {
                number,
                ..Self::default()
            },
            Either::Text(text) => Self {
                is_text: 1,
                text,
                ..Self::default()
            },
        }
    }
}

impl IntOrString {
    /// The number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<i32> {
        (self.is_text == 0).then_some(self.number)
    }
}

/// A `metav1.LabelSelector`.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels with these values.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, string", tag = "1")]
    pub match_labels: BTreeMap<String, String>,
    /// And what else must hold.
    #[serde(deserialize_with = "nullable")]
    #[prost(message, repeated, tag = "2")]
    pub match_expressions: Vec<Requirement>,
}

/// `status` of a PodDisruptionBudget.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default, rename_all = "camelCase")]
pub struct PodDisruptionBudgetStatus {
    /// Pods whose eviction was allowed and is counted already, by name.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, message", tag = "2")]
    pub disrupted_pods: BTreeMap<String, Present>,
    /// How many more may go.
    #[serde(deserialize_with = "nullable")]
    #[prost(int32, tag = "3")]
    pub disruptions_allowed: i32,
}
