//! `muster simulate` as a user meets it: what it prints, what it refuses, and its exit codes.

use crate::simulate::simulate;
use serde_json::Value;
use std::process::Output;

pub(crate) fn json(scenario: &str, arguments: &[&str]) -> Value {
    let mut all = vec!["--output", "json"];
    all.extend(arguments);
    let output = simulate(scenario, &all);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_hops_between_pods_of_neighbouring_ranks_are_reported() {
    let mut scenario = String::from(
        "apiVersion: muster.dev/v1alpha1\nkind: Topology\nmetadata: {name: fabric}\n\
         spec: {levels: [{nodeLabel: rack, hops: 2}]}\n---\n",
    );
    for node in ["n1", "n2", "n3"] {
        scenario += &NODE.replace(
            "{name: n1}",
            &format!("{{name: {node}, labels: {{rack: r}}}}"),
        );
    }
    for (gang, labels) in [
        (
            "numbered",
            r#", batch.kubernetes.io/job-completion-index: "$(INDEX)""#,
        ),
        ("plain", ""),
    ] {
        scenario += &format!(
            "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {{name: {gang}}}\n\
             spec: {{minAvailable: 4}}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata:\n  name: {gang}\n  \
             labels: {{muster.dev/pod-group: {gang}{labels}}}\n  \
             annotations: {{simulate.muster.dev/replicas: \"4\"}}\n\
             spec:\n  schedulerName: muster\n  containers:\n  - name: c\n    image: i\n    \
             resources: {{requests: {{cpu: \"1500m\"}}}}\n---\n"
        );
    }
    let report = json(&scenario, &["--until", "10s"]);
    let gangs = report["podGroups"].as_array().unwrap();
    // Two on a node, two on the next: 0, 2 and 0 hops.
    assert_eq!(gangs[0]["rankHops"], 0.667);
    assert_eq!(
        (&gangs[1]["name"], &gangs[1]["rankHops"]),
        (&"plain".into(), &Value::Null)
    );
}

pub(crate) const NODE: &str = "
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: \"4\", memory: 8Gi, pods: \"10\"}}
---
";

pub(crate) fn pod(name: &str, cpu: &str, annotations: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\n\
         spec:\n  schedulerName: muster\n  containers:\n  - name: c\n    image: i\n    \
         resources: {{requests: {{cpu: \"{cpu}\"}}}}\n---\n"
    )
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
pub(crate) fn json_has_every_field_of_the_contract() {
    let group = "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\nspec: {minAvailable: 1}\n---\n";
    let report = json(&(NODE.to_owned() + group + &pod("a", "1", "")), &[]);
    assert_eq!(
        keys(&report),
        [
            "batchJobs",
            "end",
            "metrics",
            "podGroups",
            "pods",
            "queues",
            "schedulings",
            "testbeds"
        ]
    );
    let pod = "boundAt evictions finishedAt name namespace node phase podGroup queue submittedAt";
    assert_eq!(keys(&report["pods"][0]).join(" "), pod);
    let gang = "bound lostOpportunity maxHops message minAvailable name namespace phase position \
                queue rankHops reason scheduledAt submittedAt";
    assert_eq!(keys(&report["podGroups"][0]).join(" "), gang);
    assert_eq!(
        keys(&report["queues"][0]).join(" "),
        "fairShare flow name usage weight"
    );
    let metrics = "evictions makespan utilisation waitP50 waitP99";
    assert_eq!(keys(&report["metrics"]).join(" "), metrics);
}

#[test]
pub(crate) fn pods_run_for_their_duration_and_the_next_one_follows() {
    let one = pod("a", "3", "simulate.muster.dev/duration: 10m");
    let two = pod(
        "b",
        "3",
        "simulate.muster.dev/duration: 5m, simulate.muster.dev/at: 60s",
    );
    let report = json(&(NODE.to_owned() + &one + &two), &[]);
    let (a, b) = (&report["pods"][0], &report["pods"][1]);
    assert_eq!(
        (&a["boundAt"], &a["finishedAt"]),
        (&0.0.into(), &600.0.into())
    );
    assert_eq!(
        (&b["submittedAt"], &b["boundAt"]),
        (&60.0.into(), &600.0.into())
    );
    assert_eq!(
        (&b["phase"], &b["node"]),
        (&"Succeeded".into(), &"n1".into())
    );
    assert_eq!(report["end"], 900.0);
    assert_eq!(report["metrics"]["utilisation"]["cpu"], 0.75);
    assert_eq!(report["metrics"]["waitP99"], 540.0);
    assert_eq!(report["metrics"]["makespan"], 900.0);
}

#[test]
fn until_cuts_the_play_off() {
    let one = pod("a", "3", "simulate.muster.dev/duration: 10m");
    let report = json(&(NODE.to_owned() + &one), &["--until", "2m"]);
    assert_eq!(report["end"], 120.0);
    assert_eq!(report["pods"][0]["phase"], "Running");
    assert_eq!(report["pods"][0]["finishedAt"], Value::Null);
}

#[test]
fn a_pod_that_is_to_fail_does_so_after_its_duration_and_makes_room() {
    let ends = "simulate.muster.dev/duration: 10m, simulate.muster.dev/ends: Failed";
    let scenario = NODE.to_owned() + &pod("a", "3", ends) + &pod("b", "3", "");
    let report = json(&scenario, &[]);
    let (a, b) = (&report["pods"][0], &report["pods"][1]);
    assert_eq!(
        (&a["phase"], &a["finishedAt"]),
        (&"Failed".into(), &600.0.into())
    );
    assert_eq!(b["boundAt"], 600.0);
    assert!(report["violations"].is_null(), "{}", report["violations"]);
}

#[test]
fn copies_are_stamped_and_jobs_make_their_pods() {
    let copies = pod("a-$(INDEX)", "1", "simulate.muster.dev/replicas: \"2\"");
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, annotations: \
               {simulate.muster.dev/duration: 1m}}\nspec:\n  completions: 3\n  parallelism: 2\n  \
               template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, \
               resources: {requests: {cpu: 1}}}]}}\n";
    let report = json(&(NODE.to_owned() + &copies + job), &[]);
    let pods = report["pods"].as_array().unwrap();
    let names: Vec<_> = pods
        .iter()
        .map(|pod| pod["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a-0", "a-1", "j-0", "j-1", "j-2"]);
    assert_eq!(pods[4]["submittedAt"], 60.0);
    assert_eq!(pods[4]["finishedAt"], 120.0);
}

