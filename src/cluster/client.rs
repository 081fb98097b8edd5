//! Where the API server is, and the clients that speak to it.
//!
//! kube's stock client speaks HTTP/1.1 only and repeats POSTs by itself. Ours rides on a
//! transport we choose and never repeats anything: what to do with a lost answer is decided in
//! [`super::lanes`], not below it.

use super::ending::ending;
use super::fenced_io::{self, FencedConnector};
use super::lease::ANSWER_WITHIN;
use super::{Error, Fence};
use http::header::{HeaderValue, USER_AGENT};
use http::{Method, Request};
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client as HyperClient, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::Path;
use std::time::Duration;
use tower::filter::FilterLayer;
use tower::limit::RateLimitLayer;
use tower::util::MapRequestLayer;
use tower::{BoxError, ServiceBuilder};

/// How requests travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP/1.1: a connection for each request in flight.
    Http1,
    /// HTTP/2 where the server offers it (by ALPN), else HTTP/1.1: one connection carries all.
    Http2,
}

/// How lists and watches travel: on one connection, which is pinged, so that one that broke in
/// silence is noticed for all of them at once.
const READ_TRANSPORT: Transport = Transport::Http2;
/// How writes travel. `docs/performance.md` has what the two were measured at.
const WRITE_TRANSPORT: Transport = Transport::Http1;

/// How many lists and watches begin in a second at most: a server, or a proxy before it, that
/// ends every watch as soon as it began is not asked without end. Lists of 50,000 objects a second
/// pass.
const READS_PER_SECOND: u64 = 100;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection may be silent before the peer is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// How long the peer may take to answer that.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// How much a server may send on one stream before we have read it. Lists are large.
const STREAM_WINDOW: u32 = 2 << 20;
/// How much on one connection.
const CONNECTION_WINDOW: u32 = 8 << 20;

/// Finds the API server: `kubeconfig` if given, else `$KUBECONFIG`, else the service account of
/// the pod we run in, else `~/.kube/config`.
///
/// # Errors
/// When a file cannot be read or says what cannot be used.
pub async fn kube_config(kubeconfig: Option<&Path>) -> Result<Config, Error> {
    kube_config_in(kubeconfig, None).await
}

/// The same by a context of the kubeconfig; without one, by its current context. A pod's service account has none.
///
/// # Errors
/// As [`kube_config`], and when there is no such context.
pub async fn kube_config_in(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
) -> Result<Config, Error> {
    let unusable = |place: String| move |error| Error::Kubeconfig { place, error };
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let (file, name) = match kubeconfig {
        Some(path) => {
            let name = path.display().to_string();
            let read = Kubeconfig::read_from(path).map_err(unusable(name.clone()))?;
            (Some(read), name)
        }
        None => {
            let name = "$KUBECONFIG".to_owned();
            let read = Kubeconfig::from_env().map_err(unusable(name.clone()))?;
            (read, name)
        }
    };
    let mut config = match file {
        Some(file) => Config::from_custom_kubeconfig(file, &options)
            .await
            .map_err(unusable(name))?,
        None => match Config::incluster() {
            Ok(config) if context.is_none() => config,
            _ => Config::from_kubeconfig(&options)
                .await
                .map_err(unusable("~/.kube/config".to_owned()))?,
        },
    };
    if config.accept_invalid_certs {
        tracing::warn!(
            server = %config.cluster_url,
            "the server's certificate is not checked: insecure-skip-tls-verify is set"
        );
    }
    let agent = HeaderValue::from_static(concat!("muster/", env!("CARGO_PKG_VERSION")));
    config.headers.push((USER_AGENT, agent));
    Ok(config)
}

/// The namespace of the pod we run in, if we run in one.
#[must_use]
pub fn own_namespace() -> Option<String> {
    Config::incluster().ok().map(|one| one.default_namespace)
}

/// A client for lists and watches. How many of them begin in a second is bounded.
///
/// # Errors
/// As [`client`].
pub fn reader(config: &Config, answer_within: Duration) -> Result<Client, Error> {
    let bounds = Bounds {
        per_second: Some(READS_PER_SECOND),
        ..Bounds::default()
    };
    make(config, READ_TRANSPORT, answer_within, bounds)
}

