//! What is in `deploy/` is taken by a real API server, and its rights are enough, and no more.
//!
//! Needs what `hack/build-control-plane` builds.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/live.rs"]
mod live;

use live::{Cluster, PODS, condition, eventually, pod};
use muster::cluster::lease::LeaseOptions;
use serde_json::json;

const ACCOUNT: &str = "system:serviceaccount:muster-system:muster";

fn deployed() -> Cluster {
    let cluster = Cluster::of(|builder| {
        builder.user(ACCOUNT, &["system:serviceaccounts", "system:authenticated"])
    });
    cluster.apply_folder("crds");
    cluster.apply_folder("deploy");
    cluster
}

fn lease() -> LeaseOptions {
    LeaseOptions {
        namespace: "muster-system".to_owned(),
        name: "muster".to_owned(),
        identity: "test".to_owned(),
    }
}

#[test]
fn the_rights_in_deploy_are_enough_to_schedule_evict_and_say_why() {
    let cluster = deployed();
    cluster.nodes(2, "4");
    let kubeconfig = cluster.plane.kubeconfig_of(ACCOUNT).unwrap();
    let muster = cluster.muster_as(&kubeconfig, Some(lease()));
    eventually("it is ready", || muster.health.problems().is_empty());
    cluster.gang("train", 4);
    cluster.pods("train", 4, "1");
    eventually("the gang is bound", || cluster.bound("train") == 4);
    eventually("it says so", || {
        cluster.status_of("train")["phase"] == "Running"
    });
    eventually("the event is there", || {
        !cluster.events("train-0").is_empty()
    });
    cluster.plane.post(PODS, &pod("big", 0, "100")).unwrap();
    let mut single = pod("alone", 0, "100");
    single["metadata"]["annotations"] = json!({});
    cluster.plane.post(PODS, &single).unwrap();
    eventually("a pod says why it waits", || {
        condition(&cluster.pod("alone-0")["status"], "PodScheduled")
            .is_some_and(|found| found["reason"] == "Unschedulable")
    });
    // What it did not have to do here, it may do.
    let can = |verb: &str, resource: &str| {
        let asked = ["auth", "can-i", verb, resource, "--as", ACCOUNT];
        cluster.plane.kubectl(&asked).is_ok()
    };
    assert!(can("delete", "pods"));
    assert!(!can("create", "pods") && !can("patch", "nodes") && !can("get", "secrets"));
    assert!(!can("update", "podgroups.muster.dev") && !can("delete", "leases"));
    let metrics = muster.metrics.text().unwrap();
    assert!(!metrics.contains("result=\"failed\""), "{metrics}");
    muster.stop();
}

#[test]
fn a_right_that_is_missing_is_named() {
    let cluster = deployed();
    let take = [
        "patch",
        "clusterrole",
        "muster",
        "--type=json",
        // The rule that lets it bind, and the one for PodGroups and Queues.
        r#"-p=[{"op":"remove","path":"/rules/5"},{"op":"remove","path":"/rules/2"}]"#,
    ];
    cluster.plane.kubectl(&take).unwrap();
    let kubeconfig = cluster.plane.kubeconfig_of(ACCOUNT).unwrap();
    let muster = cluster.muster_as(&kubeconfig, Some(lease()));
    eventually("it says what it may not do", || {
        let problems = muster.health.problems().join("\n");
        problems.contains("missing permission: create pods/binding")
            && problems.contains("queues.muster.dev: no permission to list and watch")
    });
    cluster.apply_folder("deploy");
    eventually("given back, it goes on by itself", || {
        muster.health.problems().is_empty()
    });
    muster.stop();
}
