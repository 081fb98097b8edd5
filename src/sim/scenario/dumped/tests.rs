//! What is read off a cluster is played as it was there.

use super::super::{Choices, Durations, Scenario, ScenarioError, Source, load_by};
use crate::driver::Driver;
use crate::network::Network;
use crate::report::{
    Change, Difference, PodReport, Report, difference, difference_table, report, table,
};
use muster_api::Reading;
use muster_core::engine::Policy;
use muster_model::units::{Millis, Time};

/// Two nodes, on one of which a pod of a Deployment has been for an hour.
const CLUSTER: &str = r#"
apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n1, uid: u-n1, creationTimestamp: "2026-01-01T00:00:00Z"}
  status: {allocatable: {cpu: "4", pods: "10"}}
- apiVersion: v1
  kind: Node
  metadata: {name: n2, uid: u-n2, creationTimestamp: "2026-01-01T00:00:00Z"}
  status:
    allocatable: {cpu: "4", pods: "10"}
    conditions:
    - {type: Ready, status: "True", lastHeartbeatTime: "2026-01-31T12:00:00Z", lastTransitionTime: "2026-01-01T00:00:00Z"}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, namespace: default, uid: u-web, creationTimestamp: "2026-01-31T11:00:00Z"}
  spec: {replicas: 1}
- apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata: {name: a, namespace: default, uid: u-np1, creationTimestamp: "2026-01-31T11:00:00Z"}
- apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata: {name: b, namespace: default, uid: u-np2, creationTimestamp: "2026-01-31T11:00:00Z"}
"#;

/// A pod as a cluster prints it, an item of the List.
fn pod(name: &str, created: &str, more: &str, spec: &str, status: &str) -> String {
    format!(
        "- apiVersion: v1\n  kind: Pod\n  metadata: {{name: {name}, namespace: default, uid: u-{name}, \
         creationTimestamp: \"2026-01-31T{created}Z\"{more}}}\n  spec:\n    schedulerName: muster\n    {spec}\n    \
         containers: [{{name: c, image: i, resources: {{requests: {{cpu: \"3\"}}}}}}]\n  status: {{{status}}}\n"
    )
}

fn bound(at: &str, phase: &str) -> String {
    format!(
        "phase: {phase}, conditions: [{{type: PodScheduled, status: \"True\", lastTransitionTime: \
         \"2026-01-31T{at}Z\"}}]"
    )
}

fn read(items: &[String], choices: &Choices) -> Result<Scenario, ScenarioError> {
    read_with(items, "", choices)
}

fn read_with(items: &[String], edits: &str, choices: &Choices) -> Result<Scenario, ScenarioError> {
    let source = |name: &str, text: String| Source {
        name: name.to_owned(),
        text,
    };
    let reading = Reading {
        scheduler_names: vec!["muster".to_owned()],
        ..Reading::default()
    };
    let edits = (!edits.is_empty()).then(|| source("edits", edits.to_owned()));
    let edits: Vec<Source> = edits.into_iter().collect();
    let text = CLUSTER.to_owned() + &items.concat();
    load_by(&[source("dump", text)], &edits, &reading, choices)
}

fn play(scenario: Scenario, until: u64) -> Report {
    let mut driver = Driver::new(scenario, Policy::default(), Network::calm(0));
    let end = driver.run(driver.begin() + Millis::from_secs(until), |_| {});
    report(&mut driver, end)
}

fn of<'a>(report: &'a Report, name: &str) -> &'a PodReport {
    report.pods.iter().find(|pod| pod.name == name).unwrap()
}

#[track_caller]
fn seconds(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() < 0.001, "{found}");
}

#[test]
fn zero_is_the_newest_time_and_what_was_before_has_its_age() {
    let items = [
        pod("new", "11:59:00", "", "", "phase: Pending"),
        pod(
            "old",
            "11:00:00",
            "",
            "nodeName: n1",
            &bound("11:30:00", "Running"),
        ),
    ];
    let scenario = read(&items, &Choices::default()).unwrap();
    assert_eq!(scenario.begin, Time(1_769_860_800_000));
    assert_eq!(
        scenario.notes,
        [
            "zero is 2026-01-31T12:00:00Z: the newest time, of Node n2",
            "passed over: 2 NetworkPolicies, 1 Deployment"
        ]
    );
    let report = play(scenario, 10);
    let (old, new) = (of(&report, "old"), of(&report, "new"));
    assert_eq!((old.node.as_deref(), old.phase), (Some("n1"), "Running"));
    seconds(Some(old.submitted_at), -3_600.0);
    seconds(old.bound_at, -1_800.0);
    assert_eq!(new.node.as_deref(), Some("n2"));
    seconds(Some(new.submitted_at), -60.0);
    seconds(new.bound_at, 0.0);
    // The wait of who was bound before is not what was played.
    seconds(report.metrics.wait_p99, 60.0);
    let said = table(&report);
    assert!(said.contains("2 of 2 pods started; waits p50 1m"), "{said}");
    assert_eq!(report.violations, Vec::<String>::new());
}

