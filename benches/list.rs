//! What a start costs on a cluster full of pods of others: to list them from a real API server and
//! to decode them, in JSON and in protobuf. Time and peak memory, each in a process of its own.
//!
//!     cargo bench --bench list [-- PODS]
//!
//! Needs what `hack/build-control-plane` builds.

#![expect(
    clippy::unwrap_used,
    reason = "a measurement may end where it cannot go on"
)]

#[path = "../tests/support/json_only.rs"]
mod json_only;

use http::Request;
use http::header::ACCEPT;
use http_body_util::BodyExt;
use json_only::in_json_only;
use kube::client::Body;
use kube::{Api, Client};
use muster::api::kinds::Watchable;
use muster::api::protobuf::{self, MEDIA_TYPE};
use muster::api::{Reading, slim};
use muster::cluster::client::{self, Transport};
use muster::cluster::encoding::Encodings;
use muster::cluster::watch::{Outlet, follow};
use muster::cluster::{Alarm, Health, Metrics, News};
use muster_devcluster::ControlPlane;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use std::{env, fs};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Pods, where nothing else is said.
const PODS: usize = 100_000;
/// Every way to list is measured so often, in turn.
const ROUNDS: usize = 3;
/// Who creates pods at the same time.
const CREATORS: usize = 16;
/// How long a page may take to begin.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Ways to list. Those that only receive show what the API server needs.
const WAYS: [&str; 4] = ["receive-json", "receive-protobuf", "json", "protobuf"];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments[..] {
        [way, kubeconfig] if WAYS.contains(&way.as_str()) => measure(way, Path::new(kubeconfig)),
        [pods, ..] if pods.parse::<usize>().is_ok() => compare(pods.parse().unwrap()),
        _ => compare(PODS),
    }
}

/// Fills a cluster, and measures each way in turn.
fn compare(pods: usize) {
    let plane = ControlPlane::builder().start().unwrap();
    thread::scope(|scope| {
        for first in 0..CREATORS {
            let plane = &plane;
            scope.spawn(move || {
                for i in (first..pods).step_by(CREATORS) {
                    let path = "/api/v1/namespaces/default/pods";
                    plane.post(path, &pod(i)).unwrap();
                }
            });
        }
    });
    println!("{pods} pods");
    for _ in 0..ROUNDS {
        for way in WAYS {
            let status = Command::new(env::current_exe().unwrap())
                .arg(way)
                .arg(plane.kubeconfig())
                .status();
            assert!(status.unwrap().success(), "{way}");
        }
    }
}

/// A pod as others run them.
fn pod(i: usize) -> Value {
    let applied = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}".repeat(16);
    let env: Vec<Value> = (0..6)
        .map(|n| json!({"name": format!("VARIABLE_{n}"), "value": "some value of it"}))
        .collect();
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("web-{}", i / 10),
        "uid": "00000000-0000-0000-0000-000000000001", "controller": true,
    });
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("web-{i}"),
            "labels": {"app": "web", "tier": "front", "pod-template-hash": "6c5f9d7b9c"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied},
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": format!("node-{}", i % 5_000),
            "containers": [{
                "name": "main", "image": "registry.example/web:1.2.3", "env": env,
                "command": ["/bin/web", "--port=8080"], "ports": [{"containerPort": 8080}],
                "resources": {
                    "requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"},
                },
                "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}},
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            }],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
        },
    })
}

/// Lists in one way, and prints what it cost.
#[tokio::main(flavor = "current_thread")]
async fn measure(way: &str, kubeconfig: &Path) {
    let config = client::kube_config(Some(kubeconfig)).await.unwrap();
    let client = client::client(&config, Transport::Http2, ANSWER_WITHIN).unwrap();
    let start = Instant::now();
    match way {
        "receive-json" => receive(&client, "application/json", json_next).await,
        "receive-protobuf" => receive(&client, MEDIA_TYPE, protobuf_next).await,
        "json" => list::<slim::Pod>(in_json_only(&client)).await,
        _ => list::<slim::Pod>(client).await,
    }
    let (seconds, peak) = (start.elapsed().as_secs_f64(), peak_mib());
    println!("{way:17} {seconds:6.2} s, peak resident {peak} MiB");
}

/// Lists by the program's own watch, until all are told.
async fn list<K: Watchable>(client: Client) {
    let (sender, mut news) = mpsc::channel(4096);
    let outlet = Outlet {
        news: sender,
        health: Arc::new(Health::default()),
        metrics: Arc::new(Metrics::new().unwrap()),
        encodings: Encodings::default(),
        alarm: Alarm::default(),
    };
    let reading = Arc::new(Reading::default());
    let following = tokio::spawn(follow(Api::<K>::all(client), reading, outlet));
    while !matches!(news.recv().await.unwrap(), News::Synced(_)) {}
    following.abort();
}

/// Receives the pages, and looks only for how the next is asked for; says how many MB there were.
async fn receive(client: &Client, accept: &str, next: fn(&[u8]) -> String) {
    let (mut path, mut bytes) = ("/api/v1/pods?limit=500".to_owned(), 0);
    loop {
        let request = Request::get(&path).header(ACCEPT, accept);
        let answer = client.send(request.body(Body::empty()).unwrap()).await;
        let page = answer.unwrap().into_body().collect().await.unwrap();
        let page = page.to_bytes();
        bytes += page.len();
        let token = next(&page);
        if token.is_empty() {
            return println!("{accept}: {} MiB", bytes >> 20);
        }
        path = format!("/api/v1/pods?limit=500&continue={token}");
    }
}

/// The metadata of a list stands before its objects.
fn json_next(page: &[u8]) -> String {
    let head = String::from_utf8_lossy(&page[..page.len().min(1_000)]).into_owned();
    let token = head.split_once("\"continue\":\"").map(|(_, rest)| rest);
    let token = token.and_then(|rest| rest.split('"').next());
    token.unwrap_or_default().to_owned()
}

fn protobuf_next(page: &[u8]) -> String {
    let page = bytes::Bytes::copy_from_slice(page);
    protobuf::page(&page).unwrap().next
}

fn peak_mib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.unwrap().parse::<usize>().unwrap() >> 10
}
