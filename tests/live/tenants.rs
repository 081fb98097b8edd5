//! What one tenant's namespace meets keeps nobody else waiting.

use crate::live::{Cluster, eventually, hang, text, within};
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;

/// So many single pods in each namespace.
const PODS: usize = 150;

fn pods_of(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

fn bound(cluster: &Cluster, namespace: &str) -> usize {
    let pods = cluster.plane.get(&pods_of(namespace)).unwrap();
    let pods = pods["items"].as_array().unwrap();
    let has_node = |pod: &&Value| !text(pod, "/spec/nodeName").is_empty();
    pods.iter().filter(has_node).count()
}

fn submit(cluster: &Cluster, namespace: &str) {
    for index in 0..PODS {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("p-{index}")},
            "spec": {
                "schedulerName": "muster",
                "containers": [{
                    "name": "main", "image": "none", "resources": {"requests": {"cpu": "1m"}},
                }],
            },
        });
        cluster.plane.post(&pods_of(namespace), &pod).unwrap();
    }
}

#[test]
fn a_webhook_that_hangs_for_binds_of_one_namespace_holds_up_no_other() {
    let cluster = Cluster::start();
    cluster.nodes(8, "64");
    for namespace in ["deaf", "calm", "free"] {
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace},
        });
        cluster.plane.post("/api/v1/namespaces", &object).unwrap();
    }
    let deaf = "request.namespace == 'deaf'";
    let hook = hang(&cluster, "deaf", "CREATE", "pods/binding", deaf);
    let muster = cluster.muster();
    submit(&cluster, "calm");
    eventually("it schedules", || bound(&cluster, "calm") == PODS);

    submit(&cluster, "deaf");
    // Every bind that may be on the wire is one that hangs.
    sleep(Duration::from_secs(4));
    submit(&cluster, "free");
    let took = within(Duration::from_secs(10), "the others are bound", || {
        bound(&cluster, "free") == PODS
    });
    eprintln!("{PODS} pods beside it: the last was bound {took:?} after it was made");
    assert_eq!(bound(&cluster, "deaf"), 0);

    let webhook = ["delete", "validatingwebhookconfiguration", "deaf"];
    cluster.plane.kubectl(&webhook).unwrap();
    drop(hook);
    within(Duration::from_secs(30), "then those are bound, too", || {
        bound(&cluster, "deaf") == PODS
    });
    muster.stop();
}