#[test]
fn who_waited_longer_goes_first_whatever_the_order_in_the_file() {
    let items = [
        pod("second", "11:50:00", "", "", "phase: Pending"),
        pod("third", "11:55:00", "", "", "phase: Pending"),
        pod("first", "11:40:00", "", "", "phase: Pending"),
    ];
    let report = play(read(&items, &Choices::default()).unwrap(), 10);
    let waits: Vec<&str> = report
        .pods
        .iter()
        .filter(|pod| pod.node.is_none())
        .map(|pod| pod.name.as_str())
        .collect();
    assert_eq!(waits, ["third"]);
}

#[test]
fn what_is_leaving_leaves_and_what_has_ended_takes_no_room() {
    let leaving = ", deletionTimestamp: \"2026-01-31T12:00:20Z\", deletionGracePeriodSeconds: 30";
    let items = [
        pod(
            "leaves",
            "11:00:00",
            leaving,
            "nodeName: n1",
            &bound("11:00:00", "Running"),
        ),
        pod(
            "done",
            "11:00:00",
            "",
            "nodeName: n2",
            &bound("11:00:00", "Succeeded"),
        ),
        pod("at-once", "11:50:00", "", "", "phase: Pending"),
        pod("later", "11:51:00", "", "", "phase: Pending"),
    ];
    let report = play(read(&items, &Choices::default()).unwrap(), 60);
    assert_eq!(of(&report, "leaves").phase, "Deleted");
    seconds(of(&report, "leaves").finished_at, 20.0);
    assert_eq!(of(&report, "done").phase, "Succeeded");
    seconds(of(&report, "at-once").bound_at, 0.0);
    let later = of(&report, "later").bound_at.unwrap();
    assert!((20.0..21.0).contains(&later), "{later}");
}

#[test]
fn who_has_no_known_end_runs_on_or_ends_as_the_choices_say() {
    let items = [
        pod(
            "old",
            "11:00:00",
            "",
            "nodeName: n1",
            &bound("11:50:00", "Running"),
        ),
        pod(
            "deadline",
            "11:00:00",
            "",
            "nodeName: n2\n    activeDeadlineSeconds: 1500",
            &bound("11:40:00", "Running"),
        ),
    ];
    let end = |choices: &Choices| {
        let report = play(read(&items, choices).unwrap(), 7_200);
        let of = |name| (of(&report, name).phase, of(&report, name).finished_at);
        (of("old"), of("deadline"))
    };
    let (old, deadline) = end(&Choices::default());
    assert_eq!(old, ("Running", None));
    assert_eq!(deadline.0, "Failed");
    seconds(deadline.1, 300.0);
    let choices = Choices {
        durations: Durations::default().or(Some(Millis::from_secs(900))),
        ..Choices::default()
    };
    let (old, deadline) = end(&choices);
    assert_eq!((old.0, deadline.0), ("Succeeded", "Succeeded"));
    seconds(old.1, 300.0);
    // It has run for longer than that.
    seconds(deadline.1, 0.0);
}

