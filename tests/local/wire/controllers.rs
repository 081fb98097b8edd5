//! What hangs for one namespace holds up no other: the writes of controllers.

use super::*;
use muster::cluster::Health;
use muster::controllers::testbed::Settings;
use muster::live::controllers::{self, WATCHED};
use std::sync::Mutex;

/// A QueueJob of so many workers.
fn queue_job(namespace: &str, name: &str, workers: usize) -> Value {
    let container = json!({"name": "main", "image": "example.com/train"});
    json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "QueueJob",
        "metadata": {
            "namespace": namespace, "name": name, "uid": format!("{namespace}-{name}"), "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "schedSpec": {"minAvailable": workers},
            "taskSpecs": [{
                "name": "worker", "replicas": workers,
                "template": {"spec": {"containers": [container]}},
            }],
        },
    })
}

/// The SchedulingSpec of a QueueJob.
fn spec_of(queue_job: &Value) -> Value {
    let meta = &queue_job["metadata"];
    let owner = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "QueueJob", "name": meta["name"], "uid": meta["uid"],
        "controller": true, "blockOwnerDeletion": true,
    });
    json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "SchedulingSpec",
        "metadata": {
            "namespace": meta["namespace"], "name": meta["name"], "resourceVersion": "1",
            "uid": format!("spec-of-{}", meta["uid"]), "ownerReferences": [owner],
        },
        "spec": queue_job["spec"]["schedSpec"],
    })
}

/// An API server that has these QueueJobs, whatever is written, and a webhook that does not answer: so a request of which
/// this holds ends in a time-out.
fn api_with(
    queue_jobs: Vec<Value>,
    hangs: impl Fn(&Asked) -> bool + Send + 'static,
) -> (FakeApi, Client) {
    let made = Mutex::new(0_u64);
    FakeApi::start(move |asked: &Asked| {
        let is_list = asked.line.starts_with("GET");
        if asked.line.contains("watch=true") {
            return Reply::Open(vec![]);
        }
        if is_list {
            let has = |plural: &str| asked.line.contains(&format!("/{plural}?"));
            let items: Vec<Value> = match (has("queuejobs"), has("schedulingspecs")) {
                (true, _) => queue_jobs.clone(),
                (_, true) => queue_jobs.iter().map(spec_of).collect(),
                _ => Vec::new(),
            };
            let meta = json!({"resourceVersion": "1"});
            let list =
                json!({"kind": "List", "apiVersion": "v1", "metadata": meta, "items": items});
            return Reply::Json(200, list);
        }
        if hangs(asked) {
            let timed_out = status(504, "the webhook did not answer");
            return Reply::Late(Duration::from_secs(2), Box::new(timed_out));
        }
        if asked.line.starts_with("PATCH") {
            return status(409, "the object has been modified");
        }
        let mut object = asked.body.clone();
        if object.is_object() {
            let mut made = made.lock().unwrap();
            *made += 1;
            object["metadata"]["uid"] = json!(format!("made-{made}"));
            object["metadata"]["resourceVersion"] = json!(made.to_string());
        }
        Reply::Json(201, object)
    })
}

/// Controls for so long.
async fn control(client: &Client, span: Duration) {
    let options = controllers::Options {
        reader: client.clone(),
        writer: client.clone(),
        fence: Fence::open(),
        lease: None,
        settings: Settings::default(),
        in_flight: 64,
        health: Arc::new(Health::of(WATCHED)),
        metrics: Arc::new(Metrics::new().unwrap()),
    };
    controllers::run(options, sleep(span)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn pods_of_queue_jobs_that_hang_in_two_namespaces_hold_up_no_other() {
    let deaf = ["a-deaf", "b-deaf"].map(|namespace| queue_job(namespace, "q", 1_000));
    let mut all = Vec::from(deaf);
    all.push(queue_job("calm", "q", 30));
    let is_of_deaf = |asked: &Asked| asked.line.contains("-deaf/pods");
    let (api, client) = api_with(all, is_of_deaf);
    let start = Instant::now();
    control(&client, Duration::from_secs(12)).await;
    let made = |of: &str| -> Vec<Duration> {
        let prefix = format!("POST /api/v1/namespaces/{of}/pods?");
        let asked = api.asked().into_iter();
        let pods = asked.filter(|one| one.line.starts_with(&prefix));
        pods.map(|one| one.at - start).collect()
    };
    let calm = made("calm");
    assert_eq!(calm.len(), 30);
    let last = calm.last().unwrap();
    assert!(*last < Duration::from_millis(2_500), "{last:?}");
    for deaf in ["a-deaf", "b-deaf"] {
        let tried = made(deaf).len();
        assert!(tried >= 5, "{deaf} is tried all the time: {tried}");
    }
}
