//! What a watch asks for, and what it tells the engine, whatever the API server does.

mod again;

use crate::fake_api::{Asked, FakeApi, NO_TEXT, Reply, status, status_body};
use crate::schema;
use kube::core::DeserializeGuard;
use kube::{Api, Client};
use muster::api::kinds::{Kind, Watchable};
use muster::api::{Reading, crd, slim, upstream, volcano};
use muster::cluster::encoding::{Encoding, Encodings};
use muster::cluster::watch::{Outlet, follow, start};
use muster::cluster::{Alarm, Health, Metrics, News};
use muster::model::Event;
use muster::model::Object;
use muster::model::ObjectKey;
use muster::model::Reads;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// What holds of a watch holds in both.
const BOTH: [Encoding; 2] = [Encoding::Json, Encoding::Protobuf];

/// A watch of one kind and what it told.
struct Watch {
    news: mpsc::Receiver<News>,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    encodings: Encodings,
    task: tokio::task::JoinHandle<()>,
}

impl Watch {
    fn start<K: Watchable>(client: Client) -> Self {
        let (sender, news) = mpsc::channel(64);
        let outlet = Outlet {
            news: sender,
            health: Arc::new(Health::default()),
            metrics: Arc::new(Metrics::new().unwrap()),
            encodings: Encodings::default(),
            alarm: Alarm::default(),
        };
        outlet
            .health
            .set_role(muster::cluster::health::Role::Leading);
        let (health, metrics) = (Arc::clone(&outlet.health), Arc::clone(&outlet.metrics));
        let encodings = outlet.encodings.clone();
        let reading = Arc::new(Reading {
            scheduler_names: vec!["muster".to_owned()],
            ..Reading::default()
        });
        let task = tokio::spawn(follow(Api::<K>::all(client), reading, outlet));
        Self {
            news,
            health,
            metrics,
            encodings,
            task,
        }
    }

    /// The next news, in short; what objects say is left out.
    async fn next(&mut self) -> String {
        let news = loop {
            let news = timeout(Duration::from_secs(300), self.news.recv()).await;
            match news.unwrap().unwrap() {
                News::Says(..) | News::Silent(_) => {}
                news => break news,
            }
        };
        match news {
            News::Says(..) | News::Silent(_) => String::new(),
            News::Event(Event::Is(Object::Pod(pod))) => {
                format!("pod {}/{}", pod.key.name, pod.key.uid)
            }
            News::Event(Event::Gone(ObjectKey::Pod(key))) => {
                format!("gone {}/{}", key.name, key.uid)
            }
            News::Event(Event::Is(Object::Gang(gang))) => format!("gang {}", gang.key.name),
            News::Event(Event::Gone(ObjectKey::Gang(key, _))) => format!("gone {}", key.name),
            News::Event(other) => format!("{other:?}"),
            News::Synced(kind) => format!("synced {}", kind.name()),
        }
    }

    /// The next news, which is of a pod.
    async fn next_pod(&mut self) -> muster::model::PodSpec {
        loop {
            let news = timeout(Duration::from_secs(300), self.news.recv()).await;
            match news.unwrap().unwrap() {
                News::Says(..) | News::Silent(_) => {}
                News::Event(Event::Is(Object::Pod(pod))) => return *pod,
                news => panic!("{news:?}"),
            }
        }
    }

    async fn tells(&mut self, expected: &[&str]) {
        for one in expected {
            assert_eq!(self.next().await, *one);
        }
    }

    async fn tells_no_more(&mut self) {
        loop {
            let more = timeout(Duration::from_secs(30), self.news.recv()).await;
            match more {
                Ok(Some(News::Says(..) | News::Silent(_))) => {}
                more => return assert!(more.is_err(), "{more:?}"),
            }
        }
    }