#[test]
fn a_pod_with_a_node_runs_already() {
    let running =
        pod("a", "1", "simulate.muster.dev/at: 5s").replace("spec:\n", "spec:\n  nodeName: n1\n");
    let report = json(&(NODE.to_owned() + &running), &[]);
    assert_eq!(report["pods"][0]["boundAt"], 5.0);
    assert_eq!(report["pods"][0]["phase"], "Running");
}

/// A pod that a scenario shows on a node and in a phase.
fn ended(name: &str, phase: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{more}}}\nspec: {{nodeName: n1, \
         containers: [{{name: c, image: i, resources: {{requests: {{cpu: \"3\"}}}}}}]}}\n\
         status: {{phase: {phase}}}\n---\n"
    )
}

#[test]
fn a_pod_that_is_shown_as_ended_holds_no_room() {
    for phase in ["Succeeded", "Failed"] {
        let done = ended("a", phase, "");
        let next = pod("b", "4", "simulate.muster.dev/duration: 10s");
        let report = json(&(NODE.to_owned() + &done + &next), &[]);
        let (a, b) = (&report["pods"][0], &report["pods"][1]);
        assert_eq!((&a["phase"], &a["node"]), (&phase.into(), &"n1".into()));
        assert_eq!(
            (&a["boundAt"], &a["finishedAt"]),
            (&0.0.into(), &0.0.into())
        );
        assert_eq!(b["boundAt"], 0.0, "{phase}");
        assert_eq!(report["metrics"]["utilisation"]["cpu"], 1.0, "{phase}");
    }
}

#[test]
fn a_member_that_is_shown_as_succeeded_counts_for_its_gang_and_a_failed_one_does_not() {
    let group = "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\n\
                 spec: {minAvailable: 2}\n---\n";
    let label = ", labels: {muster.dev/pod-group: g}";
    let member = pod("b", "1", "").replace("{name: b,", &format!("{{name: b{label},"));
    for (phase, bound) in [("Succeeded", true), ("Failed", false)] {
        let scenario = NODE.to_owned() + group + &ended("a", phase, label) + &member;
        let report = json(&scenario, &[]);
        assert_eq!(report["pods"][1]["node"].is_string(), bound, "{phase}");
        let gang = &report["podGroups"][0];
        assert_eq!(gang["scheduledAt"].is_number(), bound, "{phase}");
        assert_eq!(gang["bound"], u32::from(bound), "{phase}");
    }
}

#[test]
fn a_pod_that_ended_without_a_node_is_reported_so_and_one_that_says_running_waits() {
    let gone = ended("a", "Failed", "").replace("nodeName: n1, ", "");
    let unbound = ended("b", "Running", "").replace("nodeName: n1, ", "");
    let report = json(&(gone + &unbound), &[]);
    let (a, b) = (&report["pods"][0], &report["pods"][1]);
    assert_eq!((&a["phase"], &a["node"]), (&"Failed".into(), &Value::Null));
    assert_eq!(a["finishedAt"], 0.0);
    assert_eq!((&b["phase"], &b["node"]), (&"Pending".into(), &Value::Null));
}

#[test]
fn a_scenario_without_time_shows_what_is_used_at_that_moment() {
    let report = json(&(NODE.to_owned() + &pod("a", "3", "")), &[]);
    assert_eq!(report["end"], 0.0);
    let used = &report["metrics"]["utilisation"];
    assert_eq!((&used["cpu"], &used["pods"]), (&0.75.into(), &0.1.into()));
    assert_eq!(used["memory"], 0.0);
    let empty = json(&pod("a", "3", ""), &[]);
    assert_eq!(empty["metrics"]["utilisation"], serde_json::json!({}));
}

#[test]
fn deleted_pods_leave_and_make_room() {
    let one = pod("a", "3", "simulate.muster.dev/delete-at: 10s");
    let report = json(&(NODE.to_owned() + &one + &pod("b", "3", "")), &[]);
    assert_eq!(report["pods"][0]["phase"], "Deleted");
    let bound_at = report["pods"][1]["boundAt"].as_f64().unwrap();
    assert!((10.0..11.0).contains(&bound_at), "{bound_at}");
}

#[test]
fn the_same_input_and_seed_give_the_same_bytes() {
    let example = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/quickstart.yaml"
    ));
    let example = example.unwrap();
    for output in ["json", "table"] {
        let play = || simulate(&example, &["--seed", "7", "--output", output]).stdout;
        assert_eq!(play(), play());
    }
}

#[test]
fn a_testbed_of_more_than_a_thousand_slots_is_played_with_all_of_them() {
    let scenario = r#"
apiVersion: v1
kind: Node
metadata:
  name: n$(INDEX)
  labels: {example.com/lab: "$(INDEX)"}
  annotations: {simulate.muster.dev/replicas: "11"}
status: {allocatable: {cpu: "100", pods: "200"}}
---
apiVersion: muster.dev/v1alpha1
kind: Testbed
metadata: {name: lab}
spec: {nodeLabel: example.com/lab, slotsPerNode: 100, resourcesPerSlot: {cpu: "1"}}
---
apiVersion: v1
kind: Pod
metadata:
  name: late
  labels: {muster.dev/testbed: lab, muster.dev/slots: "1050"}
  annotations: {simulate.muster.dev/at: 30s}
spec:
  schedulerName: muster
  containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}}]
"#;
    let report = json(scenario, &["--until", "60s"]);
    let slots = report["testbeds"][0]["slots"].as_array().unwrap();
    let positions: Vec<_> = slots
        .iter()
        .map(|slot| slot["position"].as_u64().unwrap())
        .collect();
    assert_eq!(positions, Vec::from_iter(0..1_100));
    let occupied = slots.iter().filter(|slot| slot["state"] == "Occupied");
    let occupied: Vec<_> = occupied
        .map(|slot| (&slot["position"], &slot["node"], &slot["pod"]))
        .collect();
    let late = (
        &Value::from(1_050),
        &Value::from("n5"),
        &Value::from("default/late"),
    );
    assert_eq!(occupied, [late]);
    let pods = report["pods"].as_array().unwrap().iter();
    let held = pods.filter(|pod| pod["ghost"] == true && !pod["node"].is_null());
    assert!(held.count() >= 1_099, "every free slot is held");
}

#[test]
fn the_example_of_slots_has_who_claims_them_on_them() {
    let example = include_str!("../../examples/slots.yaml");
    let output = simulate(example, &[]);
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), String::new())
    );
    let report = json(example, &["--until", "30s"]);
    let slots = report["testbeds"][0]["slots"].as_array().unwrap();
    let seen: Vec<_> = slots
        .iter()
        .map(|slot| {
            let of = |field: &str| slot[field].as_str().unwrap().to_owned();
            (of("node"), of("state"))
        })
        .collect();
    let slot = |node: &str, state: &str| (node.to_owned(), state.to_owned());
    assert_eq!(
        seen,
        [
            slot("n0", "Occupied"),
            slot("n1", "Occupied"),
            slot("n0", "Free"),
            slot("n1", "Free")
        ]
    );
    let held: Vec<_> = slots.iter().map(|slot| &slot["pod"]).collect();
    assert_eq!(held[0], "default/run-1-executor-0");
    let ghosts = report["pods"].as_array().unwrap().iter();
    let ghosts = ghosts.filter(|pod| pod["ghost"] == true);
    assert!(ghosts.clone().all(|ghost| ghost["queue"].is_null()));
    assert_eq!(ghosts.count(), 4);
    assert_eq!(report["metrics"]["evictions"], 0);
    let report = json(example, &[]);
    assert_eq!(report["schedulings"][0]["state"], "Completed");
    let jobs = report["batchJobs"].as_array().unwrap();
    let slots: Vec<_> = jobs.iter().map(|job| job["slots"].clone()).collect();
    let numbers = |all: &[i32]| serde_json::json!(all);
    assert_eq!(
        slots,
        [numbers(&[0, 1]), numbers(&[2]), numbers(&[0, 1, 2])]
    );
    assert!(jobs[2]["startedAt"].as_f64() >= jobs[0]["completedAt"].as_f64());
    let keys_of = |all: &str| keys(&report[all][0]).join(" ");
    assert_eq!(
        keys_of("batchJobs"),
        "completedAt name namespace slots startedAt state"
    );
    assert_eq!(keys_of("schedulings"), "jobs name namespace state");
    let of_plan = &report["schedulings"][0]["jobs"][0];
    assert_eq!(keys(of_plan).join(" "), "name slots state");
}