#[test]
fn durations_are_drawn_by_queue_and_labels_from_those_that_are_longer() {
    let text = "apiVersion: simulate.muster.dev/v1\nkind: Durations\nrules:\n\
                - {queue: other, durations: [1m]}\n\
                - {queue: default, matchLabels: {app: a}, durations: [1m, 20m, 5m]}\n";
    let durations = Durations::read("d.yaml", text).unwrap();
    let choices = Choices {
        durations: durations.or(Some(Millis::from_secs(3_600))),
        ..Choices::default()
    };
    let items = [
        pod(
            "a",
            "11:00:00",
            ", labels: {app: a}",
            "nodeName: n1",
            &bound("11:50:00", "Running"),
        ),
        pod(
            "b",
            "11:00:00",
            ", labels: {app: b}",
            "nodeName: n2",
            &bound("11:50:00", "Running"),
        ),
    ];
    let report = play(read(&items, &choices).unwrap(), 7_200);
    seconds(of(&report, "a").finished_at, 600.0);
    seconds(of(&report, "b").finished_at, 3_000.0);
    for (text, words) in [
        ("kind: Durations\n", "the field \"apiVersion\" is missing"),
        (
            "apiVersion: simulate.muster.dev/v2\nkind: Durations\nrules: []\n",
            "d.yaml:1: found kind \"Durations\" of \"simulate.muster.dev/v2\": expected kind Durations",
        ),
        (
            "apiVersion: simulate.muster.dev/v1\nkind: Durations\nrules: [{durations: [soon]}]\n",
            "d.yaml:1: rules.0.durations: \"soon\" is not a duration",
        ),
        (
            "apiVersion: simulate.muster.dev/v1\nkind: Durations\nrules: [{durations: []}]\n",
            "rules.0.durations: there is none in it",
        ),
    ] {
        let said = Durations::read("d.yaml", text).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_job_makes_what_is_left_of_it_and_not_what_is_there() {
    let job = |completed: &str| {
        format!(
            "- apiVersion: batch/v1\n  kind: Job\n  metadata: {{name: j, namespace: default, uid: u-j, \
             creationTimestamp: \"2026-01-31T11:00:00Z\"}}\n  spec:\n    completions: 5\n    parallelism: 2\n    \
             completionMode: Indexed\n    template: {{spec: {{schedulerName: muster, restartPolicy: Never, \
             containers: [{{name: c, image: i, resources: {{requests: {{cpu: \"3\"}}}}}}]}}}}\n  status: \
             {{succeeded: 2, active: 1, completedIndexes: \"{completed}\"}}\n"
        )
    };
    let owned = |index: u32| {
        format!(
            ", labels: {{batch.kubernetes.io/job-completion-index: \"{index}\"}}, ownerReferences: \
             [{{apiVersion: batch/v1, kind: Job, name: j, uid: u-j, controller: true}}]"
        )
    };
    let items = [
        job("0,3"),
        pod(
            "j-0-x",
            "11:00:00",
            &owned(0),
            "nodeName: n1",
            &bound("11:00:00", "Succeeded"),
        ),
        pod(
            "j-1-y",
            "11:00:00",
            &owned(1),
            "nodeName: n1",
            &bound("11:50:00", "Running"),
        ),
    ];
    let choices = Choices {
        durations: Durations::default().or(Some(Millis::from_secs(1_200))),
        ..Choices::default()
    };
    let report = play(read(&items, &choices).unwrap(), 7_200);
    let names: Vec<&str> = report.pods.iter().map(|pod| pod.name.as_str()).collect();
    assert_eq!(names, ["j-0-x", "j-1-y", "j-2", "j-4"]);
    // Two at a time: one when it begins, the other when the one that was there has ended.
    seconds(Some(of(&report, "j-2").submitted_at), 0.0);
    seconds(Some(of(&report, "j-4").submitted_at), 600.0);
    let ended = report.pods.iter().all(|pod| pod.phase == "Succeeded");
    assert!(ended, "{:?}", report.pods);
}

#[test]
fn who_is_evicted_comes_back_only_where_a_controller_makes_it_again() {
    let class = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n---\n";
    let wants = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {{simulate.muster.dev/at: 5s}}}}\n\
             spec: {{schedulerName: muster, priorityClassName: high, containers: [{{name: c, image: i, resources: \
             {{requests: {{cpu: \"3\"}}}}}}]}}\n---\n"
        )
    };
    let owner = ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u-r, controller: true}]";
    let items = [
        pod(
            "bare",
            "11:00:00",
            "",
            "nodeName: n1",
            &bound("11:00:00", "Running"),
        ),
        pod(
            "made",
            "11:00:00",
            owner,
            "nodeName: n2",
            &bound("11:00:00", "Running"),
        ),
    ];
    let edits = class.to_owned() + &wants("x") + &wants("y");
    let report = play(read_with(&items, &edits, &Choices::default()).unwrap(), 60);
    assert_eq!(
        (of(&report, "bare").phase, of(&report, "bare").evictions),
        ("Deleted", 1)
    );
    assert_eq!(
        (of(&report, "made").phase, of(&report, "made").evictions),
        ("Pending", 1)
    );
}

#[test]
fn an_edit_is_laid_over_what_is_there_or_is_one_more() {
    let items = [pod(
        "waits",
        "11:00:00",
        "",
        "nodeSelector: {disk: ssd}",
        "phase: Pending",
    )];
    let edits = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {disk: ssd}, annotations: \
                 {simulate.muster.dev/at: 30s}}\n---\n\
                 apiVersion: v1\nkind: Node\nmetadata: {name: n2}\nspec: {unschedulable: true}\n---\n\
                 apiVersion: v1\nkind: Node\nmetadata: {name: extra, annotations: \
                 {simulate.muster.dev/replicas: \"2\"}}\nstatus: {allocatable: {cpu: \"1\", pods: \"10\"}}\n";
    let scenario = read_with(&items, edits, &Choices::default()).unwrap();
    let mut driver = Driver::new(scenario, Policy::default(), Network::calm(0));
    let end = driver.run(driver.begin() + Millis::from_secs(60), |_| {});
    let nodes: Vec<_> = driver.server().nodes().collect();
    assert_eq!(nodes.len(), 4);
    let n1 = driver.server().node("n1").unwrap();
    assert!(
        n1.allocatable
            .iter()
            .any(|(name, amount)| name == "cpu" && *amount == 4_000)
    );
    assert!(driver.server().node("n2").unwrap().unschedulable);
    let report = report(&mut driver, end);
    assert_eq!(of(&report, "waits").node.as_deref(), Some("n1"));
    seconds(of(&report, "waits").bound_at, 30.0);
}

#[test]
fn what_cannot_be_so_is_said() {
    let odd = "- apiVersion: v1\n  kind: Node\n  metadata: {name: odd, uid: u-o, creationTimestamp: \
               \"2026-03-01T00:00:00Z\"}\n  status: {allocatable: {cpu: \"1\", pods: \"10\"}}\n";
    let notes = |items: &[String], choices: &Choices| read(items, choices).unwrap().notes;
    let said = notes(&[odd.to_owned()], &Choices::default());
    assert!(
        said[1].starts_with("the clock of Node odd is ahead: the next newest time is "),
        "{said:?}"
    );

    let late = pod("late", "12:30:00", "", "", "phase: Pending");
    let now = Some(Time(1_769_860_800_000));
    let choices = Choices {
        now,
        ..Choices::default()
    };
    let said = notes(std::slice::from_ref(&late), &choices);
    assert_eq!(said[0], "zero is 2026-01-31T12:00:00Z: --now says so");
    assert_eq!(
        said[2],
        "1 object of after zero: they count as made at zero"
    );

    let twice = [late.clone(), late.clone()];
    let said = notes(&twice, &Choices::default());
    assert_eq!(
        said[2],
        "1 object with a uid that stood there before: the first counts"
    );

    let other = late.replace("uid: u-late", "uid: u-other");
    let said = read(&[late, other], &Choices::default())
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("Pod default/late: the name \"late\" is taken by the one at dump:27"),
        "{said}"
    );

    let choices = Choices {
        strict: true,
        ..Choices::default()
    };
    let said = read(&[], &choices).unwrap_err().to_string();
    assert!(
        said.starts_with("dump:17: kind \"Deployment\" is not known"),
        "{said}"
    );

    let wrong = pod("a", "11:00:00", "", "nodeName: 7", "phase: Pending");
    let said = read(&[wrong], &Choices::default()).unwrap_err().to_string();
    let words = "Pod default/a: spec.nodeName: the number 7 where a text belongs";
    assert!(said.contains(words), "{said}");
}

#[test]
fn what_edits_change_is_told_apart_from_what_they_do_not() {
    let items = [
        pod("soon", "11:40:00", "", "", "phase: Pending"),
        pod("next", "11:50:00", "", "", "phase: Pending"),
        pod("last", "11:55:00", "", "", "phase: Pending"),
        pod(
            "far",
            "11:56:00",
            "",
            "nodeSelector: {disk: ssd}\n    tolerations: [{key: disk, operator: Exists}]",
            "phase: Pending",
        ),
    ];
    let edits = "apiVersion: v1\nkind: Node\nmetadata: {name: n3, labels: {disk: ssd}}\nspec: {taints: [{key: disk, effect: NoSchedule}]}\nstatus: {allocatable: {cpu: \"4\", \
                 pods: \"10\"}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: urgent}\nspec: {schedulerName: \
                 muster, priority: 9, nodeName: n1, containers: [{name: c, image: i, resources: {requests: {cpu: \
                 \"2\"}}}]}\n";
    let choices = Choices {
        durations: Durations::default().or(Some(Millis::from_secs(600))),
        ..Choices::default()
    };
    let without = play(read(&items, &choices).unwrap(), 7_200);
    let with = play(read_with(&items, edits, &choices).unwrap(), 7_200);
    let found = difference(&without, &with);
    let names =
        |list: &[Change]| -> Vec<String> { list.iter().map(|one| one.name.clone()).collect() };
    assert_eq!(names(&found.starts), ["far"]);
    assert_eq!(names(&found.added), ["urgent"]);
    assert!(found.removed.is_empty() && found.waits.is_empty() && found.evicted.is_empty());
    assert_eq!(names(&found.later), ["next"]);
    let next = &found.later[0];
    seconds(next.started_without, 0.0);
    seconds(next.started_with, 600.0);
    let text = difference_table(&found);
    let words = "> with the edits: 1 later, 1 starts, and would wait, 1 only with the edits\n";
    assert!(text.ends_with(words), "{text}");
    let same = difference(&without, &without);
    assert_eq!(same, Difference::default());
    assert!(difference_table(&same).starts_with("the edits change nobody's start"));
}