    fn says(&self, kind: Kind) -> String {
        let problems = self.health.problems();
        let of_kind = problems
            .into_iter()
            .filter(|one| one.starts_with(kind.name()));
        of_kind.collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn pod(name: &str, uid: &str, version: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": "team", "name": name, "uid": uid, "resourceVersion": version.to_string(),
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"schedulerName": "muster", "containers": [{"name": "main"}]},
        "status": {"phase": "Pending"},
    })
}

fn list(version: &str, next: &str, items: &[Value]) -> Reply {
    Reply::Json(
        200,
        json!({
            "apiVersion": "v1", "kind": "PodList",
            "metadata": {"resourceVersion": version, "continue": next},
            "items": items,
        }),
    )
}

fn change(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

fn bookmark(version: u64) -> Value {
    json!({
        "type": "BOOKMARK",
        "object": {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"resourceVersion": version.to_string()},
        },
    })
}

/// Answers lists and watches each in turn; after the last, lists repeat and watches stay open.
fn server(
    lists: impl IntoIterator<Item = Reply>,
    watches: impl IntoIterator<Item = Reply>,
) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    let mut lists: Vec<Reply> = lists.into_iter().collect();
    let mut watches: Vec<Reply> = watches.into_iter().collect();
    move |asked| {
        if asked.line.contains("watch=true") {
            if watches.is_empty() {
                return Reply::Open(vec![]);
            }
            return watches.remove(0);
        }
        if lists.len() > 1 {
            return lists.remove(0);
        }
        lists[0].clone()
    }
}

/// Which kinds are asked for, and of which it is said that all is known, where these things are read.
async fn watched(reads: Reads) -> (Vec<String>, Vec<Kind>, String) {
    let (api, client) = FakeApi::start(server([list("7", "", &[])], []));
    let (sender, mut news) = mpsc::channel(64);
    let outlet = Outlet {
        news: sender,
        health: Arc::new(Health::default()),
        metrics: Arc::new(Metrics::new().unwrap()),
        encodings: Encodings::default(),
        alarm: Alarm::default(),
    };
    outlet
        .health
        .set_role(muster::cluster::health::Role::Leading);
    let reading = Arc::new(Reading {
        reads: vec![Reads::default(), reads],
        ..Reading::default()
    });
    let _watches = start(&client, &reading, &outlet);
    let mut synced = Vec::new();
    while synced.len() < Kind::ALL.len() {
        match timeout(Duration::from_secs(300), news.recv()).await {
            Ok(Some(News::Synced(kind))) => synced.push(kind),
            other => panic!("{other:?}"),
        }
    }
    let lists = api.lines().into_iter();
    let lists = lists.filter(|line| !line.contains("watch=true"));
    let paths = lists.map(|line| line.split('?').next().unwrap_or_default().to_owned());
    (paths.collect(), synced, outlet.health.problems().join(", "))
}

#[tokio::test(start_paused = true)]
async fn a_kind_at_which_no_profile_looks_is_not_asked_for_and_keeps_nobody_waiting() {
    let selectors = [
        "GET /api/v1/services",
        "GET /api/v1/replicationcontrollers",
        "GET /apis/apps/v1/replicasets",
        "GET /apis/apps/v1/statefulsets",
    ];
    for is_read in [false, true] {
        let reads = Reads {
            selectors: is_read,
            ..Reads::default()
        };
        let (asked, synced, problems) = watched(reads).await;
        for path in selectors {
            assert_eq!(asked.iter().any(|one| one == path), is_read, "{path}");
        }
        assert!(asked.iter().any(|one| one == "GET /api/v1/pods"));
        assert_eq!(synced.len(), Kind::ALL.len());
        assert_eq!(problems, "", "it is ready");
    }
}

