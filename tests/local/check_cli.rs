//! `muster check` as a user has it.

use crate::simulate::fed;
use serde_json::{Value, json};
use std::process::Output;

const CLUSTER: &str = r#"
apiVersion: v1
kind: Pod
metadata: {name: claims, namespace: team}
spec:
  schedulerName: default-scheduler
  resourceClaims: [{name: gpu, resourceClaimName: gpu}]
  containers: [{name: main, image: x}]
---
apiVersion: v1
kind: Pod
metadata: {name: lost, namespace: team, labels: {muster.dev/pod-group: nobody}}
spec: {schedulerName: muster, containers: [{name: main, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: stranger, namespace: team}
spec: {schedulerName: theirs, resourceClaims: [{name: g, resourceClaimName: g}], containers: [{name: main, image: x}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: spark, namespace: team}
spec: {minMember: 1, queue: research, minResources: {memory: 1536m}}
---
apiVersion: v1
kind: Pod
metadata:
  name: driver
  namespace: team
  annotations: {scheduling.k8s.io/group-name: spark}
spec: {schedulerName: volcano, containers: [{name: main, image: x}]}
"#;

fn check(text: &str, arguments: &[&str]) -> Output {
    fed(text, &[&["check", "-"], arguments].concat())
}

fn printed(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

#[test]
fn what_would_wait_and_what_is_read_otherwise_is_said_of_each() {
    let found = check(CLUSTER, &["--output", "json"]);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    let found: Value = serde_json::from_str(printed(&found)).unwrap();
    let findings = json!([
        {"effect": "Waits", "message": "PodGroup team/nobody does not exist", "objects": ["pod team/lost"]},
        {"effect": "Waits", "message": "Queue research does not exist", "objects": ["pod team/driver"]},
        {"effect": "Waits", "message": "not supported: spec.resourceClaims (dynamic resource allocation)", "objects": ["pod team/claims"]},
        {
            "effect": "ReadOtherwise",
            "message": "minResources of 1536m memory are thousandths of a byte: 1536Mi are held",
            "objects": ["PodGroup team/spark"],
        },
    ]);
    assert_eq!(found["findings"], findings);
    let counts = ["pods", "podsOfOthers", "podGroups", "queues"].map(|name| &found[name]);
    assert_eq!(counts, [3, 1, 1, 0].map(|count| json!(count)).each_ref());
}

#[test]
fn whom_muster_would_take_over_may_be_said() {
    let found = check(CLUSTER, &["--scheduler", "theirs"]);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    let wanted =
        "2 pods of schedulers that Muster would stand in for, 2 of others; 1 PodGroup, 0 Queues

Would wait, and be told why:
  PodGroup team/nobody does not exist
    pod team/lost
  not supported: spec.resourceClaims (dynamic resource allocation)
    pod team/stranger

Would go, and is read otherwise than it is written:
  minResources of 1536m memory are thousandths of a byte: 1536Mi are held
    PodGroup team/spark
";
    assert_eq!(printed(&found), wanted);
}

#[test]
fn where_nothing_is_found_that_is_said() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x}]}}";
    let found = check(pod, &[]);
    assert_eq!(found.status.code(), Some(0), "{found:?}");
    assert!(
        printed(&found).contains("nothing would wait but for room"),
        "{found:?}"
    );
    let wrong = check("kind: Pod", &[]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}

/// What defines a gang is found where a scheduler finds it.
#[test]
fn a_budget_that_defines_a_gang_is_no_missing_scheduling_spec() {
    let pods = r"
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {muster.dev/scheduling-spec: train}}
spec: {schedulerName: muster, containers: [{name: main, image: x}]}
";
    let budget = r"---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: b
  ownerReferences: [{apiVersion: example.com/v1, kind: Training, name: train, uid: u, controller: true}]
spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}
";
    let without = check(pods, &[]);
    assert_eq!(without.status.code(), Some(1), "{without:?}");
    let with = check(&format!("{pods}{budget}"), &[]);
    assert_eq!(with.status.code(), Some(0), "{with:?}");
    assert!(printed(&with).contains("0 PodGroups"), "{with:?}");
}
