//! Requests that `muster_devcluster` has no words for: deleting and server-side apply.

use http::{Method, Request};
use kube::Client;
use muster::cluster::client::{self, Transport};
use muster_devcluster::ControlPlane;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::runtime::Runtime;

/// The admin's client, and a runtime to block on for its answers.
pub(crate) fn connect(plane: &ControlPlane, transport: Transport) -> (Runtime, Client) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let client = runtime.block_on(async {
        let config = client::kube_config(Some(&plane.kubeconfig()))
            .await
            .unwrap();
        client::client(&config, transport, Duration::from_secs(30)).unwrap()
    });
    (runtime, client)
}

/// The admin's client, blocking.
pub(crate) struct Admin {
    runtime: Runtime,
    client: Client,
}

impl Admin {
    pub(crate) fn of(plane: &ControlPlane) -> Self {
        let (runtime, client) = connect(plane, Transport::Http1);
        Self { runtime, client }
    }

    /// Deletes at once, without grace. What is gone already is fine.
    pub(crate) fn delete(&self, path: &str) {
        let now = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
        match self.send(&Method::DELETE, path, "application/json", &now) {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("DELETE {path}: {error}"),
        }
    }

    /// Takes its finalizers off an object. What is gone already is fine.
    pub(crate) fn let_go(&self, path: &str) {
        let bare = json!({"metadata": {"finalizers": null}});
        let kind = "application/merge-patch+json";
        match self.send(&Method::PATCH, path, kind, &bare) {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("PATCH {path}: {error}"),
        }
    }

    /// Makes an object what it is given as; what an earlier apply said is undone.
    pub(crate) fn apply(&self, path: &str, object: &Value) {
        self.try_apply(path, object).unwrap();
    }

    /// The same, where it may be refused.
    pub(crate) fn try_apply(&self, path: &str, object: &Value) -> Result<Value, kube::Error> {
        let path = format!("{path}?fieldManager=test&force=true");
        let kind = "application/apply-patch+yaml";
        self.send(&Method::PATCH, &path, kind, object)
    }

    /// Makes an object what it is given as, unless somebody else wrote since it was read.
    pub(crate) fn replace(&self, path: &str, object: &Value) {
        let kind = "application/json";
        self.send(&Method::PUT, path, kind, object).unwrap();
    }

    fn send(
        &self,
        method: &Method,
        path: &str,
        content: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, content)
            .body(body.to_string().into_bytes())
            .unwrap();
        self.runtime.block_on(self.client.request(request))
    }
}