#[test]
fn the_quickstart_plays_without_a_warning_in_a_hundred_columns() {
    let example = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/quickstart.yaml"
    ));
    let output = simulate(&example.unwrap(), &[]);
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), String::new())
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let tables = text
        .lines()
        .filter(|line| line.starts_with(['│', '┌', '└', '╞']));
    assert!(tables.clone().count() > 15);
    assert!(
        tables.clone().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

/// The same object at a later time.
pub(crate) fn later(object: &str, at: &str) -> String {
    let annotation = format!("annotations: {{simulate.muster.dev/at: {at}}}");
    if object.contains("annotations: {}") {
        object.replace("annotations: {}", &annotation)
    } else {
        object.replacen("metadata: {", &format!("metadata: {{{annotation}, "), 1)
    }
}

#[test]
fn an_object_that_appears_again_later_is_edited() {
    let small = NODE.replace("cpu: \"4\"", "cpu: \"1\"");
    let report = json(&(small + &later(NODE, "10s") + &pod("a", "4", "")), &[]);
    assert_eq!(report["pods"][0]["boundAt"], 10.0);
    assert_eq!(report["metrics"]["utilisation"]["cpu"], 0.0);

    let group = "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\n\
                 spec: {minAvailable: 2}\n---\n";
    let one = later(group, "10s").replace("able: 2", "able: 1");
    let member =
        pod("a", "1", "").replace("{name: a,", "{name: a, labels: {muster.dev/pod-group: g},");
    // Whatever their order in the file.
    let report = json(&(NODE.to_owned() + &one + &member + group), &[]);
    let gang = &report["podGroups"][0];
    assert_eq!(
        (&gang["submittedAt"], &gang["minAvailable"]),
        (&0.0.into(), &1.into())
    );
    assert_eq!(gang["scheduledAt"], 10.0);
}

#[test]
fn what_is_deleted_may_be_created_again_under_its_name() {
    let first = pod("a", "1", "simulate.muster.dev/delete-at: 10s");
    let second = pod("a", "4", "simulate.muster.dev/at: 10s");
    for scenario in [first.clone() + &second, second + &first] {
        let report = json(&(NODE.to_owned() + &scenario), &[]);
        let (first, second) = (&report["pods"][0], &report["pods"][1]);
        assert_eq!(
            (&first["phase"], &first["finishedAt"]),
            (&"Deleted".into(), &10.1.into())
        );
        assert_eq!(
            (&second["submittedAt"], &second["phase"]),
            (&10.0.into(), &"Running".into())
        );
        // Its name is free when the kubelet is done with the first.
        assert_eq!(second["boundAt"], 10.1);
    }
}

#[test]
fn an_evicted_pod_comes_back_as_it_was_edited() {
    let gated = pod("a", "1", "").replace("spec:\n", "spec:\n  schedulingGates: [{name: x}]\n");
    let gone = later(NODE, "0s, simulate.muster.dev/delete-at: 10s");
    let again = later(NODE, "20s");
    let free = later(&pod("a", "1", ""), "5s");
    let report = json(&(gone + &again + &gated + &free), &[]);
    assert_eq!(report["pods"][0]["boundAt"], 20.0);
    assert_eq!(report["pods"].as_array().unwrap().len(), 1);
}

#[test]
fn every_gang_that_waits_has_its_position_and_its_reason_as_of_the_end() {
    let group = |index: usize| {
        format!(
            "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {{name: g{index:02}}}\n\
             spec: {{minAvailable: 1}}\n---\n"
        )
    };
    let member = |index: usize| {
        let label = format!("{{name: p{index:02}, labels: {{muster.dev/pod-group: g{index:02}}},");
        pod(&format!("p{index:02}"), "8", "").replace(&format!("{{name: p{index:02},"), &label)
    };
    let waiting: String = (0..70).map(|index| group(index) + &member(index)).collect();
    // Nothing was written yet of why they wait.
    let until = ["--until", "100ms"];
    let report = json(&(NODE.to_owned() + &waiting), &until);
    for (index, gang) in report["podGroups"].as_array().unwrap().iter().enumerate() {
        assert_eq!(gang["position"], index + 1);
        let message = gang["message"].as_str().unwrap();
        assert!(message.contains("1 Insufficient cpu"), "{message}");
    }
    let alone = NODE.to_owned() + &pod("alone", "8", "");
    let table = simulate(&alone, &until).stdout;
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("default/alone waits: 0/1 nodes"), "{table}");
}

