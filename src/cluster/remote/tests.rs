//! A plugin that misbehaves costs nobody else anything: against real servers that hang, die, lie and send
//! without end.

use super::*;
use muster_api::remote::wire::API_VERSION;
use muster_model::{
    AskedGang, AskedNode, AskedPod, NodeVerdicts, RemoteAnswer, RemotePoint, RemoteQuestion,
};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

mod decisions;
mod extenders;
mod tls;

/// What a server does with a connection.
#[derive(Clone)]
enum Manner {
    /// Answers every request with this body.
    Says(String),
    /// Answers with this status line.
    Status(&'static str),
    /// Takes the request and says nothing.
    Hangs,
    /// Closes the connection at once.
    HangsUp,
    /// Sends without end.
    Endless,
    /// Fails so many times, then answers.
    Recovers(u32, String),
    /// Lets every decision pass, and keeps what it was asked.
    Allows(Arc<Mutex<Vec<serde_json::Value>>>),
}

struct Server {
    address: SocketAddr,
    asked: Arc<AtomicU32>,
    sent: Arc<AtomicU32>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start(manner: Manner) -> Self {
        Self::start_with(manner, None).await
    }

    async fn start_with(manner: Manner, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, sent) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let mut tasks = JoinSet::new();
        let counters = (Arc::clone(&asked), Arc::clone(&sent));
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (asked, sent) = (Arc::clone(&counters.0), Arc::clone(&counters.1));
                let (tls, manner) = (tls.clone(), manner.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(stream, manner, asked, sent).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, manner, asked, sent).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            address,
            asked,
            sent,
            _tasks: tasks,
        }
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }
}

