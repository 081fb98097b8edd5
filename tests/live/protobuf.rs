//! A real API server in protobuf and in JSON: what is read is the same, and what is written is
//! understood.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::admin::{self, Admin};
use crate::json_only::in_json_only;
use crate::live::{self, Cluster, PODS};
use bytes::{Buf, Bytes};
use http::Request;
use http::header::ACCEPT;
use http_body_util::BodyExt;
use kube::client::Body;
use kube::core::{DeserializeGuard, ObjectList, WatchEvent};
use kube::{Api, Client};
use muster::api::kinds::Watchable;
use muster::api::protobuf::{self, Change, FromProtobuf, MEDIA_TYPE};
use muster::api::{Reading, slim, upstream};
use muster::cluster::client::Transport;
use muster::cluster::encoding::{Encoding, Encodings};
use muster::cluster::lanes::{Answerers, Context, Lanes};
use muster::cluster::watch::{Outlet, follow};
use muster::cluster::{Alarm, Clock, Fence, Health, Metrics, News};
use muster::model::ObjectKey;
use muster::model::{Bind, Effect};
use muster::model::{BindOutcome, Event, PodKey};
use muster_devcluster::ControlPlane;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Objects that use every field which is read, as far as validation lets them.
const OBJECTS: &str = include_str!("../support/every-field.yaml");

/// Upstream's PodGroups in the default namespace.
const POD_GROUPS: &str = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";

/// What an object of these must have, or the test compares nothing.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "/api/v1/namespaces/default/pods/waits",
        &[
            "/metadata/labels/app",
            "/metadata/annotations/muster.dev~1lifetime",
            "/metadata/ownerReferences/0/controller",
            "/spec/schedulerName",
            "/spec/priority",
            "/spec/priorityClassName",
            "/spec/schedulingGates/0/name",
            "/spec/schedulingGroup/podGroupName",
            "/spec/containers/0/resources/requests/cpu",
            "/spec/containers/0/resources/limits/memory",
            "/spec/containers/0/ports/0/containerPort",
            "/spec/containers/0/ports/0/hostPort",
            "/spec/containers/0/ports/0/hostIP",
            "/spec/containers/0/ports/0/protocol",
            "/spec/initContainers/0/restartPolicy",
            "/spec/overhead/cpu",
            "/spec/resources/requests/cpu",
            "/spec/nodeSelector/disk",
            "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/0/values/0",
            "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/key",
            "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/topologyKey",
            "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/labelSelector/matchLabels/app",
            "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/namespaces/0",
            "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/namespaceSelector/matchLabels/team",
            "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/matchLabelKeys/0",
            "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/mismatchLabelKeys/0",
            "/spec/tolerations/0/operator",
            "/spec/tolerations/0/value",
            "/spec/tolerations/0/effect",
            "/spec/topologySpreadConstraints/0/whenUnsatisfiable",
            "/spec/resourceClaims/0/name",
            "/spec/activeDeadlineSeconds",
            "/spec/hostNetwork",
            "/spec/volumes/0/persistentVolumeClaim",
            "/spec/volumes/1/ephemeral",
            "/spec/volumes/2/gcePersistentDisk",
            "/spec/volumes/3/awsElasticBlockStore",
            "/spec/volumes/4/iscsi",
            "/spec/volumes/5/rbd",
            "/status/phase",
        ],
    ),
    (
        "/api/v1/namespaces/default/pods/runs",
        &[
            "/spec/nodeName",
            "/status/phase",
            "/status/conditions/0/reason",
            "/status/conditions/0/message",
            "/status/containerStatuses/0/allocatedResources/cpu",
            "/status/containerStatuses/0/resources/requests/cpu",
            "/status/initContainerStatuses/0/name",
        ],
    ),
    (
        "/api/v1/nodes/full",
        &[
            "/spec/unschedulable",
            "/spec/taints/0/value",
            "/spec/taints/0/effect",
            "/status/allocatable/cpu",
            "/status/capacity/memory",
        ],
    ),
    (
        "/apis/scheduling.k8s.io/v1/priorityclasses/low",
        &["/value", "/globalDefault"],
    ),
    (
        "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups/gang",
        &[
            "/spec/schedulingPolicy/gang/minCount",
            "/spec/priorityClassName",
            "/spec/priority",
            "/status/conditions/0/lastTransitionTime",
            "/status/conditions/0/observedGeneration",
        ],
    ),
];

