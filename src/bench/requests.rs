//! Requests to the API server, many at once. Nothing is repeated.

use super::{Convention, Error};
use crate::cluster::lanes::Made;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How often the deletion of a collection is asked for, until nothing is left: the server ends
/// one that takes longer than a minute.
const DELETE_ROUNDS: usize = 20;

/// Sends requests over one client.
#[derive(Clone)]
pub(super) struct Requests {
    client: Client,
}

impl Requests {
    pub(super) const fn new(client: Client) -> Self {
        Self { client }
    }

    /// `POST`.
    pub(super) async fn create(&self, path: &str, body: &Value) -> Result<(), Error> {
        self.send(post(path, body)).await.map(drop)
    }

    /// Creates what `make` says for each number below `count`, path and body. Says when each was
    /// answered.
    pub(super) async fn create_all(
        &self,
        in_flight: usize,
        count: usize,
        make: impl Fn(usize) -> (String, Value) + Clone + Send + 'static,
    ) -> Result<Vec<Instant>, Error> {
        create_all(std::slice::from_ref(self), in_flight, count, make).await
    }

    /// `DELETE`, at once.
    pub(super) async fn delete(&self, path: &str) -> Result<(), Error> {
        match self.send(deletion(path)).await {
            Err(Error::Refused { code: 404, .. }) => Ok(()),
            result => result.map(drop),
        }
    }

    /// Deletes a collection, at once, and makes sure that nothing is left of it.
    pub(super) async fn delete_all(&self, path: &str) -> Result<(), Error> {
        for _ in 0..DELETE_ROUNDS {
            match self.delete(path).await {
                Ok(()) | Err(Error::Unanswered { .. }) => {}
                // The server's own time limit.
                Err(Error::Refused { code: 504, .. }) => {}
                Err(error) => return Err(error),
            }
            let mark = if path.contains('?') { '&' } else { '?' };
            match self.read(&format!("{path}{mark}limit=1")).await {
                Err(Error::Refused { code: 404, .. }) => return Ok(()),
                Ok(list) if list["items"].as_array().is_none_or(Vec::is_empty) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Checks that the convention's PodGroup is there.
    pub(super) async fn expect_served(&self, convention: Convention) -> Result<(), Error> {
        let Some(version) = convention.api_version() else {
            return Ok(());
        };
        let path = format!("/apis/{version}/podgroups?limit=1");
        match self.read(&path).await {
            Err(Error::Refused { code: 404, .. }) => Err(Error::KindMissing(version)),
            result => result.map(drop),
        }
    }

    /// `GET`.
    async fn read(&self, path: &str) -> Result<Value, Error> {
        let request = Request::get(path)
            .header(ACCEPT, "application/json")
            .body(Body::empty());
        let body = self.send(request).await?;
        serde_json::from_slice(&body).map_err(|error| Error::Unanswered {
            request: format!("GET {path}"),
            cause: error.to_string(),
        })
    }

    /// Sends it, and returns the body of the answer.
    async fn send(&self, request: Made) -> Result<Bytes, Error> {
        let request = request.map_err(|error| Error::Unanswered {
            request: "a request".to_owned(),
            cause: error.to_string(),
        })?;
        let name = format!("{} {}", request.method(), request.uri());
        let unanswered = |cause: String| Error::Unanswered {
            request: name.clone(),
            cause,
        };
        let answer = self.client.send(request).await;
        let answer = answer.map_err(|error| unanswered(error.to_string()))?;
        let code = answer.status();
        let body = answer.into_body().collect().await;
        let body = body.map_err(|error| unanswered(error.to_string()))?;
        let body = body.to_bytes();
        if code.is_success() {
            return Ok(body);
        }
        Err(Error::Refused {
            request: name,
            code: code.as_u16(),
            message: message(&body),
        })
    }
}

/// `POST`.
fn post(path: &str, body: &Value) -> Made {
    with_body(Method::POST, path, body)
}

/// `DELETE`, at once.
pub(super) fn deletion(path: &str) -> Made {
    let now = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
    with_body(Method::DELETE, path, &now)
}

fn with_body(method: Method, path: &str, body: &Value) -> Made {
    Request::builder()
        .method(method)
        .uri(path)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .body(Body::from(body.to_string().into_bytes()))
}

/// Creates over several clients in turn; see [`Requests::create_all`].
pub(super) async fn create_all(
    clients: &[Requests],
    in_flight: usize,
    count: usize,
    make: impl Fn(usize) -> (String, Value) + Clone + Send + 'static,
) -> Result<Vec<Instant>, Error> {
    let creation = move |index| {
        let (path, body) = make(index);
        [post(&path, &body)]
    };
    send_all(clients, in_flight, count, creation).await
}

/// Sends what `make` says for each number below `count`, one request after the other, over
/// several clients in turn. Says when the last one of each was answered.
pub(super) async fn send_all<R>(
    clients: &[Requests],
    in_flight: usize,
    count: usize,
    make: impl Fn(usize) -> R + Clone + Send + 'static,
) -> Result<Vec<Instant>, Error>
where
    R: IntoIterator<Item = Made, IntoIter: Send> + 'static,
{
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for requests in clients.iter().cycle().take(in_flight) {
        let (requests, next, make) = (requests.clone(), Arc::clone(&next), make.clone());
        workers.spawn(async move {
            let mut answered = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return Ok::<_, Error>(answered);
                }
                for request in make(index) {
                    requests.send(request).await?;
                }
                answered.push((index, Instant::now()));
            }
        });
    }
    let mut answered = Vec::with_capacity(count);
    while let Some(worker) = workers.join_next().await {
        answered.extend(worker.map_err(|error| Error::Unanswered {
            request: "a request".to_owned(),
            cause: error.to_string(),
        })??);
    }
    answered.sort_unstable_by_key(|(index, _)| *index);
    Ok(answered.into_iter().map(|(_, at)| at).collect())
}

fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Status {
        message: String,
    }
    serde_json::from_slice::<Status>(body).map_or_else(
        |_| String::from_utf8_lossy(body).trim().to_owned(),
        |status| status.message,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_the_server_said() {
        assert_eq!(message(br#"{"kind":"Status","message":"no"}"#), "no");
        assert_eq!(message(b"404 page not found\n"), "404 page not found");
    }
}