/// The next request's body; `None` at the connection's end.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?.to_lowercase();
    let length = head.split("content-length:").nth(1)?;
    let length: usize = length.lines().next()?.trim().parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(body)
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    manner: Manner,
    asked: Arc<AtomicU32>,
    sent: Arc<AtomicU32>,
) {
    if matches!(manner, Manner::HangsUp) {
        asked.fetch_add(1, Ordering::Relaxed);
        return;
    }
    while let Some(body) = request(&mut stream).await {
        let before = asked.fetch_add(1, Ordering::Relaxed);
        let ok = |body: &str| {
            let length = body.len();
            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}")
        };
        let failed = "HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\nbroken\nup";
        let answer = match &manner {
            Manner::Says(body) => ok(body),
            Manner::Allows(heard) => {
                let request = serde_json::from_slice(&body).unwrap();
                heard.lock().unwrap().push(request);
                let allows = r#""decision":"Allow"}"#;
                ok(&format!(r#"{{"apiVersion":"{API_VERSION}",{allows}"#))
            }
            Manner::Status(line) => format!("HTTP/1.1 {line}\r\ncontent-length: 2\r\n\r\nno"),
            Manner::Recovers(failures, body) if before >= *failures => ok(body),
            Manner::Recovers(..) => failed.to_owned(),
            Manner::Hangs => std::future::pending().await,
            Manner::HangsUp => return,
            Manner::Endless => {
                let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                if stream.write_all(head.as_bytes()).await.is_err() {
                    return;
                }
                let chunk = format!("10000\r\n{}\r\n", " ".repeat(65_536));
                while stream.write_all(chunk.as_bytes()).await.is_ok() {
                    sent.fetch_add(1, Ordering::Relaxed);
                }
                return;
            }
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn plugin_at(address: SocketAddr, within: Duration) -> (Plugin, Arc<Metrics>) {
    plugin(&format!("http://{address}/plugin"), Tls::default(), within)
}

fn plugin(url: &str, tls: Tls, within: Duration) -> (Plugin, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::new().unwrap());
    let endpoint = Endpoint {
        name: "licences".into(),
        url: url.parse().unwrap(),
        tls,
        limits: Limits {
            within,
            bytes: 1 << 20,
            at_once: 2,
        },
    };
    let plugin = Plugin::new(endpoint, Clock::start(), Arc::clone(&metrics));
    (plugin, metrics)
}

fn question() -> RemoteQuestion {
    RemoteQuestion {
        plugin: "licences".into(),
        point: RemotePoint::Filter,
        gang: AskedGang::default(),
        pods: vec![AskedPod::default()],
        pod_count: 1,
        nodes: vec![AskedNode {
            name: "n1".to_owned(),
            labels: Vec::new(),
        }]
        .into(),
    }
}

fn refuses_n1() -> String {
    format!(r#"{{"apiVersion":"{API_VERSION}","refused":{{"n1":"no licence"}}}}"#)
}

/// What it says to one question, and how the metrics call that.
async fn asked(manner: Manner) -> (RemoteAnswer, &'static str) {
    // Who answers has time enough on the slowest machine.
    let within = match manner {
        Manner::Hangs => Duration::from_millis(300),
        _ => Duration::from_secs(60),
    };
    let server = Server::start(manner).await;
    let (plugin, metrics) = plugin_at(server.address, within);
    let answer = plugin.ask(1, &question()).await;
    let results = ["answered", "failed", "late", "wrong", "left_alone"];
    let result = results.into_iter().find(|result| {
        let labels = ["licences", "Filter", *result];
        metrics.plugin_requests.with_label_values(&labels).get() == 1
    });
    (answer, result.unwrap())
}

async fn failed(manner: Manner, result: &str, words: &str) {
    match asked(manner).await {
        (RemoteAnswer::Failed(said), counted) => {
            assert!(said.contains(words), "{said}");
            assert_eq!(counted, result);
        }
        (answer, _) => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn a_plugin_that_answers_is_heard() {
    let (answer, result) = asked(Manner::Says(refuses_n1())).await;
    let refused = vec![("n1".to_owned(), "no licence".to_owned())];
    let wanted = NodeVerdicts {
        refused,
        ..NodeVerdicts::default()
    };
    assert_eq!((answer, result), (RemoteAnswer::Nodes(wanted), "answered"));
}

#[tokio::test]
async fn a_plugin_that_hangs_is_late() {
    failed(Manner::Hangs, "late", "no answer within 300 ms").await;
}

#[tokio::test]
async fn a_plugin_that_dies_or_answers_with_an_error_failed() {
    failed(Manner::HangsUp, "failed", "connection").await;
    failed(Manner::Status("503 Busy"), "failed", "HTTP status 503: no").await;
    failed(Manner::Status("302 Elsewhere"), "failed", "HTTP status 302").await;
}

#[tokio::test]
async fn nobody_there_failed() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr();
    let (plugin, _) = plugin_at(address.unwrap(), Duration::from_secs(5));
    let RemoteAnswer::Failed(said) = plugin.ask(1, &question()).await else {
        panic!("nobody answered");
    };
    assert!(said.to_lowercase().contains("refused"), "{said}");
}

#[tokio::test]
async fn a_plugin_that_lies_is_not_believed() {
    let other = refuses_n1().replace("n1", "n7");
    failed(
        Manner::Says(other),
        "wrong",
        "node \"n7\" was not asked about",
    )
    .await;
    failed(
        Manner::Says("{}".to_owned()),
        "wrong",
        "missing field `apiVersion`",
    )
    .await;
    failed(
        Manner::Says("\u{7f}ELF".to_owned()),
        "wrong",
        "cannot be read",
    )
    .await;
}

#[tokio::test]
async fn an_answer_without_end_is_read_up_to_its_limit() {
    let server = Server::start(Manner::Endless).await;
    let (plugin, _) = plugin_at(server.address, Duration::from_secs(20));
    let RemoteAnswer::Failed(said) = plugin.ask(1, &question()).await else {
        panic!("an endless answer");
    };
    assert_eq!(said, "the answer is longer than 1048576 bytes");
    // What the limit lets through, and what the kernel's buffers take.
    let chunks = server.sent.load(Ordering::Relaxed);
    assert!(chunks < 16 + 256, "{chunks} chunks of 64 KiB were taken");
}

#[tokio::test]
async fn one_that_fails_again_and_again_is_left_alone_and_tried_again_after_a_while() {
    let server = Server::start(Manner::Recovers(5, refuses_n1())).await;
    let (plugin, metrics) = plugin_at(server.address, Duration::from_secs(5));
    for _ in 0..5 {
        let answer = plugin.ask(1, &question()).await;
        let words = "HTTP status 500: broken up".to_owned();
        assert_eq!(answer, RemoteAnswer::Failed(words));
    }
    let RemoteAnswer::Failed(said) = plugin.ask(1, &question()).await else {
        panic!("it is left alone");
    };
    assert!(said.contains("left alone"), "{said}");
    assert_eq!(server.asked(), 5);
    let open = || {
        metrics
            .plugin_breaker
            .with_label_values(&["licences"])
            .get()
    };
    assert_eq!(open(), 1);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let answer = plugin.ask(1, &question()).await;
    assert!(matches!(answer, RemoteAnswer::Nodes(_)), "{answer:?}");
    assert_eq!((server.asked(), open()), (6, 0));
}

#[tokio::test]
async fn questions_beyond_the_bound_wait_for_their_turn_and_give_up_in_time() {
    let server = Server::start(Manner::Hangs).await;
    let (plugin, _) = plugin_at(server.address, Duration::from_millis(300));
    let plugin = Arc::new(plugin);
    let mut questions = JoinSet::new();
    let begun = Instant::now();
    for id in 0..8 {
        let plugin = Arc::clone(&plugin);
        questions.spawn(async move { plugin.ask(id, &question()).await });
    }
    let answers = questions.join_all().await;
    let none = |answer: &RemoteAnswer| matches!(answer, RemoteAnswer::Failed(_));
    assert!(answers.iter().all(none), "{answers:?}");
    let in_vain = "2 other questions were not answered in time";
    let waited = |answer: &&RemoteAnswer| **answer == RemoteAnswer::Failed(in_vain.to_owned());
    // A turn that comes at the last moment may be taken.
    assert!(answers.iter().filter(waited).count() >= 4, "{answers:?}");
    assert!(server.asked() <= 4, "{} asked", server.asked());
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn what_tls_needs_is_read_from_files_and_a_file_that_is_missing_is_named() {
    let server = Server::start(Manner::HangsUp).await;
    let url: Uri = format!("https://{}/", server.address).parse().unwrap();
    let missing = "/nowhere/ca.crt".to_owned();
    let tls = Tls {
        ca_file: Some(missing.clone()),
        ..Tls::default()
    };
    let wrong = Http::new(&url, &tls).await.unwrap_err().to_string();
    assert!(
        wrong.starts_with("TLS: ") && wrong.contains(&missing),
        "{wrong}"
    );
}
