//! Muster on a real API server: what a user sees.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, PODS, condition, eventually, pod, text};
use muster::cluster::health::Role;
use muster::cluster::lease::{Identity, LeaseOptions};
use serde_json::{Value, json};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

#[test]
fn a_gang_is_bound_as_a_whole_and_says_so() {
    let cluster = Cluster::start();
    cluster.nodes(2, "4");
    let muster = cluster.muster();
    cluster.gang("train", 4);
    cluster.pods("train", 3, "2");
    sleep(Duration::from_millis(500));
    assert_eq!(cluster.bound("train"), 0, "three of four start nothing");
    cluster.plane.post(PODS, &pod("train", 3, "2")).unwrap();
    eventually("the gang is bound", || cluster.bound("train") == 4);
    eventually("it runs", || {
        cluster.status_of("train")["phase"] == "Running"
            && cluster.status_of("train")["running"] == 4
    });
    let node = cluster.placed("train")["train-0"].clone().unwrap();
    let scheduled = format!("Scheduled: Successfully assigned default/train-0 to {node}");
    eventually("the event is there", || {
        cluster.events("train-0").contains(&scheduled)
    });
    // kubectl remembers the kinds of a server for hours, and these are newer.
    let fresh = cluster.plane.dir().join("fresh-cache");
    let fresh = format!("--cache-dir={}", fresh.display());
    let table = cluster
        .plane
        .kubectl(&["get", "muster", "-A", fresh.as_str()])
        .unwrap();
    assert!(table.contains("train"), "{table}");
    assert!(table.contains("Running"), "{table}");
    assert!(
        muster.health.problems().is_empty(),
        "{:?}",
        muster.health.problems()
    );
    let metrics = muster.metrics.text().unwrap();
    assert!(
        metrics.contains("muster_binds_total{result=\"bound\"} 4"),
        "{metrics}"
    );
    muster.stop();
}

#[test]
fn a_gang_that_does_not_fit_waits_with_condition_event_and_reason() {
    let cluster = Cluster::start();
    cluster.nodes(1, "4");
    let muster = cluster.muster();
    cluster.gang("big", 3);
    cluster.pods("big", 3, "2");
    let says = "0/1 nodes are available";
    eventually("the pod says why", || {
        let status = cluster.pod("big-0")["status"].clone();
        condition(&status, "PodScheduled").is_some_and(|found| {
            found["status"] == "False"
                && found["reason"] == "Unschedulable"
                && text(found, "/message").contains(says)
        })
    });
    eventually("and so does an event", || {
        let events = cluster.events("big-0");
        events
            .iter()
            .any(|event| event.starts_with("FailedScheduling: ") && event.contains(says))
    });
    eventually("and the gang", || {
        condition(&cluster.status_of("big"), "Scheduled")
            .is_some_and(|found| found["status"] == "False")
    });
    assert_eq!(cluster.bound("big"), 0);
    assert_eq!(cluster.status_of("big")["position"], 1);
    cluster
        .plane
        .create_nodes(1, |_| {
            muster_devcluster::fake_node("more", &[("cpu", "4"), ("memory", "64Gi")])
        })
        .unwrap();
    eventually("room makes it start", || cluster.bound("big") == 3);
    muster.stop();
}

/// A gang that may grow, and says to how many.
const ELASTIC: &str = r"
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: elastic}
spec: {minAvailable: 2, replicas: 3}
";

#[test]
fn a_gang_grows_to_what_its_scale_subresource_says() {
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    let muster = cluster.muster();
    cluster.gang("boundless", 1);
    cluster.apply(ELASTIC);
    cluster.pods("elastic", 6, "1");
    let scale = "/apis/muster.dev/v1alpha1/namespaces/default/podgroups/elastic/scale";
    let says = |replicas: u64| {
        let found = cluster.plane.get(scale).unwrap();
        found["spec"]["replicas"] == replicas && found["status"]["replicas"] == replicas
    };
    eventually("it grows to three", || {
        cluster.bound("elastic") == 3 && says(3)
    });
    let found = cluster.plane.get(scale).unwrap();
    assert_eq!(found["status"]["selector"], "muster.dev/pod-group=elastic");
    eventually("who waits says why", || {
        let status = cluster.pod("elastic-5")["status"].clone();
        condition(&status, "PodScheduled").is_some_and(|found| found["reason"] == "AtMaximum")
    });
    // kubectl remembers the kinds of a server for hours, and these are newer.
    let fresh = cluster.plane.dir().join("fresh-cache");
    let fresh = format!("--cache-dir={}", fresh.display());
    let kubectl = |gang: &str, replicas: u64| {
        let (gang, replicas) = (format!("mpg/{gang}"), format!("--replicas={replicas}"));
        let answer = cluster.plane.kubectl(&["scale", &gang, &replicas, &fresh]);
        answer.map_err(|error| format!("{error:#}"))
    };
    kubectl("elastic", 5).unwrap();
    eventually("it grows to five", || {
        cluster.bound("elastic") == 5 && says(5)
    });
    let refused = kubectl("elastic", 1).unwrap_err();
    assert!(
        refused.contains("replicas is below minAvailable"),
        "{refused}"
    );
    // One that names no number has none to read, and may be given one.
    let scale = scale.replace("elastic", "boundless");
    let refused = cluster.plane.get(&scale).unwrap_err();
    assert!(format!("{refused:#}").contains("replicas"), "{refused:#}");
    kubectl("boundless", 3).unwrap();
    assert_eq!(cluster.plane.get(&scale).unwrap()["spec"]["replicas"], 3);
    muster.stop();
}

