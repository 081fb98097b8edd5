//! `muster convert` as a user meets it: what it prints, what it says, and that Muster takes what it prints.

use crate::simulate::{fed, simulate};
use serde_json::Value;
use std::process::Output;

fn convert(text: &str, arguments: &[&str]) -> Output {
    fed(text, &[&["convert"], arguments].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A node, and Volcano's Job of three pods that ask for a CPU each in a queue.
const NODE: &str = "
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: \"4\", memory: 8Gi, pods: \"10\"}}
---
";
const VOLCANO: &str = "
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec: {weight: 2, reclaimable: true, capability: {cpu: 3}, deserved: {cpu: 2}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: default}
spec:
  minAvailable: 3
  queue: research
  tasks:
  - name: ps
    replicas: 1
    template: &pod
      spec: {containers: [{name: c, image: i, resources: {requests: {cpu: \"1\"}}}]}
  - name: worker
    replicas: 2
    template: *pod
";

#[test]
fn what_is_printed_is_played_and_what_is_not_converted_is_said() {
    let output = convert(VOLCANO, &["-"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(
        said.starts_with("-: Queue research: spec.deserved: a queue's share"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    let scenario = format!("{NODE}{}", text(&output.stdout));
    let played = simulate(&scenario, &["--until", "10s", "--output", "json"]);
    assert_eq!(played.status.code(), Some(0), "{}", text(&played.stderr));
    let report: Value = serde_json::from_slice(&played.stdout).unwrap();
    let gang = &report["podGroups"][0];
    assert_eq!(
        (&gang["name"], &gang["queue"], &gang["bound"]),
        (&"train".into(), &"research".into(), &3.into())
    );
    assert_eq!(report["queues"][0]["name"], "research");
}

#[test]
fn what_cannot_be_used_is_said_with_its_place() {
    let wrong = convert("kind: [1\n", &["-"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        text(&wrong.stderr).starts_with("-:"),
        "{}",
        text(&wrong.stderr)
    );
    let absent = convert("", &["/nowhere/q.yaml"]);
    assert_eq!(absent.status.code(), Some(2));
    assert!(text(&absent.stderr).starts_with("cannot read /nowhere/q.yaml: "));
    let nothing = convert("kind: Deployment\nmetadata: {name: d}\n", &["-"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert_eq!(
        text(&nothing.stderr),
        "-: Deployment d: is not converted\nthere is nothing to convert\n"
    );
}
