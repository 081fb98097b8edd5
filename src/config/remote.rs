//! Plugins in other processes, and kube-scheduler's extenders: their fields.
//!
//! The fields of an extender have the names that kube-scheduler's configuration gives them, so that what
//! stands there can stand here.

use super::values::{Bounded, Entry, HttpUrl, RemoteName, Span, Timeout, filled, unique};
use muster_api::remote::wire::Point;
use muster_model::RemotePoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plugin in another process, reached by HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemotePlugin {
    /// What it is called in messages, logs and metrics.
    pub name: RemoteName,
    /// Where it takes questions.
    pub url: HttpUrl,
    /// At which points it is asked.
    #[serde(deserialize_with = "filled")]
    #[schemars(with = "Vec<Point>")]
    pub points: Vec<RemotePoint>,
    /// How long an answer may take.
    #[serde(default)]
    pub timeout: Timeout<1_000>,
    /// For how long it may have a decision wait at Permit.
    #[serde(default)]
    pub permit_timeout: Span<1, 3_600, 60>,
    /// Whether scheduling goes on without it when it does not answer.
    #[serde(default)]
    pub ignorable: bool,
    /// How much its scores count.
    #[serde(default)]
    pub weight: Bounded<1, 100, 1>,
    /// How long what it said of nodes is believed at most.
    #[serde(default)]
    pub answers_hold: Span<1, 3_600, 10>,
    /// Whether what it says of a node depends on the pods there.
    #[serde(default)]
    pub depends_on_pods: bool,
    /// The labels of nodes that it is sent.
    #[serde(default)]
    pub node_labels: Vec<String>,
    /// How much of an answer is read.
    #[serde(default)]
    pub max_response_bytes: Bounded<1_024, 67_108_864, 4_194_304>,
    /// How many questions it is asked at once.
    #[serde(default)]
    pub concurrency: Bounded<1, 256, 8>,
    /// Whom to trust and who we are, for https.
    #[serde(default)]
    pub tls: RemoteTls,
}

/// Whom to trust and who we are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RemoteTls {
    /// The authorities that are trusted; without, the host's.
    pub ca_file: Option<String>,
    /// Our certificate.
    pub cert_file: Option<String>,
    /// Its key.
    pub key_file: Option<String>,
}

/// An extender of kube-scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Extender {
    /// Where it is; a verb is appended.
    pub url_prefix: HttpUrl,
    /// The verb for filtering.
    #[serde(default)]
    pub filter_verb: Option<String>,
    /// The verb for scores.
    #[serde(default)]
    pub prioritize_verb: Option<String>,
    /// The verb for preemption; refused, for Muster chooses victims for gangs.
    #[serde(default)]
    pub preempt_verb: Option<String>,
    /// The verb for binding; without it, Muster binds.
    #[serde(default)]
    pub bind_verb: Option<String>,
    /// How much its scores count.
    #[serde(default)]
    pub weight: Bounded<0, 1_000, 1>,
    /// Whether it is asked by https.
    #[serde(default, rename = "enableHTTPS")]
    pub enable_https: bool,
    /// Whom to trust and who we are.
    #[serde(default)]
    pub tls_config: ExtenderTls,
    /// How long an answer may take.
    #[serde(default)]
    pub http_timeout: Timeout<5_000>,
    /// Whether it knows the nodes, and is sent their names only.
    #[serde(default)]
    pub node_cache_capable: bool,
    /// The resources it manages: it is asked about pods that request one only.
    #[serde(default, deserialize_with = "unique")]
    pub managed_resources: Vec<ManagedResource>,
    /// Whether scheduling goes on without it when it does not answer.
    #[serde(default)]
    pub ignorable: bool,
}

/// A resource that an extender manages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ManagedResource {
    /// Its name.
    pub name: String,
    /// Whether the extender alone looks whether a node has it.
    #[serde(default)]
    pub ignored_by_scheduler: bool,
}

/// Whom to trust and who we are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExtenderTls {
    /// Whether the extender's certificate is not checked.
    pub insecure: bool,
    /// The name that its certificate is for.
    pub server_name: Option<String>,
    /// Our certificate.
    pub cert_file: Option<String>,
    /// Its key.
    pub key_file: Option<String>,
    /// The authorities that are trusted.
    pub ca_file: Option<String>,
    /// Our certificate, as base64 of PEM.
    pub cert_data: Option<String>,
    /// Its key, as base64 of PEM.
    pub key_data: Option<String>,
    /// The authorities that are trusted, as base64 of PEM.
    pub ca_data: Option<String>,
}

impl Entry for RemotePlugin {
    fn key(&self) -> &str {
        self.name.as_str()
    }
}

impl Entry for Extender {
    fn key(&self) -> &str {
        self.url_prefix.as_str()
    }
}

impl Entry for ManagedResource {
    fn key(&self) -> &str {
        &self.name
    }
}

impl Entry for RemotePoint {
    fn key(&self) -> &str {
        self.as_str()
    }
}
