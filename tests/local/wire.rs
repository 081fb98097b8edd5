//! The exact requests on the wire, and what becomes of every kind of answer.
//!
//! An API server that answers from a script takes the place of a real one; time is tokio's, held
//! still, so that waits are exact.

mod controllers;
mod shares;

use crate::fake_api::{Asked, FakeApi, Reply, status, status_body};
use crate::schema;
use kube::Client;
use muster::api::kinds::Subject;
use muster::api::protobuf::MEDIA_TYPE;
use muster::api::said::Said;
use muster::cluster::encoding::Encodings;
use muster::cluster::lanes::{Answerers, Context, Lanes};
use muster::cluster::{Alarm, Clock, Fence, Metrics, News};
use muster::model::{Bind, Effect, Evict, EvictCause, PodWaits};
use muster::model::{BindOutcome, Event, EvictOutcome, PodKey, Writes, cut};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

fn pod() -> PodKey {
    PodKey {
        namespace: "team".to_owned(),
        name: "worker-0".to_owned(),
        uid: "7c1e".to_owned(),
    }
}

fn bind() -> Effect {
    Effect::Bind(Bind {
        pod: pod(),
        node: "node-7".to_owned(),
        slot: None,
        completes: false,
        asks: None,
    })
}

fn waits(message: &str) -> Effect {
    Effect::PodWaits(PodWaits {
        pod: pod(),
        reason: "Unschedulable".into(),
        message: cut(message).into(),
        nominated: None,
    })
}

fn evict(again: bool) -> Effect {
    Effect::Evict(Evict {
        pod: pod(),
        cause: EvictCause::Release,
        beneficiary: None,
        message: "gang team/train: released".into(),
        again,
    })
}

struct Rig {
    lanes: Lanes,
    news: mpsc::Receiver<News>,
    metrics: Arc<Metrics>,
    alarm: Alarm,
}

impl Rig {
    fn new(client: Client) -> Self {
        Self::with_slots(client, 32)
    }

    fn with_slots(client: Client, binds_in_flight: usize) -> Self {
        Self::with(client, binds_in_flight, Fence::open(), Encodings::default())
    }

    fn with_fence(client: Client, binds_in_flight: usize, fence: Fence) -> Self {
        Self::with(client, binds_in_flight, fence, Encodings::default())
    }

    /// With a server that was heard to speak protobuf.
    fn in_protobuf(client: Client) -> Self {
        let encodings = Encodings::default();
        encodings.heard_protobuf();
        Self::with(client, 32, Fence::open(), encodings)
    }

    fn with(client: Client, binds_in_flight: usize, fence: Fence, encodings: Encodings) -> Self {
        let (sender, news) = mpsc::channel(64);
        let metrics = Arc::new(Metrics::new().unwrap());
        let context = Context {
            client,
            fence,
            news: sender,
            clock: Clock::start(),
            metrics: Arc::clone(&metrics),
            instance: "muster-0".into(),
            encodings,
            alarm: Alarm::default(),
        };
        let lanes = Lanes::start(&context, binds_in_flight, Answerers::default());
        Self {
            lanes,
            news,
            metrics,
            alarm: context.alarm,
        }
    }

    async fn bind_outcome(&mut self) -> BindOutcome {
        self.lanes.submit(bind());
        match self.event().await {
            Event::BindResult(key, outcome) if key == pod() => outcome,
            other => panic!("{other:?}"),
        }
    }

    async fn event(&mut self) -> Event {
        let news = timeout(Duration::from_secs(60), self.news.recv()).await;
        match news.expect("an outcome within a minute") {
            Some(News::Event(event)) => event,
            other => panic!("{other:?}"),
        }
    }

    /// Time for everything that is to be said.
    async fn settle(&self) {
        sleep(Duration::from_secs(30)).await;
    }
}

fn bound_to(node: &str) -> BindOutcome {
    BindOutcome::Bound {
        node: node.to_owned(),
    }
}

fn pod_body(uid: &str, node: Option<&str>) -> Reply {
    let mut body = json!({"metadata": {"uid": uid}, "spec": {}});
    if let Some(node) = node {
        body["spec"]["nodeName"] = json!(node);
    }
    Reply::Json(200, body)
}

const BINDING: &str =
    "POST /api/v1/namespaces/team/pods/worker-0/binding?fieldManager=muster&timeout=2s";
