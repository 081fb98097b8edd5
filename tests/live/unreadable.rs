//! A pod that nobody can read, of any tenant and for any scheduler: it stops nobody else.
//!
//! kube-apiserver takes any bytes for text in protobuf where it does not look at it, and gives them back so.
//! Needs what `hack/build-control-plane` builds.

use crate::admin;
use crate::live::{Cluster, PODS, condition, eventually, pod, text};
use http::Request;
use http::header::CONTENT_TYPE;
use muster::api::protobuf::MEDIA_TYPE;
use muster::cluster::client::Transport;
use muster_devcluster::ControlPlane;
use serde_json::Value;

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

/// A field of a message: text, bytes, or another message.
fn field(tag: usize, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    [&varint(tag << 3 | 2)[..], &varint(content.len()), content].concat()
}

/// A pod of so much with an image that is no text, in the envelope of Kubernetes.
fn odd_pod(name: &str, cpu: &str, node: Option<&str>) -> Vec<u8> {
    let quantity = field(1, cpu);
    let entry = [field(1, "cpu"), field(2, quantity)].concat();
    let requests = field(2, entry);
    let container = [field(1, "main"), field(2, b"\xff"), field(8, requests)].concat();
    let mut spec = [field(2, container), field(19, "muster")].concat();
    spec.extend(node.map(|node| field(10, node)).unwrap_or_default());
    let metadata = [field(1, name), field(3, "default")].concat();
    let object = [field(1, metadata), field(2, spec)].concat();
    let kind = [field(1, "v1"), field(2, "Pod")].concat();
    [b"k8s\0".to_vec(), field(1, kind), field(2, object)].concat()
}

fn create(plane: &ControlPlane, pod: Vec<u8>) {
    let (runtime, client) = admin::connect(plane, Transport::Http1);
    let request = Request::post(PODS).header(CONTENT_TYPE, MEDIA_TYPE);
    let request = request.body(pod).unwrap();
    runtime.block_on(client.request::<Value>(request)).unwrap();
}

#[test]
fn a_pod_that_cannot_be_read_stops_nobody_and_what_it_takes_counts() {
    let cluster = Cluster::start();
    cluster.nodes(1, "4");
    create(&cluster.plane, odd_pod("odd-runs", "2", Some("node-0")));
    create(&cluster.plane, odd_pod("odd-waits", "1", None));
    let muster = cluster.muster();
    cluster.gang("first", 1);
    cluster.pods("first", 1, "1");
    eventually("others are bound beside it", || cluster.bound("first") == 1);
    // One more comes while it is watched.
    create(&cluster.plane, odd_pod("odd-late", "1", None));
    eventually("all three are named", || {
        let named =
            "pods: 3 unreadable, left out: default/odd-late, default/odd-runs, default/odd-waits";
        muster.health.remarks() == [named]
    });
    assert!(muster.health.problems().is_empty(), "it is ready");
    eventually("who waits is told why", || {
        let status = cluster.pod("odd-waits")["status"].clone();
        condition(&status, "PodScheduled").is_some_and(|found| {
            text(found, "/message").starts_with("not supported: the pod cannot be read: ")
        })
    });
    // Two of four are taken by what cannot be read: there is room for one more, not for two.
    cluster.gang("large", 1);
    cluster.plane.post(PODS, &pod("large", 0, "2")).unwrap();
    eventually("what it takes counts", || {
        let status = cluster.pod("large-0")["status"].clone();
        condition(&status, "PodScheduled")
            .is_some_and(|found| text(found, "/message").contains("short of 1 cpu"))
    });
    muster.crash();
    let muster = cluster.muster();
    cluster.gang("second", 1);
    cluster.pods("second", 1, "1");
    eventually("and after a restart", || cluster.bound("second") == 1);
    for name in ["odd-runs", "odd-waits", "odd-late"] {
        cluster.delete_now(name);
    }
    eventually("nobody is left out", || muster.health.remarks().is_empty());
    muster.stop();
}