/// Refuses to bind this pod, for good.
const REFUSE_ONE: &str = r"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuse-one}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: ['']
      apiVersions: [v1]
      operations: [CREATE]
      resources: [pods/binding]
  validations:
  - expression: request.name != 'unlucky-2'
    message: unlucky-2 may not run here
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuse-one}
spec:
  policyName: refuse-one
  validationActions: [Deny]
";

#[test]
fn a_member_refused_for_good_releases_the_gang_which_says_who_and_why() {
    let cluster = Cluster::start();
    cluster.nodes(2, "8");
    cluster.apply(REFUSE_ONE);
    cluster.refuses_to_bind("unlucky-2", "node-0", "may not run here");
    let muster = cluster.muster();
    cluster.gang("unlucky", 4);
    cluster.pods("unlucky", 4, "2");
    eventually("the first binds are tried", || {
        muster
            .metrics
            .text()
            .unwrap()
            .contains("muster_binds_total{result=\"refused\"}")
    });
    let took = eventually("nothing of the gang is bound any more", || {
        cluster.bound("unlucky") == 0
    });
    assert!(took < Duration::from_secs(10), "{took:?}");
    eventually("the gang says who and why", || {
        let status = cluster.status_of("unlucky").to_string();
        status.contains("unlucky-2") && status.contains("may not run here")
    });
    muster.stop();
}

#[test]
fn a_running_gang_that_lost_a_member_for_good_leaves_its_nodes_whole() {
    let cluster = Cluster::start();
    cluster.nodes(2, "4");
    let muster = cluster.muster();
    cluster.gang("train", 3);
    cluster.pods("train", 3, "2");
    eventually("it runs", || cluster.status_of("train")["running"] == 3);
    cluster
        .plane
        .kubectl(&["delete", "pod", "train-0", "--force", "--grace-period=0"])
        .unwrap();
    let took = eventually("the others are evicted", || {
        cluster.placed("train").is_empty()
    });
    assert!(took < Duration::from_secs(10), "{took:?}");
    eventually("and their events say why", || {
        let events = cluster.events("train-1");
        events
            .iter()
            .any(|event| event.starts_with("Released: only 2 of 3 members"))
    });
    eventually("so does the gang", || {
        condition(&cluster.status_of("train"), "Disrupted")
            .is_some_and(|found| found["status"] == "True")
    });
    muster.stop();
}

#[test]
fn a_start_after_a_crash_in_mid_wave_completes_the_gang() {
    let cluster = Cluster::start();
    cluster.nodes(20, "8");
    cluster.gang("wave", 120);
    cluster.pods("wave", 120, "1");
    let muster = cluster.muster();
    eventually("some are bound", || cluster.bound("wave") > 0);
    muster.crash();
    sleep(Duration::from_secs(1));
    let left = cluster.bound("wave");
    let muster = cluster.muster();
    eventually("all are bound", || cluster.bound("wave") == 120);
    eventually("and it says so", || {
        cluster.status_of("wave")["phase"] == "Running"
    });
    eprintln!("crashed after {left} binds");
    let mut used = std::collections::BTreeMap::new();
    for node in cluster.placed("wave").into_values().flatten() {
        *used.entry(node).or_insert(0) += 1;
    }
    assert!(used.values().all(|pods| *pods <= 8), "{used:?}");
    muster.stop();
}

#[test]
fn without_its_kinds_it_is_not_ready_and_says_which() {
    let cluster = Cluster::bare();
    cluster.nodes(1, "4");
    let muster = cluster.muster();
    eventually("it says what is missing", || {
        let problems = muster.health.problems().join("\n");
        problems.contains("podgroups.muster.dev: the API server does not serve this kind")
            && problems.contains("queues.muster.dev: the API server does not serve this kind")
            && problems.contains("kubectl apply -f crds/")
    });
    let mut single = pod("none", 0, "1");
    single["metadata"]["annotations"] = json!({});
    cluster.plane.post(PODS, &single).unwrap();
    sleep(Duration::from_secs(1));
    assert_eq!(
        cluster.bound("none"),
        0,
        "nothing is decided before all is known"
    );
    cluster.apply_folder("crds");
    eventually("installing them is enough", || cluster.bound("none") == 1);
    eventually("it is ready", || muster.health.problems().is_empty());
    muster.stop();
}

