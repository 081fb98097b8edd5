//! What a running Muster shows over HTTP: `/metrics`, `/healthz`, `/readyz`, `/debug/why`.
//!
//! HTTP without authentication (but for `/debug/why`, which asks the API server about everybody:
//! `why.rs`), so by default on loopback only; and the same in TLS (`tls.rs`). Nothing here changes anything, and no request's body is
//! read. Connections are bounded in number and in time.

mod tls;
mod why;

pub use why::{Desk, FORWARDED};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use muster_cluster::{Health, Metrics, health::Role};
use std::sync::Arc;
use std::time::Duration;
use tls::Tls;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Connections open at once.
const CONNECTIONS: usize = 64;
/// How long a request's head may take to come in.
const HEAD_WITHIN: Duration = Duration::from_secs(5);
/// How long a connection may last; a scraper makes a new one.
const CONNECTION_FOR: Duration = Duration::from_secs(60);
/// Connections of probes, and how long one may last.
const PROBES: usize = 8;
const PROBE_FOR: Duration = Duration::from_secs(10);
/// The rest after a connection could not be accepted: too many open files, say.
const REST: Duration = Duration::from_millis(100);

/// What the pages show.
#[derive(Clone)]
pub struct Shown {
    /// Whether Muster can do its work.
    pub health: Arc<Health>,
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// Who says why something is where it is; `None`: nobody does.
    pub desk: Option<Desk>,
}

/// How many connections there may be, and for how long. One that becomes a WebSocket is a matter of whoever serves
/// that from then on.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Open at once.
    pub connections: usize,
    /// How long one may last.
    pub connection_for: Duration,
}

/// What is said on a port.
#[derive(Clone)]
struct Pages {
    plain: Router,
    encrypted: Option<(Tls, Router)>,
}

/// Serves the pages, for ever.
pub async fn serve(listener: TcpListener, shown: Shown) {
    let bounds = Bounds {
        connections: CONNECTIONS,
        connection_for: CONNECTION_FOR,
    };
    let tls = Tls::new();
    if let Err(error) = &tls {
        tracing::error!(%error, "there is no TLS: `muster why` gets no answer through the API server");
    }
    let pages = Pages {
        plain: router(shown.clone(), false),
        encrypted: tls.ok().map(|tls| (tls, router(shown, true))),
    };
    host_pages(listener, pages, bounds).await;
}

/// Answers by a router within bounds, for ever.
pub async fn host(listener: TcpListener, router: Router, bounds: Bounds) {
    let pages = Pages {
        plain: router,
        encrypted: None,
    };
    host_pages(listener, pages, bounds).await;
}

async fn host_pages(listener: TcpListener, pages: Pages, bounds: Bounds) {
    let slots = Arc::new(Semaphore::new(bounds.connections));
    // Said once until it works again: it fails many times a second.
    let mut failing = false;
    loop {
        let slot = Arc::clone(&slots).acquire_owned().await.ok();
        match listener.accept().await {
            Ok((stream, _)) => {
                failing = false;
                let pages = pages.clone();
                tokio::spawn(async move {
                    let conversation = pages.show(stream, bounds.connection_for);
                    if let Err(error) = conversation.await {
                        tracing::debug!(%error, "a connection broke");
                    }
                    drop(slot);
                });
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(%error, "a connection was not accepted");
                }
                sleep(REST).await;
            }
        }
    }
}

impl Pages {
    /// To one who has connected, whichever way they speak.
    async fn show(self, stream: TcpStream, within: Duration) -> anyhow::Result<()> {
        let Some((tls, router)) = self.encrypted else {
            return converse(stream, self.plain, within).await;
        };
        if !timeout(HEAD_WITHIN, Tls::is_begun_by(&stream)).await?? {
            return converse(stream, self.plain, within).await;
        }
        let stream = timeout(HEAD_WITHIN, tls.accept(stream)).await??;
        converse(stream, router, within).await
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    within: Duration,
) -> anyhow::Result<()> {
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    if let Ok(ended) = timeout(within, conversation).await {
        ended?;
    }
    Ok(())
}

/// Serves what probes ask for, for ever: with connections that nobody takes who reaches the pages.
pub async fn serve_probes(listener: TcpListener, shown: Shown) {
    let bounds = Bounds {
        connections: PROBES,
        connection_for: PROBE_FOR,
    };
    host(listener, probes().with_state(shown), bounds).await;
}

/// The pages, for who comes in clear or encrypted.
fn router(shown: Shown, encrypted: bool) -> Router {
    let desk = shown.desk.clone();
    let desk = desk.map(|desk| why::router(desk, encrypted));
    probes()
        .route("/metrics", get(metrics))
        .with_state(shown)
        .merge(desk.unwrap_or_default())
}

fn probes() -> Router<Shown> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
}