const POD: &str = "GET /api/v1/namespaces/team/pods/worker-0";

/// Answers requests whose line begins so in turn, and everything else with 201.
fn script(
    replies: impl IntoIterator<Item = (&'static str, Reply)>,
) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    let mut replies: Vec<_> = replies.into_iter().collect();
    move |asked| match replies
        .iter()
        .position(|(line, _)| asked.line.starts_with(line))
    {
        Some(at) => replies.remove(at).1,
        None => Reply::Json(201, json!({})),
    }
}

#[tokio::test(start_paused = true)]
async fn a_bind_names_pod_uid_and_node_and_the_event_follows() {
    let (api, client) = FakeApi::start(script([]));
    let mut rig = Rig::new(client);
    assert_eq!(rig.bind_outcome().await, bound_to("node-7"));
    rig.settle().await;
    let asked = api.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked[0].line, BINDING);
    assert_eq!(asked[0].content, "application/json");
    assert_eq!(
        asked[0].body,
        json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": "team", "name": "worker-0", "uid": "7c1e"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "node-7"},
        })
    );
    let event = &asked[1].body;
    assert_eq!(
        asked[1].line,
        "POST /apis/events.k8s.io/v1/namespaces/team/events?fieldManager=muster&timeout=2s"
    );
    assert_eq!(event["reason"], "Scheduled");
    assert_eq!(event["action"], "Binding");
    assert_eq!(event["type"], "Normal");
    assert_eq!(
        event["note"],
        "Successfully assigned team/worker-0 to node-7"
    );
    assert!(
        rig.metrics
            .text()
            .unwrap()
            .contains("muster_binds_total{result=\"bound\"} 1")
    );
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_resolved_by_reading_the_pod() {
    let (api, client) = FakeApi::start(script([
        (BINDING, status(409, "already assigned to node node-3")),
        (POD, pod_body("7c1e", Some("node-3"))),
    ]));
    let mut rig = Rig::new(client);
    assert_eq!(rig.bind_outcome().await, bound_to("node-3"));
    assert_eq!(api.lines()[..2], [BINDING, POD]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_resolved_by_reading_the_pod_not_by_binding_again() {
    let (api, client) = FakeApi::start(script([
        (BINDING, Reply::Lost),
        (POD, Reply::Lost),
        (POD, pod_body("7c1e", Some("node-7"))),
    ]));
    let mut rig = Rig::new(client);
    assert_eq!(rig.bind_outcome().await, bound_to("node-7"));
    assert_eq!(api.lines()[..3], [BINDING, POD, POD]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_another_uid_is_gone() {
    let (_, client) = FakeApi::start(script([
        (
            BINDING,
            status(409, "the UID in the precondition does not match"),
        ),
        (POD, pod_body("another", None)),
    ]));
    assert_eq!(Rig::new(client).bind_outcome().await, BindOutcome::Gone);
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_is_tried_again_when_the_server_says() {
    let busy = Reply::RetryAfter(429, 1, status_body(429, "too many requests"));
    let (api, client) = FakeApi::start(script([(BINDING, busy)]));
    let start = Instant::now();
    assert_eq!(Rig::new(client).bind_outcome().await, bound_to("node-7"));
    let asked = api.asked();
    assert_eq!(asked[1].line, BINDING);
    assert!(asked[1].at - start >= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_for_good_is_not_tried_again_and_keeps_its_message() {
    let denied = "ValidatingAdmissionPolicy 'no' denied request";
    let (api, client) = FakeApi::start(script([(BINDING, status(422, denied))]));
    let outcome = Rig::new(client).bind_outcome().await;
    let message = denied.to_owned();
    assert_eq!(outcome, BindOutcome::Refused { message });
    assert_eq!(api.lines(), [BINDING]);
}

#[tokio::test(start_paused = true)]
async fn a_bind_to_a_slot_carries_its_number() {
    let (api, client) = FakeApi::start(script([]));
    let rig = Rig::new(client);
    rig.lanes.submit(Effect::Bind(Bind {
        pod: pod(),
        node: "node-7".to_owned(),
        slot: Some(4),
        completes: false,
        asks: None,
    }));
    rig.settle().await;
    assert_eq!(
        api.asked()[0].body["metadata"]["annotations"],
        json!({"muster.dev/slot": "4"})
    );
}

#[tokio::test(start_paused = true)]
async fn a_bind_that_fails_and_fails_ends_unbound_after_its_budget() {
    let (api, client) = FakeApi::start(|asked: &Asked| {
        if asked.line == POD {
            pod_body("7c1e", None)
        } else {
            status(500, "etcd is away")
        }
    });
    let start = Instant::now();
    let outcome = Rig::new(client).bind_outcome().await;
    let message = "etcd is away".to_owned();
    assert_eq!(outcome, BindOutcome::Failed { message });
    assert!(
        // The last of them may happen for so long.
        start.elapsed() < Duration::from_millis(1_500 + 2_500),
        "{:?}",
        start.elapsed()
    );
    assert!(
        api.lines().contains(&POD.to_owned()),
        "read before it is given up"
    );
}

#[tokio::test(start_paused = true)]
async fn that_nothing_comes_of_writes_is_known_until_one_is_judged() {
    let dead = Arc::new(AtomicBool::new(true));
    let is_dead = Arc::clone(&dead);
    let (_, client) = FakeApi::start(move |_| match is_dead.load(Ordering::SeqCst) {
        true => Reply::Lost,
        false => status(404, "pods \"worker-0\" not found"),
    });
    let fence = Fence::open();
    let mut rig = Rig::with_fence(client, 1, fence.clone());
    rig.lanes.submit(bind());
    sleep(Duration::from_millis(10)).await;
    let told = fence.take_news();
    assert!(matches!(told[..], [Writes::Stalled { .. }]), "{told:?}");
    sleep(Duration::from_secs(3)).await;
    let told = fence.take_news();
    assert!(matches!(told[..], [Writes::Stalled { .. }]), "{told:?}");
    dead.store(false, Ordering::SeqCst);
    // That something can be read proves nothing.
    let gone = Event::BindResult(pod(), BindOutcome::Gone);
    assert_eq!(rig.event().await, gone);
    assert_eq!(fence.take_news(), []);
    rig.lanes.submit(evict(false));
    rig.event().await;
    let told = fence.take_news();
    assert!(matches!(told[..], [Writes::Judged { .. }]), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_a_lost_answer() {
    let (api, client) = FakeApi::start(script([
        (BINDING, Reply::Open(vec![])),
        (POD, pod_body("7c1e", Some("node-7"))),
    ]));
    assert_eq!(Rig::new(client).bind_outcome().await, bound_to("node-7"));
    assert_eq!(api.lines()[..2], [BINDING, POD]);
}

#[tokio::test(start_paused = true)]
async fn an_eviction_says_why_and_deletes_this_uid_only() {
    let (api, client) = FakeApi::start(script([]));
    let mut rig = Rig::new(client);
    rig.lanes.submit(evict(false));
    let outcome = rig.event().await;
    assert_eq!(outcome, Event::EvictResult(pod(), EvictOutcome::Accepted));
    rig.settle().await;
    let asked = api.asked();
    assert_eq!(
        asked[0].line,
        "PATCH /api/v1/namespaces/team/pods/worker-0/status?fieldManager=muster&timeout=2s"
    );
    assert_eq!(asked[0].content, "application/strategic-merge-patch+json");
    let mut condition = asked[0].body.clone();
    assert!(
        condition["status"]["conditions"][0]["lastTransitionTime"]
            .take()
            .is_string()
    );
    assert_eq!(
        condition,
        json!({
            "metadata": {"uid": "7c1e"},
            "status": {"conditions": [{
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "PreemptionByScheduler",
                "message": "gang team/train: released",
                "lastTransitionTime": null,
            }]},
        })
    );
    assert_eq!(
        asked[1].line,
        "DELETE /api/v1/namespaces/team/pods/worker-0?fieldManager=muster&timeout=2s"
    );
    assert_eq!(
        asked[1].body,
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "7c1e"}})
    );
    assert_eq!(asked[2].body["reason"], "Released");
    assert_eq!(asked[2].body["note"], "gang team/train: released");
}

#[tokio::test(start_paused = true)]
async fn an_eviction_of_a_pod_that_is_gone_is_over() {
    let delete = "DELETE /api/v1/namespaces/team/pods/worker-0";
    let (_, client) = FakeApi::start(script([(delete, status(404, "not found"))]));
    let mut rig = Rig::new(client);
    rig.lanes.submit(evict(false));
    assert_eq!(
        rig.event().await,
        Event::EvictResult(pod(), EvictOutcome::Gone)
    );
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_is_refused_is_said_once_and_ordered_again_without_telling_the_pod() {
    let denied = "ValidatingAdmissionPolicy 'keep' denied request";
    let (api, client) = FakeApi::start(move |asked: &Asked| {
        if asked.line.starts_with("DELETE") {
            status(422, denied)
        } else {
            Reply::Json(201, json!({}))
        }
    });
    let mut rig = Rig::new(client);
    for again in [false, true, true] {
        rig.lanes.submit(evict(again));
        let message = denied.to_owned();
        let refused = EvictOutcome::Refused { message };
        assert_eq!(rig.event().await, Event::EvictResult(pod(), refused));
    }
    rig.settle().await;
    let lines = api.lines();
    let count = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!((count("PATCH"), count("DELETE"), count("POST")), (1, 3, 1));
    let event = api
        .asked()
        .into_iter()
        .find(|one| one.line.starts_with("POST"));
    let event = event.unwrap().body;
    assert_eq!(
        (&event["type"], &event["reason"]),
        (&json!("Warning"), &json!("EvictionRefused"))
    );
    assert!(event["note"].as_str().unwrap().contains(denied), "{event}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_said_anew_when_a_pod_that_was_gone_is_there_again() {
    let (api, client) = FakeApi::start(|asked: &Asked| {
        if asked.line.starts_with("DELETE") {
            status(422, "denied")
        } else {
            Reply::Json(201, json!({}))
        }
    });
    let mut rig = Rig::new(client);
    for _ in 0..2 {
        rig.lanes.submit(evict(false));
        rig.event().await;
        rig.settle().await;
        let uid = pod().uid;
        rig.lanes.hear(&Subject::Pod(uid), None);
    }
    let said = |line: &&String| line.starts_with("POST");
    assert_eq!(api.lines().iter().filter(said).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_may_not_write_gives_binds_and_evictions_back_unsent() {
    let (api, client) = FakeApi::start(script([]));
    let mut rig = Rig::with_fence(client, 32, Fence::shut());
    assert_eq!(rig.bind_outcome().await, BindOutcome::Unsent);
    rig.lanes.submit(evict(false));
    let outcome = rig.event().await;
    assert_eq!(outcome, Event::EvictResult(pod(), EvictOutcome::Unsent));
    rig.settle().await;
    assert_eq!(api.lines(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn binds_that_wait_too_long_or_are_asked_back_are_given_back_unsent() {
    let (api, client) = FakeApi::start(|_: &Asked| Reply::Open(vec![]));
    let mut rig = Rig::with_slots(client, 1);
    let order = |name: &str| {
        let key = PodKey {
            name: name.to_owned(),
            uid: name.to_owned(),
            ..pod()
        };
        Effect::Bind(Bind {
            pod: key,
            node: "node-7".to_owned(),
            slot: None,
            completes: false,
            asks: None,
        })
    };
    let start = Instant::now();
    for name in ["a", "b", "c"] {
        rig.lanes.submit(order(name));
    }
    sleep(Duration::from_millis(10)).await;
    let Effect::Bind(asked_back) = order("b") else {
        panic!()
    };
    rig.lanes.submit(Effect::Recall(asked_back.pod.clone()));
    let unsent = |event: Event| match event {
        Event::BindResult(key, BindOutcome::Unsent) => key.name,
        other => panic!("{other:?}"),
    };
    assert_eq!(unsent(rig.event().await), "b");
    assert!(start.elapsed() < Duration::from_millis(100));
    assert_eq!(unsent(rig.event().await), "c");
    let waited = start.elapsed();
    assert!((5.0..5.2).contains(&waited.as_secs_f64()), "{waited:?}");
    assert!(
        !api.lines()
            .iter()
            .any(|line| line.contains("pods/b") || line.contains("pods/c"))
    );
}

const SHORT: &str = "0/5 nodes are available: 5 Insufficient cpu.";

#[tokio::test(start_paused = true)]
async fn a_pod_that_waits_gets_its_condition_and_an_event() {
    let (api, client) = FakeApi::start(script([]));
    let rig = Rig::new(client);
    rig.lanes.submit(waits(SHORT));
    rig.settle().await;
    let mut asked = api.asked();
    asked.sort_by(|one, other| one.line.cmp(&other.line));
    assert_eq!(asked.len(), 2, "{asked:?}");
    let mut patch = asked[0].body.clone();
    assert!(
        patch["status"]["conditions"][0]["lastTransitionTime"]
            .take()
            .is_string()
    );
    assert_eq!(
        patch,
        json!({
            "metadata": {"uid": "7c1e"},
            "status": {"conditions": [{
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": SHORT,
                "lastTransitionTime": null,
            }]},
        })
    );
    let mut event = asked[1].body.clone();
    assert!(event["eventTime"].take().as_str().unwrap().ends_with('Z'));
    let name = event["metadata"]["name"].take();
    assert!(name.as_str().unwrap().starts_with("worker-0."), "{name}");
    assert_eq!(
        event,
        json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": "team", "name": null},
            "type": "Warning",
            "reason": "FailedScheduling",
            "action": "Scheduling",
            "note": SHORT,
            "eventTime": null,
            "reportingController": "muster",
            "reportingInstance": "muster-0",
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": "team",
                "name": "worker-0",
                "uid": "7c1e",
            },
        })
    );
}

/// What a watch sees of a pod that waits at a version.
fn at_version(version: &str) -> Option<Said> {
    Some(Said {
        version: Some(version.into()),
        ..Said::default()
    })
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_somebody_else_has_bound_is_not_told_that_it_waits() {
    let path = "PATCH /api/v1/namespaces/team/pods/worker-0/status";
    let conflict = || status(409, "the object has been modified");
    let (api, client) = FakeApi::start(script([(path, conflict()), (path, conflict())]));
    let rig = Rig::new(client);
    let subject = Subject::Pod(pod().uid);
    rig.lanes.hear(&subject, at_version("7"));
    rig.lanes.submit(waits(SHORT));
    sleep(Duration::from_secs(1)).await;
    // Somebody labels it, and then it is bound: both before the watch tells.
    rig.lanes.hear(&subject, at_version("8"));
    sleep(Duration::from_secs(3)).await;
    rig.lanes.silence(&subject);
    rig.settle().await;
    let asked = api.asked();
    let versions: Vec<&Value> = asked
        .iter()
        .map(|one| &one.body["metadata"]["resourceVersion"])
        .collect();
    assert_eq!(versions, ["7", "8"], "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn other_numbers_rewrite_the_condition_and_make_no_event() {
    let (api, client) = FakeApi::start(script([]));
    let rig = Rig::new(client);
    for message in [SHORT, SHORT, "0/6 nodes are available: 6 Insufficient cpu."] {
        rig.lanes.submit(waits(message));
        rig.settle().await;
    }
    let asked = api.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
    let condition = &asked[2].body["status"]["conditions"][0];
    assert_eq!(
        condition["lastTransitionTime"],
        Value::Null,
        "it waits since the first time"
    );
}

#[tokio::test(start_paused = true)]
async fn long_messages_are_cut_to_what_an_event_holds() {
    let (api, client) = FakeApi::start(script([]));
    let rig = Rig::new(client);
    rig.lanes.submit(waits(&"ü".repeat(4000)));
    rig.settle().await;
    for asked in api.asked() {
        let message = asked.body["note"]
            .as_str()
            .or(asked.body["status"]["conditions"][0]["message"].as_str())
            .unwrap();
        assert!((900..=1024).contains(&message.len()), "{}", message.len());
    }
}

/// How much is said in two seconds beside an order that gets no good answer.
async fn said_beside(order: Effect) -> usize {
    let (api, client) = FakeApi::start(|asked: &Asked| {
        if asked.line == BINDING || asked.line == POD {
            status(503, "overloaded")
        } else if asked.line.starts_with("DELETE") {
            Reply::Open(vec![])
        } else {
            Reply::Json(201, json!({}))
        }
    });
    let rig = Rig::new(client);
    rig.lanes.submit(order);
    for index in 0..500 {
        let mut key = pod();
        key.uid = format!("uid-{index}");
        rig.lanes.submit(Effect::PodWaits(PodWaits {
            pod: key,
            reason: "Unschedulable".into(),
            message: SHORT.into(),
            nominated: None,
        }));
    }
    sleep(Duration::from_secs(2)).await;
    let is_said = |asked: &&Asked| {
        let is_order = asked.line == BINDING || asked.line.starts_with("DELETE");
        !is_order && asked.line != POD
    };
    api.asked().iter().filter(is_said).count()
}

#[tokio::test(start_paused = true)]
async fn little_is_said_while_binds_or_evictions_are_under_way() {
    for order in [bind(), evict(false)] {
        let said = said_beside(order).await;
        assert!((20..=42).contains(&said), "{said} in two seconds");
    }
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_was_refused_before_keeps_nobody_quiet() {
    let said = said_beside(evict(true)).await;
    assert!(said > 400, "{said} in two seconds");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_now_is_written_later() {
    let path = "PATCH /api/v1/namespaces/team/pods/worker-0/status";
    let (api, client) = FakeApi::start(script([
        (path, status(500, "etcd is away")),
        (path, Reply::Lost),
    ]));
    let rig = Rig::new(client);
    rig.lanes.submit(waits(SHORT));
    rig.settle().await;
    let patches = api
        .lines()
        .iter()
        .filter(|line| line.starts_with(path))
        .count();
    assert_eq!(patches, 3);
}

fn kinds_of(asked: &[Asked]) -> Vec<(&str, &str)> {
    let what = |asked: &Asked| {
        let line = asked.line.as_str();
        ["binding", "events", "status"]
            .into_iter()
            .find(|part| line.contains(part))
    };
    asked
        .iter()
        .map(|asked| (asked.content.as_str(), what(asked).unwrap_or_default()))
        .map(|(content, what)| (what, content.rsplit('/').next().unwrap_or_default()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn binds_and_events_are_in_protobuf_where_it_was_heard() {
    let (api, client) = FakeApi::start(|_| Reply::Json(201, json!({})));
    let mut rig = Rig::in_protobuf(client);
    assert_eq!(rig.bind_outcome().await, bound_to("node-7"));
    rig.lanes.submit(waits("no room"));
    rig.settle().await;
    let asked = api.asked();
    let binding = json!({
        "apiVersion": "v1",
        "metadata": {"namespace": "team", "name": "worker-0", "uid": "7c1e"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-7"},
    });
    assert_eq!(
        asked[0].bytes,
        schema::envelope("Binding", &binding, schema::SPARSE)
    );
    assert_eq!(
        asked[0].line,
        "POST /api/v1/namespaces/team/pods/worker-0/binding?fieldManager=muster&timeout=2s"
    );
    assert!(asked[0].takes_protobuf());
    let mut kinds = kinds_of(&asked);
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            ("binding", "vnd.kubernetes.protobuf"),
            ("events", "vnd.kubernetes.protobuf"),
            ("status", "strategic-merge-patch+json"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn who_does_not_take_protobuf_is_written_to_in_json_from_then_on() {
    let (api, client) = FakeApi::start(|asked: &Asked| {
        if asked.content == MEDIA_TYPE {
            return status(415, "the body is not in JSON");
        }
        Reply::Json(201, json!({}))
    });
    let mut rig = Rig::in_protobuf(client);
    assert_eq!(rig.bind_outcome().await, bound_to("node-7"));
    rig.settle().await;
    let asked = api.asked();
    assert_eq!(asked[0].line, asked[1].line);
    assert_eq!(
        kinds_of(&asked),
        [
            ("binding", "vnd.kubernetes.protobuf"),
            ("binding", "json"),
            ("events", "json"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_in_protobuf_is_understood() {
    let refusal = json!({"status": "Failure", "message": "no", "reason": "Invalid", "code": 422});
    let body = schema::envelope("Status", &refusal, schema::GO);
    let (_, client) = FakeApi::start(move |_| Reply::Refusal(422, body.clone()));
    let mut rig = Rig::in_protobuf(client);
    let message = "no".to_owned();
    let refused = BindOutcome::Refused { message };
    assert_eq!(rig.bind_outcome().await, refused);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_panics_is_told_to_who_watches_over_all() {
    for (effect, name) in [
        (bind(), "a bind"),
        (evict(false), "an eviction"),
        (waits("no room"), "a status or an event"),
    ] {
        let (_, client) = FakeApi::start(|_| panic!("a bug"));
        let rig = Rig::new(client);
        rig.lanes.submit(effect);
        let rung = timeout(Duration::from_secs(60), rig.alarm.rung()).await;
        assert_eq!(rung, Ok(name));
    }
}
