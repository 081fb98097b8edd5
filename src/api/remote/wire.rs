//! The messages between Muster and plugins in other processes, as JSON.
//!
//! These types are the interface: `schemas/plugins.muster.dev_v1alpha1.json` is made from them, and
//! `docs/plugins.md` explains them. A field is only ever added; what changes its meaning gets another
//! version.

use muster_model::RemotePoint;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The version of the messages.
pub const API_VERSION: &str = "plugins.muster.dev/v1alpha1";

/// The body of the POST: what a plugin is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// `plugins.muster.dev/v1alpha1`.
    pub api_version: String,
    /// The question's number: the same when it is asked again because no answer came. A decision with more
    /// places than one message may name is asked about in parts: `17.2` is the second of question 17.
    pub id: String,
    /// The name of the plugin in Muster's configuration.
    pub plugin: String,
    /// The extension point.
    #[schemars(with = "Point")]
    pub point: RemotePoint,
    /// The gang that is asked about.
    pub gang: Gang,
    /// The pods that are asked about, at most 1,024: at PreFilter, Filter and Score those of the gang that are
    /// equal and have no node yet; later all of the decision, each with its node. At Unreserve, those whose places
    /// came to nothing; at Bind, those to be bound now; at PostBind, those that are bound.
    pub pods: Vec<Pod>,
    /// How many pods it is about, those that are not listed included.
    pub pod_count: u32,
    /// At PreFilter, Filter and Score the nodes that come into question: those that the pods' selectors,
    /// affinity and tolerations allow, whether there is room on them now or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
}

/// The schema of an extension point: where in a cycle a plugin is asked, and by what it answers.
#[derive(Debug)]
pub struct Point;

impl JsonSchema for Point {
    fn schema_name() -> Cow<'static, str> {
        "Point".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let points = RemotePoint::ALL.map(|point| {
            let says = match point {
                RemotePoint::PreFilter => {
                    "Whether the pods may be placed at all, and on which nodes only. Answered by PreFilterAnswer."
                }
                RemotePoint::Filter => "Which nodes do not suit. Answered by FilterAnswer.",
                RemotePoint::Score => {
                    "Which nodes are better than others. Answered by ScoreAnswer."
                }
                RemotePoint::Reserve => {
                    "Reserve what else the decision takes. Answered by DecisionAnswer."
                }
                RemotePoint::Unreserve => {
                    "Give it back: the decision came to nothing. Answered by DecisionAnswer."
                }
                RemotePoint::Permit => {
                    "Whether the decision may be carried out now. Answered by DecisionAnswer."
                }
                RemotePoint::PreBind => {
                    "Do what has to be done before the binds. Answered by DecisionAnswer."
                }
                RemotePoint::Bind => "Bind the pods. Answered by DecisionAnswer.",
                RemotePoint::PostBind => "The pods are bound. Answered by DecisionAnswer.",
            };
            json_schema!({"const": point.as_str(), "description": says, "type": "string"})
        });
        json_schema!({"description": "Where in a cycle a plugin is asked.", "oneOf": points})
    }
}

/// A gang: a PodGroup with its pods, or a pod on its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gang {
    /// Its namespace.
    pub namespace: String,
    /// The name of its PodGroup; absent for a pod on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_group: Option<String>,
    /// The uid of its PodGroup; absent for a pod on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Its queue.
    pub queue: String,
    /// Its priority.
    pub priority: i32,
    /// How many of its pods have to run.
    pub min_available: u32,
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What it requests, as Kubernetes' quantities; `cpu` in thousandths (`500m`), others in whole units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, String>,
    /// The node it is to be bound to, once that is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Those of its labels that Muster's configuration names in `nodeLabels`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// What an answer at PreFilter says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreFilterAnswer {
    /// `plugins.muster.dev/v1alpha1`.
    pub api_version: String,
    /// Set where the plugin cannot answer: why. Then nothing else counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// No node will do: why, in words for people. An empty text is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuse: Option<String>,
    /// Only these nodes come into question. Without it: all that were asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// What is said of the nodes that `only` leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What an answer at Filter says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilterAnswer {
    /// `plugins.muster.dev/v1alpha1`.
    pub api_version: String,
    /// Set where the plugin cannot answer: why. Then nothing else counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The nodes that do not suit, each with the reason in words for people. All others suit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<BTreeMap<String, String>>,
}

/// What an answer at Score says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScoreAnswer {
    /// `plugins.muster.dev/v1alpha1`.
    pub api_version: String,
    /// Set where the plugin cannot answer: why. Then nothing else counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What nodes are worth, from 0 to 100; those that are not named 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<BTreeMap<String, i64>>,
}

/// What an answer at Reserve, Unreserve, Permit, PreBind, Bind or PostBind says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecisionAnswer {
    /// `plugins.muster.dev/v1alpha1`.
    pub api_version: String,
    /// Set where the plugin cannot answer: why. Then nothing else counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is to become of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// With Deny: why, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// With Wait: after how many seconds the plugin is to be asked again, from 1 to 3,600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u32>,
}

/// What is to become of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Decision {
    /// Go ahead; or what was asked is done.
    Allow,
    /// Do not: the gang is not placed there. At Reserve, Permit, PreBind and Bind only.
    Deny,
    /// Not yet. At Permit only.
    Wait,
    /// The binds are not this plugin's. At Bind only.
    Skip,
}