/// Alive: the process answers, and who decides moves.
async fn healthz(State(shown): State<Shown>) -> Response {
    if shown.health.pulse().hangs() {
        let text = "the engine does not move\n";
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    "ok\n".into_response()
}

/// Ready: nothing keeps Muster from its work. One that stands by is ready.
async fn readyz(State(shown): State<Shown>) -> Response {
    let problems = shown.health.problems();
    if !problems.is_empty() {
        let text = format!("not ready\n{}\n", problems.join("\n"));
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    let mut text = match shown.health.role() {
        Role::StandingBy => {
            let holder = shown.health.holder();
            let holder = holder.unwrap_or_else(|| "nobody".to_owned());
            format!("ok: standing by, {holder} has the lease\n")
        }
        _ => "ok\n".to_owned(),
    };
    for remark in shown.health.remarks() {
        text.push_str(&remark);
        text.push('\n');
    }
    text.into_response()
}

async fn metrics(State(shown): State<Shown>) -> Response {
    match shown.metrics.text() {
        Ok(text) => {
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            ([(CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use muster_api::kinds::Kind;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::task::JoinHandle;
    use tower::ServiceExt;

    fn shown() -> Shown {
        Shown {
            health: Arc::new(Health::default()),
            metrics: Arc::new(Metrics::new().unwrap()),
            desk: None,
        }
    }

    async fn get(shown: &Shown, path: &str) -> (u16, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router(shown.clone(), false).oneshot(request).await;
        let response = response.unwrap();
        let code = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn not_ready_says_why_and_one_that_stands_by_is_ready() {
        let shown = shown();
        let (code, text) = get(&shown, "/readyz").await;
        assert_eq!(code, 503);
        assert_eq!(text, "not ready\nstarting: nobody leads yet\n");
        shown.health.set_role(Role::StandingBy);
        let (code, text) = get(&shown, "/readyz").await;
        assert_eq!(code, 200);
        assert_eq!(text, "ok: standing by, nobody has the lease\n");
        shown.health.set_holder(Some("muster-0"));
        let (_, text) = get(&shown, "/readyz").await;
        assert_eq!(text, "ok: standing by, muster-0 has the lease\n");
        // What nobody can read keeps nobody from work.
        let words = Some("1 unreadable, left out: team/a".to_owned());
        shown.health.set_unreadable(Kind::Pods, words);
        let (code, text) = get(&shown, "/readyz").await;
        assert_eq!(code, 200);
        let remark = "pods: 1 unreadable, left out: team/a\n";
        assert!(text.ends_with(remark), "{text}");
        shown.health.set_unreadable(Kind::Pods, None);
        let (_, text) = get(&shown, "/readyz").await;
        assert!(!text.contains("pods"), "{text}");
    }

    #[tokio::test]
    async fn metrics_are_prometheus_text() {
        let (code, text) = get(&shown(), "/metrics").await;
        assert_eq!(code, 200);
        assert!(text.contains("# TYPE muster_leader gauge"), "{text}");
    }

    #[tokio::test]
    async fn pages_are_served_over_tcp() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(serve(listener, shown()));
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = b"GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
        assert!(text.ends_with("ok\n"), "{text}");
        server.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn one_whose_engine_hangs_is_not_alive() {
        let shown = shown();
        assert_eq!(get(&shown, "/healthz").await, (200, "ok\n".to_owned()));
        let pulse = shown.health.pulse().clone();
        pulse.beat();
        let looks = pulse.stopped();
        assert!(timeout(Duration::from_secs(30), looks).await.is_err());
        let (code, text) = get(&shown, "/healthz").await;
        assert_eq!((code, text.as_str()), (503, "the engine does not move\n"));
        pulse.beat();
        assert_eq!(get(&shown, "/healthz").await.0, 200);
    }

    #[tokio::test]
    async fn probes_are_answered_while_all_connections_of_the_pages_are_taken() {
        let [pages, probes] = [
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        ];
        let [of_pages, of_probes] = [&pages, &probes].map(|one| one.local_addr().unwrap());
        let servers = [
            tokio::spawn(serve(pages, shown())),
            tokio::spawn(serve_probes(probes, shown())),
        ];
        // Somebody connects, and says nothing.
        let mut idle = Vec::new();
        for _ in 0..CONNECTIONS {
            idle.push(TcpStream::connect(of_pages).await.unwrap());
        }
        let ask = async |address| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = b"GET /healthz HTTP/1.0\r\n\r\n";
            stream.write_all(request).await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            text
        };
        let pages = timeout(Duration::from_millis(500), ask(of_pages)).await;
        assert!(pages.is_err(), "{pages:?}");
        let text = timeout(Duration::from_secs(5), ask(of_probes)).await;
        assert!(text.unwrap().ends_with("ok\n"));
        drop(idle);
        servers.iter().for_each(JoinHandle::abort);
    }
}
