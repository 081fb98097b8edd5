//! `muster run --record` on a real API server, and `muster replay` of what it wrote.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, eventually};
use crate::process::Process;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

const GROUPS: &str = "/apis/muster.dev/v1alpha1/namespaces/default/podgroups";

/// A surplus that an important gang takes the place of, and a gang that finds no room.
fn work(cluster: &Cluster) {
    for (name, spec) in [
        ("elastic", json!({"minAvailable": 1})),
        ("high", json!({"minAvailable": 2, "priority": 100})),
        ("wide", json!({"minAvailable": 3})),
    ] {
        let object = json!({
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": spec,
        });
        eventually("the PodGroup is taken", || {
            cluster.plane.post(GROUPS, &object).is_ok()
        });
    }
}

fn replay(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muster"))
        .arg("replay")
        .arg(folder)
        .args(arguments)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    out
}

#[test]
fn what_a_scheduler_decides_is_recorded_and_replayed_also_where_it_is_killed() {
    let cluster = Cluster::start();
    cluster.nodes(2, "4");
    work(&cluster);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("record");
    let flags = ["--leader-elect=false", "--record", folder.to_str().unwrap()];
    let config = tempfile::NamedTempFile::with_suffix(".yaml").unwrap();
    let text = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n\
                podGroupPriority: AsGiven\n";
    std::fs::write(config.path(), text).unwrap();
    let config = ["--config", config.path().to_str().unwrap()];
    let flags = [&flags[..], &config].concat();
    let mut first = Process::start_as(&cluster.plane.kubeconfig(), &flags, &[]);
    cluster.pods("elastic", 2, "3");
    eventually("both are bound", || cluster.bound("elastic") == 2);
    cluster.pods("wide", 3, "4");
    eventually("who is too wide waits", || {
        cluster.status_of("wide")["position"] == 1
    });
    first.signal("-TERM");
    assert!(first.ended().success());
    let mut second = Process::start_as(&cluster.plane.kubeconfig(), &flags, &[]);
    cluster.pods("high", 2, "2");
    eventually("room is made", || cluster.bound("high") == 2);
    let metrics = second.get("/metrics");
    assert!(
        metrics.contains("muster_record_lost_entries_total 0"),
        "{metrics}"
    );
    assert!(
        !metrics.contains("muster_record_entries_total 0"),
        "{metrics}"
    );
    // What was written reaches the file a second after the last of it.
    let shown = || {
        let output = replay(&folder, &["--decisions", "-o", "json"]);
        let rows = said(&output);
        let rows = rows.lines().map(|line| serde_json::from_str(line).unwrap());
        rows.collect::<Vec<Value>>()
    };
    let of = |rows: &[Value], decision: &str, gang: &str| {
        let is = |row: &&Value| row["decision"] == decision && row["gang"] == gang;
        rows.iter().filter(is).cloned().collect::<Vec<_>>()
    };
    eventually("it is in the file", || {
        of(&shown(), "Bind", "default/high").len() == 2
    });
    second.signal("-KILL");
    assert!(!second.ended().success());
    let rows = shown();
    assert_eq!(of(&rows, "Bind", "default/elastic").len(), 2, "{rows:#?}");
    assert_eq!(
        of(&rows, "Refused", "default/wide")[0]["reason"],
        "Unschedulable"
    );
    let evicted = of(&rows, "Evict", "default/elastic");
    assert_eq!(evicted.len(), 1, "{rows:#?}");
    assert_eq!(evicted[0]["beneficiary"], "default/high");

    let outcome: Value = serde_json::from_str(&said(&replay(&folder, &["-o", "json"]))).unwrap();
    let terms = outcome["terms"].as_array().unwrap();
    assert_eq!(terms.len(), 2, "{outcome:#}");
    for term in terms {
        assert_eq!(term["came"], "Same", "{term:#}");
        assert_eq!(term["gaps"], json!([]), "{term:#}");
    }
    assert_eq!(terms[0]["binds"], 2, "{outcome:#}");
    assert!(terms[0]["cutOff"].is_null() && !terms[1]["cutOff"].is_null());
    let why = said(&replay(&folder, &["--why", "podgroup/wide"]));
    assert!(why.contains("default/wide: Inqueue"), "{why}");
}
