//! An API server that answers from a script, in process: what was asked is recorded word for
//! word. It knows nothing of Kubernetes.

use crate::schema;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use muster::api::protobuf::MEDIA_TYPE;
use muster::cluster::encoding::Encoding;
use muster::cluster::ending::ending;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tower::{BoxError, ServiceBuilder, service_fn};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// `POST /path?query`.
    pub(crate) line: String,
    /// `Content-Type`, or nothing.
    pub(crate) content: String,
    /// `Accept`, or nothing.
    pub(crate) accept: String,
    /// The body, or null; one that is not JSON stands in `bytes`.
    pub(crate) body: Value,
    /// The body as it came.
    pub(crate) bytes: Bytes,
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
    /// What is answered after so long.
    Late(Duration, Box<Self>),
    /// A stream of JSON lines that stays open.
    Open(Vec<Value>),
    /// A stream of JSON lines that ends.
    Closed(Vec<Value>),
    /// A status code, and a body said to be protobuf.
    Refusal(u16, Vec<u8>),
    /// These bytes, said to be protobuf, one chunk after the other.
    Chunks(Vec<Vec<u8>>),
    /// The same, and the stream stays open.
    OpenChunks(Vec<Vec<u8>>),
}

impl Asked {
    /// Whether it may be answered in protobuf.
    pub(crate) fn takes_protobuf(&self) -> bool {
        self.accept.contains(MEDIA_TYPE)
    }
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
    /// A server that knows JSON only, and a client of it. `script` answers each request.
    pub(crate) fn start(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> (Self, Client) {
        Self::speaking(Encoding::Json, script)
    }

    /// The same, with a client that writes nothing: what it asks for ends when it likes.
    pub(crate) fn of_reviews(
        script: impl FnMut(&Asked) -> Reply + Send + 'static,
    ) -> (Self, Client) {
        Self::over(Encoding::Json, |request| request, script)
    }

    /// A server that answers in this encoding who takes it: with pods, and what is about them.
    pub(crate) fn speaking(
        encoding: Encoding,
        script: impl FnMut(&Asked) -> Reply + Send + 'static,
    ) -> (Self, Client) {
        // As the clients for writes are made.
        Self::over(encoding, ending, script)
    }

    fn over(
        encoding: Encoding,
        make: fn(Request<Body>) -> Request<Body>,
        script: impl FnMut(&Asked) -> Reply + Send + 'static,
    ) -> (Self, Client) {
        let api = Self::default();
        let asked = Arc::clone(&api.asked);
        let script = Arc::new(Mutex::new(script));
        let service = service_fn(move |request: Request<Body>| {
            let (asked, script) = (Arc::clone(&asked), Arc::clone(&script));
            async move {
                let request = record(request).await?;
                asked.lock().unwrap().push(request.clone());
                let mut reply = (script.lock().unwrap())(&request);
                while let Reply::Late(wait, then) = reply {
                    sleep(wait).await;
                    reply = *then;
                }
                match encoding {
                    Encoding::Protobuf if request.takes_protobuf() => respond(in_protobuf(reply)),
                    _ => respond(reply),
                }
            }
        });
        let service = ServiceBuilder::new().map_request(make).service(service);
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

fn header(request: &Request<Body>, name: &HeaderName) -> String {
    let value = request.headers().get(name);
    value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
}

async fn record(request: Request<Body>) -> Result<Asked, BoxError> {
    let line = format!("{} {}", request.method(), request.uri());
    let content = header(&request, &CONTENT_TYPE);
    let accept = header(&request, &ACCEPT);
    let bytes = request.into_body().collect_bytes().await?;
    let body = if bytes.is_empty() || content == MEDIA_TYPE {
        Value::Null
    } else {
        serde_json::from_slice(&bytes)?
    };
    Ok(Asked {
        line,
        content,
        accept,
        body,
        bytes,
        at: Instant::now(),
    })
}

/// The same answer in protobuf.
fn in_protobuf(reply: Reply) -> Reply {
    let whole = |message, value| {
        let bytes = schema::envelope(message, value, schema::GO);
        Reply::Chunks(vec![with_odd_bytes(bytes)])
    };
    match reply {
        Reply::Json(200, list) => whole("PodList", &list),
        // A refusal with its code keeps it.
        Reply::Json(code, status) => {
            Reply::Refusal(code, schema::envelope("Status", &status, schema::GO))
        }
        Reply::Open(lines) => Reply::OpenChunks(pod_frames(&lines)),
        Reply::Closed(lines) => Reply::Chunks(pod_frames(&lines)),
        reply => reply,
    }
}

/// What stands for bytes that are no text, in a string: the API server takes and gives any in protobuf.
pub(crate) const NO_TEXT: &str = "no-text";

fn with_odd_bytes(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = NO_TEXT.len();
    let starts = |at: &usize| bytes[*at..].starts_with(NO_TEXT.as_bytes());
    let odd: Vec<usize> = (0..bytes.len()).filter(starts).collect();
    for at in odd {
        bytes[at..at + length].fill(0xff);
    }
    bytes
}

fn pod_frames(lines: &[Value]) -> Vec<Vec<u8>> {
    let frames = lines.iter().map(|line| schema::frame("Pod", line));
    let frames = frames.map(with_odd_bytes);
    // The network cuts where it likes.
    frames
        .flat_map(|frame| frame.chunks(7).map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect()
}

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

fn respond(reply: Reply) -> Result<Answer, BoxError> {
    let full = |value: Value| http_body_util::Full::new(Bytes::from(value.to_string()));
    let answer = match reply {
        Reply::Late(..) | Reply::Lost => return Err("connection reset by peer".into()),
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
        Reply::Refusal(code, body) => Response::builder()
            .status(code)
            .header(CONTENT_TYPE, MEDIA_TYPE)
            .body(http_body_util::Full::new(Bytes::from(body)).boxed_unsync())?,
        Reply::Chunks(chunks) => Response::builder()
            .header(CONTENT_TYPE, MEDIA_TYPE)
            .body(StreamBody::new(whole(chunks)).boxed_unsync())?,
        Reply::OpenChunks(chunks) => {
            let open = whole(chunks).chain(stream::pending());
            Response::builder()
                .header(CONTENT_TYPE, MEDIA_TYPE)
                .body(StreamBody::new(open).boxed_unsync())?
        }
    };
    Ok(answer)
}

fn whole(chunks: Vec<Vec<u8>>) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    stream::iter(chunks).map(|chunk| Ok(Frame::data(Bytes::from(chunk))))
}

fn frames(lines: Vec<Value>) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    stream::iter(lines).map(|line| Ok(Frame::data(Bytes::from(format!("{line}\n")))))
}