#[test]
fn a_second_instance_stands_by_until_the_lease_is_given_back() {
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    let lease = |identity: &str| {
        Some(LeaseOptions {
            namespace: "kube-system".to_owned(),
            name: "muster".to_owned(),
            identity: Identity::of_process(identity),
        })
    };
    let admin = cluster.plane.kubeconfig();
    let first = cluster.muster_as(&admin, lease("first"));
    eventually("the first leads", || first.health.problems().is_empty());
    let second = cluster.muster_as(&admin, lease("second"));
    eventually("the second stands by", || {
        second.health.role() == Role::StandingBy
    });
    cluster.gang("one", 1);
    cluster.pods("one", 1, "1");
    eventually("the first schedules", || cluster.bound("one") == 1);
    first.stop();
    cluster.gang("two", 1);
    cluster.pods("two", 1, "1");
    eventually("the second takes over", || cluster.bound("two") == 1);
    second.stop();
}

#[test]
fn what_others_say_of_an_upstream_pod_group_stays() {
    let cluster = Cluster::of(|builder| builder.upstream_pod_groups(true));
    cluster.apply_folder("crds");
    cluster.apply(
        "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, \
         metadata: {name: shared, labels: {muster.dev/scheduler-name: muster}}, \
         spec: {schedulingPolicy: {gang: {minCount: 2}}}}",
    );
    let theirs = json!({"status": {"conditions": [{
        "type": "Example", "status": "True", "reason": "Theirs", "message": "kept",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    let patch = theirs.to_string();
    let group = "podgroup.v1beta1.scheduling.k8s.io";
    let status = ["--subresource=status", "--type=merge", "-p", &patch];
    let arguments = [&["patch", group, "shared"], &status[..]].concat();
    cluster.plane.kubectl(&arguments).unwrap();
    let muster = cluster.muster();
    let path = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups/shared";
    let said = |kind: &str| {
        let group = cluster.plane.get(path).unwrap();
        condition(&group["status"], kind).map(|found| text(found, "/message"))
    };
    eventually("it says that it waits", || {
        said("PodGroupInitiallyScheduled").is_some_and(|words| words == "0 of 2 pods exist")
    });
    assert_eq!(said("Example").as_deref(), Some("kept"));
    muster.stop();
}

/// What a client says of a PodGroup of Volcano's that it applies again, with the pod that owns it by now.
fn applied_again(owner: &str, status: &str) -> String {
    format!(
        "{{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {{name: g, \
         ownerReferences: [{{apiVersion: v1, kind: Pod, name: driver, uid: {owner}, controller: true}}]}}, \
         spec: {{minMember: 1, minResources: {{cpu: '2'}}}}{status}}}"
    )
}

#[test]
fn a_podgroup_that_is_applied_again_by_force_keeps_its_status_and_what_others_wrote_on_it() {
    let cluster = Cluster::start();
    cluster.apply_folder("deploy/compat");
    cluster.nodes(1, "4");
    let path = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/g";
    let apply = |text: &str| {
        let file = cluster.plane.dir().join("applied.yaml");
        fs::write(&file, text).unwrap();
        let how = ["apply", "--server-side", "--force-conflicts"];
        let what = ["--field-manager=client", "-f", file.to_str().unwrap()];
        cluster.plane.kubectl(&[&how[..], &what].concat()).is_ok()
    };
    eventually("the PodGroup is taken", || {
        apply(
            "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g}, \
             spec: {minMember: 1, minResources: {cpu: '2'}}}",
        )
    });
    let note = ["annotate", "podgroups.scheduling.volcano.sh", "g"];
    let note = [&note[..], &["example.com/note=kept"]].concat();
    cluster.plane.kubectl(&note).unwrap();
    let muster = cluster.muster();
    let mut driver = pod("g", 0, "1");
    driver["metadata"]["name"] = json!("driver");
    cluster.plane.post(PODS, &driver).unwrap();
    let group = || cluster.plane.get(path).unwrap();
    let runs = || {
        let group = group();
        text(&group, "/status/phase") == "Running" && group["status"]["running"] == 1
    };
    eventually("it runs, and its status says so", runs);
    let uid = text(&cluster.pod("driver"), "/metadata/uid");
    let status = group()["status"].clone();

    // Spark does so: it makes the PodGroup before the driver that is to own it.
    assert!(apply(&applied_again(&uid, "")));
    let again = group();
    assert_eq!(text(&again, "/metadata/ownerReferences/0/uid"), uid);
    assert_eq!(again["status"], status);
    let noted = text(&again, "/metadata/annotations/example.com~1note");
    assert_eq!(noted, "kept");
    // Volcano's kind has no subresource: who says a status there, as operators do, is believed by the API server only.
    assert!(apply(&applied_again(&uid, ", status: {phase: Pending}")));
    eventually("its status is what is so", runs);
    let driver = cluster.pod("driver");
    assert_eq!(text(&driver, "/metadata/uid"), uid);
    assert_eq!(driver["metadata"]["deletionTimestamp"], Value::Null);
    muster.stop();
}
