//! The external interface on a real API server, by the controllers' own rights: who may do something does it, others
//! are refused, and whoever follows the changes sees them.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::deployed::CONTROLLERS;
use crate::live::{Cluster, eventually};
use muster::cluster::{Fence, Metrics, client};
use muster::external::cluster::{Options, serve};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const SCHEDULINGS: &str = "/api/v1/namespaces/default/schedulings";
const WITHIN: Duration = Duration::from_secs(10);

/// Two users: one may do everything with our kinds, the other look at Testbeds only.
const USERS: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: planner, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: stranger, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: planner}
rules:
  - {apiGroups: [muster.dev], resources: [testbeds, batchjobs, schedulings], verbs: ['*']}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: stranger}
rules:
  - {apiGroups: [muster.dev], resources: [testbeds], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: planner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: planner}
subjects: [{kind: ServiceAccount, name: planner, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: stranger}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: stranger}
subjects: [{kind: ServiceAccount, name: stranger, namespace: default}]
";

const OBJECTS: &str = "
apiVersion: muster.dev/v1alpha1
kind: Testbed
metadata: {name: bed}
spec: {nodeLabel: bed, slotsPerNode: 1, resourcesPerSlot: {cpu: '1'}}
---
apiVersion: muster.dev/v1alpha1
kind: BatchJob
metadata: {name: sort, namespace: default}
spec: {job: {spec: {template: {spec: {containers: []}}}}}
";

/// Sends a request; the connection is to be closed after its answer.
fn send(at: SocketAddr, token: &str, line: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nhost: muster\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    stream
}

/// The code of an answer, and its body.
fn ask(at: SocketAddr, token: &str, line: &str, body: &str) -> (u16, Value) {
    let mut text = String::new();
    send(at, token, line, body)
        .read_to_string(&mut text)
        .unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Reads from a stream of changes until something is in it.
fn read_until(stream: &mut TcpStream, said: &mut String, expected: &str) {
    let mut some = [0; 4096];
    while !said.contains(expected) {
        let length = stream.read(&mut some).unwrap();
        assert!(length > 0, "{expected} is not in {said}");
        said.push_str(&String::from_utf8_lossy(&some[..length]));
    }
}

fn token(cluster: &Cluster, account: &str, audience: &str) -> String {
    let mut token = String::new();
    eventually("there is a token", || {
        let audience = format!("--audience={audience}");
        let command = ["create", "token", account, &audience];
        token = cluster.plane.kubectl(&command).unwrap_or_default();
        token = token.trim().to_owned();
        !token.is_empty()
    });
    token
}

#[test]
fn who_may_plans_others_are_refused_and_changes_are_seen() {
    let cluster = Cluster::deployed(0, "1", |builder| builder);
    eventually("the objects are taken", || {
        cluster.plane.kubectl_apply_stdin(OBJECTS).is_ok()
    });
    cluster.apply(USERS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let kubeconfig = cluster.plane.kubeconfig_of(CONTROLLERS).unwrap();
    let at = runtime.block_on(async {
        let config = client::kube_config(Some(&kubeconfig)).await.unwrap();
        let options = Options {
            reader: client::reader(&config, WITHIN).unwrap(),
            writer: client::writer(&config, WITHIN, &Fence::open()).unwrap(),
            namespace: "default".to_owned(),
            metrics: Arc::new(Metrics::new().unwrap()),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, options));
        at
    });
    let ours = "muster.dev/external";
    let planner = token(&cluster, "planner", ours);
    let stranger = token(&cluster, "stranger", ours);
    let elsewhere = token(&cluster, "planner", "elsewhere.example.com");

    let beds = "GET /api/v1/testbeds";
    eventually("everything is known", || {
        ask(at, &planner, beds, "").0 == 200
    });
    let (_, found) = ask(at, &stranger, beds, "");
    assert_eq!(found["items"][0]["name"], "bed");
    assert_eq!(ask(at, "forged", beds, "").0, 401);
    assert_eq!(
        ask(at, &elsewhere, beds, "").0,
        401,
        "made for somebody else"
    );

    let events = "GET /api/v1/events?namespace=default";
    assert_eq!(ask(at, &stranger, events, "").0, 403);
    let mut stream = send(at, &planner, events, "");
    let mut said = String::new();
    read_until(&mut stream, &mut said, "event: synced");
    assert!(said.contains("\"name\":\"sort\""), "{said}");

    let body =
        json!({"name": "first", "testbed": "bed", "queueBased": [{"name": "sort", "slots": 1}]});
    let post = format!("POST {SCHEDULINGS}");
    let (code, refusal) = ask(at, &stranger, &post, &body.to_string());
    assert_eq!(code, 403, "{refusal}");
    let (code, made) = ask(at, &planner, &post, &body.to_string());
    assert_eq!(code, 201, "{made}");
    assert_eq!(ask(at, &planner, &post, &body.to_string()).0, 409);
    read_until(&mut stream, &mut said, "\"name\":\"first\"");

    let first = format!("{SCHEDULINGS}/first");
    let job = json!({"name": "sort", "slots": [3, 0]});
    let mut slots = json!({"testbed": "bed", "slotBased": {"mode": "relaxed", "jobs": [job]}});
    let (code, now) = ask(at, &planner, &format!("PUT {first}"), &slots.to_string());
    assert_eq!(code, 200, "{now}");
    assert_eq!(now["queueBased"], Value::Null);
    slots["resourceVersion"] = made["resourceVersion"].clone();
    let (code, _) = ask(at, &planner, &format!("PUT {first}"), &slots.to_string());
    assert_eq!(code, 409, "it has changed since");
    slots["resourceVersion"] = Value::Null;
    slots["testbed"] = json!("other");
    let (code, refusal) = ask(at, &planner, &format!("PUT {first}"), &slots.to_string());
    assert_eq!(code, 400, "{refusal}");
    let words = refusal["error"]["message"].as_str().unwrap();
    assert!(words.contains("may not change"), "{words}");

    let kept =
        json!({"name": "sort", "externalScheduler": {"runs": [{"alone": "27"}]}}).to_string();
    let put = "PUT /external/jobs/";
    assert_eq!(ask(at, &stranger, put, &kept).0, 403);
    let (code, kept) = ask(at, &planner, put, &kept);
    assert_eq!(
        (code, &kept["externalScheduler"]["runs"][0]["alone"]),
        (200, &json!("27"))
    );

    assert_eq!(ask(at, &stranger, &format!("DELETE {first}"), "").0, 403);
    assert_eq!(ask(at, &planner, &format!("DELETE {first}"), "").0, 204);
    read_until(&mut stream, &mut said, "\"type\":\"DELETED\"");
    let delete = "DELETE /external/schedulings/first";
    eventually("it is gone", || ask(at, &planner, delete, "").0 == 304);
}
