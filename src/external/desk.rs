//! Who answers: what is known, who writes, who says what somebody may do. And the answers that all pages share.
//!
//! Nobody is served without a token. What somebody may not do is refused before it is looked up, so that the answer
//! says nothing of what there is.

use super::book::Book;
use super::views::{Kind, View};
use super::wishes::{Invalid, Write, is_name};
use axum::body::{Body, to_bytes};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use muster_cluster::Metrics;
use muster_cluster::external_metrics::{Open, Refused, Stream};
use muster_cluster::reviews::{Asked, Verdict};
use serde_json::json;
use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::BuildHasher;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a body may be.
pub const MOST_BODY: usize = 256 << 10;
/// How long it may take to come in.
const BODY_WITHIN: Duration = Duration::from_secs(10);
/// Streams at once.
pub const STREAMS: usize = 64;
/// WebSockets at once whose client has not said who it is.
pub const GREETINGS: usize = 32;
/// The header with the token where a proxy keeps `Authorization` to itself.
const FORWARDED: &str = muster_serve::FORWARDED;
/// No name in Kubernetes is longer.
const MOST_NAME: usize = 253;

/// What comes later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why something was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status code of the answer.
    pub code: u16,
    /// In words.
    pub message: String,
}

/// Who writes.
pub trait Store: Send + Sync {
    /// Writes once; returns the object as it is then, or nothing where it was deleted.
    fn write(&self, write: Write) -> Later<'_, Result<Option<View>, Refusal>>;
}

/// Who says what somebody may do.
pub trait Access: Send + Sync {
    /// Whether the owner of a token may do something.
    fn may<'a>(&'a self, token: &'a str, asked: &'a Asked) -> Later<'a, Verdict>;
}

/// Why somebody is not let in, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum No {
    /// Nobody knows who they are.
    Unknown(String),
    /// They may not do this.
    Forbidden(String),
    /// Nobody could say, or nobody is let in now.
    Later(Refused, String),
}

impl No {
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Unknown(words) | Self::Forbidden(words) | Self::Later(_, words) => words,
        }
    }

    /// The same as an answer.
    pub(crate) fn answer(self) -> Response {
        match &self {
            Self::Unknown(words) => unauthorized(words),
            Self::Forbidden(words) => refused(StatusCode::FORBIDDEN, words),
            Self::Later(_, words) => later(words),
        }
    }

    const fn reason(&self) -> Refused {
        match self {
            Self::Unknown(_) => Refused::Unknown,
            Self::Forbidden(_) => Refused::Forbidden,
            Self::Later(reason, _) => *reason,
        }
    }
}

/// The place of a stream, as long as it is kept.
#[derive(Debug)]
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
    _open: Open,
}

/// Who answers.
#[derive(Clone)]
pub struct Desk {
    /// What is known.
    pub book: Arc<Book>,
    /// Who writes.
    pub store: Arc<dyn Store>,
    /// Who says what somebody may do.
    pub access: Arc<dyn Access>,
    /// The namespace of the earlier paths, which name none.
    pub namespace: String,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// How many streams may begin.
    pub(crate) streams: Arc<Semaphore>,
    /// How many WebSockets may wait for their client to say who it is.
    pub(crate) greetings: Arc<Semaphore>,
    /// What positions are worth: those of another process mean nothing here.
    pub(crate) epoch: u64,
}

/// What came of a request: an answer, either way.
pub(crate) type Answer = Result<Response, Response>;