/// The same for who must not write at all: whatever is no GET is refused before it is sent, whoever asks for it.
///
/// # Errors
/// As [`client`].
pub fn read_only(config: &Config, answer_within: Duration) -> Result<Client, Error> {
    let bounds = Bounds {
        per_second: Some(READS_PER_SECOND),
        only_reads: true,
        ..Bounds::default()
    };
    make(config, READ_TRANSPORT, answer_within, bounds)
}

/// A client for writes: it sends nothing while the fence is closed.
///
/// # Errors
/// As [`client`].
pub fn writer(config: &Config, answer_within: Duration, fence: &Fence) -> Result<Client, Error> {
    let bounds = Bounds {
        fence: Some(fence.clone()),
        writes_end: true,
        ..Bounds::default()
    };
    make(config, WRITE_TRANSPORT, answer_within, bounds)
}

/// A client for the Lease, which opens the fence and so is not behind it.
///
/// # Errors
/// As [`client`].
pub fn lease(config: &Config) -> Result<Client, Error> {
    let bounds = Bounds {
        writes_end: true,
        ..Bounds::default()
    };
    make(config, WRITE_TRANSPORT, ANSWER_WITHIN, bounds)
}

/// A client with connections of its own. `answer_within` bounds the time until an answer
/// begins; a watch's answer begins at once.
///
/// # Errors
/// When the configuration's certificates or credentials cannot be used, or it asks for a proxy.
pub fn client(
    config: &Config,
    transport: Transport,
    answer_within: Duration,
) -> Result<Client, Error> {
    make(config, transport, answer_within, Bounds::default())
}

/// What bounds the requests of a client.
#[derive(Default)]
struct Bounds {
    /// Beyond so many in a second each waits its turn.
    per_second: Option<u64>,
    /// Nothing is sent while it is closed.
    fence: Option<Fence>,
    /// The API server is told when to end its work on a write ([`ending`]).
    writes_end: bool,
    /// Nothing is sent but GET.
    only_reads: bool,
}

/// A request that was not sent, for it could change something.
#[derive(Debug, thiserror::Error)]
#[error("{method} {path}: not sent, for nothing is written in a dry run")]
struct NoRead {
    method: Method,
    path: String,
}

/// A request that changes nothing, whatever its path: in the API, that is GET.
fn read(request: Request<Body>) -> Result<Request<Body>, NoRead> {
    if request.method() == Method::GET {
        return Ok(request);
    }
    Err(NoRead {
        method: request.method().clone(),
        path: request.uri().path().to_owned(),
    })
}

