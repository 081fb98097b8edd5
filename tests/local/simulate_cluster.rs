//! `muster simulate` of what a cluster printed, as a user calls it.

use crate::simulate::fed;
use crate::simulate_cli::stderr;
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

const CLUSTER: &str = r#"apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n1, uid: u-n1, creationTimestamp: "2026-01-01T00:00:00Z"}
  status: {allocatable: {cpu: "4", pods: "10"}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, namespace: default, uid: u-web, creationTimestamp: "2026-01-31T11:00:00Z"}
- apiVersion: v1
  kind: Pod
  metadata: {name: runs, namespace: default, uid: u-1, creationTimestamp: "2026-01-31T11:00:00Z"}
  spec: {schedulerName: muster, nodeName: n1, containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}
  status: {phase: Running}
- apiVersion: v1
  kind: Pod
  metadata: {name: waits, namespace: default, uid: u-2, creationTimestamp: "2026-01-31T12:00:00Z"}
  spec: {schedulerName: muster, containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}
  status: {phase: Pending}
kind: List
metadata:
  resourceVersion: ""
"#;

const MORE: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: n2}\nstatus: {allocatable: {cpu: \"4\", pods: \"10\"}}\n";

fn simulate(files: &[&str], arguments: &[&str]) -> Output {
    let muster = env!("CARGO_BIN_EXE_muster");
    let all = [&["simulate"], files, arguments].concat();
    Command::new(muster).args(all).output().unwrap()
}

#[test]
fn a_dump_is_played_and_says_what_was_passed_over() {
    let output = fed(
        CLUSTER,
        &["simulate", "-", "--until", "1m", "--output", "json"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        stderr(&output),
        "zero is 2026-01-31T12:00:00Z: the newest time, of Pod default/waits\npassed over: 1 Deployment\n"
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let pods = report["pods"].as_array().unwrap();
    assert_eq!(pods[0]["submittedAt"], -3_600.0);
    assert_eq!(
        (&pods[0]["node"], &pods[1]["node"]),
        (&"n1".into(), &Value::Null)
    );
    let output = fed(CLUSTER, &["simulate", "-", "--strict"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).starts_with("-:7: kind \"Deployment\" is not known"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_other_choices_are_read_and_what_is_wrong_with_them_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (dump, edits, durations) = (
        path("dump.yaml"),
        path("edits.yaml"),
        path("durations.yaml"),
    );
    fs::write(&dump, CLUSTER).unwrap();
    fs::write(&edits, MORE).unwrap();
    let rules = "apiVersion: simulate.muster.dev/v1\nkind: Durations\nrules: [{queue: default, durations: [2h]}]\n";
    fs::write(&durations, rules).unwrap();
    let json = |arguments: &[&str]| -> Value {
        let output = simulate(&[&dump], &[&["--output", "json"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let report = json(&["--default-duration", "90m"]);
    assert_eq!(report["pods"][0]["finishedAt"], 1_800.0);
    let report = json(&["--durations", &durations]);
    assert_eq!(report["pods"][0]["finishedAt"], 3_600.0);
    let report = json(&["--now", "2026-01-31T13:00:00Z"]);
    assert_eq!(report["pods"][1]["submittedAt"], -3_600.0);
    let report = json(&["--what-if", &edits]);
    assert_eq!(report["difference"]["starts"][0]["name"], "waits");
    let table = simulate(&[&dump], &["--what-if", &edits]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(
        table.ends_with("> with the edits: 1 starts, and would wait\n"),
        "{table}"
    );

    let refused = |arguments: &[&str], words: &str| {
        let output = simulate(&[&dump], arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains(words), "{said}");
    };
    refused(
        &["--now", "today"],
        "\"today\" is not a date such as 2026-01-31T12:00:00Z",
    );
    refused(
        &["--durations", &edits],
        "field \"metadata\" is not known; known are apiVersion, kind, rules",
    );
    refused(
        &["--what-if", "/nowhere/edits.yaml"],
        "cannot read /nowhere/edits.yaml: ",
    );
    fs::write(&edits, MORE.replace("Node", "Nod")).unwrap();
    refused(
        &["--what-if", &edits],
        "edits.yaml:1: kind \"Nod\" is not known",
    );
}

#[test]
fn a_snapshot_that_is_cut_off_or_another_file_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("snapshot.gz");
    let name = file.display().to_string();
    let objects: Vec<Value> = (0..50)
        .map(|number| {
            serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{number}"),
                "uid": format!("u{number}"), "creationTimestamp": "2026-01-01T00:00:00Z"},
                "status": {"allocatable": {"cpu": "4", "pods": "10"}}})
        })
        .collect();
    let mut writer = muster::api::snapshot::Writer::new(Vec::new(), false).unwrap();
    objects
        .iter()
        .for_each(|object| writer.object(object).unwrap());
    let (bytes, count) = writer.end("2026-01-31T12:00:00Z").unwrap();
    assert_eq!(count, 50);
    let play = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        let output = simulate(&[&name], &["--until", "1m"]);
        (output.status.code(), stderr(&output))
    };
    let (code, said) = play(&bytes);
    assert_eq!(code, Some(0));
    assert_eq!(
        said,
        "zero is 2026-01-31T12:00:00Z: the snapshot was taken then\n"
    );
    let (code, said) = play(&bytes[..bytes.len() / 2]);
    assert_eq!(
        (code, said),
        (
            Some(2),
            format!("{name}: it is cut off: it ends in the middle of what is compressed\n")
        )
    );
    let (code, said) = play(b"\x1f\x8b\x08 no such thing");
    assert_eq!(code, Some(2));
    assert!(said.starts_with(&format!("{name}: it is ")), "{said}");
    let (code, said) = play(b"\x28\xb5\x2f\xfd of another program");
    assert_eq!(
        (code, said),
        (
            Some(2),
            format!("{name}:1:2: found other bytes: expected text in UTF-8\n")
        )
    );
    let newer =
        b"{\"apiVersion\":\"snapshot.muster.dev/v2\",\"kind\":\"Snapshot\",\"muster\":\"9.0.0\"}\n";
    let (code, said) = play(newer);
    assert_eq!(code, Some(2));
    assert!(
        said.contains(
            ":1: it is a snapshot of version \"snapshot.muster.dev/v2\", written by muster 9.0.0"
        ),
        "{said}"
    );
}