/// A client, blocking.
struct Reader {
    client: Client,
    runtime: tokio::runtime::Runtime,
}

impl Reader {
    fn of(plane: &ControlPlane) -> Self {
        let (runtime, client) = admin::connect(plane, Transport::Http2);
        Self { client, runtime }
    }

    /// All of an answer.
    async fn get(&self, path: &str, accept: &str) -> Bytes {
        let request = Request::get(path).header(ACCEPT, accept);
        let request = request.body(Body::empty()).unwrap();
        let answer = self.client.send(request).await.unwrap();
        let body = answer.into_body().collect().await.unwrap();
        body.to_bytes()
    }

    /// The same in protobuf and in JSON.
    fn in_both(&self, path: &str) -> (Bytes, Bytes) {
        self.runtime.block_on(async {
            tokio::join!(
                self.get(path, MEDIA_TYPE),
                self.get(path, "application/json")
            )
        })
    }

    /// Lists in both encodings, compares, and says how many there are.
    fn same<K>(&self, path: &str) -> usize
    where
        K: FromProtobuf + DeserializeOwned + kube::Resource + Clone + PartialEq + Debug,
    {
        let (protobuf, json) = self.in_both(path);
        let page = protobuf::page(&protobuf).unwrap();
        let list: ObjectList<K> = serde_json::from_slice(&json).unwrap();
        assert_eq!(Some(page.version), list.metadata.resource_version);
        let decoded = page.items.into_iter().map(K::from_protobuf);
        let decoded: Vec<K> = decoded.map(Result::unwrap).collect();
        assert_eq!(decoded, list.items);
        decoded.len()
    }
}

/// Gives objects the statuses that nobody else gives them here.
fn add_statuses(plane: &ControlPlane) {
    let admin = Admin::of(plane);
    let statuses = [
        (
            format!("{PODS}/runs"),
            json!({
                "phase": "Running",
                "conditions": [{
                    "type": "PodResizePending", "status": "True", "reason": "Infeasible",
                    "message": "too large",
                }],
                "containerStatuses": [{
                    "name": "main", "image": "none", "imageID": "", "ready": true, "restartCount": 3,
                    "state": {"running": {}},
                    "allocatedResources": {"cpu": "250m"},
                    "resources": {"requests": {"cpu": "200m"}, "limits": {"cpu": "1"}},
                }],
                "initContainerStatuses": [{
                    "name": "prepare", "image": "none", "imageID": "", "ready": false,
                    "restartCount": 0,
                }],
                "allocatedResources": {"cpu": "1"},
                "resources": {"requests": {"cpu": "1"}},
            }),
        ),
        (
            "/api/v1/nodes/full".to_owned(),
            json!({
                "capacity": {"cpu": "8", "memory": "64Gi", "pods": "110", "x.y/gpu": "4"},
                "allocatable": {"cpu": "7500m", "memory": "60Gi", "pods": "110", "x.y/gpu": "4"},
                "phase": "Running",
                "images": [{"names": ["a", "b"], "sizeBytes": 4}],
            }),
        ),
        (
            "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups/gang".to_owned(),
            json!({"conditions": [{
                "type": upstream::INITIALLY_SCHEDULED, "status": "False", "reason": "Waiting",
                "message": "two of three", "observedGeneration": 1,
                "lastTransitionTime": "2026-11-22T01:02:03Z",
            }]}),
        ),
    ];
    for (path, status) in statuses {
        let mut object = plane.get(&path).unwrap();
        object["status"] = status;
        admin.replace(&format!("{path}/status"), &object);
    }
}

