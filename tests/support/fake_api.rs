//! An API server that answers from a script, in process: what was asked is recorded word for
//! word. It knows nothing of Kubernetes.

#![allow(dead_code, reason = "each test file uses a part of it")]

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::time::Instant;
use tower::{BoxError, service_fn};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// `POST /path?query`.
    pub(crate) line: String,
    /// `Content-Type`, or nothing.
    pub(crate) content: String,
    /// The body, or null.
    pub(crate) body: Value,
    /// When it came, on tokio's clock.
    pub(crate) at: Instant,
}

/// What to answer.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A status code and a JSON body.
    Json(u16, Value),
    /// The same with `Retry-After` in seconds.
    RetryAfter(u16, u64, Value),
    /// The connection breaks.
    Lost,
    /// A stream of JSON lines that stays open.
    Open(Vec<Value>),
    /// A stream of JSON lines that ends.
    Closed(Vec<Value>),
}

/// A `Status` with this code and message.
pub(crate) fn status(code: u16, message: &str) -> Reply {
    Reply::Json(code, status_body(code, message))
}

/// The body of [`status`].
pub(crate) fn status_body(code: u16, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": "", "code": code,
    })
}

/// The server.
#[derive(Clone, Default)]
pub(crate) struct FakeApi {
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl FakeApi {
    /// A server, and a client of it. `script` answers each request.
    pub(crate) fn start(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> (Self, Client) {
        let api = Self::default();
        let asked = Arc::clone(&api.asked);
        let script = Arc::new(Mutex::new(script));
        let service = service_fn(move |request: Request<Body>| {
            let (asked, script) = (Arc::clone(&asked), Arc::clone(&script));
            async move {
                let request = record(request).await?;
                asked.lock().unwrap().push(request.clone());
                let reply = (script.lock().unwrap())(&request);
                respond(reply)
            }
        });
        (api, Client::new(service, "default"))
    }

    /// Everything asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The request lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|one| one.line).collect()
    }
}

async fn record(request: Request<Body>) -> Result<Asked, BoxError> {
    let line = format!("{} {}", request.method(), request.uri());
    let content = request
        .headers()
        .get(http::header::CONTENT_TYPE)
        .map(|value| value.to_str().unwrap().to_owned())
        .unwrap_or_default();
    let body = request.into_body().collect_bytes().await?;
    let body = if body.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&body)?
    };
    Ok(Asked {
        line,
        content,
        body,
        at: Instant::now(),
    })
}

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

fn respond(reply: Reply) -> Result<Answer, BoxError> {
    let full = |value: Value| http_body_util::Full::new(Bytes::from(value.to_string()));
    let answer = match reply {
        Reply::Lost => return Err("connection reset by peer".into()),
        Reply::Json(code, value) => Response::builder()
            .status(code)
            .body(full(value).boxed_unsync())?,
        Reply::RetryAfter(code, seconds, value) => Response::builder()
            .status(code)
            .header(http::header::RETRY_AFTER, seconds)
            .body(full(value).boxed_unsync())?,
        Reply::Open(lines) => {
            let frames = frames(lines).chain(stream::pending());
            Response::builder().body(StreamBody::new(frames).boxed_unsync())?
        }
        Reply::Closed(lines) => {
            Response::builder().body(StreamBody::new(frames(lines)).boxed_unsync())?
        }
    };
    Ok(answer)
}

fn frames(lines: Vec<Value>) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    stream::iter(lines).map(|line| Ok(Frame::data(Bytes::from(format!("{line}\n")))))
}
