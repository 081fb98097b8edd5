//! `muster bench` with Muster as the scheduler that it starts.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, eventually};
use serde_json::Value;
use std::process::{Command, Output};

const MUSTER: &str = env!("CARGO_BIN_EXE_muster");

/// Muster's kinds are served a moment after they were applied.
fn cluster() -> Cluster {
    let cluster = Cluster::start();
    let served = || {
        let path = "/apis/muster.dev/v1alpha1/podgroups";
        cluster.plane.get(path).is_ok()
    };
    eventually("the kind is served", served);
    cluster
}

fn bench(cluster: &Cluster, flags: &[&str]) -> Output {
    let kubeconfig = cluster.plane.kubeconfig();
    let kubeconfig = kubeconfig.display();
    let run =
        format!("{MUSTER} run --kubeconfig {kubeconfig} --leader-elect=false --listen 127.0.0.1:0");
    Command::new(MUSTER)
        .args(["bench", "--output=json", "--exec", run.as_str()])
        .arg(format!("--kubeconfig={kubeconfig}"))
        .args(flags)
        .env_remove("RUST_LOG")
        .env_remove("POD_UID")
        .output()
        .unwrap()
}

#[test]
fn a_release_is_measured_beside_the_raw_rate_of_evictions_and_leaves_nothing_behind() {
    let cluster = cluster();
    let flags = [
        "--raw=evict",
        "--raw-in-flight=4",
        "--raw-pods=40",
        "--nodes=4",
        "--pods=40",
        "--gang-size=20",
        "--queues=2",
        "--timeout=60",
    ];
    let output = bench(&cluster, &flags);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    for rate in [
        "/raw/0/bindsPerSecond",
        "/raw/0/evictionsPerSecond",
        "/scheduled/bindsPerSecond",
        "/released/evictionsPerSecond",
        "/ofRaw",
        "/releasedOfRaw",
    ] {
        let found = report.pointer(rate).and_then(Value::as_f64);
        assert!(found.is_some_and(|rate| rate > 0.0), "{rate}: {report:#}");
    }
    assert_eq!(report["scheduled"]["bound"], 40);
    assert_eq!(
        report["released"]["evicted"], 38,
        "one of each gang was deleted"
    );
    // A gang has 5 s to become whole again.
    let first = report["released"]["delaySeconds"]["p50"].as_f64().unwrap();
    assert!((4.5..10.0).contains(&first), "{first}");
    nothing_is_left(&cluster);
}

fn nothing_is_left(cluster: &Cluster) {
    for path in [
        "/api/v1/nodes",
        "/apis/muster.dev/v1alpha1/queues",
        "/apis/muster.dev/v1alpha1/podgroups",
    ] {
        let found = cluster.plane.get(path).unwrap();
        assert_eq!(found["items"], Value::Array(Vec::new()), "{path}");
    }
}

#[test]
fn a_preemption_is_timed_from_submission_to_the_last_bind() {
    let cluster = cluster();
    let flags = [
        "--measure=preempt",
        "--raw=off",
        "--nodes=4",
        "--pods=32",
        "--timeout=60",
    ];
    let output = bench(&cluster, &flags);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let preempted = &report["preempted"];
    assert_eq!(preempted["bound"], 2, "{report:#}");
    assert_eq!(preempted["evicted"], 16, "two of the four nodes");
    let last = preempted["secondsToLastBind"].as_f64().unwrap();
    let first = preempted["secondsToFirstEviction"].as_f64().unwrap();
    assert!(0.0 < first && first < last && last < 60.0, "{report:#}");
    nothing_is_left(&cluster);
}

#[test]
fn pods_that_ask_for_more_than_amounts_are_bound_in_every_case() {
    let cluster = cluster();
    for (case, gang_size) in [
        ("node-affinity", 1),
        ("pod-affinity", 1),
        ("pod-anti-affinity", 1),
        ("topology-spread", 1),
        ("required-rack", 10),
        ("preferred-pod-affinity", 1),
        ("preferred-pod-anti-affinity", 1),
        ("preferred-topology-spread", 1),
        ("mixed-churn", 1),
    ] {
        let chosen = format!("--case={case}");
        let gang_size = format!("--gang-size={gang_size}");
        let flags = [
            chosen.as_str(),
            gang_size.as_str(),
            "--raw=off",
            "--nodes=20",
            "--pods=20",
            "--timeout=60",
        ];
        let output = bench(&cluster, &flags);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case}: {errors}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["case"], case);
        assert_eq!(report["scheduled"]["bound"], 20, "{case}: {report:#}");
    }
    nothing_is_left(&cluster);
}
