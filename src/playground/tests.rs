//! The endpoint without kubectl: what is asked over HTTP, and what is answered.

use super::*;
use axum::body::{Body, to_bytes};
use axum::response::Response;
use futures::StreamExt;
use http::{Method, Request};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::io::{DuplexStream, duplex};
use tokio::time::advance;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};
use tower::ServiceExt;

const PODS: &str = "/api/v1/namespaces/default/pods";
const GROUPS: &str = "/apis/muster.dev/v1alpha1/namespaces/default/podgroups";
const QUEUES: &str = "/apis/muster.dev/v1alpha1/queues";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// A playground with two nodes of four cores.
fn playground() -> Playground {
    let reading = Reading {
        scheduler_names: vec!["muster".to_owned()],
        ghost_namespace: "muster-system".to_owned(),
        ..Reading::default()
    };
    let playground = Playground::new(Settings {
        policy: Policy::default(),
        reading,
        speed: 1,
        title: "a playground".to_owned(),
    });
    let node = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        })
    };
    playground.add_objects(&[node("a"), node("b")]).unwrap();
    playground
}

fn pod(name: &str, group: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "labels": {"muster.dev/pod-group": group},
            "annotations": {"simulate.muster.dev/duration": "30s"},
        },
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]},
    })
}

fn group(name: &str, min: u32) -> Value {
    json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "PodGroup", "metadata": {"name": name},
        "spec": {"minAvailable": min},
    })
}

async fn send(
    playground: &Playground,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> Response {
    let request = Request::builder().method(method).uri(path);
    let mut request = request.header("host", "127.0.0.1:1");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body)).unwrap();
    playground.router().oneshot(request).await.unwrap()
}

