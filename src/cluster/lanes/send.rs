//! Sends one request and says what came back, in the words of the protocols.

use super::Context;
use super::requests::Made;
use crate::Fence;
use crate::attempt::Answer;
use crate::encoding::Encoding;
use crate::ending::WRITE_ENDS_WITHIN;
use bytes::Bytes;
use http::Response;
use http::header::RETRY_AFTER;
use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::client::Body;
use muster_api::protobuf;
use muster_model::units::Millis;
use serde::Deserialize;
use std::time::Duration;
use tokio::time::timeout;

/// How long one answer may take, with its body; longer than the server may work on a write.
const ANSWER_WITHIN: Duration = Duration::from_millis(WRITE_ENDS_WITHIN.0);
/// How long an answer may be: a pod is never larger.
const ANSWER_LIMIT: usize = 4 << 20;

/// Sends a write in the encoding that the API server takes. Who does not know protobuf says so
/// before anything is done.
pub(super) async fn write_in(context: &Context, make: impl Fn(Encoding) -> Made) -> Answer {
    let encoding = context.encodings.for_writes();
    let answer = write(context, make(encoding)).await;
    match answer {
        Answer::Status { code: 415, .. } if encoding == Encoding::Protobuf => {
            context.encodings.refused();
            write(context, make(Encoding::Json)).await
        }
        answer => answer,
    }
}

/// Sends a write, if one may be sent. 2xx is [`Answer::Accepted`].
pub(super) async fn write(context: &Context, request: Made) -> Answer {
    match send(&context.client, &context.fence, request).await {
        Ok(_) => Answer::Accepted,
        Err(answer) => answer,
    }
}

/// Sends a write, if one may be sent; returns the body of what came back for one that was done.
///
/// # Errors
/// What came back for one that was not, or [`Answer::Lost`].
pub async fn send(client: &Client, fence: &Fence, request: Made) -> Result<Vec<u8>, Answer> {
    let sending = fence.begin().ok_or(Answer::Lost)?;
    let sent = fence.sends();
    let result = match exchange(client, request).await {
        Ok((code, retry_after, body)) => {
            // Behind a server's error, the write may still be on its way.
            if code < 500 {
                sending.ended();
            }
            if (200..300).contains(&code) {
                Ok(body)
            } else {
                Err(status(code, retry_after, &body))
            }
        }
        Err(answer) => Err(answer),
    };
    let answer = result.as_ref().err().unwrap_or(&Answer::Accepted);
    fence.written(answer, sent);
    result
}

/// Reads a pod and compares its uid.
pub(super) async fn read_pod(context: &Context, request: Made, uid: &str) -> Answer {
    let sent = context.clock.now();
    let answer = match exchange(&context.client, request).await {
        Ok((200, _, body)) => {
            serde_json::from_slice::<PodSeen>(&body).map_or(Answer::Lost, |pod| pod.answer(uid))
        }
        Ok((code, retry_after, body)) => status(code, retry_after, &body),
        Err(answer) => answer,
    };
    context.fence.read(&answer, sent);
    answer
}

async fn exchange(
    client: &Client,
    request: Made,
) -> Result<(u16, Option<Millis>, Vec<u8>), Answer> {
    let request = request.map_err(|error| Answer::Status {
        code: 400,
        message: format!("cannot be asked for: {error}"),
        retry_after: None,
    })?;
    let answered = async {
        let response = client.send(request).await.map_err(|error| {
            tracing::debug!(%error, "no answer");
            Answer::Lost
        })?;
        let code = response.status().as_u16();
        let wait = retry_after(&response);
        let body = Limited::new(response.into_body(), ANSWER_LIMIT)
            .collect()
            .await;
        match body {
            Ok(body) => Ok((code, wait, body.to_bytes().to_vec())),
            // The status line says enough of a write that was taken or refused.
            Err(_) if code != 200 => Ok((code, wait, Vec::new())),
            Err(_) => Err(Answer::Lost),
        }
    };
    timeout(ANSWER_WITHIN, answered)
        .await
        .unwrap_or(Err(Answer::Lost))
}

/// `Retry-After` in seconds, as the API server writes it.
fn retry_after(response: &Response<Body>) -> Option<Millis> {
    let header = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    header.trim().parse().ok().map(Millis::from_secs)
}

fn status(code: u16, retry_after: Option<Millis>, body: &[u8]) -> Answer {
    #[derive(Deserialize)]
    struct Status {
        #[serde(default)]
        message: String,
    }
    // In protobuf an object begins as no JSON does.
    let in_protobuf = protobuf::status(&Bytes::copy_from_slice(body)).map(|status| status.message);
    let message = in_protobuf.unwrap_or_else(|_| {
        serde_json::from_slice::<Status>(body)
            .map_or_else(|_| String::new(), |status| status.message)
    });
    Answer::Status {
        code,
        message,
        retry_after,
    }
}

/// As much of a pod as the protocols ask about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSeen {
    metadata: MetaSeen,
    #[serde(default)]
    spec: SpecSeen,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetaSeen {
    uid: String,
    deletion_timestamp: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecSeen {
    node_name: Option<String>,
}

impl PodSeen {
    fn answer(self, uid: &str) -> Answer {
        Answer::Pod {
            uid_matches: self.metadata.uid == uid,
            node: self.spec.node_name.filter(|node| !node.is_empty()),
            terminating: self.metadata.deletion_timestamp.is_some(),
        }
    }
}
