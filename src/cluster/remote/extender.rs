//! An extender of kube-scheduler.
//!
//! It is sent pods, and unless it knows them nodes, as the API server has them: these are read for each
//! question, for what Muster keeps of them is less.

use super::{Limits, Line, Tls};
use crate::error_text;
use crate::{Clock, Metrics};
use bytes::Bytes;
use http::Uri;
use kube::Client;
use muster_api::remote::Wrong;
use muster_api::remote::extender::{
    Arguments, Binding, NodeList, read_binding, read_filter, read_scores,
};
use muster_model::{AskedNode, PodKey, RemoteAnswer, RemotePoint, RemoteQuestion};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// What is appended to an extender's URL; none where it does not do that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verbs {
    /// For filtering.
    pub(super) filter: Option<Uri>,
    /// For scores.
    pub(super) prioritize: Option<Uri>,
    /// For binding.
    pub(super) bind: Option<Uri>,
}

/// An extender of kube-scheduler.
pub(super) struct Extender {
    line: Line,
    verbs: Verbs,
    /// It knows the nodes, and is sent their names only.
    node_cache_capable: bool,
    /// Who may have all nodes in memory to make of them what is sent.
    making: Semaphore,
}

impl Extender {
    /// Nothing is sent before the first question.
    #[must_use]
    pub(super) fn new(
        (name, url): (Arc<str>, Uri),
        verbs: Verbs,
        node_cache_capable: bool,
        (tls, limits): (Tls, Limits),
        (clock, metrics): (Clock, Arc<Metrics>),
    ) -> Self {
        Self {
            line: Line::new(name, url, tls, limits, clock, metrics),
            verbs,
            node_cache_capable,
            making: Semaphore::new(MADE_AT_ONCE),
        }
    }

    /// Its name: its URL.
    #[must_use]
    pub(super) fn name(&self) -> &str {
        &self.line.name
    }

    /// Asks it once. There is always an answer: that there is none of use is one, too. `client` reads the
    /// pods and nodes that it is sent.
    pub(super) async fn ask(&self, question: &RemoteQuestion, client: &Client) -> RemoteAnswer {
        let answer = match question.point {
            RemotePoint::Filter => {
                let verb = self.verbs.filter.as_ref();
                self.about_nodes(question, client, verb, read_filter).await
            }
            RemotePoint::Score => {
                let verb = self.verbs.prioritize.as_ref();
                self.about_nodes(question, client, verb, read_scores).await
            }
            RemotePoint::Bind => self.to_bind(question).await,
            other => Err(format!("an extender is not asked at {}", other.as_str())),
        };
        answer.unwrap_or_else(RemoteAnswer::Failed)
    }

    async fn to_bind(&self, question: &RemoteQuestion) -> Result<RemoteAnswer, String> {
        let url = self.verbs.bind.as_ref().ok_or(NO_VERB)?;
        let [pod] = &question.pods[..] else {
            return Err("it binds one pod at a time".to_owned());
        };
        let node = pod.node.as_deref().ok_or("the pod has no node")?;
        let arguments = Binding::of(&pod.key, node);
        let body = async { serde_json::to_vec(&arguments).map_err(|error| error.to_string()) };
        let checked = |answer: &Bytes| read_binding(answer).map_err(|wrong| wrong.to_string());
        self.line
            .ask(question.point.as_str(), url, body, checked)
            .await
    }

    async fn about_nodes(
        &self,
        question: &RemoteQuestion,
        client: &Client,
        verb: Option<&Uri>,
        read: fn(&[AskedNode], &[u8]) -> Result<RemoteAnswer, Wrong>,
    ) -> Result<RemoteAnswer, String> {
        let url = verb.ok_or(NO_VERB)?;
        // Those of a question are equal in all that Muster looks at.
        let pod = question.pods.first().ok_or("no pod is asked about")?;
        let nodes = &question.nodes;
        let body = async {
            // It is never closed.
            let _one = self.making.acquire().await.ok();
            let texts = Texts {
                pod: get(client, &path_of(&pod.key)).await?,
                nodes: if self.node_cache_capable {
                    None
                } else {
                    Some(get(client, NODES).await?)
                },
            };
            let (key, nodes) = (pod.key.clone(), Arc::clone(nodes));
            // With thousands of nodes this takes long, and the Lease is renewed on this thread.
            let made = spawn_blocking(move || texts.arguments(&key, &nodes)).await;
            made.map_err(|error| error.to_string())?
        };
        let checked = |answer: &Bytes| read(nodes, answer).map_err(|wrong| wrong.to_string());
        let point = question.point.as_str();
        self.line.ask(point, url, body, checked).await
    }
}

/// So many questions are made at once: all nodes as the API server has them are some ten times what is sent of them, while
/// that is made.
const MADE_AT_ONCE: usize = 1;

const NO_VERB: &str = "it has no verb for that";

/// All nodes, as the API server's cache has them.
const NODES: &str = "/api/v1/nodes?resourceVersion=0";

fn path_of(pod: &PodKey) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name)
}

/// What the API server answered.
struct Texts {
    pod: String,
    /// `None`: names are enough.
    nodes: Option<String>,
}

impl Texts {
    /// What is sent.
    fn arguments(&self, key: &PodKey, asked: &[AskedNode]) -> Result<Vec<u8>, String> {
        let pod = parse(&self.pod, "the pod")?;
        if pod.pointer("/metadata/uid").and_then(Value::as_str) != Some(&key.uid) {
            return Err(format!("pod {key} is gone"));
        }
        let known = self.nodes.as_deref().map(by_name).transpose()?;
        let names = asked.iter().map(|node| node.name.as_str());
        let arguments = Arguments {
            pod: &pod,
            nodes: known.as_ref().map(|known| NodeList {
                items: names.clone().filter_map(|name| known.get(name)).collect(),
            }),
            node_names: known.is_none().then(|| names.collect()),
        };
        serde_json::to_vec(&arguments).map_err(|error| error.to_string())
    }
}

/// The nodes of a list.
fn by_name(list: &str) -> Result<BTreeMap<String, Value>, String> {
    let mut list = parse(list, "the list of nodes")?;
    let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) else {
        return Err("the list of nodes has no items".to_owned());
    };
    let named = items.into_iter().filter_map(|node| {
        let name = node.pointer("/metadata/name")?.as_str()?.to_owned();
        Some((name, node))
    });
    Ok(named.collect())
}

fn parse(text: &str, what: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{what} cannot be read: {error}"))
}

async fn get(client: &Client, path: &str) -> Result<String, String> {
    let request = http::Request::get(path).body(Vec::new());
    let request = request.map_err(|error| error.to_string())?;
    let answer = client.request_text(request).await;
    answer.map_err(|error| format!("GET {path}: {}", error_text::request(&error)))
}