#[test]
fn every_field_that_is_read_is_the_same_in_both_encodings() {
    let cluster = Cluster::of(|builder| builder.upstream_pod_groups(true).kwok(false));
    cluster.apply(OBJECTS);
    add_statuses(&cluster.plane);
    for (path, fields) in FIELDS {
        let object = cluster.plane.get(path).unwrap();
        for field in *fields {
            let there = object.pointer(field).is_some_and(|value| !value.is_null());
            assert!(there, "{path} has no {field}: {object:#}");
        }
    }
    let reader = Reader::of(&cluster.plane);
    assert_eq!(reader.same::<slim::Pod>("/api/v1/pods"), 2);
    assert_eq!(reader.same::<slim::Node>("/api/v1/nodes"), 1);
    assert!(reader.same::<slim::Namespace>("/api/v1/namespaces") >= 4);
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    assert!(reader.same::<slim::PriorityClass>(classes) >= 4);
    let groups = "/apis/scheduling.k8s.io/v1beta1/podgroups";
    assert_eq!(reader.same::<upstream::PodGroup>(groups), 1);
    let (protobuf, _) = reader.in_both("/api/v1/pods?limit=1");
    assert!(!protobuf::page(&protobuf).unwrap().next.is_empty());
    let (protobuf, json) = reader.in_both("/api/v1/namespaces/default/pods/none");
    let json: Value = serde_json::from_slice(&json).unwrap();
    let status = protobuf::status(&protobuf).unwrap();
    assert_eq!((status.code, status.reason.as_str()), (404, "NotFound"));
    assert_eq!(json["message"], status.message);
}

/// One event, as a pod or in words.
#[derive(Debug, PartialEq)]
enum Seen {
    Exists(slim::Pod),
    Gone(slim::Pod),
    Bookmark,
    Failed(u16, String),
}

/// Two watches need not hear of the same version at the same time.
fn bookmark(version: &str) -> Seen {
    assert!(version.parse::<u64>().unwrap() > 1);
    Seen::Bookmark
}

fn in_protobuf(mut stream: Bytes) -> Vec<Seen> {
    let mut seen = Vec::new();
    while !stream.is_empty() {
        let length = stream.get_u32();
        let frame = stream.split_to(usize::try_from(length).unwrap());
        let pod = |bytes| slim::Pod::from_protobuf(bytes).unwrap();
        seen.push(match protobuf::change(frame).unwrap() {
            Change::Exists(bytes) => Seen::Exists(pod(bytes)),
            Change::Gone(bytes) => Seen::Gone(pod(bytes)),
            Change::Bookmark(version) => bookmark(&version),
            Change::Failed(status) => Seen::Failed(status.code, status.message),
        });
    }
    seen
}

fn in_json(stream: &Bytes) -> Vec<Seen> {
    let lines = stream.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    let seen = lines.map(|line| match serde_json::from_slice(line).unwrap() {
        WatchEvent::Added(pod) | WatchEvent::Modified(pod) => Seen::Exists(pod),
        WatchEvent::Deleted(pod) => Seen::Gone(pod),
        WatchEvent::Bookmark(mark) => bookmark(&mark.metadata.resource_version),
        WatchEvent::Error(status) => Seen::Failed(status.code, status.message),
    });
    seen.collect()
}