async fn ask(
    playground: &Playground,
    method: Method,
    path: &str,
    kind: &str,
    body: &Value,
) -> (u16, Value) {
    let bytes = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let response = send(playground, method, path, &[("content-type", kind)], bytes).await;
    let code = response.status().as_u16();
    let body = to_bytes(response.into_body(), 1 << 24).await.unwrap();
    (code, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

async fn get(playground: &Playground, path: &str) -> (u16, Value) {
    ask(playground, Method::GET, path, "", &Value::Null).await
}

async fn post(playground: &Playground, path: &str, body: &Value) -> (u16, Value) {
    ask(playground, Method::POST, path, "application/json", body).await
}

async fn patch(playground: &Playground, path: &str, body: &Value) -> (u16, Value) {
    ask(
        playground,
        Method::PATCH,
        path,
        "application/merge-patch+json",
        body,
    )
    .await
}

async fn delete(playground: &Playground, path: &str) -> (u16, Value) {
    ask(playground, Method::DELETE, path, "", &Value::Null).await
}

/// Has a gang of two, and lets its decision be said.
async fn with_gang(playground: &Playground) {
    let made = post(playground, GROUPS, &group("g", 2)).await;
    assert_eq!(made.0, 201, "{made:?}");
    for name in ["g-0", "g-1"] {
        let made = post(playground, PODS, &pod(name, "g", "3")).await;
        assert_eq!(made.0, 201, "{made:?}");
    }
    advance(Duration::from_secs(2)).await;
}

#[tokio::test(start_paused = true)]
async fn a_gang_runs_on_simulated_kubelets_and_ends() {
    let playground = playground();
    with_gang(&playground).await;
    let (code, found) = get(&playground, &format!("{PODS}/g-0")).await;
    assert_eq!(code, 200);
    assert_eq!(found["status"]["phase"], "Running");
    assert!(
        ["a", "b"]
            .map(Value::from)
            .contains(&found["spec"]["nodeName"]),
        "{found}"
    );
    assert_eq!(found["status"]["containerStatuses"][0]["ready"], true);
    let (_, found) = get(&playground, &format!("{GROUPS}/g")).await;
    assert_eq!(found["status"]["phase"], "Running", "{found}");
    assert_eq!(found["status"]["bound"], 2);
    let generation = found["metadata"]["generation"].clone();
    assert_eq!(
        found["status"]["conditions"][0]["observedGeneration"],
        generation
    );
    advance(Duration::from_secs(40)).await;
    let (_, found) = get(&playground, &format!("{GROUPS}/g")).await;
    assert_eq!(found["status"]["phase"], "Finished", "{found}");
    let (_, found) = get(&playground, &format!("{PODS}/g-0")).await;
    assert_eq!(found["status"]["phase"], "Succeeded");
    let ended = &found["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(ended["reason"], "Completed", "{found}");
}

#[tokio::test(start_paused = true)]
async fn who_waits_says_why_on_itself_and_in_an_event_that_counts() {
    let playground = playground();
    post(&playground, GROUPS, &group("g", 1)).await;
    post(&playground, PODS, &pod("g-0", "g", "40")).await;
    advance(Duration::from_secs(5)).await;
    let (_, found) = get(&playground, &format!("{PODS}/g-0")).await;
    let condition = &found["status"]["conditions"][0];
    assert_eq!(condition["type"], "PodScheduled");
    let message = condition["message"].as_str().unwrap();
    assert!(
        message.contains("0/2 nodes are available: 2 Insufficient cpu"),
        "{message}"
    );
    let path = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=g-0";
    let (_, events) = get(&playground, path).await;
    assert_eq!(events["items"].as_array().unwrap().len(), 1, "{events}");
    assert_eq!(events["items"][0]["reason"], "FailedScheduling");
    assert_eq!(events["items"][0]["message"], message);
    let refused = delete(&playground, "/api/v1/namespaces/default/events/x").await;
    assert_eq!(refused.0, 405, "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn the_scheduler_says_why_to_who_finds_it_by_its_lease() {
    let playground = playground();
    post(&playground, GROUPS, &group("g", 1)).await;
    post(&playground, PODS, &pod("g-0", "g", "40")).await;
    advance(Duration::from_secs(5)).await;
    let lease = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases/muster";
    let (_, lease) = get(&playground, lease).await;
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap();
    let pod = holder.split('_').next().unwrap();
    let proxy = format!("/api/v1/namespaces/muster-system/pods/http:{pod}:8080/proxy");
    let (code, why) = get(
        &playground,
        &format!("{proxy}/debug/why/podgroups/default/g"),
    )
    .await;
    assert_eq!(code, 200);
    let text = why.to_string();
    assert!(text.contains("Insufficient cpu"), "{text}");
    let (code, _) = get(&playground, &format!("{proxy}/debug/why/queues/default")).await;
    assert_eq!(code, 200);
    for path in [
        "/debug/why/queues/x",
        "/debug/why/testbeds/x",
        "/debug/why/podgroups/default/x",
    ] {
        assert_eq!(get(&playground, path).await.0, 404, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dump_of_a_cluster_begins_anew() {
    let playground = playground();
    let text = "
apiVersion: v1
kind: List
items:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d, uid: 1-2, creationTimestamp: '2026-01-01T00:00:00Z'}}
- apiVersion: v1
  kind: Pod
  metadata: {name: p, namespace: other, uid: 1-1, creationTimestamp: '2026-01-01T00:00:00Z'}
  spec: {nodeName: a, schedulerName: muster, containers: [{name: c, image: i}]}
  status: {phase: Running}
";
    let source = Source {
        name: "dump.yaml".to_owned(),
        text: text.to_owned(),
    };
    playground.add(&[source]).unwrap();
    let (code, found) = get(&playground, "/api/v1/namespaces/other/pods/p").await;
    assert_eq!(
        (code, &found["status"]["phase"]),
        (200, &json!("Running")),
        "{found}"
    );
    assert_ne!(found["metadata"]["uid"], "1-1");
    let wrong = Source {
        name: "wrong.yaml".to_owned(),
        text: "apiVersion: v1\nkind: Pot\nmetadata: {name: p}\n".to_owned(),
    };
    let error = playground.add(&[wrong]).unwrap_err().to_string();
    assert!(error.starts_with("wrong.yaml:1"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn lists_are_selected_and_printed_as_tables() {
    let playground = playground();
    with_gang(&playground).await;
    let count = async |path: &str| {
        let (code, list) = get(&playground, path).await;
        assert_eq!(code, 200, "{list}");
        list["items"].as_array().unwrap().len()
    };
    assert_eq!(count("/api/v1/pods").await, 2);
    assert_eq!(count("/api/v1/namespaces/other/pods").await, 0);
    assert_eq!(
        count("/api/v1/pods?labelSelector=muster.dev/pod-group%3Dg").await,
        2
    );
    assert_eq!(
        count("/api/v1/pods?labelSelector=!muster.dev/pod-group").await,
        0
    );
    assert_eq!(
        count("/api/v1/pods?fieldSelector=metadata.name%3Dg-1").await,
        1
    );
    assert_eq!(
        get(&playground, "/api/v1/pods?labelSelector=%3D").await.0,
        400
    );
    let response = send(
        &playground,
        Method::GET,
        PODS,
        &[("accept", TABLE)],
        Vec::new(),
    )
    .await;
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let table: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(table["kind"], "Table");
    let cells = &table["rows"][0]["cells"];
    assert_eq!(
        cells,
        &json!([
            "g-0", "1/1", "Running", 0, "2s", "<none>", cells[6], "<none>"
        ])
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_what_there_is_and_then_what_happens() {
    let playground = playground();
    post(&playground, GROUPS, &group("g", 1)).await;
    let path = format!("{GROUPS}?watch=true&sendInitialEvents=true&timeoutSeconds=60");
    let response = send(&playground, Method::GET, &path, &[], Vec::new()).await;
    let mut pieces = response.into_body().into_data_stream();
    let mut told = async || {
        let piece = pieces.next().await?.unwrap();
        let lines = std::str::from_utf8(&piece).unwrap().lines();
        let events = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        Some(events.collect::<Vec<Value>>())
    };
    let first = told().await.unwrap();
    let kinds: Vec<&Value> = first.iter().map(|one| &one["type"]).collect();
    assert_eq!(kinds, ["ADDED", "BOOKMARK"]);
    assert_eq!(first[0]["object"]["metadata"]["name"], "g");
    // What is said of it meanwhile is not of this test.
    advance(Duration::from_secs(5)).await;
    playground.with(|_| ());
    while told().await.unwrap().last().unwrap()["object"]["status"].is_null() {}
    delete(&playground, &format!("{GROUPS}/g")).await;
    let last = told().await.unwrap();
    assert_eq!(last.last().unwrap()["type"], "DELETED", "{last:?}");
    assert_eq!(told().await, None, "its time is over");
}

/// Asks for a WebSocket at a path, by HTTP as it goes over a connection; with these further headers.
async fn open(
    playground: &Playground,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<WebSocketStream<DuplexStream>, u16> {
    let (ours, theirs) = duplex(1 << 16);
    let router = TowerToHyperService::new(playground.router());
    let served = http1::Builder::new().serve_connection(TokioIo::new(theirs), router);
    tokio::spawn(served.with_upgrades());
    let mut request = format!("ws://localhost:1{path}")
        .into_client_request()
        .unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    match client_async(request, ours).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_web_socket_is_told_an_event_a_message_until_the_time_is_over() {
    let playground = playground();
    post(&playground, GROUPS, &group("g", 1)).await;
    post(&playground, GROUPS, &group("h", 1)).await;
    let path = format!("{GROUPS}?watch=true&timeoutSeconds=5");
    let mut socket = open(&playground, &path, &[]).await.unwrap();
    let mut told = async || match socket.next().await?.unwrap() {
        Message::Text(text) => Some(serde_json::from_str::<Value>(&text).unwrap()),
        Message::Close(_) => None,
        other => panic!("{other:?}"),
    };
    for name in ["g", "h"] {
        let event = told().await.unwrap();
        assert_eq!(event["type"], "ADDED");
        assert_eq!(event["object"]["metadata"]["name"], name);
    }
    delete(&playground, &format!("{GROUPS}/g")).await;
    while told().await.unwrap()["type"] != "DELETED" {}
    while told().await.is_some() {}
}

#[tokio::test(start_paused = true)]
async fn a_web_socket_that_cannot_be_is_refused_and_not_answered_by_a_stream() {
    let playground = playground();
    let path = format!("{GROUPS}?watch=true&timeoutSeconds=5");
    let wrong = [("sec-websocket-version", "8")];
    assert_eq!(open(&playground, &path, &wrong).await.unwrap_err(), 400);
    let elsewhere = [("origin", "http://example.com")];
    assert_eq!(open(&playground, &path, &elsewhere).await.unwrap_err(), 403);
    // Clients of Java offer this besides, and are content with what they have.
    let other = [("upgrade", "h2c"), ("connection", "upgrade")];
    let response = send(&playground, Method::GET, &path, &other, Vec::new()).await;
    assert_eq!(response.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_some_tells_who_joins_and_who_leaves_them() {
    let playground = playground();
    post(&playground, GROUPS, &group("g", 1)).await;
    let path =
        format!("{GROUPS}?watch=true&labelSelector=x%3Dy&timeoutSeconds=5&resourceVersion=1");
    let response = send(&playground, Method::GET, &path, &[], Vec::new()).await;
    for labels in [json!({"x": "y"}), json!({"x": "z"})] {
        patch(
            &playground,
            &format!("{GROUPS}/g"),
            &json!({"metadata": {"labels": labels}}),
        )
        .await;
    }
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let lines = std::str::from_utf8(&body).unwrap().lines();
    let kinds = lines.map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone());
    let kinds: Vec<Value> = kinds.filter(|kind| kind != "MODIFIED").collect();
    assert_eq!(kinds, ["ADDED", "DELETED"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_changed_is_held_to_the_rules_of_its_kind() {
    let playground = playground();
    let queue = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "q"}, "spec": {"weight": 1},
    });
    assert_eq!(post(&playground, QUEUES, &queue).await.0, 201);
    let exists = post(&playground, QUEUES, &queue).await;
    assert_eq!(
        (exists.0, &exists.1["reason"]),
        (409, &json!("AlreadyExists"))
    );
    let path = format!("{QUEUES}/q");
    let (code, changed) = patch(&playground, &path, &json!({"spec": {"weight": 3}})).await;
    assert_eq!((code, &changed["spec"]["weight"]), (200, &json!(3)));
    assert_eq!(changed["metadata"]["generation"], 2);
    let weights = playground.with(|world| {
        let queues = world.driver.server().queues().map(|queue| queue.weight);
        queues.collect::<Vec<u32>>()
    });
    assert_eq!(weights, [3], "the scheduler has it as well");
    let (code, refused) = patch(&playground, &path, &json!({"spec": {"weight": -1}})).await;
    assert_eq!(code, 422);
    assert!(
        refused["message"].as_str().unwrap().contains("spec.weight"),
        "{refused}"
    );
    let stale = json!({"metadata": {"resourceVersion": "1"}, "spec": {"weight": 4}});
    assert_eq!(patch(&playground, &path, &stale).await.0, 409);
    let dry = patch(
        &playground,
        &format!("{path}?dryRun=All"),
        &json!({"spec": {"weight": 9}}),
    )
    .await;
    assert_eq!(dry.1["spec"]["weight"], 9);
    assert_eq!(get(&playground, &path).await.1["spec"]["weight"], 3);
    // A pod's spec is what it was made with.
    post(&playground, PODS, &pod("p", "g", "1")).await;
    let spec = json!({"spec": {"priority": 7}});
    let (code, refused) = patch(&playground, &format!("{PODS}/p"), &spec).await;
    assert_eq!(code, 422, "{refused}");
    let labels = json!({"metadata": {"labels": {"x": "y"}}});
    let (code, changed) = patch(&playground, &format!("{PODS}/p"), &labels).await;
    assert_eq!(
        (code, &changed["metadata"]["labels"]["x"]),
        (200, &json!("y"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_field_that_is_not_known_is_refused_or_warned_of() {
    let playground = playground();
    let mut wrong = group("g", 1);
    wrong["spec"]["minAvailabel"] = json!(2);
    let strict = format!("{GROUPS}?fieldValidation=Strict");
    let (code, refused) = post(&playground, &strict, &wrong).await;
    assert_eq!(code, 400);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("spec.minAvailabel"),
        "{refused}"
    );
    let headers = [("content-type", "application/json")];
    let body = wrong.to_string().into_bytes();
    let response = send(&playground, Method::POST, GROUPS, &headers, body).await;
    assert_eq!(response.status(), 201);
    let warning = response.headers()["warning"].to_str().unwrap();
    assert!(warning.contains("spec.minAvailabel"), "{warning}");
}

#[tokio::test(start_paused = true)]
async fn copies_and_what_comes_later_are_made_and_deleted_with_what_asked_for_them() {
    let playground = playground();
    let mut asked = pod("c", "g", "1");
    asked["metadata"]["annotations"]["simulate.muster.dev/replicas"] = json!("3");
    for _ in 0..2 {
        assert_eq!(
            post(&playground, PODS, &asked).await.0,
            201,
            "applied twice"
        );
    }
    let mut later = pod("later", "g", "1");
    later["metadata"]["annotations"]["simulate.muster.dev/at"] = json!("1m");
    assert_eq!(post(&playground, PODS, &later).await.0, 201);
    let names = async || {
        let (_, list) = get(&playground, PODS).await;
        let items = list["items"].as_array().unwrap().iter();
        let names = items.map(|one| one["metadata"]["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<String>>()
    };
    assert_eq!(names().await, ["c-0", "c-1", "c-2"]);
    advance(Duration::from_secs(61)).await;
    assert_eq!(names().await, ["c-0", "c-1", "c-2", "later"]);
    assert_eq!(delete(&playground, &format!("{PODS}/c")).await.0, 200);
    advance(Duration::from_secs(1)).await;
    assert_eq!(names().await, ["later"]);
    assert_eq!(delete(&playground, &format!("{PODS}/c")).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_an_object_goes_with_it() {
    let playground = playground();
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "j", "annotations": {"simulate.muster.dev/duration": "10s"}},
        "spec": {"completions": 3, "parallelism": 2, "template": {"spec": {
            "schedulerName": "muster", "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        }}},
    });
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    assert_eq!(post(&playground, jobs, &job).await.0, 201);
    let (_, pods) = get(&playground, PODS).await;
    let pods = pods["items"].as_array().unwrap().clone();
    assert_eq!(pods.len(), 2, "{pods:?}");
    assert_eq!(pods[0]["status"]["phase"], "Running");
    advance(Duration::from_secs(11)).await;
    let (_, found) = get(&playground, &format!("{jobs}/j")).await;
    assert_eq!(found["status"]["succeeded"], 2, "{found}");
    delete(&playground, &format!("{jobs}/j")).await;
    advance(Duration::from_secs(1)).await;
    let (_, pods) = get(&playground, PODS).await;
    assert_eq!(pods["items"], json!([]));
    // A namespace goes with all that is in it.
    with_gang(&playground).await;
    delete(&playground, "/api/v1/namespaces/default").await;
    advance(Duration::from_secs(1)).await;
    assert_eq!(get(&playground, "/api/v1/pods").await.1["items"], json!([]));
    assert_eq!(get(&playground, GROUPS).await.1["items"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_queue_job_and_a_testbed_have_their_controllers() {
    let playground = playground();
    let testbed = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "metadata": {"name": "t"},
        "spec": {"nodeLabel": "lab", "slotsPerNode": 1, "resourcesPerSlot": {"cpu": "1"}},
    });
    patch(
        &playground,
        "/api/v1/nodes/a",
        &json!({"metadata": {"labels": {"lab": "0"}}}),
    )
    .await;
    let testbeds = "/apis/muster.dev/v1alpha1/testbeds";
    assert_eq!(post(&playground, testbeds, &testbed).await.0, 201);
    let job = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "QueueJob", "metadata": {"name": "q"},
        "spec": {"taskSpecs": [{"name": "w", "replicas": 2, "template": {"spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        }}}]},
    });
    let jobs = "/apis/muster.dev/v1alpha1/namespaces/default/queuejobs";
    let made = post(&playground, jobs, &job).await;
    assert_eq!(made.0, 201, "{made:?}");
    advance(Duration::from_secs(5)).await;
    let (_, found) = get(&playground, &format!("{jobs}/q")).await;
    assert_eq!(found["status"]["running"], 2, "{found}");
    let (_, found) = get(&playground, &format!("{testbeds}/t")).await;
    assert_eq!(found["status"]["slots"][0]["state"], "Free", "{found}");
    let (_, ghosts) = get(&playground, "/api/v1/namespaces/muster-system/pods").await;
    assert_eq!(ghosts["items"][0]["status"]["phase"], "Running", "{ghosts}");
}

#[tokio::test(start_paused = true)]
async fn the_page_is_of_now() {
    let playground = playground();
    with_gang(&playground).await;
    let page = async || {
        let response = send(&playground, Method::GET, "/", &[], Vec::new()).await;
        assert_eq!(
            response.headers()["content-type"],
            "text/html; charset=utf-8"
        );
        let body = to_bytes(response.into_body(), 1 << 24).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    };
    let first = page().await;
    assert!(first.contains("default/g") && first.contains("\"live\":true"));
    assert!(!first.contains("default/h"));
    post(&playground, GROUPS, &group("h", 1)).await;
    post(&playground, PODS, &pod("h-0", "h", "1")).await;
    advance(Duration::from_secs(60)).await;
    let second = page().await;
    assert!(second.contains("default/h"));
    let end = |page: &str| {
        let (_, rest) = page.split_once("\"end\":").unwrap();
        rest.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(end(&second) - end(&first), 60_000);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_meant_is_not_answered() {
    let playground = playground();
    for host in ["evil.example", "10.0.0.1:80", "localhost.evil.example", ""] {
        let request = Request::get("/api/v1/pods").header("host", host);
        let request = request.body(Body::empty()).unwrap();
        let response = playground.router().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 403, "{host}");
    }
    for host in ["127.0.0.1:9", "localhost", "localhost:9", "[::1]:9"] {
        let request = Request::get("/api/v1/pods").header("host", host);
        let request = request.body(Body::empty()).unwrap();
        let response = playground.router().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200, "{host}");
    }
    let headers = [
        ("origin", "http://evil.example"),
        ("content-type", "application/json"),
    ];
    let body = group("g", 1).to_string().into_bytes();
    let response = send(&playground, Method::POST, GROUPS, &headers, body.clone()).await;
    assert_eq!(response.status(), 403);
    // What a form of another page can send is no JSON.
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let headers = [("content-type", kind)];
        let response = send(&playground, Method::POST, GROUPS, &headers, body.clone()).await;
        assert_eq!(response.status(), 415, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_is_answered_by_a_status_and_changes_nothing() {
    let playground = playground();
    let before = get(&playground, "/api/v1/pods").await.1;
    let bodies = [
        "",
        "null",
        "[]",
        "1",
        "{",
        "{}",
        r#"{"metadata":7}"#,
        r#"{"metadata":{"name":7}}"#,
        r#"{"metadata":{"name":"UPPER"}}"#,
        r#"{"metadata":{"name":"a/b"}}"#,
        r#"{"metadata":{"name":""}}"#,
        r#"{"kind":"Node","metadata":{"name":"a"}}"#,
        r#"{"metadata":{"name":"a","namespace":"other"}}"#,
        r#"{"metadata":{"name":"a"},"spec":7}"#,
        r#"{"metadata":{"name":"a","annotations":[]}}"#,
        r#"{"metadata":{"name":"a","annotations":{"simulate.muster.dev/replicas":"many"}},"spec":{"containers":[]}}"#,
        r#"{"metadata":{"name":"a","annotations":{"simulate.muster.dev/replicas":"1000000"}},"spec":{"containers":[]}}"#,
        r#"{"metadata":{"name":"a","uid":"x","creationTimestamp":"yesterday"},"spec":{"containers":7}}"#,
        "\u{0}\u{1}",
        "---\n---\n",
    ];
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let all = bodies.iter().map(|one| (*one).to_owned()).chain([deep]);
    for body in all {
        for (method, path) in [
            (Method::POST, PODS),
            (Method::PUT, &*format!("{PODS}/a")),
            (Method::PATCH, &*format!("{PODS}/a")),
        ] {
            for kind in [
                "application/json",
                "application/merge-patch+json",
                "application/json-patch+json",
                "application/vnd.kubernetes.protobuf",
            ] {
                let headers = [("content-type", kind)];
                let sent = body.clone().into_bytes();
                let response = send(&playground, method.clone(), path, &headers, sent).await;
                let code = response.status().as_u16();
                let answer = to_bytes(response.into_body(), 1 << 24).await.unwrap();
                let answer: Value = serde_json::from_slice(&answer).unwrap();
                let short: String = body.chars().take(60).collect();
                assert!(
                    (400..500).contains(&code),
                    "{method} {path} {kind} {short}: {code} {answer}"
                );
                assert_eq!(answer["kind"], "Status", "{short}");
            }
        }
    }
    assert_eq!(
        get(&playground, "/api/v1/pods").await.1["items"],
        before["items"]
    );
    let large = vec![b' '; 4 << 20];
    let headers = [("content-type", "application/json")];
    let response = send(&playground, Method::POST, PODS, &headers, large).await;
    assert_eq!(response.status(), 413);
    let (code, _) = get(&playground, "/api/v1/nodes/a/proxy").await;
    assert_eq!(code, 404);
    assert_eq!(delete(&playground, PODS).await.0, 405);
    assert_eq!(
        ask(&playground, Method::TRACE, PODS, "", &Value::Null)
            .await
            .0,
        405
    );
}

#[tokio::test(start_paused = true)]
async fn there_are_only_so_many_objects() {
    let playground = playground();
    let mut many = pod("m", "g", "1");
    many["metadata"]["annotations"]["simulate.muster.dev/replicas"] = json!("20000");
    let template = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"completions": 900_000, "template": template},
    });
    let task = json!({"name": "w", "replicas": 15_000, "template": template});
    let mut other = task.clone();
    other["name"] = json!("v");
    let queue_job = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "QueueJob", "metadata": {"name": "q"},
        "spec": {"taskSpecs": [task, other]},
    });
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let queue_jobs = "/apis/muster.dev/v1alpha1/namespaces/default/queuejobs";
    for (path, object) in [(PODS, many), (jobs, job), (queue_jobs, queue_job)] {
        let (code, refused) = post(&playground, path, &object).await;
        assert_eq!(code, 403, "{refused}");
        let told = refused["message"].as_str().unwrap();
        assert!(told.contains("at most 20000"), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let playground = playground();
    let body = Body::from_stream(futures::stream::pending::<
        Result<bytes::Bytes, std::io::Error>,
    >());
    let request = Request::post(PODS)
        .header("host", "127.0.0.1:1")
        .header("content-type", "application/json");
    let response = playground
        .router()
        .oneshot(request.body(body).unwrap())
        .await
        .unwrap();
    assert_eq!(response.status(), 408);
}

#[tokio::test(start_paused = true)]
async fn time_passes_as_fast_as_it_is_asked_to() {
    let mut fast = Settings {
        policy: Policy::default(),
        reading: Reading::default(),
        speed: 60,
        title: String::new(),
    };
    fast.reading.scheduler_names = vec!["muster".to_owned()];
    let playground = Playground::new(fast);
    let begin = playground.with(|world| world.now());
    advance(Duration::from_secs(10)).await;
    let passed = playground.with(|world| world.now()).since(begin);
    assert_eq!(passed, Millis(600_000));
}
