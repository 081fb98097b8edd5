//! What an extender that fails costs: nothing is read for questions that are not sent to it.

use super::*;
use ::http::{Request, Response};
use kube::client::Body;
use std::convert::Infallible;

/// An API server that has node `n1` and the pod that is asked about, unless it is down; and how often it was asked.
fn api_server(is_up: bool) -> (kube::Client, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        count.fetch_add(1, Ordering::Relaxed);
        let is_list = request.uri().path() == "/api/v1/nodes";
        let body = if is_list {
            serde_json::json!({"items": [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}]})
        } else {
            serde_json::json!({"metadata": {"name": "", "uid": ""}})
        };
        let status = if is_up { 200 } else { 500 };
        let answer = Response::builder().status(status);
        let answer = answer.body(Body::from(body.to_string().into_bytes()));
        async move { Ok::<_, Infallible>(answer.unwrap()) }
    });
    (kube::Client::new(service, "default"), asked)
}

fn extender_at(address: SocketAddr) -> (Extender, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::new().unwrap());
    let url: Uri = format!("http://{address}/filter").parse().unwrap();
    let verbs = Verbs {
        filter: Some(url.clone()),
        ..Verbs::default()
    };
    let limits = Limits {
        within: Duration::from_secs(60),
        bytes: 1 << 20,
        at_once: 2,
    };
    let counted = (Clock::start(), Arc::clone(&metrics));
    let extender = Extender::new(
        ("cards".into(), url),
        verbs,
        false,
        (Tls::default(), limits),
        counted,
    );
    (extender, metrics)
}

#[tokio::test]
async fn one_that_is_left_alone_has_nothing_read_for_it() {
    let server = Server::start(Manner::Recovers(5, "{}".to_owned())).await;
    let (extender, metrics) = extender_at(server.address);
    let (client, read) = api_server(true);
    for _ in 0..5 {
        extender.ask(&question(), &client).await;
    }
    assert_eq!(read.load(Ordering::Relaxed), 10, "the pod and the nodes");
    for _ in 0..3 {
        let RemoteAnswer::Failed(said) = extender.ask(&question(), &client).await else {
            panic!("it is left alone");
        };
        assert!(said.contains("left alone"), "{said}");
    }
    assert_eq!((read.load(Ordering::Relaxed), server.asked()), (10, 5));
    // The first after the rest cannot be made, which is no fault of the extender: the next one is its try.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let (down, _) = api_server(false);
    let RemoteAnswer::Failed(said) = extender.ask(&question(), &down).await else {
        panic!("there is no pod to ask about");
    };
    assert!(said.starts_with("GET /api/v1/"), "{said}");
    let answer = extender.ask(&question(), &client).await;
    assert!(matches!(answer, RemoteAnswer::Nodes(_)), "{answer:?}");
    let open = metrics.plugin_breaker.with_label_values(&["cards"]);
    assert_eq!((server.asked(), open.get()), (6, 0));
}

#[tokio::test]
async fn an_api_server_that_is_down_is_no_failure_of_the_extender() {
    let server = Server::start(Manner::Says("{}".to_owned())).await;
    let (extender, _) = extender_at(server.address);
    let (down, _) = api_server(false);
    for _ in 0..6 {
        extender.ask(&question(), &down).await;
    }
    let (client, _) = api_server(true);
    let answer = extender.ask(&question(), &client).await;
    assert!(matches!(answer, RemoteAnswer::Nodes(_)), "{answer:?}");
    assert_eq!(server.asked(), 1);
}