#[tokio::test(start_paused = true)]
async fn lists_come_in_pages_and_the_watch_goes_on_from_the_last() {
    for encoding in BOTH {
        let (api, client) = FakeApi::speaking(
            encoding,
            server(
                [
                    list("7", "next-page", &[pod("a", "1", 3)]),
                    list("7", "", &[pod("b", "2", 5)]),
                ],
                [Reply::Open(vec![
                    change("ADDED", &pod("c", "3", 8)),
                    change("DELETED", &pod("a", "1", 9)),
                ])],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch
            .tells(&["pod a/1", "pod b/2", "synced pods", "pod c/3", "gone a/1"])
            .await;
        assert_eq!(watch.says(Kind::Pods), "");
        let lines = api.lines();
        assert_eq!(lines[0], "GET /api/v1/pods?&limit=500");
        assert_eq!(lines[1], "GET /api/v1/pods?&limit=500&continue=next-page");
        assert!(
            lines[2].contains("watch=true") && lines[2].contains("resourceVersion=7"),
            "{lines:?}"
        );
        assert!(lines[2].contains("timeoutSeconds=120"), "{lines:?}");
        assert!(lines[2].contains("allowWatchBookmarks=true"), "{lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_goes_on_from_the_last_bookmark_without_a_list() {
    for encoding in BOTH {
        let (api, client) = FakeApi::speaking(
            encoding,
            server(
                [list("7", "", &[pod("a", "1", 3)])],
                [
                    Reply::Closed(vec![bookmark(40)]),
                    Reply::Open(vec![change("MODIFIED", &pod("a", "1", 41))]),
                ],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch.tells(&["pod a/1", "synced pods", "pod a/1"]).await;
        let lines = api.lines();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[2].contains("resourceVersion=40"), "{lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn gone_inside_a_stream_lists_anew_and_sweeps() {
    for encoding in BOTH {
        let gone = json!({"type": "ERROR", "object": status_body(410, "too old resource version")});
        let (api, client) = FakeApi::speaking(
            encoding,
            server(
                [
                    list("7", "", &[pod("a", "1", 3), pod("b", "2", 4)]),
                    list("90", "", &[pod("b", "2", 4), pod("c", "3", 80)]),
                ],
                [Reply::Closed(vec![gone])],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch
            .tells(&[
                "pod a/1",
                "pod b/2",
                "synced pods",
                "pod b/2",
                "pod c/3",
                "gone a/1",
            ])
            .await;
        watch.tells_no_more().await;
        assert!(
            api.lines()[3].contains("resourceVersion=90"),
            "{:?}",
            api.lines()
        );
        let metrics = watch.metrics.text().unwrap();
        assert!(
            metrics.contains("muster_watch_restarts_total{kind=\"pods\"} 1"),
            "{metrics}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn gone_as_a_status_lists_anew_too() {
    for encoding in BOTH {
        let (api, client) = FakeApi::speaking(
            encoding,
            server(
                [
                    list("7", "", &[pod("a", "1", 3)]),
                    list("90", "", &[pod("a", "9", 80)]),
                ],
                [status(410, "too old resource version")],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch
            .tells(&["pod a/1", "synced pods", "gone a/1", "pod a/9"])
            .await;
        assert_eq!(api.lines().len(), 4, "{:?}", api.lines());
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_cannot_start_is_given_up_for_a_list_after_three_times() {
    for encoding in BOTH {
        let refusal = || status(500, "storage is initializing");
        let (api, client) = FakeApi::speaking(
            encoding,
            server(
                [list("7", "", &[pod("a", "1", 3)])],
                [refusal(), refusal(), refusal()],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch.tells(&["pod a/1", "synced pods", "pod a/1"]).await;
        watch.tells_no_more().await;
        let lists = |line: &&String| !line.contains("watch=true");
        assert_eq!(
            api.lines().iter().filter(lists).count(),
            2,
            "{:?}",
            api.lines()
        );
        assert_eq!(watch.says(Kind::Pods), "", "it is well again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_was_taken_by_another_pod_unseen_is_told_as_two_pods() {
    for encoding in BOTH {
        let (_, client) = FakeApi::speaking(
            encoding,
            server(
                [list("7", "", &[pod("a", "1", 3)])],
                [Reply::Open(vec![change("MODIFIED", &pod("a", "2", 9))])],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch
            .tells(&["pod a/1", "synced pods", "gone a/1", "pod a/2"])
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_stalls_is_asked_for_again() {
    for encoding in BOTH {
        let (api, client) = FakeApi::speaking(
            encoding,
            server(
                [Reply::Open(vec![]), list("7", "", &[pod("a", "1", 3)])],
                [],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch.tells(&["pod a/1", "synced pods"]).await;
        assert!(api.lines().len() >= 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_kind_is_not_ready_and_says_so_until_it_is_allowed() {
    for encoding in BOTH {
        let (api, client) = FakeApi::speaking(
            encoding,
            server(
                [
                    status(403, "pods is forbidden"),
                    status(403, "pods is forbidden"),
                    list("7", "", &[]),
                ],
                [],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        while api.lines().len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let says = watch.says(Kind::Pods);
        assert_eq!(
            says,
            "pods: no permission to list and watch: list: pods is forbidden (HTTP 403)"
        );
        watch.tells(&["synced pods"]).await;
        watch.tells_no_more().await;
        assert_eq!(watch.says(Kind::Pods), "");
    }
}

#[tokio::test(start_paused = true)]
async fn an_optional_kind_that_is_not_served_is_synced_and_looked_for_again() {
    let gang = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "team", "name": "g", "uid": "1", "resourceVersion": "3"},
        "spec": {"minMember": 2},
    });
    let (api, client) = FakeApi::start(server(
        [
            status(404, "the server could not find the requested resource"),
            list("7", "", &[gang]),
        ],
        [],
    ));
    let mut watch = Watch::start::<DeserializeGuard<volcano::PodGroup>>(client);
    watch
        .tells(&["synced podgroups.scheduling.volcano.sh"])
        .await;
    assert_eq!(watch.says(Kind::VolcanoPodGroups), "");
    watch.tells(&["gang g"]).await;
    let asked = api.asked();
    assert!(asked[1].at - asked[0].at >= Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_counted_as_listed_anew_once_and_only_if_it_was_listed() {
    let fails = || status(500, "etcd is not there");
    let (_, client) = FakeApi::start(server(
        [
            list("7", "", &[pod("a", "1", 3)]),
            fails(),
            fails(),
            fails(),
            fails(),
            list("90", "", &[pod("b", "2", 80)]),
        ],
        [status(410, "too old resource version")],
    ));
    let mut watch = Watch::start::<slim::Pod>(client);
    watch
        .tells(&["pod a/1", "synced pods", "pod b/2", "gone a/1"])
        .await;
    let text = watch.metrics.text().unwrap();
    let restarts = "muster_watch_restarts_total{kind=\"pods\"} 1";
    assert!(text.contains(restarts), "{text}");

    let absent = || status(404, "the server could not find the requested resource");
    let (api, client) = FakeApi::start(server([absent()], []));
    let watch = Watch::start::<DeserializeGuard<volcano::PodGroup>>(client);
    while api.lines().len() < 10 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let text = watch.metrics.text().unwrap();
    let restarts = "muster_watch_restarts_total{kind=\"podgroups.scheduling.volcano.sh\"} 0";
    assert!(text.contains(restarts), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_left_out_and_others_are_not() {
    let gang = |name: &str, min: Value| {
        json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "PodGroup",
            "metadata": {"namespace": "team", "name": name, "uid": name, "resourceVersion": "3"},
            "spec": {"minAvailable": min},
        })
    };
    let (_, client) = FakeApi::start(server(
        [list(
            "7",
            "",
            &[gang("bad", json!("many")), gang("good", json!(2))],
        )],
        [],
    ));
    let mut watch = Watch::start::<DeserializeGuard<crd::PodGroup>>(client);
    watch
        .tells(&["gang good", "synced podgroups.muster.dev"])
        .await;
    let metrics = watch.metrics.text().unwrap();
    let count = "muster_unreadable_objects_total{kind=\"podgroups.muster.dev\"} 1";
    assert!(metrics.contains(count), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_protobuf_is_offered_it_once() {
    let in_json = server(
        [list("7", "", &[pod("a", "1", 3)]), list("90", "", &[])],
        [status(410, "too old resource version")],
    );
    let (api, client) = FakeApi::start(in_json);
    let mut watch = Watch::start::<slim::Pod>(client);
    watch.tells(&["pod a/1", "synced pods", "gone a/1"]).await;
    watch.tells_no_more().await;
    let offered: Vec<bool> = api.asked().iter().map(Asked::takes_protobuf).collect();
    assert_eq!(offered, [true, false, false, false], "{:?}", api.lines());
    assert_eq!(watch.encodings.for_writes(), Encoding::Json);
}

#[tokio::test(start_paused = true)]
async fn who_refuses_to_answer_in_protobuf_is_asked_in_json_at_once() {
    let mut answers = server([list("7", "", &[pod("a", "1", 3)])], []);
    let (api, client) = FakeApi::start(move |asked| {
        if asked.takes_protobuf() {
            return status(406, "only application/json");
        }
        answers(asked)
    });
    let mut watch = Watch::start::<slim::Pod>(client);
    watch.tells(&["pod a/1", "synced pods"]).await;
    let asked = api.asked();
    assert_eq!(asked[1].at, asked[0].at);
    assert_eq!(asked[0].line, asked[1].line);
}

#[tokio::test(start_paused = true)]
async fn custom_resources_are_asked_for_in_json() {
    let (api, client) = FakeApi::speaking(Encoding::Protobuf, server([list("7", "", &[])], []));
    let mut watch = Watch::start::<DeserializeGuard<crd::Queue>>(client);
    watch.tells(&["synced queues.muster.dev"]).await;
    assert_eq!(api.asked()[0].accept, "application/json");
}

#[tokio::test(start_paused = true)]
async fn what_is_guarded_is_read_in_protobuf_where_there_is_any() {
    let groups = json!({
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroupList",
        "metadata": {"resourceVersion": "7"},
        "items": [{
            "metadata": {"namespace": "team", "name": "g", "uid": "1", "resourceVersion": "3"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        }],
    });
    let groups = schema::envelope("PodGroupList", &groups, schema::GO);
    let (api, client) = FakeApi::speaking(
        Encoding::Protobuf,
        server([Reply::Chunks(vec![groups])], []),
    );
    let mut watch = Watch::start::<DeserializeGuard<upstream::PodGroup>>(client);
    watch
        .tells(&["gang g", "synced podgroups.scheduling.k8s.io"])
        .await;
    assert!(api.asked().iter().all(Asked::takes_protobuf));
}

#[tokio::test(start_paused = true)]
async fn who_answers_in_protobuf_is_written_to_in_it() {
    let (api, client) = FakeApi::speaking(Encoding::Protobuf, server([list("7", "", &[])], []));
    let mut watch = Watch::start::<slim::Pod>(client);
    watch.tells(&["synced pods"]).await;
    watch.tells_no_more().await;
    assert!(api.asked().iter().all(Asked::takes_protobuf));
    assert_eq!(watch.encodings.for_writes(), Encoding::Protobuf);
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_event_list_anew_after_a_wait() {
    let too_long = vec![0xff; 4];
    let no_event = [&[0, 0, 0, 3][..], b"abc"].concat();
    for bad in [too_long, no_event] {
        let (api, client) = FakeApi::speaking(
            Encoding::Protobuf,
            server(
                [
                    list("7", "", &[pod("a", "1", 3)]),
                    list("90", "", &[pod("b", "2", 80)]),
                ],
                [Reply::OpenChunks(vec![bad])],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch
            .tells(&["pod a/1", "synced pods", "pod b/2", "gone a/1"])
            .await;
        let asked = api.asked();
        assert!(asked[2].at - asked[1].at >= Duration::from_millis(200));
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_no_list_is_asked_for_again_and_said() {
    let (api, client) = FakeApi::speaking(
        Encoding::Protobuf,
        server([Reply::Chunks(vec![b"<html>".to_vec()])], []),
    );
    let watch = Watch::start::<slim::Pod>(client);
    while api.lines().len() < 4 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(
        watch.says(Kind::Pods),
        "pods: list: not an object in protobuf: it does not begin with \"k8s\\0\""
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_off_in_an_event_goes_on_where_the_last_whole_one_was() {
    let mut frames = schema::frame("Pod", &change("ADDED", &pod("b", "2", 8)));
    let whole = frames.len();
    frames.extend(schema::frame("Pod", &change("ADDED", &pod("c", "3", 9))));
    for cut in [whole + 2, whole + 20, frames.len() - 1] {
        let (api, client) = FakeApi::speaking(
            Encoding::Protobuf,
            server(
                [list("7", "", &[])],
                [Reply::Chunks(vec![frames[..cut].to_vec()])],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch.tells(&["synced pods", "pod b/2"]).await;
        watch.tells_no_more().await;
        let lines = api.lines();
        assert!(lines[2].contains("resourceVersion=8"), "{lines:?}");
    }
}

/// A pod with bytes that are no text where the API server looks at none: its image, its controller's kind.
fn odd_pod(name: &str, uid: &str, version: u64, field: &str, node: Option<&str>) -> Value {
    let mut odd = pod(name, uid, version);
    let container = json!({"name": "main", "resources": {"requests": {"cpu": "2"}}});
    odd["spec"]["containers"] = json!([container]);
    odd["spec"]["nodeName"] = json!(node);
    if field == "image" {
        odd["spec"]["containers"][0]["image"] = json!(NO_TEXT);
    } else {
        let owner = json!({
            "apiVersion": "v1", "kind": NO_TEXT, "name": "x", "uid": "x", "controller": true,
        });
        odd["metadata"]["ownerReferences"] = json!([owner]);
    }
    odd
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_cannot_be_read_keeps_no_other_from_being_read_and_what_it_takes_is_known() {
    for (field, goes) in [("image", true), ("image", false), ("owner", true)] {
        let odd = |version, node| odd_pod("odd", "1", version, field, node);
        let mut changes = vec![
            change("MODIFIED", &odd(8, Some("n"))),
            change("ADDED", &pod("c", "3", 9)),
        ];
        if goes {
            changes.push(change("DELETED", &odd(10, Some("n"))));
        }
        let (api, client) = FakeApi::speaking(
            Encoding::Protobuf,
            server(
                [list("7", "", &[odd(3, None), pod("b", "2", 5)])],
                [Reply::Open(changes)],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        let first = watch.next_pod().await;
        assert_eq!(first.key.name, "odd");
        let [why] = &first.unsupported[..] else {
            panic!("{:?}", first.unsupported);
        };
        assert!(why.starts_with("the pod cannot be read: "), "{why}");
        watch.tells(&["pod b/2", "synced pods"]).await;
        let bound = watch.next_pod().await;
        assert_eq!(bound.node.as_deref(), Some("n"));
        assert_eq!(bound.shape.requests, [("cpu".to_owned(), 2_000)]);
        watch.tells(&["pod c/3"]).await;
        let remarks: &[&str] = if goes {
            watch.tells(&["gone odd/1"]).await;
            &[]
        } else {
            &["pods: 1 unreadable, left out: team/odd"]
        };
        assert_eq!(watch.health.remarks(), remarks);
        assert_eq!(watch.says(Kind::Pods), "", "it keeps nobody from work");
        assert_eq!(api.lines().len(), 2, "nothing is listed anew");
        let metrics = watch.metrics.text().unwrap();
        assert!(
            metrics.contains("muster_unreadable_objects_total{kind=\"pods\"} 1"),
            "said once: {metrics}"
        );
    }
}