impl Desk {
    /// One that knows what is in the book.
    #[must_use]
    pub fn new(
        book: Arc<Book>,
        store: Arc<dyn Store>,
        access: Arc<dyn Access>,
        namespace: &str,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            metrics,
            book,
            store,
            access,
            namespace: namespace.to_owned(),
            streams: Arc::new(Semaphore::new(STREAMS)),
            greetings: Arc::new(Semaphore::new(GREETINGS)),
            epoch: RandomState::new().hash_one(0),
        }
    }

    /// Lets in who may do this.
    pub(crate) async fn admit(
        &self,
        headers: &HeaderMap,
        verb: &'static str,
        kind: Kind,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Result<(), Response> {
        if namespace.is_some_and(|namespace| !is_name(namespace, MOST_NAME)) {
            return Err(invalid(&Invalid::new("namespace", "is no name")));
        }
        if name.is_some_and(|name| !is_name(name, MOST_NAME)) {
            return Err(invalid(&Invalid::new("name", "is no name")));
        }
        let asked = Asked {
            verb,
            resource: kind.resource(),
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
        };
        let judged = self.judge(token(headers), &asked).await;
        judged.map_err(|no| self.noted(no).answer())
    }

    /// Whether the owner of a token may do something.
    pub(crate) async fn judge(&self, token: Option<&str>, asked: &Asked) -> Result<(), No> {
        let Some(token) = token else {
            return Err(No::Unknown("a bearer token is needed".to_owned()));
        };
        match self.access.may(token, asked).await {
            Verdict::Allowed => Ok(()),
            Verdict::Unknown => Err(No::Unknown(
                "the token is not valid for the audience muster.dev/external".to_owned(),
            )),
            Verdict::Forbidden(user) => {
                let part = |before: &str, text: &Option<String>| {
                    let text = text.as_ref();
                    text.map_or_else(String::new, |text| format!("{before}{text}"))
                };
                let which = part(" ", &asked.name);
                let place = part(" in namespace ", &asked.namespace);
                let (verb, resource) = (asked.verb, asked.resource);
                let words = format!("{user} may not {verb} {resource}{which}{place}");
                Err(No::Forbidden(words))
            }
            Verdict::Busy => {
                let words = "too many requests are being checked: try again";
                Err(No::Later(Refused::Busy, words.to_owned()))
            }
            Verdict::Failed(why) => {
                let words = format!("the API server did not say what you may do: {why}");
                Err(No::Later(Refused::Unsaid, words))
            }
        }
    }

    /// Lets in who may read this, once there is something to read: nothing is shown before everything is known.
    pub(crate) async fn admit_reader(
        &self,
        headers: &HeaderMap,
        verb: &'static str,
        kind: Kind,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Result<(), Response> {
        self.admit(headers, verb, kind, namespace, name).await?;
        self.complete().map_err(No::answer)
    }

    /// Whether there is something to read: nothing is shown before everything is known.
    pub(crate) fn complete(&self) -> Result<(), No> {
        if self.book.is_complete() {
            return Ok(());
        }
        let words = "not everything is known yet: try again";
        Err(self.noted(No::Later(Refused::NotYet, words.to_owned())))
    }

    /// A place for a stream.
    pub(crate) fn place_for(&self, stream: Stream) -> Result<Place, No> {
        let permit = Arc::clone(&self.streams).try_acquire_owned();
        let permit = permit.map_err(|_| {
            let words = "too many streams are open: try again";
            self.noted(No::Later(Refused::TooMany, words.to_owned()))
        })?;
        Ok(Place {
            _permit: permit,
            _open: self.metrics.external.opened(stream),
        })
    }

    /// Counts somebody who is not let in.
    pub(crate) fn noted(&self, no: No) -> No {
        self.metrics.external.refused(no.reason());
        no
    }

    /// Writes; returns the object, if it is still there.
    pub(crate) async fn write(&self, write: Write) -> Result<Option<View>, Refusal> {
        self.store.write(write).await
    }
}

/// The token of a request.
pub(crate) fn token(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION).or(headers.get(FORWARDED))?;
    bearer(header.to_str().ok()?)
}

/// The token in the value of such a header.
pub(crate) fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Reads a body up to its bound.
pub(crate) async fn read(body: Body) -> Result<Vec<u8>, Response> {
    match timeout(BODY_WITHIN, to_bytes(body, MOST_BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(_)) => {
            let words =
                format!("the body did not come in whole, or has more than {MOST_BODY} bytes");
            Err(refused(StatusCode::PAYLOAD_TOO_LARGE, &words))
        }
        Err(_) => Err(refused(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not come in within 10 s",
        )),
    }
}

/// JSON that nobody keeps.
pub(crate) fn json(code: StatusCode, text: String) -> Response {
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "no-store"),
    ];
    (code, headers, text).into_response()
}

/// Several objects.
pub(crate) fn items<'a>(texts: impl Iterator<Item = &'a str>, left_out: u64) -> Response {
    let texts: Vec<&str> = texts.collect();
    let text = format!("{{\"items\":[{}],\"leftOut\":{left_out}}}", texts.join(","));
    json(StatusCode::OK, text)
}

/// No, in words.
pub(crate) fn refused(code: StatusCode, message: &str) -> Response {
    let body = json!({"error": {"code": code.as_u16(), "field": null, "message": message}});
    json(code, body.to_string())
}

/// What is wrong with a request.
pub(crate) fn invalid(invalid: &Invalid) -> Response {
    let code = StatusCode::BAD_REQUEST;
    let error = json!({"code": 400, "field": invalid.field, "message": invalid.message});
    json(code, json!({"error": error}).to_string())
}

/// What a store refused.
pub(crate) fn not_written(refusal: &Refusal) -> Response {
    let code = StatusCode::from_u16(refusal.code);
    refused(code.unwrap_or(StatusCode::BAD_GATEWAY), &refusal.message)
}

/// There is none.
pub(crate) fn no_such(kind: Kind, name: &str) -> Response {
    let words = format!("there is no {} {name}", kind.name());
    refused(StatusCode::NOT_FOUND, &words)
}

/// Not now.
pub(crate) fn later(message: &str) -> Response {
    let mut response = refused(StatusCode::SERVICE_UNAVAILABLE, message);
    let wait = HeaderValue::from_static("1");
    response.headers_mut().insert("retry-after", wait);
    response
}

fn unauthorized(message: &str) -> Response {
    let mut response = refused(StatusCode::UNAUTHORIZED, message);
    let scheme = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    response
}

/// An object as it is.
pub(crate) fn shown(code: StatusCode, view: &View) -> Response {
    match serde_json::to_string(view) {
        Ok(text) => json(code, text),
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// The answer, either way.
pub(crate) fn either(answer: Answer) -> Response {
    answer.unwrap_or_else(|refusal| refusal)
}
