//! A plugin that speaks Muster's own messages.

use super::{Limits, Line, Tls};
use crate::{Clock, Metrics};
use http::Uri;
use muster_api::remote::{read, write};
use muster_model::{RemoteAnswer, RemoteQuestion};
use std::sync::Arc;

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
        let body = match serde_json::to_vec(&write(id, question)) {
            Ok(body) => body,
            Err(error) => return RemoteAnswer::Failed(error.to_string()),
        };
        let (point, nodes) = (question.point, &question.nodes);
        let checked =
            |answer: &bytes::Bytes| read(point, nodes, answer).map_err(|wrong| wrong.to_string());
        let answer = self.0.ask(point.as_str(), &self.0.url, body, checked).await;
        answer.unwrap_or_else(RemoteAnswer::Failed)
    }
}
