//! Plain requests to the API server, for setting a scene from a test.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustls::crypto::ring;
use serde_json::Value;
use ureq::Agent;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

const TIMEOUT: Duration = Duration::from_secs(30);
/// A list of thousands of pods is larger than the library's own limit.
const BODY_LIMIT: u64 = 1 << 30;
/// One for every thread that creates objects.
const CONNECTIONS: usize = 16;

/// A client with the admin's token. Clones share their connections.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    agent: Agent,
    url: String,
    authorization: String,
}

impl Api {
    pub(crate) fn new(url: &str, ca_pem: &str, token: &str) -> Result<Self> {
        let authority = Certificate::from_pem(ca_pem.as_bytes())?;
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .root_certs(RootCerts::new_with_certs(&[authority]))
            .build();
        let agent = Agent::config_builder()
            .tls_config(tls)
            .proxy(None) // loopback, whatever the environment says
            .http_status_as_error(false) // the body says what is wrong
            .timeout_global(Some(TIMEOUT))
            .max_idle_connections_per_host(CONNECTIONS)
            .build();
        Ok(Self {
            agent: agent.into(),
            url: url.to_owned(),
            authorization: format!("Bearer {token}"),
        })
    }

    /// Whether a GET answers 200. Not being able to connect is a no.
    pub(crate) fn answers(&self, path: &str) -> bool {
        let response = self
            .agent
            .get(format!("{}{path}", self.url))
            .header("Authorization", &self.authorization)
            .call();
        response.is_ok_and(|response| response.status() == 200)
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value> {
        let response = self
            .agent
            .get(format!("{}{path}", self.url))
            .header("Authorization", &self.authorization)
            .call();
        object(response, "GET", path)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let response = self
            .agent
            .post(format!("{}{path}", self.url))
            .header("Authorization", &self.authorization)
            .send_json(body);
        object(response, "POST", path)
    }
}

/// Whether a plain HTTP server on loopback says it is healthy.
pub(crate) fn healthy(port: u16) -> bool {
    let config = Agent::config_builder()
        .proxy(None)
        .timeout_global(Some(TIMEOUT))
        .build();
    Agent::from(config)
        .get(format!("http://127.0.0.1:{port}/healthz"))
        .call()
        .is_ok()
}

fn object(
    response: Result<Response<ureq::Body>, ureq::Error>,
    method: &str,
    path: &str,
) -> Result<Value> {
    let mut response = response.with_context(|| format!("{method} {path}"))?;
    let status = response.status();
    let value: Value = response
        .body_mut()
        .with_config()
        .limit(BODY_LIMIT)
        .read_json()
        .with_context(|| format!("{method} {path}: {status}, and the answer is not JSON"))?;
    if !status.is_success() {
        let message = value["message"].as_str().unwrap_or("no message");
        bail!("{method} {path}: {status}: {message}");
    }
    Ok(value)
}
