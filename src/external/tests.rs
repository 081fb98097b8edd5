//! The pages over a book that is filled by hand, and a store that keeps what it is told.

use crate::book::{Book, Bounds};
use crate::desk::{Access, Desk, Later, Refusal, Store};
use crate::views::{Key, Kind, View};
use crate::wishes::Write;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use futures::StreamExt;
use muster_api::crd::{BatchJob, Scheduling, Testbed};
use muster_cluster::Metrics;
use muster_cluster::reviews::{Asked, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::ServiceExt;

/// Keeps what it is told in the book itself.
pub(crate) struct Fake {
    book: Arc<Book>,
    written: Mutex<Vec<Write>>,
}

fn no(code: u16) -> Result<Option<View>, Refusal> {
    let message = "no".to_owned();
    Err(Refusal { code, message })
}

impl Fake {
    fn done(&self, write: &Write) -> Result<Option<View>, Refusal> {
        self.written.lock().unwrap().push(write.clone());
        let (wish, is_there) = match write {
            Write::Create(wish) | Write::Replace(wish) => {
                (wish, self.book.get(&wish.key()).is_some())
            }
            Write::Delete { namespace, name } => {
                let key = Key::new(Kind::Scheduling, namespace, name);
                if self.book.get(&key).is_none() {
                    return no(404);
                }
                self.book.gone(&key);
                return Ok(None);
            }
            Write::Keep {
                namespace,
                name,
                text,
            } => {
                let key = Key::new(Kind::BatchJob, namespace, name);
                if self.book.get(&key).is_none() {
                    return no(404);
                }
                let view = job(name, text);
                self.book.put(view.clone());
                return Ok(Some(view));
            }
        };
        match (write, is_there) {
            (Write::Create(_), true) => return no(409),
            (Write::Replace(_), false) => return no(404),
            _ => {}
        }
        let mut made = Scheduling::new(&wish.name, wish.spec.clone());
        made.metadata.namespace = Some(wish.namespace.clone());
        let view = View::from(&made);
        self.book.put(view.clone());
        Ok(Some(view))
    }
}

impl Store for Fake {
    fn write(&self, write: Write) -> Later<'_, Result<Option<View>, Refusal>> {
        Box::pin(async move { self.done(&write) })
    }
}

/// `all` may do everything in `team`, `reader` may read there, and nobody else is known.
struct Rights;

impl Access for Rights {
    fn may<'a>(&'a self, token: &'a str, asked: &'a Asked) -> Later<'a, Verdict> {
        let here = asked.namespace.as_deref().is_none_or(|it| it == "team");
        let everywhere = asked.namespace.is_none() && asked.resource != "testbeds";
        let reads = ["get", "list", "watch"].contains(&asked.verb);
        let verdict = match token {
            "all" if here && !everywhere => Verdict::Allowed,
            "reader" if here && reads && !everywhere => Verdict::Allowed,
            "all" | "reader" => Verdict::Forbidden(token.to_owned()),
            "busy" => Verdict::Busy,
            _ => Verdict::Unknown,
        };
        Box::pin(async move { verdict })
    }
}

pub(crate) fn job(name: &str, kept: &str) -> View {
    let object = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "BatchJob",
        "metadata": {"namespace": "team", "name": name,
                     "annotations": {"muster.dev/external-scheduler": kept}},
        "spec": {"job": {}},
        "status": {"state": "Completed", "history": [
            {"state": "Completed", "scheduling": {"namespace": "team", "name": "old"},
             "testbed": "bed", "slots": [0], "startedAt": "2026-01-01T00:00:00Z"}]},
    });
    View::from(&serde_json::from_value::<BatchJob>(object).unwrap())
}

fn testbed() -> View {
    let object = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "metadata": {"name": "bed"},
        "spec": {"nodeLabel": "bed", "slotsPerNode": 1, "resourcesPerSlot": {"cpu": "1"}},
        "status": {"nodes": 2, "total": 2, "free": 1, "occupied": 1, "slots": [
            {"position": 0, "nodeName": "n0", "nodeId": "0", "nodePosition": 0, "ghost": "g0", "state": "Free"},
            {"position": 1, "nodeName": "n1", "nodeId": "b", "nodePosition": 0, "ghost": "g1",
             "state": "Occupied", "podNamespace": "team", "podName": "p", "podUid": "u"}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "Held", "message": "all"}]},
    });
    View::from(&serde_json::from_value::<Testbed>(object).unwrap())
}

/// A desk, and what is behind it.
pub(crate) struct Bench {
    pub(crate) desk: Desk,
    pub(crate) book: Arc<Book>,
    fake: Arc<Fake>,
}

