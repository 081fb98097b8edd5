//! `muster bench` with Muster as the scheduler that it starts.
//!
//! Needs what `hack/build-control-plane` builds.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/live.rs"]
mod live;

use live::{Cluster, eventually};
use serde_json::Value;
use std::process::{Command, Output};

const MUSTER: &str = env!("CARGO_BIN_EXE_muster");

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
    let cluster = Cluster::start();
    eventually("the kind is served", || {
        cluster
            .plane
            .get("/apis/muster.dev/v1alpha1/podgroups")
            .is_ok()
    });
    let flags = [
        "--raw=evict",
        "--raw-in-flight=4",
        "--raw-pods=40",
        "--nodes=4",
        "--pods=40",
        "--gang-size=20",
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
    let nodes = cluster.plane.get("/api/v1/nodes").unwrap();
    assert_eq!(nodes["items"], Value::Array(Vec::new()));
}
