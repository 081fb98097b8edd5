//! What is in `deploy/` is taken by a real API server, and its rights are enough, and no more.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, PODS, condition, eventually, pod};
use muster::cluster::health::Role;
use muster::cluster::lease::{Identity, LeaseOptions};
use serde_json::{Value, json};
use std::time::Duration;

const ACCOUNT: &str = "system:serviceaccount:muster-system:muster";

fn deployed() -> Cluster {
    let cluster = Cluster::of(|builder| {
        builder.user(ACCOUNT, &["system:serviceaccounts", "system:authenticated"])
    });
    cluster.apply_folder("crds");
    cluster.apply_folder("deploy");
    cluster
}

fn lease(identity: &str) -> LeaseOptions {
    LeaseOptions {
        namespace: "muster-system".to_owned(),
        name: "muster".to_owned(),
        identity: Identity::of_process(identity),
    }
}

#[test]
fn the_rights_in_deploy_are_enough_to_schedule_evict_and_say_why() {
    let cluster = deployed();
    cluster.nodes(2, "4");
    let kubeconfig = cluster.plane.kubeconfig_of(ACCOUNT).unwrap();
    let muster = cluster.muster_as(&kubeconfig, Some(lease("first")));
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
    let on_leases = |verb: &str, lease: &str| {
        let asked = ["auth", "can-i", verb, lease, "--as", ACCOUNT];
        let asked = [&asked[..], &["-n", "muster-system"]].concat();
        cluster.plane.kubectl(&asked).is_ok()
    };
    for verb in ["get", "update", "watch"] {
        assert!(on_leases(verb, "leases/muster"), "{verb}");
        assert!(!on_leases(verb, "leases/another"), "{verb}");
    }
    assert!(!on_leases("delete", "leases/muster") && !on_leases("list", "leases"));
    let metrics = muster.metrics.text().unwrap();
    let failed: Vec<&str> = metrics
        .lines()
        .filter(|line| line.contains("result=\"failed\"") && !line.ends_with(" 0"))
        .collect();
    assert_eq!(failed, [""; 0]);
    // With these rights another stands by, and hears of it when the lease is given back.
    let second = cluster.muster_as(&kubeconfig, Some(lease("second")));
    eventually("the second stands by", || {
        second.health.holder().as_deref() == Some("first")
    });
    muster.stop();
    let took = eventually("the second leads", || second.health.role() == Role::Leading);
    assert!(took < Duration::from_millis(500), "{took:?}");
    second.stop();
}

#[test]
fn a_right_that_is_missing_is_named() {
    let cluster = deployed();
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/muster";
    let role = cluster.plane.get(role).unwrap();
    let rules = role["rules"].as_array().unwrap();
    let of = |group: &str, resource: &str| {
        let has = |rule: &Value, field: &str, what: &str| {
            let mut all = rule[field].as_array().unwrap().iter();
            all.any(|one| one == what)
        };
        let is = |rule: &Value| has(rule, "apiGroups", group) && has(rule, "resources", resource);
        rules.iter().position(is).unwrap()
    };
    // The rules that let it bind, have pods go and speak on PodGroups and Queues, and the one for PodGroups
    // and Queues.
    let deletes = |rule: &Value| rule["verbs"] == json!(["delete"]);
    let mut taken = [
        of("", "pods/binding"),
        rules.iter().position(deletes).unwrap(),
        of("muster.dev", "podgroups/status"),
        of("muster.dev", "topologies/status"),
        of("muster.dev", "queues"),
    ];
    taken.sort_unstable();
    let remove = |rule: &usize| json!({"op": "remove", "path": format!("/rules/{rule}")});
    // From the last on: the others keep their places.
    let patch: Vec<Value> = taken.iter().rev().map(remove).collect();
    let patch = format!("-p={}", json!(patch));
    let take = ["patch", "clusterrole", "muster", "--type=json", &patch];
    cluster.plane.kubectl(&take).unwrap();
    let kubeconfig = cluster.plane.kubeconfig_of(ACCOUNT).unwrap();
    let muster = cluster.muster_as(&kubeconfig, Some(lease("first")));
    eventually("it says what it may not do", || {
        let problems = muster.health.problems().join("\n");
        problems.contains("missing permission: create pods/binding (no pod is bound)")
            && problems.contains("queues.muster.dev: no permission to list and watch")
            && problems.contains("delete pods (nobody is preempted or released)")
            && problems.contains("patch podgroups.muster.dev/status (PodGroups say nothing)")
            && problems.contains("patch queues.muster.dev/status (Queues say nothing)")
    });
    let remarks = muster.health.remarks().join("\n");
    assert!(
        remarks.contains("patch topologies.muster.dev/status (Topologies say nothing)"),
        "{remarks}"
    );
    cluster.apply_folder("deploy");
    eventually("given back, it goes on by itself", || {
        muster.health.problems().is_empty()
    });
    muster.stop();
}

#[test]
fn who_may_edit_a_namespace_makes_podgroups_there_and_who_may_view_it_looks_at_them() {
    // Which rules are in the role of Kubernetes is one of its controllers' work.
    let cluster = Cluster::of(|builder| builder.controller_manager(true));
    cluster.apply_folder("crds");
    cluster.apply_folder("deploy");
    for (user, role) in [("editor", "edit"), ("viewer", "view")] {
        let (role, user) = (format!("--clusterrole={role}"), format!("--user={user}"));
        let binding = [
            "create",
            "rolebinding",
            user.trim_start_matches("--user="),
            &role,
            &user,
        ];
        cluster.plane.kubectl(&binding).unwrap();
    }
    let can = |user: &str, verb: &str, resource: &str, namespace: &str| {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let asked = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": {
                "namespace": namespace, "verb": verb,
                "group": "muster.dev", "resource": resource, "subresource": subresource,
            }},
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        cluster.plane.post(path, &asked).unwrap()["status"]["allowed"] == true
    };
    let groups = "podgroups";
    eventually("the roles have the new rights", || {
        can("editor", "create", groups, "default") && can("viewer", "list", groups, "default")
    });
    for verb in ["get", "list", "watch", "update", "patch", "delete"] {
        assert!(can("editor", verb, groups, "default"), "{verb}");
    }
    assert!(can("editor", "patch", "podgroups/scale", "default"));
    assert!(can("viewer", "get", groups, "default"));
    assert!(!can("viewer", "create", groups, "default"));
    assert!(!can("editor", "create", groups, "kube-system"));
    for user in ["editor", "viewer"] {
        assert!(!can(user, "patch", "podgroups/status", "default"));
        assert!(!can(user, "create", "queues", "default"));
    }
}