#[test]
fn a_watch_tells_the_same_in_both_encodings() {
    let cluster = Cluster::of(|builder| builder.kwok(false));
    let reader = Reader::of(&cluster.plane);
    let list = cluster.plane.get(PODS).unwrap();
    let version = live::text(&list, "/metadata/resourceVersion");
    cluster.plane.post(PODS, &live::pod("a", 0, "1")).unwrap();
    let mut changed = cluster.pod("a-0");
    changed["metadata"]["labels"] = json!({"changed": "yes"});
    let admin = Admin::of(&cluster.plane);
    admin.replace(&format!("{PODS}/a-0"), &changed);
    cluster.delete_now("a-0");
    cluster.pods("b", 1, "1");
    let watch = format!("{PODS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=2");
    let (protobuf, json) = reader.in_both(&format!("{watch}&resourceVersion={version}"));
    let protobuf = in_protobuf(protobuf);
    assert_eq!(protobuf, in_json(&json));
    assert!(
        matches!(
            protobuf[..],
            [
                Seen::Exists(_),
                Seen::Exists(_),
                // It is to be deleted, and it is.
                Seen::Exists(_),
                Seen::Gone(_),
                Seen::Exists(_),
            ]
        ),
        "{protobuf:?}"
    );
    // What there is comes first, and then a bookmark.
    let whole = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let (protobuf, json) = reader.in_both(&format!("{watch}&{whole}"));
    let protobuf = in_protobuf(protobuf);
    assert_eq!(protobuf, in_json(&json));
    assert!(
        matches!(protobuf[..], [Seen::Exists(_), Seen::Bookmark]),
        "{protobuf:?}"
    );
}

/// Follows the objects of a kind, and tells what of them changed.
fn start<K: Watchable>(client: &Client, encodings: &Encodings) -> mpsc::Receiver<News> {
    let (sender, news) = mpsc::channel(64);
    let outlet = Outlet {
        news: sender,
        health: Arc::new(Health::default()),
        metrics: Arc::new(Metrics::new().unwrap()),
        encodings: encodings.clone(),
        alarm: Alarm::default(),
    };
    let reading = Arc::new(Reading {
        scheduler_names: vec!["muster".to_owned()],
        ..Reading::default()
    });
    tokio::spawn(follow(Api::<K>::all(client.clone()), reading, outlet));
    news
}

async fn until_gone(mut news: mpsc::Receiver<News>) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let next = timeout(Duration::from_secs(60), news.recv()).await;
        if let News::Event(event) = next.unwrap().unwrap() {
            let last = matches!(
                event,
                Event::Gone(ObjectKey::Pod(_)) | Event::Gone(ObjectKey::Gang(..))
            );
            events.push(event);
            if last {
                return events;
            }
        }
    }
}

#[test]
fn what_is_followed_is_the_same_in_both_encodings() {
    let cluster = Cluster::of(|builder| builder.upstream_pod_groups(true).kwok(false));
    cluster.pods("old", 2, "1");
    let group = |name: &str| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
            "metadata": {"namespace": "default", "name": name},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        })
    };
    cluster.plane.post(POD_GROUPS, &group("old")).unwrap();
    let reader = Reader::of(&cluster.plane);
    let (of_pods, of_groups) = (Encodings::default(), Encodings::default());
    let (pods, groups) = reader.runtime.block_on(async {
        let (client, in_json) = (&reader.client, &in_json_only(&reader.client));
        let unheard = Encodings::default();
        (
            [
                start::<slim::Pod>(client, &of_pods),
                start::<DeserializeGuard<slim::Pod>>(in_json, &unheard),
            ],
            [
                start::<DeserializeGuard<upstream::PodGroup>>(client, &of_groups),
                start::<DeserializeGuard<upstream::PodGroup>>(in_json, &unheard),
            ],
        )
    });
    live::eventually("the pods and the groups are listed", || {
        pods.iter().all(|news| news.len() >= 4) && groups.iter().all(|news| news.len() >= 3)
    });
    cluster.pods("new", 1, "2");
    cluster.delete_now("old-1");
    cluster.plane.post(POD_GROUPS, &group("new")).unwrap();
    // Nobody else is here to take its finalizer off.
    let admin = Admin::of(&cluster.plane);
    admin.delete(&format!("{POD_GROUPS}/old"));
    admin.let_go(&format!("{POD_GROUPS}/old"));
    let [protobuf, json] = pods.map(|news| reader.runtime.block_on(until_gone(news)));
    assert_eq!(protobuf.len(), 5, "{protobuf:?}");
    assert_eq!(format!("{protobuf:?}"), format!("{json:?}"));
    let [protobuf, json] = groups.map(|news| reader.runtime.block_on(until_gone(news)));
    assert!(protobuf.len() >= 3, "{protobuf:?}");
    assert_eq!(format!("{protobuf:?}"), format!("{json:?}"));
    for heard in [of_pods, of_groups] {
        assert_eq!(heard.for_writes(), Encoding::Protobuf);
    }
}

