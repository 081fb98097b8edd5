//! QueueJobs in `muster simulate`: played to their end, restarted, deleted, and refused.

use crate::simulate::simulate;
use crate::simulate_cli::stderr;
use muster::api::{Reading, crd::QueueJob};
use muster::controllers::{Other, Resource};
use muster::core::engine::Policy;
use muster::model::units::Time;
use muster::sim::driver::Driver;
use muster::sim::network::Network;
use muster::sim::scenario::{Source, load};

const NODES: &str = "apiVersion: v1
kind: Node
metadata:
  name: n$(INDEX)
  annotations: {simulate.muster.dev/replicas: \"4\"}
status: {allocatable: {cpu: \"1\", memory: 4Gi, pods: \"10\"}}
---
";

/// A QueueJob of three workers that run for a minute and end so.
fn job(annotations: &str, ends: &str, rest: &str) -> String {
    format!(
        "apiVersion: muster.dev/v1alpha1
kind: QueueJob
metadata: {{name: train, namespace: default, annotations: {{{annotations}}}}}
spec:
  backoffLimit: 1
  {rest}
  taskSpecs:
    - name: worker
      replicas: 3
      template:
        metadata: {{annotations: {{simulate.muster.dev/duration: 60s, simulate.muster.dev/ends: {ends}}}}}
        spec: {{containers: [{{name: c, image: x, resources: {{requests: {{cpu: \"1\"}}}}}}]}}
"
    )
}

/// Plays so many seconds.
fn played(text: &str, seconds: u64) -> Driver {
    let source = Source {
        name: "test".to_owned(),
        text: text.to_owned(),
    };
    let scenario = load(&[source], &Reading::default()).unwrap();
    let mut driver = Driver::new(scenario, Policy::default(), Network::calm(0));
    driver.run(Time::from_secs(seconds), |_| {});
    driver
}

#[test]
fn a_queue_job_runs_its_pods_to_their_end_and_goes_after_its_time() {
    let text = NODES.to_owned() + &job("", "Succeeded", "ttlSecondsAfterFinished: 100");
    let driver = played(&text, 30);
    let job: QueueJob = driver
        .server()
        .whole_of(Resource::QueueJobs)
        .next()
        .unwrap();
    let status = job.status.unwrap();
    assert_eq!((status.pending, status.running), (0, 3));
    let specs: Vec<Other> = driver
        .server()
        .whole_of(Resource::SchedulingSpecs)
        .collect();
    assert_eq!(specs[0].spec["minAvailable"], 3);
    let driver = played(&text, 90);
    let job: QueueJob = driver
        .server()
        .whole_of(Resource::QueueJobs)
        .next()
        .unwrap();
    let status = job.status.unwrap();
    assert_eq!(status.succeeded, 3);
    assert!(
        status
            .conditions
            .iter()
            .any(|one| one.reason == "CompletionsReached")
    );
    let driver = played(&text, 300);
    assert_eq!(
        driver
            .server()
            .whole_of::<QueueJob>(Resource::QueueJobs)
            .count(),
        0
    );
    assert_eq!(
        driver
            .server()
            .whole_of::<Other>(Resource::SchedulingSpecs)
            .count(),
        0
    );
    assert_eq!(driver.server().pods().count(), 0);
}

#[test]
fn one_whose_pods_fail_is_made_anew_as_a_gang_until_that_was_once_too_often() {
    let text = NODES.to_owned() + &job("", "Failed", "schedSpec: {priority: 3}");
    let driver = played(&text, 120);
    let job: QueueJob = driver
        .server()
        .whole_of(Resource::QueueJobs)
        .next()
        .unwrap();
    let status = job.status.unwrap();
    assert_eq!(
        (
            status.restarts,
            status.failures,
            status.failed,
            status.running
        ),
        (1, 1, 1, 3)
    );
    let driver = played(&text, 300);
    let job: QueueJob = driver
        .server()
        .whole_of(Resource::QueueJobs)
        .next()
        .unwrap();
    let status = job.status.unwrap();
    assert_eq!((status.restarts, status.failures), (1, 2));
    let failed = status.conditions.iter().find(|one| one.kind == "Failed");
    assert_eq!(failed.unwrap().reason, "BackoffLimitExceeded");
}

#[test]
fn one_that_is_deleted_leaves_no_pods() {
    let text = NODES.to_owned() + &job("simulate.muster.dev/delete-at: 20s", "Succeeded", "");
    assert_eq!(played(&text, 15).server().pods().count(), 3);
    let driver = played(&text, 60);
    assert_eq!(driver.server().pods().count(), 0);
    assert_eq!(
        driver
            .server()
            .whole_of::<Other>(Resource::SchedulingSpecs)
            .count(),
        0
    );
}

/// Reason and words of the condition `Accepted`.
fn accepted(driver: &Driver) -> (String, String) {
    let job: QueueJob = driver
        .server()
        .whole_of(Resource::QueueJobs)
        .next()
        .unwrap();
    let mut conditions = job.status.unwrap().conditions.into_iter();
    let accepted = conditions.find(|one| one.kind == "Accepted");
    accepted.map(|one| (one.reason, one.message)).unwrap()
}

#[test]
fn a_name_that_a_scenario_gives_to_others_is_taken_as_on_a_cluster() {
    let spec = "apiVersion: muster.dev/v1alpha1
kind: SchedulingSpec
metadata: {name: train, namespace: default, annotations: {simulate.muster.dev/delete-at: 100s}}
spec: {minAvailable: 1}
---
";
    let text = NODES.to_owned() + spec + &job("", "Succeeded", "");
    let driver = played(&text, 60);
    let words = "SchedulingSpec train belongs to somebody else".to_owned();
    assert_eq!(accepted(&driver), ("NameTaken".to_owned(), words));
    assert_eq!(driver.server().pods().count(), 0);
    let driver = played(&text, 130);
    assert_eq!(accepted(&driver).0, "Accepted");
    assert_eq!(driver.server().pods().count(), 3);
    let pod = "apiVersion: v1
kind: Pod
metadata: {name: train-worker-1, namespace: default}
spec: {schedulerName: muster, containers: [{name: c, image: x}]}
";
    let driver = played(
        &(NODES.to_owned() + pod + "---\n" + &job("", "Succeeded", "")),
        60,
    );
    let words = "pod train-worker-1 belongs to somebody else".to_owned();
    assert_eq!(accepted(&driver), ("NameTaken".to_owned(), words));
}

#[test]
fn what_is_wrong_with_one_is_said_with_its_place() {
    let refused = |text: &str, words: &str| {
        let output = simulate(text, &[]);
        assert_eq!(output.status.code(), Some(2));
        let said = stderr(&output);
        assert!(said.contains(words), "{said}");
    };
    let text = job("", "Succeeded", "schedSpec: {minAvailable: 4}");
    refused(
        &text,
        "schedSpec.minAvailable exceeds the sum of the replicas",
    );
    let text = job("", "badly", "");
    refused(
        &text,
        "spec.taskSpecs[0].template: simulate.muster.dev/ends",
    );
}
