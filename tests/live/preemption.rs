//! Preemption and reservation on a real API server where things go wrong: victims that may not be
//! deleted or that linger, a scheduler that dies while room is held, a beneficiary that goes away.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::admin::Admin;
use crate::audit::{self, written};
use crate::live::{Cluster, Muster, PODS, condition, deny, eventually, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

/// As whom Muster writes.
const MUSTER: &str = "muster";
const GROUPS: &str = "/apis/muster.dev/v1alpha1/namespaces/default/podgroups";

fn scene(nodes: usize, cpu: &str) -> Cluster {
    scene_with(nodes, cpu, true)
}

/// Without kubelets a pod that is deleted lingers, until somebody deletes it by force.
fn scene_without_kubelets(nodes: usize, cpu: &str) -> Cluster {
    scene_with(nodes, cpu, false)
}

fn scene_with(nodes: usize, cpu: &str, kubelets: bool) -> Cluster {
    let all = ["system:masters"];
    let cluster = Cluster::of(|builder| builder.kwok(kubelets).audit(true).user(MUSTER, &all));
    cluster.apply_folder("crds");
    cluster.nodes(nodes, cpu);
    cluster
}

fn start(cluster: &Cluster) -> Muster {
    cluster.muster_as(&cluster.plane.kubeconfig_of(MUSTER).unwrap(), None)
}

/// A gang of so many pods of one CPU, all of which must run.
fn gang(cluster: &Cluster, name: &str, pods: usize, spec: &Value) {
    let mut object = json!({
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": spec,
    });
    object["spec"]["minAvailable"] = pods.into();
    eventually("the PodGroup is taken", || {
        cluster.plane.post(GROUPS, &object).is_ok()
    });
    cluster.pods(name, pods, "1");
}

/// The kubelets have stopped what was to be deleted.
fn let_go(cluster: &Cluster, gang: &str, pods: usize) {
    (0..pods).for_each(|i| cluster.delete_now(&format!("{gang}-{i}")));
}

fn bound(cluster: &Cluster, gang: &str, pods: usize) {
    eventually(&format!("{gang} is bound"), || {
        cluster.bound(&format!("{gang}-")) == pods
    });
}

/// How many of a gang's pods are being deleted.
fn leaving(cluster: &Cluster, gang: &str, pods: usize) -> usize {
    let found = (0..pods).map(|i| cluster.pod(&format!("{gang}-{i}")));
    found
        .filter(|pod| !pod["metadata"]["deletionTimestamp"].is_null())
        .count()
}

/// The pods that Muster has had deleted.
fn deleted(cluster: &Cluster) -> BTreeSet<String> {
    let all = written(&cluster.plane, MUSTER).into_iter();
    let deletes = all.filter(|one| one.verb == "delete" && one.code < 300);
    deletes
        .filter_map(|one| {
            one.path
                .strip_prefix(&format!("{PODS}/"))
                .map(str::to_owned)
        })
        .collect()
}

fn members(gang: &str, pods: usize) -> BTreeSet<String> {
    (0..pods).map(|i| format!("{gang}-{i}")).collect()
}

#[test]
fn where_one_may_not_be_deleted_another_goes_and_the_first_is_said_to_run() {
    let cluster = scene(2, "4");
    let muster = start(&cluster);
    gang(&cluster, "kept", 4, &json!({"priority": -2}));
    bound(&cluster, "kept", 4);
    gang(&cluster, "other", 4, &json!({"priority": -1}));
    bound(&cluster, "other", 4);
    cluster.apply(&deny(
        "keep-pods",
        "DELETE",
        "pods",
        "!request.name.startsWith('kept-')",
        "pods are kept for the audit",
    ));
    eventually("the policy is in force", || {
        let try_it = ["delete", "pod", "kept-0", "--dry-run=server"];
        cluster.plane.kubectl(&try_it).is_err()
    });
    gang(&cluster, "high", 4, &json!({"priority": 10}));
    bound(&cluster, "high", 4);
    assert_eq!(deleted(&cluster), members("other", 4));
    assert_eq!(cluster.bound("kept-"), 4);
    eventually("what stays is said to run", || {
        let status = cluster.status_of("kept");
        let disrupted = condition(&status, "Disrupted");
        status["phase"] == "Running"
            && status["bound"] == 4
            && disrupted.is_none_or(|found| found["status"] == "False")
    });
    muster.stop();
}

#[test]
fn a_successor_holds_the_room_that_others_are_leaving_and_has_nobody_else_go() {
    let cluster = scene_without_kubelets(2, "4");
    let first = start(&cluster);
    gang(&cluster, "low", 4, &json!({"priority": -2}));
    bound(&cluster, "low", 4);
    gang(&cluster, "bystander", 4, &json!({"priority": 5}));
    bound(&cluster, "bystander", 4);
    gang(&cluster, "high", 4, &json!({"priority": 10}));
    eventually("the least important leave", || {
        leaving(&cluster, "low", 4) == 4
    });
    first.crash();
    gang(&cluster, "thief", 1, &json!({}));
    let second = start(&cluster);
    eventually("it waits for them", || {
        let status = cluster.status_of("high");
        let found = condition(&status, "Scheduled").map(|one| text(one, "/message"));
        found.is_some_and(|words| words.contains("until 4 pods have left"))
    });
    sleep(Duration::from_secs(3));
    assert_eq!(deleted(&cluster), members("low", 4), "nobody else went");
    assert_eq!(cluster.bound("bystander-"), 4);
    let_go(&cluster, "low", 4);
    bound(&cluster, "high", 4);
    assert_eq!(cluster.bound("thief-"), 0, "it was not first");
    assert_eq!(deleted(&cluster), members("low", 4));
    second.stop();
}

#[test]
fn room_that_nobody_waits_for_any_more_goes_to_the_next() {
    let cluster = scene_without_kubelets(1, "4");
    let muster = start(&cluster);
    gang(&cluster, "low", 4, &json!({"priority": -2}));
    bound(&cluster, "low", 4);
    gang(&cluster, "high", 4, &json!({"priority": 10}));
    eventually("they leave", || leaving(&cluster, "low", 4) == 4);
    let admin = Admin::of(&cluster.plane);
    admin.delete(&format!("{GROUPS}/high"));
    let_go(&cluster, "high", 4);
    gang(&cluster, "next", 4, &json!({"priority": -5}));
    let_go(&cluster, "low", 4);
    bound(&cluster, "next", 4);
    muster.stop();
}

/// B of eight CPUs heads the queue, A holds six of ten for 12 s. D, which fits beside A but would be
/// in the way of B, waits, whoever of the schedulers looks.
#[test]
fn a_successor_keeps_the_place_of_the_head_and_clears_it_in_time() {
    let cluster = scene(1, "10");
    let first = start(&cluster);
    gang(&cluster, "a", 6, &json!({"lifetime": "12s"}));
    bound(&cluster, "a", 6);
    gang(&cluster, "b", 8, &json!({"lifetime": "1h"}));
    let reserved = || !cluster.status_of("b")["estimatedStart"].is_null();
    eventually("a place is reserved", reserved);
    let estimate = cluster.status_of("b")["estimatedStart"].clone();
    first.crash();
    let second = start(&cluster);
    gang(&cluster, "d", 4, &json!({"lifetime": "30m"}));
    gang(&cluster, "e", 2, &json!({"lifetime": "30m"}));
    bound(&cluster, "e", 2);
    assert_eq!(cluster.bound("d-"), 0, "it would be in the way");
    bound(&cluster, "b", 8);
    assert_eq!(deleted(&cluster), members("a", 6), "their time was over");
    assert_eq!(cluster.bound("d-"), 0);
    let at = |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let late = audit::now().duration_since(at(&estimate)).as_secs_f64();
    eprintln!("bound {late:.1} s after the estimated start");
    assert!(late < 10.0, "{late}");
    second.stop();
}
