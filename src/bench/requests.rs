//! Requests to the API server, many at once. Nothing is repeated.

use super::{Convention, Error};
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
        self.send(Method::POST, path, Some(body)).await.map(drop)
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
        let now = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
        match self.send(Method::DELETE, path, Some(&now)).await {
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
            let left = self
                .send(Method::GET, &format!("{path}{mark}limit=1"), None)
                .await;
            match left {
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
        match self.send(Method::GET, &path, None).await {
            Err(Error::Refused { code: 404, .. }) => Err(Error::KindMissing(version)),
            result => result.map(drop),
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        let wanted = method == Method::GET;
        let name = format!("{method} {path}");
        let unanswered = |cause: String| Error::Unanswered {
            request: name.clone(),
            cause,
        };
        let body = body.map_or_else(Body::empty, |body| {
            Body::from(body.to_string().into_bytes())
        });
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body)
            .map_err(|error| unanswered(error.to_string()))?;
        let answer = self.client.send(request).await;
        let answer = answer.map_err(|error| unanswered(error.to_string()))?;
        let code = answer.status();
        let body = answer.into_body().collect().await;
        let body = body.map_err(|error| unanswered(error.to_string()))?;
        let body = body.to_bytes();
        if code.is_success() {
            // The answer to a write is of no interest, and costs more to read than to send.
            let text: &[u8] = if wanted { &body } else { b"null" };
            return serde_json::from_slice(text).map_err(|error| unanswered(error.to_string()));
        }
        Err(Error::Refused {
            request: name,
            code: code.as_u16(),
            message: message(&body),
        })
    }
}

/// Creates over several clients in turn; see [`Requests::create_all`].
pub(super) async fn create_all(
    clients: &[Requests],
    in_flight: usize,
    count: usize,
    make: impl Fn(usize) -> (String, Value) + Clone + Send + 'static,
) -> Result<Vec<Instant>, Error> {
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
                let (path, body) = make(index);
                requests.create(&path, &body).await?;
                answered.push((index, Instant::now()));
            }
        });
    }
    let mut answered = Vec::with_capacity(count);
    while let Some(worker) = workers.join_next().await {
        answered.extend(worker.map_err(|error| Error::Unanswered {
            request: "POST".to_owned(),
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
