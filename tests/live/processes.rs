//! `muster run` as a process: pages, signals, and the loss of the lease.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, PODS, eventually};
use crate::process::{Process, free_lease, holder};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

#[test]
fn a_process_schedules_shows_its_pages_and_stops_on_sigterm_giving_the_lease_back() {
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    let mut process = Process::start(&cluster, &[]);
    eventually("it is ready", || {
        process.get("/readyz").starts_with("HTTP/1.1 200")
    });
    // There was no lease: somebody may hold it who does not know that yet.
    eventually("the lease is made", || {
        process
            .get("/readyz")
            .contains("standing by, unknown has the lease")
    });
    let took = eventually("it leads", || process.said("leading").is_some());
    assert!(took > Duration::from_millis(5_500), "{took:?}");
    cluster.gang("train", 2);
    cluster.pods("train", 2, "1");
    eventually("the gang is bound", || cluster.bound("train") == 2);
    assert!(process.get("/healthz").ends_with("ok\n"));
    let metrics = process.get("/metrics");
    assert!(
        metrics.contains("muster_binds_total{result=\"bound\"} 2"),
        "{metrics}"
    );
    assert!(metrics.contains("muster_leader 1"), "{metrics}");
    let placed = process.said("placed").unwrap();
    assert_eq!(placed["gang"], "default/train");
    assert_eq!(placed["pods"], 2);
    process.signal("-TERM");
    assert!(process.ended().success());
    assert!(holder(&cluster).is_null(), "the lease is free");
}

#[test]
fn the_log_names_pods_says_what_holds_all_the_time_once_and_has_each_field_once() {
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    let text = std::fs::read_to_string(cluster.plane.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_json::from_str(&text).unwrap();
    let server = &mut kubeconfig["clusters"][0]["cluster"];
    *server = json!({"server": server["server"], "insecure-skip-tls-verify": true});
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), kubeconfig.to_string()).unwrap();
    let process = Process::start_as(file.path(), &["--leader-elect=false"], &[]);
    let pod = json!({
        "metadata": {"name": "alone"},
        "spec": {"schedulerName": "muster", "containers": [{"name": "main", "image": "none"}]},
    });
    cluster.plane.post(PODS, &pod).unwrap();
    eventually("the pod is placed", || process.said("placed").is_some());
    assert_eq!(process.said("placed").unwrap()["gang"], "default/alone");
    let log = process.log();
    assert!(log.iter().all(Value::is_object), "{log:#?}");
    let warnings: Vec<&Value> = log.iter().filter(|line| line["level"] == "WARN").collect();
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    let said = warnings[0]["fields"]["message"].as_str().unwrap();
    assert!(said.contains("insecure-skip-tls-verify is set"), "{said}");
}

#[test]
fn a_process_that_loses_its_lease_ends_with_a_sentence_and_code_1() {
    let cluster = Cluster::start();
    free_lease(&cluster);
    let mut process = Process::start(&cluster, &[]);
    eventually("it leads", || process.said("leading").is_some());
    let thief = r#"{"spec":{"holderIdentity":"somebody-else"}}"#;
    let take = [
        "patch",
        "lease",
        "muster",
        "-n",
        "kube-system",
        "--type=merge",
        "-p",
        thief,
    ];
    cluster.plane.kubectl(&take).unwrap();
    assert_eq!(process.ended().code(), Some(1));
    let said = process.said("ended").unwrap();
    assert_eq!(
        said["error"],
        "lost the lease kube-system/muster: somebody-else holds it"
    );
}

#[test]
fn a_kubeconfig_that_is_not_there_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["run", "--kubeconfig", "/nowhere/kubeconfig"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("kubeconfig /nowhere/kubeconfig"), "{said}");
}
