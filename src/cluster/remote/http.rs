//! One POST to another process: with a limit to its time, and to how much is read of the answer.

use crate::error_text;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Config;
use kube::client::ConfigExt;
use kube::config::{AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig};
use kube::config::{NamedAuthInfo, NamedCluster, NamedContext};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;

/// How much of an answer that is no success is shown.
const SHOWN: usize = 200;
/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(60);

/// Whom to trust, and who we are: files, or their contents in base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Certificates of authorities, in PEM; without any, the host's are trusted.
    pub ca_file: Option<String>,
    /// The same, as base64 of PEM.
    pub ca_data: Option<String>,
    /// Our certificate, in PEM.
    pub cert_file: Option<String>,
    /// The same, as base64 of PEM.
    pub cert_data: Option<String>,
    /// Its key, in PEM.
    pub key_file: Option<String>,
    /// The same, as base64 of PEM.
    pub key_data: Option<String>,
    /// The name that the other's certificate is to be for, if that is not the host's in the URL.
    pub server_name: Option<String>,
    /// Whether the other's certificate is not checked.
    pub insecure: bool,
}

/// Why no answer came.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Certificates or keys cannot be used.
    #[error("TLS: {0}")]
    Tls(String),
    /// The request cannot be made.
    #[error("cannot be asked: {0}")]
    Request(String),
    /// Nobody is there, or the connection broke.
    #[error("{0}")]
    Unreachable(String),
    /// It took too long.
    #[error("no answer within {} ms", .0.as_millis())]
    Late(Duration),
    /// It is not a success.
    #[error("HTTP status {}{}", .0.as_u16(), shown(.1))]
    Status(StatusCode, String),
    /// It is longer than is allowed.
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
}

fn shown(body: &str) -> String {
    if body.is_empty() {
        String::new()
    } else {
        format!(": {body}")
    }
}

/// Connections to one process.
#[derive(Clone, Debug)]
pub(super) struct Http(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Http {
    /// Reads certificates and keys. Nothing is sent yet.
    ///
    /// # Errors
    /// When these cannot be used.
    pub(super) async fn new(url: &Uri, tls: &Tls) -> Result<Self, Failure> {
        let config = kube_config(url, tls);
        let options = KubeConfigOptions::default();
        let wrong = |error: &(dyn Error + 'static)| Failure::Tls(error_text::chain(error));
        let config = Config::from_custom_kubeconfig(config, &options).await;
        let config = config.map_err(|error| wrong(&error))?;
        let client = config.rustls_client_config();
        let client = client.map_err(|error| wrong(&error))?;
        let mut https = HttpsConnectorBuilder::new()
            .with_tls_config(client)
            .https_or_http();
        if let Some(name) = &tls.server_name {
            let name = name.clone().try_into();
            let name = name.map_err(|_| Failure::Tls("serverName is not a name".to_owned()))?;
            https = https.with_server_name_resolver(FixedServerNameResolver::new(name));
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let https = https.enable_http1().wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(https);
        Ok(Self(client))
    }

    /// Sends JSON and reads the answer, at most `limit` bytes of it.
    ///
    /// # Errors
    /// When no answer of use came within the time.
    pub(super) async fn post(
        &self,
        url: &Uri,
        body: Vec<u8>,
        within: Duration,
        limit: usize,
    ) -> Result<Bytes, Failure> {
        let request = Request::post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("muster/", env!("CARGO_PKG_VERSION")))
            .body(Full::from(body))
            .map_err(|error| Failure::Request(error.to_string()))?;
        let answered = async {
            let sent = self.0.request(request).await;
            let answer = sent.map_err(|error| Failure::Unreachable(error_text::chain(&error)))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), limit).collect().await;
            let body = match body {
                Ok(body) => body.to_bytes(),
                Err(error) if error.is::<LengthLimitError>() => {
                    return Err(Failure::TooLong(limit));
                }
                Err(error) => return Err(Failure::Unreachable(error_text::chain(&*error))),
            };
            if status == StatusCode::OK {
                return Ok(body);
            }
            let said = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
            let said: Vec<&str> = said.split_whitespace().collect();
            Err(Failure::Status(status, said.join(" ")))
        };
        let answer = timeout(within, answered).await;
        answer.unwrap_or(Err(Failure::Late(within)))
    }
}

/// kube reads certificates and keys in all their forms: a configuration for it that has no others.
fn kube_config(url: &Uri, tls: &Tls) -> Kubeconfig {
    let name = "plugin".to_owned();
    let key = |data: &Option<String>| data.clone().map(Into::into);
    Kubeconfig {
        current_context: Some(name.clone()),
        clusters: vec![NamedCluster {
            name: name.clone(),
            cluster: Some(Cluster {
                server: Some(url.to_string()),
                insecure_skip_tls_verify: Some(tls.insecure),
                certificate_authority: tls.ca_file.clone(),
                certificate_authority_data: tls.ca_data.clone(),
                ..Cluster::default()
            }),
            other: BTreeMap::default(),
        }],
        auth_infos: vec![NamedAuthInfo {
            name: name.clone(),
            auth_info: Some(AuthInfo {
                client_certificate: tls.cert_file.clone(),
                client_certificate_data: tls.cert_data.clone(),
                client_key: tls.key_file.clone(),
                client_key_data: key(&tls.key_data),
                ..AuthInfo::default()
            }),
            other: BTreeMap::default(),
        }],
        contexts: vec![NamedContext {
            name: name.clone(),
            context: Some(Context {
                cluster: name.clone(),
                user: Some(name),
                ..Context::default()
            }),
            other: BTreeMap::default(),
        }],
        ..Kubeconfig::default()
    }
}
