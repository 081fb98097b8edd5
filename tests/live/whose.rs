//! Muster beside kube-scheduler and Volcano's PodGroups: what is not ours is left alone.

use crate::live::{Cluster, PODS, condition, eventually, text};
use muster_devcluster::fake_node;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;

const UPSTREAM: &str = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";
const VOLCANO: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";

/// Whatever was to be written is written after so long, and healed once.
const LONG_ENOUGH: Duration = Duration::from_secs(5);

/// A pod of kube-scheduler's in an upstream PodGroup.
fn theirs(index: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("theirs-{index}")},
        "spec": {
            "schedulingGroup": {"podGroupName": "theirs"},
            "containers": [{
                "name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}},
            }],
        },
    })
}

#[test]
fn nothing_is_written_on_groups_of_kube_scheduler_and_of_volcano() {
    let cluster = Cluster::of(|builder| builder.upstream_pod_groups(true).kube_scheduler(true));
    cluster.apply_folder("crds");
    cluster.apply_folder("deploy/compat");
    cluster.nodes(2, "4");
    let muster = cluster.muster();
    let get = |path: &str, name: &str| cluster.plane.get(&format!("{path}/{name}")).unwrap();
    cluster.apply(
        "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: theirs}, \
         spec: {schedulingPolicy: {gang: {minCount: 2}}}}",
    );
    let volcanos = |label: &str| {
        format!(
            "{{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, \
             metadata: {{name: v, labels: {{{label}}}}}, \
             spec: {{minMember: 2, minResources: {{cpu: 3}}}}}}"
        )
    };
    eventually("Volcano's kind is served", || {
        cluster.plane.kubectl_apply_stdin(&volcanos("")).is_ok()
    });
    for index in 0..2 {
        cluster.plane.post(PODS, &theirs(index)).unwrap();
    }
    let scheduled = || {
        let group = get(UPSTREAM, "theirs");
        condition(&group["status"], "PodGroupInitiallyScheduled")
            .is_some_and(|found| found["status"] == "True")
    };
    eventually("kube-scheduler says that it scheduled its group", scheduled);
    // All the room that is left; none is set aside for Volcano's.
    cluster.gang("ours", 6);
    cluster.pods("ours", 6, "1");
    eventually("ours is bound", || cluster.bound("ours") == 6);
    let version = |object: &Value| text(object, "/metadata/resourceVersion");
    let before = [get(UPSTREAM, "theirs"), get(VOLCANO, "v")];
    sleep(LONG_ENOUGH);
    let after = [get(UPSTREAM, "theirs"), get(VOLCANO, "v")];
    assert_eq!(
        before.each_ref().map(version),
        after.each_ref().map(version)
    );
    assert!(scheduled());
    assert_eq!(after[1]["status"]["phase"], Value::Null, "{}", after[1]);

    cluster.delete_now("ours-0");
    cluster.delete_now("ours-1");
    cluster.delete_now("ours-2");
    cluster.apply(&volcanos("muster.dev/scheduler-name: muster"));
    eventually("a group that is claimed has its phase", || {
        get(VOLCANO, "v")["status"]["phase"] == "Inqueue"
    });
    // It is given up: what others write on it stays.
    cluster.apply(&volcanos(""));
    let patch = json!({"status": {"phase": "Unknown"}}).to_string();
    let group = "podgroup.v1beta1.scheduling.volcano.sh";
    let arguments = ["patch", group, "v", "--type=merge", "-p", &patch];
    sleep(Duration::from_secs(1));
    cluster.plane.kubectl(&arguments).unwrap();
    sleep(LONG_ENOUGH);
    assert_eq!(get(VOLCANO, "v")["status"]["phase"], "Unknown");
    muster.stop();
}

#[test]
fn clients_of_volcano_find_events_on_their_podgroup() {
    let cluster = Cluster::start();
    cluster.apply_folder("deploy/compat");
    let group = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, \
                 metadata: {name: v}, spec: {minMember: 2}}";
    eventually("Volcano's kind is served", || {
        cluster.plane.kubectl_apply_stdin(group).is_ok()
    });
    cluster.nodes(1, "1");
    let muster = cluster.muster();
    cluster.pods("v", 2, "1");
    let said = |event: &str| cluster.events("v").iter().any(|one| one.starts_with(event));
    eventually("it is said that it waits", || said("Unschedulable: "));
    assert!(!said("Scheduled: "));
    let late = |_| fake_node("late", &[("cpu", "1"), ("memory", "64Gi")]);
    cluster.plane.create_nodes(1, late).unwrap();
    eventually("it is said that it is scheduled", || said("Scheduled: "));
    muster.stop();
}