#[test]
fn a_podgroup_that_is_deleted_waits_for_nothing() {
    let group = "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\n\
                 metadata: {name: g, annotations: {simulate.muster.dev/delete-at: 10s}}\n\
                 spec: {minAvailable: 1}\n---\n";
    let report = json(&(NODE.to_owned() + group), &[]);
    let gang = &report["podGroups"][0];
    assert_eq!(
        (&gang["reason"], &gang["message"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(gang["phase"], "Inqueue");
}

/// Exit code 3 says that nothing can be trusted: it is for Muster's mistakes only.
#[test]
fn what_others_do_is_no_bug_of_muster() {
    let crowded = pod("a", "9", "").replace("spec:\n", "spec:\n  nodeName: n1\n");
    let none = pod("b", "0", "simulate.muster.dev/at: 5s");
    let shrunk = later(&NODE.replace("cpu: \"4\"", "cpu: \"1\""), "2s");
    for scenario in [
        NODE.to_owned() + &crowded + &none,
        NODE.to_owned() + &pod("a", "4", "") + &shrunk + &none,
    ] {
        let report = json(&scenario, &[]);
        assert_eq!(report["pods"][1]["boundAt"], 5.0);
    }

    let group = |max: u32, at: &str| {
        format!(
            "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {{name: g, annotations: \
             {{simulate.muster.dev/at: {at}}}}}\nspec: {{subgroups: [{{name: x, min: 1, max: \
             {max}}}, {{name: y, min: 0}}]}}\n---\n"
        )
    };
    let member = |name: &str, of: &str, at: &str| {
        let labels = format!("labels: {{muster.dev/pod-group: g, muster.dev/subgroup: {of}}}");
        let pod = pod(name, "1", &format!("simulate.muster.dev/at: {at}"));
        pod.replace(
            &format!("{{name: {name},"),
            &format!("{{name: {name}, {labels},"),
        )
    };
    let members = member("x0", "x", "0s") + &member("x1", "x", "0s") + &member("y", "y", "5s");
    let report = json(
        &(NODE.to_owned() + &group(2, "0s") + &members + &group(1, "2s")),
        &[],
    );
    assert_eq!(report["pods"][2]["boundAt"], 5.0);
}

#[test]
fn a_configuration_that_overcommits_nodes_is_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let text = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n\
                profile: {filter: [TaintToleration]}\n";
    std::fs::write(&file, text).unwrap();
    let scenario = NODE.to_owned() + &pod("a", "9", "");
    let report = json(&scenario, &["--config", file.to_str().unwrap()]);
    assert_eq!(report["pods"][0]["boundAt"], 0.0);
}

/// Who names no queue then waits until somebody declares it.
#[test]
fn a_configuration_may_do_without_the_default_queue() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let text = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n\
                defaultQueue: false\n";
    std::fs::write(&file, text).unwrap();
    let flags = ["--config", file.to_str().unwrap()];
    let scenario = NODE.to_owned() + &pod("a", "1", "");
    let report = json(&scenario, &flags);
    assert_eq!(report["pods"][0]["node"], Value::Null);
    assert_eq!(report["queues"], Value::Array(Vec::new()));
    let declared = "---\napiVersion: muster.dev/v1alpha1\nkind: Queue\nmetadata:\n  name: default\n  \
                    annotations: {simulate.muster.dev/at: 5s}\nspec: {}\n";
    let report = json(&(scenario + declared), &flags);
    assert_eq!(report["pods"][0]["boundAt"], 5.0);
    assert_eq!(report["queues"][0]["name"], "default");
}

/// The example of docs/queues.md: the same day, counted in two ways.
#[test]
fn usage_is_the_sum_of_all_resources_or_the_one_that_counts_most() {
    let mut scenario = "apiVersion: v1\nkind: Node\nmetadata:\n  name: n\n  annotations: \
         {simulate.muster.dev/replicas: \"12\"}\n\
         status: {allocatable: {cpu: \"4\", memory: 16Gi, pods: \"10\"}}\n"
        .to_owned();
    for (queue, requests) in [("a", "{cpu: \"4\", memory: 16Gi}"), ("b", "{cpu: \"4\"}")] {
        scenario += &format!(
            "---\napiVersion: muster.dev/v1alpha1\nkind: Queue\nmetadata: {{name: {queue}}}\nspec: {{}}\n\
             ---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {queue}\n  labels: {{muster.dev/queue: {queue}}}\n  \
             annotations: {{simulate.muster.dev/replicas: \"12\", muster.dev/lifetime: 0s}}\n\
             spec:\n  schedulerName: muster\n  \
             containers: [{{name: main, image: i, resources: {{requests: {requests}}}}}]\n"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let started = |usage: &str| {
        let text = format!(
            "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\nusage: {usage}\n"
        );
        std::fs::write(&file, text).unwrap();
        let report = json(&scenario, &["--config", file.to_str().unwrap()]);
        let pods = report["pods"].as_array().unwrap();
        ["a-", "b-"].map(|of| {
            let bound = |pod: &&Value| {
                let name = pod["name"].as_str().unwrap();
                name.starts_with(of) && pod["boundAt"] == 0.0
            };
            pods.iter().filter(bound).count()
        })
    };
    assert_eq!(started("Weighted"), [4, 8]);
    assert_eq!(started("Dominant"), [6, 6]);
}
