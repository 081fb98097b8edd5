//! Schedulings and BatchJobs in `muster simulate`: played to their end, edited, deleted on the way, and refused.

use crate::simulate::simulate;
use crate::simulate_cli::{json, stderr};
use muster::api::Reading;
use muster::core::engine::Policy;
use muster::model::GangKey;
use muster::model::units::Time;
use muster::sim::driver::Driver;
use muster::sim::network::Network;
use muster::sim::scenario::{Source, load};
use serde_json::Value;

const BED: &str = "apiVersion: v1
kind: Node
metadata:
  name: n$(INDEX)
  labels: {lab: \"$(INDEX)\"}
  annotations: {simulate.muster.dev/replicas: \"2\"}
status: {allocatable: {cpu: \"2\", memory: 4Gi, pods: \"10\"}}
---
apiVersion: muster.dev/v1alpha1
kind: Testbed
metadata: {name: lab}
spec: {nodeLabel: lab, slotsPerNode: 1, resourcesPerSlot: {cpu: \"2\"}}
---
apiVersion: muster.dev/v1alpha1
kind: BatchJob
metadata:
  name: j$(INDEX)
  annotations: {simulate.muster.dev/replicas: \"2\"}
spec:
  job:
    spec:
      template:
        metadata: {annotations: {simulate.muster.dev/duration: 60s}}
        spec: {restartPolicy: Never, containers: [{name: c, image: x}]}
---
";

fn plan(name: &str, annotations: &str, jobs: &str) -> String {
    format!(
        "apiVersion: muster.dev/v1alpha1\nkind: Scheduling\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\n\
         spec: {{testbed: lab, queueBased: {jobs}}}\n---\n"
    )
}

const BOTH: &str = "[{name: j0, slots: 2}, {name: j1, slots: 1}]";

/// Name and state of each.
fn states(all: &Value) -> Vec<(String, String)> {
    let all = all.as_array().unwrap().iter();
    let of = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
    all.map(|one| (of(one, "name"), of(one, "state"))).collect()
}

fn pair(name: &str, state: &str) -> (String, String) {
    (name.to_owned(), state.to_owned())
}

#[test]
fn a_scheduling_runs_its_batch_jobs_one_after_the_other_on_their_slots() {
    let text = BED.to_owned() + &plan("s", "simulate.muster.dev/at: 10s", BOTH);
    let report = json(&text, &[]);
    assert_eq!(states(&report["schedulings"]), [pair("s", "Completed")]);
    let jobs = &report["batchJobs"];
    assert_eq!(
        states(jobs),
        [pair("j0", "Completed"), pair("j1", "Completed")]
    );
    assert_eq!(jobs[0]["slots"], serde_json::json!([0, 1]));
    assert_eq!(jobs[1]["slots"], serde_json::json!([0]));
    let of_plan = &report["schedulings"][0]["jobs"];
    assert_eq!(
        states(of_plan),
        [pair("j0", "Completed"), pair("j1", "Completed")]
    );
    assert!(jobs[0]["completedAt"].as_f64() <= jobs[1]["startedAt"].as_f64());
    assert!(report["violations"].is_null(), "{}", report["violations"]);
    let table = simulate(&text, &[]);
    assert_eq!(stderr(&table), "");
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    let line = |words: &str| {
        table
            .lines()
            .any(|line| words.split(' ').all(|word| line.contains(word)))
    };
    assert!(line("default/s lab Completed 2/2"), "{table}");
    assert!(line("default/j1 Completed"), "{table}");
}

#[test]
fn a_scheduling_that_is_deleted_on_the_way_leaves_nothing() {
    let when = "simulate.muster.dev/at: 10s, simulate.muster.dev/delete-at: 40s";
    let report = json(&(BED.to_owned() + &plan("s", when, BOTH)), &[]);
    assert_eq!(states(&report["schedulings"]), []);
    assert_eq!(
        states(&report["batchJobs"]),
        [pair("j0", "Ready"), pair("j1", "Ready")]
    );
    let pods = report["pods"].as_array().unwrap().iter();
    let mut left = pods.filter(|pod| pod["ghost"] != true && pod["phase"] != "Deleted");
    assert_eq!(left.next(), None);
    let slots = report["testbeds"][0]["slots"].as_array().unwrap();
    assert!(
        slots.iter().all(|slot| slot["state"] == "Free"),
        "{slots:?}"
    );
}

#[test]
fn a_scheduling_is_edited_while_it_runs() {
    let one = plan("s", "simulate.muster.dev/at: 10s", "[{name: j0, slots: 2}]");
    let both = plan("s", "simulate.muster.dev/at: 30s", BOTH);
    let report = json(&(BED.to_owned() + &one + &both), &[]);
    let of_plan = &report["schedulings"][0]["jobs"];
    assert_eq!(
        states(of_plan),
        [pair("j0", "Completed"), pair("j1", "Completed")]
    );
}

#[test]
fn a_job_of_the_same_name_is_in_the_way_of_a_batch_job_until_it_is_deleted() {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j0, annotations: {simulate.muster.dev/delete-at: 60s}}\n\
               spec: {template: {spec: {containers: [{name: c, image: x}]}}}\n---\n";
    let one = plan("s", "simulate.muster.dev/at: 10s", "[{name: j0, slots: 2}]");
    let text = BED.to_owned() + job + &one;
    let table = simulate(&text, &["--until", "50s"]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.contains("Job j0 is in the way"), "{table}");
    let report = json(&text, &[]);
    let jobs = &report["batchJobs"];
    assert_eq!(states(jobs)[0], pair("j0", "Completed"));
    assert!(jobs[0]["startedAt"].as_f64() >= Some(60.0), "{jobs}");
    assert!(report["violations"].is_null(), "{}", report["violations"]);
}

#[test]
fn a_podgroup_that_somebody_deletes_is_made_anew_by_its_batch_job() {
    let group = "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\n\
        metadata: {name: j0, annotations: {simulate.muster.dev/at: 30s, simulate.muster.dev/delete-at: 40s}}\n\
        spec: {minAvailable: 1}\n---\n";
    let one = plan("s", "simulate.muster.dev/at: 10s", "[{name: j0, slots: 2}]");
    let text = BED.to_owned() + group + &one;
    let source = Source {
        name: "test".to_owned(),
        text: text.clone(),
    };
    let scenario = load(&[source], &Reading::default()).unwrap();
    let mut driver = Driver::new(scenario, Policy::default(), Network::calm(0));
    let key = GangKey {
        namespace: "default".to_owned(),
        name: "j0".to_owned(),
        ..GangKey::default()
    };
    for (seconds, minimum) in [(35, 1), (50, 2)] {
        driver.run(Time::from_secs(seconds), |_| {});
        let group = driver.server().gang(&key).unwrap();
        assert_eq!(group.min_available, minimum, "after {seconds} s");
    }
    let report = json(&text, &[]);
    assert_eq!(states(&report["batchJobs"])[0], pair("j0", "Completed"));
}

#[test]
fn what_is_wrong_with_them_is_said_with_its_place() {
    let refused = |text: &str, words: &str| {
        let output = simulate(text, &[]);
        assert_eq!(output.status.code(), Some(2));
        let said = stderr(&output);
        assert!(said.contains(words), "{said}");
    };
    let neither = "apiVersion: muster.dev/v1alpha1\nkind: Scheduling\nmetadata: {name: s}\nspec: {testbed: lab}\n";
    refused(
        neither,
        "Scheduling s: spec: needs exactly one of queueBased and slotBased",
    );
    let nothing =
        "apiVersion: muster.dev/v1alpha1\nkind: BatchJob\nmetadata: {name: j}\nspec: {}\n";
    refused(nothing, "BatchJob j: spec: needs exactly one of job");
    let soon = BED.replace("60s", "soon");
    refused(
        &soon,
        "spec.job.spec.template: simulate.muster.dev/duration",
    );
}
