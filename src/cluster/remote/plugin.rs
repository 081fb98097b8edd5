//! A plugin that speaks Muster's own messages.

use super::{Limits, Line, Tls};
use crate::{Clock, Metrics};
use futures::future::join_all;
use http::Uri;
use muster_api::remote::{read, write};
use muster_model::{MAX_ASKED_PODS, RemoteAnswer, RemoteQuestion};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// For so long at least one that wants to be asked again is left alone.
const REST: Duration = Duration::from_millis(100);

/// Where a plugin is, and how it is asked.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// Where it takes questions.
    pub url: Uri,
    /// Whom it trusts, and whom we do.
    pub tls: Tls,
    /// Its bounds.
    pub limits: Limits,
}

/// A plugin that speaks Muster's own messages.
#[derive(Debug)]
pub struct Plugin(Line);

impl Plugin {
    /// Nothing is sent before the first question.
    #[must_use]
    pub fn new(endpoint: Endpoint, clock: Clock, metrics: Arc<Metrics>) -> Self {
        let Endpoint {
            name,
            url,
            tls,
            limits,
        } = endpoint;
        Self(Line::new(name, url, tls, limits, clock, metrics))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Asks it once. There is always an answer: that there is none of use is one, too.
    pub async fn ask(&self, id: u64, question: &RemoteQuestion) -> RemoteAnswer {
        self.ask_as(id.to_string(), question).await
    }

    /// Asks it about a decision, again for as long as it says that it is to be asked again. All places are
    /// in one message, unless there are more than one may have: then each part has to be allowed.
    pub async fn ask_about(&self, id: u64, question: &RemoteQuestion) -> RemoteAnswer {
        if question.pods.len() <= MAX_ASKED_PODS {
            return self.ask_patiently(id.to_string(), question).await;
        }
        let parts = question.pods.chunks(MAX_ASKED_PODS).enumerate();
        let answers = parts.map(|(index, pods)| {
            let part = RemoteQuestion {
                pod_count: u32::try_from(pods.len()).unwrap_or(u32::MAX),
                pods: pods.to_vec(),
                plugin: Arc::clone(&question.plugin),
                gang: question.gang.clone(),
                nodes: Arc::clone(&question.nodes),
                ..*question
            };
            async move {
                let id = format!("{id}.{}", index + 1);
                self.ask_patiently(id, &part).await
            }
        });
        let mut answers = join_all(answers).await.into_iter();
        let other = answers.find(|answer| *answer != RemoteAnswer::Allow);
        other.unwrap_or(RemoteAnswer::Allow)
    }

    async fn ask_patiently(&self, id: String, question: &RemoteQuestion) -> RemoteAnswer {
        loop {
            match self.ask_as(id.clone(), question).await {
                RemoteAnswer::Wait(span) => sleep(Duration::from_millis(span.0).max(REST)).await,
                answer => return answer,
            }
        }
    }

    async fn ask_as(&self, id: String, question: &RemoteQuestion) -> RemoteAnswer {
        let body = async {
            let body = serde_json::to_vec(&write(id, question));
            body.map_err(|error| error.to_string())
        };
        let (point, nodes) = (question.point, &question.nodes);
        let checked =
            |answer: &bytes::Bytes| read(point, nodes, answer).map_err(|wrong| wrong.to_string());
        let answer = self.0.ask(point.as_str(), &self.0.url, body, checked).await;
        answer.unwrap_or_else(RemoteAnswer::Failed)
    }
}
