//! What one tenant's namespace meets keeps nobody else waiting.

use crate::live::{Cluster, condition, eventually, hang, text, within};
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

/// How many have heard why they wait.
fn told(cluster: &Cluster, namespace: &str) -> usize {
    let pods = cluster.plane.get(&pods_of(namespace)).unwrap();
    let pods = pods["items"].as_array().unwrap();
    let is_told = |pod: &&Value| condition(&pod["status"], "PodScheduled").is_some();
    pods.iter().filter(is_told).count()
}

fn make_namespaces(cluster: &Cluster) {
    for namespace in ["deaf", "deaf-too", "calm", "free"] {
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace},
        });
        cluster.plane.post("/api/v1/namespaces", &object).unwrap();
    }
}

fn submit(cluster: &Cluster, namespace: &str, cpu: &str) {
    for index in 0..PODS {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("p-{index}")},
            "spec": {
                "schedulerName": "muster",
                "containers": [{
                    "name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}},
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
    make_namespaces(&cluster);
    let deaf = "request.namespace == 'deaf'";
    let hook = hang(&cluster, "deaf", "CREATE", "pods/binding", deaf);
    let muster = cluster.muster();
    submit(&cluster, "calm", "1m");
    eventually("it schedules", || bound(&cluster, "calm") == PODS);

    submit(&cluster, "deaf", "1m");
    // Every bind that may be on the wire is one that hangs.
    sleep(Duration::from_secs(4));
    submit(&cluster, "free", "1m");
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

#[test]
fn a_webhook_that_hangs_for_statuses_of_pods_of_one_namespace_keeps_no_other_from_hearing_why_it_waits()
 {
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    make_namespaces(&cluster);
    let deaf = "request.namespace == 'deaf'";
    let hook = hang(&cluster, "deaf", "UPDATE", "pods/status", deaf);
    let muster = cluster.muster();
    // No node is as large.
    submit(&cluster, "calm", "9");
    eventually("it says why they wait", || told(&cluster, "calm") == PODS);

    submit(&cluster, "deaf", "9");
    // Every word that may be on the wire is one that hangs.
    sleep(Duration::from_secs(4));
    submit(&cluster, "free", "9");
    let took = within(Duration::from_secs(20), "the others hear it", || {
        told(&cluster, "free") == PODS
    });
    eprintln!("{PODS} pods beside it: the last heard why it waits {took:?} after it was made");
    assert_eq!(told(&cluster, "deaf"), 0);

    let webhook = ["delete", "validatingwebhookconfiguration", "deaf"];
    cluster.plane.kubectl(&webhook).unwrap();
    drop(hook);
    within(Duration::from_secs(90), "then those hear it, too", || {
        told(&cluster, "deaf") == PODS
    });
    muster.stop();
}

fn groups_of(namespace: &str) -> String {
    format!("/apis/muster.dev/v1alpha1/namespaces/{namespace}/podgroups")
}

/// A gang that has just what it needs.
fn submit_gang(cluster: &Cluster, namespace: &str) {
    let group = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"},
        "spec": {"minAvailable": PODS},
    });
    eventually("the PodGroup is taken", || {
        cluster.plane.post(&groups_of(namespace), &group).is_ok()
    });
    for index in 0..PODS {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("p-{index}"), "labels": {"muster.dev/pod-group": "g"}},
            "spec": {
                "schedulerName": "muster", "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "main", "image": "none", "resources": {"requests": {"cpu": "1m"}},
                }],
            },
        });
        cluster.plane.post(&pods_of(namespace), &pod).unwrap();
    }
}

/// A running gang comes to need more than it has: it is released.
fn raise_minimum(cluster: &Cluster, namespace: &str) {
    let more = format!("{{\"spec\":{{\"minAvailable\":{}}}}}", PODS + 1);
    let arguments = [
        "patch",
        "podgroups.muster.dev",
        "g",
        "--type=merge",
        "-n",
        namespace,
        "-p",
        &more,
    ];
    cluster.plane.kubectl(&arguments).unwrap();
}

fn there(cluster: &Cluster, namespace: &str) -> usize {
    let pods = cluster.plane.get(&pods_of(namespace)).unwrap();
    pods["items"].as_array().unwrap().len()
}

#[test]
fn a_webhook_that_hangs_for_deletions_in_two_namespaces_holds_up_no_other() {
    let cluster = Cluster::start();
    cluster.nodes(8, "64");
    make_namespaces(&cluster);
    let muster = cluster.muster();
    let deaf = ["deaf", "deaf-too"];
    for namespace in ["deaf", "deaf-too", "free"] {
        submit_gang(&cluster, namespace);
        eventually("it runs", || bound(&cluster, namespace) == PODS);
    }
    let rule = "request.namespace.startsWith('deaf')";
    let hook = hang(&cluster, "deaf", "DELETE", "pods", rule);
    for namespace in deaf {
        raise_minimum(&cluster, namespace);
    }
    // Every deletion that may be on the wire is one that hangs.
    sleep(Duration::from_secs(9));
    raise_minimum(&cluster, "free");
    let took = within(Duration::from_secs(20), "the others are gone", || {
        there(&cluster, "free") == 0
    });
    eprintln!("{PODS} pods beside it: the last was gone {took:?} after their minimum was raised");
    for namespace in deaf {
        assert_eq!(there(&cluster, namespace), PODS, "{namespace}");
    }
    let webhook = ["delete", "validatingwebhookconfiguration", "deaf"];
    cluster.plane.kubectl(&webhook).unwrap();
    drop(hook);
    for namespace in deaf {
        within(Duration::from_secs(60), "then those go, too", || {
            there(&cluster, namespace) == 0
        });
    }
    muster.stop();
}