impl Bench {
    pub(crate) fn of(bounds: Bounds) -> Self {
        Self::with(bounds, Arc::new(Rights))
    }

    pub(crate) fn with(bounds: Bounds, access: Arc<dyn Access>) -> Self {
        let book = Arc::new(Book::new(bounds));
        for view in [
            testbed(),
            job("a", "{}"),
            job("b", r#"{"p": [{"x": "1"}]}"#),
        ] {
            book.put(view);
        }
        for kind in Kind::ALL {
            let all = book.list(kind, None);
            let keys: BTreeSet<Key> = all.iter().map(|held| held.key.clone()).collect();
            book.synced(kind, &keys);
        }
        let fake = Arc::new(Fake {
            book: Arc::clone(&book),
            written: Mutex::default(),
        });
        let store: Arc<dyn Store> = Arc::<Fake>::clone(&fake);
        let metrics = Arc::new(Metrics::new().unwrap());
        let desk = Desk::new(Arc::clone(&book), store, access, "team", metrics);
        Self { desk, book, fake }
    }

    async fn send(
        &self,
        token: &str,
        line: &str,
        more: &[(&str, &str)],
        body: &str,
    ) -> Response<Body> {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let router = crate::router(self.desk.clone());
        router.oneshot(request).await.unwrap()
    }

    pub(crate) async fn ask(&self, token: &str, line: &str, body: &str) -> (u16, Value) {
        let response = self.send(token, line, &[], body).await;
        let code = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), 1 << 24).await.unwrap();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// A stream of changes.
    pub(crate) async fn ask_for_stream(&self) -> Response<Body> {
        let line = "GET /api/v1/events?namespace=team";
        self.send("all", line, &[], "").await
    }

    /// What a stream says until something is in it.
    async fn told(&self, last: Option<&str>, until: &str) -> String {
        let more: Vec<_> = last.map(|id| ("last-event-id", id)).into_iter().collect();
        let line = "GET /api/v1/events?namespace=team";
        let response = self.send("all", line, &more, "").await;
        assert_eq!(response.status(), 200);
        let mut stream = response.into_body().into_data_stream();
        let mut said = String::new();
        while !said.contains(until) {
            let next = tokio::time::timeout(Duration::from_secs(5), stream.next()).await;
            let next = next.unwrap_or_else(|_| panic!("{until} is not in {said}"));
            said.push_str(std::str::from_utf8(&next.unwrap().unwrap()).unwrap());
        }
        said
    }
}

pub(crate) fn bench() -> Bench {
    Bench::of(Bounds::default())
}

const SCHEDULINGS: &str = "/api/v1/namespaces/team/schedulings";
const ONE: &str = r#"{"name": "one", "testbed": "bed", "queueBased": [{"name": "a", "slots": 2}]}"#;