/// A [`client`] within bounds.
fn make(
    config: &Config,
    transport: Transport,
    answer_within: Duration,
    bounds: Bounds,
) -> Result<Client, Error> {
    let Bounds {
        per_second,
        fence,
        writes_end,
        only_reads,
    } = bounds;
    if let Some(proxy) = &config.proxy_url {
        return Err(Error::Proxy(proxy.to_string()));
    }
    let unusable = |error: kube::Error| Error::Client(Box::new(error));
    let tls = config.rustls_client_config().map_err(unusable)?;
    let mut https = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name
            .clone()
            .try_into()
            .map_err(|_| Error::ServerName(name.clone()))?;
        https = https.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let mut tcp = tcp();
    if fence.is_some() {
        fenced_io::bound(&mut tcp);
    }
    let connector = FencedConnector { tcp, fence };
    let https = match transport {
        Transport::Http1 => https.enable_http1().wrap_connector(connector),
        Transport::Http2 => https.enable_all_versions().wrap_connector(connector),
    };
    let hyper: HyperClient<_, Body> = HyperClient::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_keep_alive_interval(KEEPALIVE)
        .http2_keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .http2_keep_alive_while_idle(true)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .build(https);
    let rate = per_second.map(|count| RateLimitLayer::new(count, Duration::from_secs(1)));
    let service = ServiceBuilder::new()
        .option_layer(only_reads.then(|| FilterLayer::new(read)))
        .option_layer(rate)
        .option_layer(writes_end.then(|| MapRequestLayer::new(ending::<Body>)))
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(unusable)?)
        .layer(config.extra_headers_layer().map_err(unusable)?)
        .map_err(BoxError::from)
        .timeout(answer_within)
        .service(hyper);
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// TCP without delay, which notices within half a minute that the other end is gone.
fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(Duration::from_secs(5)));
    tcp.set_keepalive_retries(Some(3));
    tcp
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::routing::get;
    use k8s_openapi::api::core::v1::PersistentVolumeClaim;
    use kube::Api;
    use kube::api::{Patch, PatchParams};
    use serde_json::Value;
    use std::future::IntoFuture;
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    /// A server that answers everything with `{}`, and tells what it was asked.
    async fn listening() -> (Config, mpsc::UnboundedReceiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (came, asked) = mpsc::unbounded_channel();
        let pages = Router::new().fallback(async move |request: axum::extract::Request| {
            let line = format!("{} {}", request.method(), request.uri());
            came.send(line).unwrap();
            "{}"
        });
        tokio::spawn(axum::serve(listener, pages).into_future());
        let config = Config::new(format!("http://{address}").parse().unwrap());
        (config, asked)
    }

    /// Whoever writes, and however: a plugin that is handed the client, too.
    #[tokio::test]
    async fn every_write_of_ours_ends_at_the_server() {
        let (config, mut asked) = listening().await;
        let within = Duration::from_secs(10);
        let writer = writer(&config, within, &Fence::open()).unwrap();
        for client in [writer, lease(&config).unwrap()] {
            let claims: Api<PersistentVolumeClaim> = Api::namespaced(client, "ns");
            let patch = Patch::Merge(serde_json::json!({}));
            let patched = claims.patch("c", &PatchParams::default(), &patch).await;
            patched.unwrap();
            claims.get("c").await.unwrap();
            let path = "/api/v1/namespaces/ns/persistentvolumeclaims/c";
            let sent = asked.recv().await.unwrap();
            assert_eq!(sent, format!("PATCH {path}?timeout=2s"));
            assert_eq!(asked.recv().await.unwrap(), format!("GET {path}"));
        }
    }

    #[tokio::test]
    async fn a_client_that_only_reads_sends_nothing_else() {
        let (config, mut asked) = listening().await;
        let client = read_only(&config, Duration::from_secs(10)).unwrap();
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), "ns");
        let patch = Patch::Merge(serde_json::json!({}));
        let patched = claims.patch("c", &PatchParams::default(), &patch).await;
        let said = patched.unwrap_err();
        let kube::Error::Service(said) = said else {
            panic!("{said:?}");
        };
        let path = "/api/v1/namespaces/ns/persistentvolumeclaims/c";
        let words = "not sent, for nothing is written in a dry run";
        assert_eq!(said.to_string(), format!("PATCH {path}: {words}"));
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let request = http::Request::builder().method(method).uri(path);
            let answer = client.request::<Value>(request.body(Vec::new()).unwrap());
            assert!(answer.await.is_err(), "{method}");
        }
        claims.get("c").await.unwrap();
        let first = asked.recv().await.unwrap();
        assert_eq!(first, format!("GET {path}"), "the first that was sent");
    }

    #[tokio::test]
    async fn requests_beyond_the_rate_wait_their_turn() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let pages = Router::new().route("/", get(async || "{}"));
        let server = tokio::spawn(axum::serve(listener, pages).into_future());
        let config = Config::new(format!("http://{address}").parse().unwrap());
        let within = Duration::from_secs(10);
        let bounds = Bounds {
            per_second: Some(2),
            ..Bounds::default()
        };
        let client = make(&config, Transport::Http1, within, bounds).unwrap();
        let begin = Instant::now();
        for _ in 0..3 {
            let request = http::Request::get("/").body(Vec::new()).unwrap();
            client.request::<Value>(request).await.unwrap();
        }
        assert!(
            begin.elapsed() > Duration::from_millis(900),
            "{:?}",
            begin.elapsed()
        );
        server.abort();
    }
}