/// Binds a pod of `default`, as this uid.
async fn bind(
    lanes: &Lanes,
    news: &mut mpsc::Receiver<News>,
    name: &str,
    uid: &str,
) -> BindOutcome {
    lanes.submit(Effect::Bind(Bind {
        pod: PodKey {
            namespace: "default".to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
        },
        node: "node-0".to_owned(),
        slot: None,
        completes: false,
        asks: None,
    }));
    match timeout(Duration::from_secs(60), news.recv()).await {
        Ok(Some(News::Event(Event::BindResult(_, outcome)))) => outcome,
        other => panic!("{other:?}"),
    }
}

#[test]
fn binds_and_events_in_protobuf_are_understood() {
    let cluster = Cluster::of(|builder| builder.kwok(false));
    cluster.nodes(1, "4");
    cluster.pods("a", 2, "1");
    let uid = live::text(&cluster.pod("a-0"), "/metadata/uid");
    let reader = Reader::of(&cluster.plane);
    let encodings = Encodings::default();
    encodings.heard_protobuf();
    let (sender, mut news) = mpsc::channel(64);
    let lanes = reader.runtime.block_on(async {
        let context = Context {
            client: reader.client.clone(),
            fence: Fence::open(),
            news: sender,
            clock: Clock::start(),
            metrics: Arc::new(Metrics::new().unwrap()),
            instance: "muster-0".into(),
            encodings: encodings.clone(),
            alarm: Alarm::default(),
        };
        Lanes::start(&context, 8, Answerers::default())
    });
    let bound = reader
        .runtime
        .block_on(bind(&lanes, &mut news, "a-0", &uid));
    let node = "node-0".to_owned();
    assert_eq!(bound, BindOutcome::Bound { node });
    assert_eq!(cluster.placed("a-0")["a-0"].as_deref(), Some("node-0"));
    let other = reader
        .runtime
        .block_on(bind(&lanes, &mut news, "a-1", &uid));
    assert_eq!(other, BindOutcome::Gone, "another pod has the name");
    assert_eq!(cluster.placed("a-1")["a-1"], None);
    let scheduled = "Scheduled: Successfully assigned default/a-0 to node-0".to_owned();
    live::eventually("the event is there", || {
        cluster.events("a-0") == [scheduled.clone()]
    });
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    let event = cluster.plane.get(path).unwrap()["items"][0].clone();
    let wanted = [
        ("/type", "Normal"),
        ("/action", "Binding"),
        ("/reportingController", "muster"),
        ("/reportingInstance", "muster-0"),
        ("/regarding/kind", "Pod"),
        ("/regarding/apiVersion", "v1"),
        ("/regarding/namespace", "default"),
        ("/regarding/uid", uid.as_str()),
    ];
    for (field, value) in wanted {
        assert_eq!(live::text(&event, field), value, "{field} of {event:#}");
    }
    let time = |field| {
        live::text(&event, field)
            .parse::<jiff::Timestamp>()
            .unwrap()
    };
    let posted = time("/metadata/creationTimestamp").duration_since(time("/eventTime"));
    assert!(posted.as_secs().abs() < 120, "{event:#}");
    assert_eq!(
        encodings.for_writes(),
        Encoding::Protobuf,
        "none was refused"
    );
}