#[tokio::test]
async fn nobody_is_served_without_a_token_that_is_theirs() {
    let bench = bench();
    let v1 = format!("GET {SCHEDULINGS}");
    for line in [
        &*v1,
        "GET /api/v1/testbeds",
        "GET /api/v1/events",
        "GET /external/jobs",
        "POST /external/schedulings",
        "PUT /api/v1/namespaces/team/batchjobs/a/external-scheduler",
    ] {
        for token in ["", "forged"] {
            let (code, said) = bench.ask(token, line, "{}").await;
            assert_eq!(code, 401, "{line}: {said}");
        }
        let (code, _) = bench.ask("busy", line, "{}").await;
        assert_eq!(code, 503, "{line}");
    }
    assert!(bench.fake.written.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_somebody_may_not_do_is_not_done_and_not_shown() {
    let bench = bench();
    let (code, said) = bench
        .ask("reader", &format!("POST {SCHEDULINGS}"), ONE)
        .await;
    assert_eq!(code, 403);
    assert_eq!(
        said["error"]["message"],
        "reader may not create schedulings in namespace team"
    );
    for line in [
        "GET /api/v1/namespaces/other/batchjobs/a",
        "GET /api/v1/events",
        "DELETE /external/schedulings/none",
    ] {
        let (code, _) = bench.ask("reader", line, "").await;
        assert_eq!(code, 403, "{line}");
    }
    assert!(bench.fake.written.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_scheduling_is_made_replaced_and_deleted() {
    let bench = bench();
    let (code, made) = bench.ask("all", &format!("POST {SCHEDULINGS}"), ONE).await;
    assert_eq!((code, &made["name"]), (201, &json!("one")));
    let (code, _) = bench.ask("all", &format!("POST {SCHEDULINGS}"), ONE).await;
    assert_eq!(code, 409);
    let (_, list) = bench.ask("all", &format!("GET {SCHEDULINGS}"), "").await;
    assert_eq!(list["items"], json!([made]));
    let slots = json!({"testbed": "bed", "slotBased": {"jobs": [{"name": "a", "slots": [1, 0]}]}});
    let one = format!("{SCHEDULINGS}/one");
    let (code, now) = bench
        .ask("all", &format!("PUT {one}"), &slots.to_string())
        .await;
    assert_eq!(code, 200);
    assert_eq!(now["slotBased"]["jobs"][0]["slots"], json!([1, 0]));
    assert_eq!(now["queueBased"], Value::Null);
    let (code, _) = bench.ask("all", &format!("DELETE {one}"), "").await;
    assert_eq!(code, 204);
    let (code, _) = bench.ask("all", &format!("GET {one}"), "").await;
    assert_eq!(code, 404);
}

#[tokio::test]
async fn what_is_wrong_is_a_400_with_its_field_and_is_not_written() {
    let bench = bench();
    let bad = ONE.replace("\"slots\": 2", "\"slots\": -2");
    let (code, said) = bench.ask("all", &format!("POST {SCHEDULINGS}"), &bad).await;
    assert_eq!(
        (code, &said["error"]["field"]),
        (400, &json!("queueBased[0].slots"))
    );
    let long = "x".repeat(crate::desk::MOST_BODY + 1);
    let (code, _) = bench
        .ask("all", &format!("POST {SCHEDULINGS}"), &long)
        .await;
    assert_eq!(code, 413);
    let line = "GET /api/v1/namespaces/team/schedulings/NoName";
    let (code, _) = bench.ask("all", line, "").await;
    assert_eq!(code, 400);
    assert!(bench.fake.written.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_a_scheduler_keeps_is_bounded() {
    let bench = bench();
    let line = "PUT /api/v1/namespaces/team/batchjobs/a/external-scheduler";
    let (code, job) = bench.ask("all", line, r#"{"runtime": 7}"#).await;
    assert_eq!(
        (code, &job["externalScheduler"]["runtime"]),
        (200, &json!(7))
    );
    let long = json!({"x": "y".repeat(64 << 10)}).to_string();
    let (code, said) = bench.ask("all", line, &long).await;
    assert_eq!(code, 400, "{said}");
    let (code, _) = bench.ask("all", line, "[]").await;
    assert_eq!(code, 400);
}

#[tokio::test]
async fn the_earlier_paths_answer_as_they_did() {
    let bench = bench();
    let (_, bed) = bench.ask("all", "GET /external/testbeds/bed", "").await;
    let slot = |state: &str, pod: &str, uid: Option<&str>, node: &str, id: Value, at: i32| {
        json!({"state": state, "podName": pod, "podUId": uid, "nodeName": node, "nodeId": id,
               "slotPositionOnNode": 0, "position": at, "reservedFor": null})
    };
    let expected = json!({
        "name": "bed", "state": "SUCCESS", "numberOfNodes": 2, "numberOfSlotsPerNode": 1,
        "slotsByNode": {"n0": [slot("FREE", "g0", None, "n0", json!(0), 0)],
                        "n1": [slot("OCCUPIED", "p", Some("u"), "n1", json!("b"), 1)]},
    });
    assert_eq!(bed, expected);
    let (_, jobs) = bench.ask("all", "GET /external/jobs", "").await;
    let event = json!({"start": "2026-01-01T00:00:00Z", "stop": null, "successful": true, "scheduling": "old"});
    let job = json!({"name": "b", "state": "CompletedState",
                     "externalScheduler": {"p": [{"x": "1"}]}, "scheduledEvents": [event]});
    assert_eq!(jobs["b"], job);
    let body =
        json!({"name": "one", "testBed": "bed", "queue": ["a", "a"], "slots": null}).to_string();
    let (code, made) = bench.ask("all", "POST /external/schedulings", &body).await;
    let expected = json!({"name": "one", "testBed": "bed", "queue": ["a", "a"], "slots": null,
                          "state": "InitialState", "jobStatus": []});
    assert_eq!((code, &made), (200, &expected));
    let again = body.replace(r#"["a","a"]"#, r#"["b"]"#);
    let (code, now) = bench.ask("all", "POST /external/schedulings", &again).await;
    assert_eq!(
        (code, &now["queue"]),
        (200, &json!(["b"])),
        "it is replaced"
    );
    let (_, list) = bench.ask("all", "GET /external/schedulings", "").await;
    assert_eq!(list, json!([now]));
    let (code, _) = bench
        .ask("all", "DELETE /external/schedulings/one", "")
        .await;
    assert_eq!(code, 200);
    let (code, _) = bench
        .ask("all", "DELETE /external/schedulings/one", "")
        .await;
    assert_eq!(code, 304);
    let mut job = job;
    job["externalScheduler"] = json!({"q": []});
    let (code, kept) = bench
        .ask("all", "PUT /external/jobs/", &job.to_string())
        .await;
    assert_eq!((code, &kept["externalScheduler"]), (200, &json!({"q": []})));
}

#[tokio::test]
async fn a_stream_tells_everything_then_what_changes_and_goes_on_where_it_ended() {
    let bench = bench();
    let said = bench.told(None, "event: synced").await;
    assert!(said.starts_with("event: reset"), "{said}");
    assert_eq!(said.matches("event: change").count(), 3, "{said}");
    let id = said.split("id: ").nth(1).unwrap().lines().next().unwrap();
    bench.ask("all", &format!("POST {SCHEDULINGS}"), ONE).await;
    let more = bench.told(Some(id), "\"name\":\"one\"").await;
    assert!(!more.contains("reset"), "{more}");
    assert_eq!(more.matches("event: change").count(), 1, "{more}");
    for strange in ["0000000000000000-1", "x", "-", "99999999999999999999-1"] {
        let said = bench.told(Some(strange), "event: synced").await;
        assert!(said.starts_with("event: reset"), "{strange}: {said}");
    }
}

#[tokio::test]
async fn a_stream_that_comes_too_late_is_told_everything_anew() {
    let bench = Bench::of(Bounds {
        changes: 2,
        ..Bounds::default()
    });
    let said = bench.told(None, "event: synced").await;
    let id = said.split("id: ").nth(1).unwrap().lines().next().unwrap();
    for kept in ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"] {
        bench.book.put(job("a", kept));
    }
    let said = bench.told(Some(id), "event: synced").await;
    assert!(said.starts_with("event: reset"), "{said}");
}

#[tokio::test]
async fn what_is_of_other_namespaces_is_not_told() {
    let bench = bench();
    let said = bench.told(None, "event: synced").await;
    let id = said.split("id: ").nth(1).unwrap().lines().next().unwrap();
    let mut other = Scheduling::new("hidden", muster_api::crd::SchedulingSpec::default());
    other.metadata.namespace = Some("other".to_owned());
    for version in 0..200 {
        other.metadata.resource_version = Some(version.to_string());
        bench.book.put(View::from(&other));
    }
    bench.ask("all", &format!("POST {SCHEDULINGS}"), ONE).await;
    let more = bench.told(Some(id), "\"name\":\"one\"").await;
    assert!(!more.contains("hidden"), "{more}");
}

#[tokio::test]
async fn streams_are_bounded_and_a_place_is_free_again() {
    let bench = bench();
    let line = "GET /api/v1/events?namespace=team";
    let mut open = Vec::new();
    for _ in 0..crate::desk::STREAMS {
        open.push(bench.send("all", line, &[], "").await);
    }
    let (code, _) = bench.ask("all", line, "").await;
    assert_eq!(code, 503);
    open.pop();
    let response = bench.send("all", line, &[], "").await;
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn the_description_names_every_path_of_v1() {
    let bench = bench();
    let (code, document) = bench.ask("", "GET /api/v1/openapi.json", "").await;
    assert_eq!(code, 200);
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.replace("{namespace}", "team").replace("{name}", "a");
        for method in methods.as_object().unwrap().keys() {
            let line = format!("{} {path}", method.to_uppercase());
            let (code, said) = bench.ask("", &line, "").await;
            let expected = if path.ends_with("openapi.json") {
                200
            } else {
                401
            };
            assert_eq!(code, expected, "{line}: {said}");
        }
    }
}

#[tokio::test]
async fn the_page_may_run_what_is_in_it_and_load_nothing() {
    let bench = bench();
    let response = bench.send("", "GET /", &[], "").await;
    let policy = response.headers()["content-security-policy"]
        .to_str()
        .unwrap();
    let nonce = policy
        .split("'nonce-")
        .nth(1)
        .unwrap()
        .split('\'')
        .next()
        .unwrap();
    let nonce = nonce.to_owned();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(!text.contains("NONCE-OF"), "a nonce is missing");
    assert!(text.contains(&format!("<script nonce=\"{nonce}\">")));
    for other in [
        "http://",
        "https://",
        "src=",
        " style=",
        "onclick=",
        "innerHTML",
        "eval(",
    ] {
        assert!(!text.contains(other), "{other}");
    }
}
