//! Requests to the API server, many at once. Only evictions are repeated.

use super::{Convention, Error};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use muster_cluster::lanes::Made;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How often the deletion of a collection is asked for, until nothing is left: the server ends
/// one that takes longer than a minute.
const DELETE_ROUNDS: usize = 20;

/// How often an eviction is tried.
const EVICT_TRIES: usize = 5;

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
        self.send(with_body(Method::POST, path, body))
            .await
            .map(drop)
    }

    /// Sends a write.
    pub(super) async fn write(&self, request: Made) -> Result<(), Error> {
        self.send(request).await.map(drop)
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
        match self.send(with_body(Method::DELETE, path, &now)).await {
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

    /// Evicts a pod by these requests, one after the other, and by all of them again where the
    /// server was too slow: they say how long it may take, which is not long.
    pub(super) async fn evict(&self, make: impl Fn() -> Vec<Made>) -> Result<(), Error> {
        let mut result = Ok(());
        for _ in 0..EVICT_TRIES {
            result = self.send_in_turn(make()).await;
            match result {
                Err(Error::Unanswered { .. } | Error::Refused { code: 504, .. }) => {}
                Err(Error::Refused { code: 404, .. }) => return Ok(()),
                _ => return result,
            }
        }
        result
    }

    async fn send_in_turn(&self, requests: Vec<Made>) -> Result<(), Error> {
        for request in requests {
            self.send(request).await?;
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
    pub(super) async fn read(&self, path: &str) -> Result<Value, Error> {
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
    let create = move |requests: Requests, index| {
        let (path, body) = make(index);
        async move { requests.create(&path, &body).await }
    };
    for_all(clients, in_flight, count, create).await
}

/// Does this for each number below `count`, over several clients in turn. Says when each was done.
pub(super) async fn for_all<D>(
    clients: &[Requests],
    in_flight: usize,
    count: usize,
    work: impl Fn(Requests, usize) -> D + Clone + Send + 'static,
) -> Result<Vec<Instant>, Error>
where
    D: Future<Output = Result<(), Error>> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for requests in clients.iter().cycle().take(in_flight) {
        let (requests, next, work) = (requests.clone(), Arc::clone(&next), work.clone());
        workers.spawn(async move {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return Ok::<_, Error>(done);
                }
                work(requests.clone(), index).await?;
                done.push((index, Instant::now()));
            }
        });
    }
    let mut done = Vec::with_capacity(count);
    while let Some(worker) = workers.join_next().await {
        done.extend(worker.map_err(|error| Error::Unanswered {
            request: "a request".to_owned(),
            cause: error.to_string(),
        })??);
    }
    done.sort_unstable_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, at)| at).collect())
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
    use http::Response;
    use std::sync::Mutex;
    use tower::BoxError;

    /// Evicts where the server answers so, in this order; 0 is no answer. Says what was asked.
    async fn evict(codes: &[u16]) -> (Result<(), Error>, String) {
        let asked = Arc::new(Mutex::new(String::new()));
        let (seen, left) = (Arc::clone(&asked), Mutex::new(codes.to_vec()));
        let service = tower::service_fn(move |request: Request<Body>| {
            seen.lock()
                .unwrap()
                .push_str(&request.method().as_str()[..1]);
            let code = left.lock().unwrap().remove(0);
            async move {
                let answer = Response::builder().status(code).body(Body::empty());
                answer.map_err(BoxError::from)
            }
        });
        let requests = Requests::new(Client::new(service, "default"));
        let make =
            || [Method::PATCH, Method::DELETE].map(|method| with_body(method, "/pod", &json!({})));
        let result = requests.evict(|| make().into()).await;
        let asked = asked.lock().unwrap().clone();
        (result, asked)
    }

    #[tokio::test]
    async fn an_eviction_is_asked_for_again_where_the_server_was_too_slow() {
        let (result, asked) = evict(&[200, 0, 200, 504, 200, 200]).await;
        assert_eq!((result.is_ok(), asked.as_str()), (true, "PDPDPD"));
        let (result, asked) = evict(&[200, 0, 404]).await;
        assert_eq!((result.is_ok(), asked.as_str()), (true, "PDP"));
        let (result, asked) = evict(&[200, 403]).await;
        assert_eq!((result.is_ok(), asked.as_str()), (false, "PD"));
        let (result, asked) = evict(&[0; EVICT_TRIES]).await;
        assert_eq!((result.is_ok(), asked.len()), (false, EVICT_TRIES));
    }

    #[test]
    fn a_refusal_says_what_the_server_said() {
        assert_eq!(message(br#"{"kind":"Status","message":"no"}"#), "no");
        assert_eq!(message(b"404 page not found\n"), "404 page not found");
    }
}
