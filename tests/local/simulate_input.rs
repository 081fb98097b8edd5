//! What `muster simulate` says of input that it cannot play, or that says something odd.

use crate::simulate::simulate;
use crate::simulate_cli::{NODE, json, later, pod, stderr};
use serde_json::Value;
use std::process::Command;

/// Plays bad input; returns what it says.
fn refused(scenario: &str) -> String {
    let output = simulate(scenario, &[]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    stderr(&output)
}

#[test]
fn syntax_errors_have_a_file_a_line_and_a_column() {
    let said = refused(&(NODE.to_owned() + "kind: [\n"));
    assert!(said.starts_with("-:"), "{said}");
    let mut place = said.split(':').skip(1);
    let line: usize = place.next().unwrap().parse().unwrap();
    assert!(line >= 7, "{said}");
    assert!(
        place.next().unwrap().trim().parse::<usize>().is_ok(),
        "{said}"
    );
}

#[test]
fn wrong_types_are_placed_at_their_field() {
    let said = refused(
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\nspec:\n  unschedulable: maybe\n",
    );
    assert_eq!(
        said,
        "-:6:3: Node n1: spec.unschedulable: the text \"maybe\" where true or false belongs\n"
    );
}

#[test]
fn unknown_kinds_and_missing_fields_are_refused() {
    let said = refused("\napiVersion: v1\nkind: Pot\nmetadata: {name: a}\n");
    assert!(
        said.contains("-:2: kind \"Pot\" is not known; known kinds: "),
        "{said}"
    );
    let said = refused("apiVersion: v2\nkind: Pod\nmetadata: {name: a}\n");
    assert!(said.contains("known in: v1"), "{said}");
    assert!(refused("apiVersion: v1\nmetadata: {name: a}\n").contains("kind is missing"));
    assert!(
        refused("apiVersion: v1\nkind: Node\nmetadata: {}\n").contains("metadata.name is missing")
    );
    assert!(refused("just text\n").contains("not an object"));
}

#[test]
fn duplicate_names_are_refused_with_both_places() {
    let said = refused(&(NODE.to_owned() + NODE));
    assert!(
        said.contains("-:8: Node n1: the name \"n1\" is taken by the one at -:2"),
        "{said}"
    );
}

#[test]
fn an_edit_that_the_api_server_would_refuse_is_refused_with_file_object_and_field() {
    let class = |value: i32| {
        format!(
            "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: c}}\n\
             value: {value}\n---\n"
        )
    };
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: \
               {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n---\n";
    let behaves = |duration| {
        pod(
            "a",
            "1",
            &format!("simulate.muster.dev/duration: {duration}"),
        )
    };
    let cases = [
        (
            pod("a", "1", "") + &later(&pod("a", "2", ""), "5s"),
            "-:19:5: Pod a: spec.containers.0.resources.requests.cpu: cannot be edited; what can \
             be: labels, ",
        ),
        (
            class(1) + &later(&class(2), "5s"),
            "-:9:1: PriorityClass c: value: cannot be edited: delete the class and create it \
             again (it is an edit of the one at -:1)",
        ),
        (
            job.to_owned() + &later(job, "5s"),
            "-:6: Job j: a Job cannot be edited in a scenario: delete it",
        ),
        (
            behaves("1m") + &behaves("2m, simulate.muster.dev/at: 5s"),
            "-:13:1: Pod a: metadata.annotations[simulate.muster.dev/duration]: an edit does not",
        ),
        (
            job.to_owned() + &later(&pod("j-0", "1", ""), "5s"),
            "-:6: Pod j-0: the name \"j-0\" is taken by the one at -:1",
        ),
    ];
    for (scenario, words) in cases {
        let said = refused(&scenario);
        assert!(said.starts_with(words), "{said}");
    }
}

#[test]
fn the_same_name_at_the_same_time_and_a_second_end_are_refused_with_both_places() {
    let group = "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\n\
                 spec: {minAvailable: 1}\n---\n";
    let said = refused(&(group.to_owned() + &later(group, "5s") + &later(group, "5s")));
    assert!(
        said.starts_with(
            "-:11: PodGroup g: the name \"g\" is taken by the one at -:6; an edit has a later \
             simulate.muster.dev/at"
        ),
        "{said}"
    );
    let ends = |at: &str| later(group, &format!("{at}, simulate.muster.dev/delete-at: 9s"));
    let said = refused(&(ends("1s") + &ends("2s")));
    let words = "simulate.muster.dev/delete-at: its end is given already at -:1";
    assert!(said.contains(words), "{said}");
    let copies = pod("a", "1", "simulate.muster.dev/replicas: \"50\"");
    let said = refused(&(copies.clone() + &copies));
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn bad_annotations_are_refused_with_what_is_allowed() {
    let said = refused(&pod("a", "1", "simulate.muster.dev/duration: soon"));
    assert!(
        said.contains("Pod a: simulate.muster.dev/duration: \"soon\" is not a duration"),
        "{said}"
    );
}

#[test]
fn the_pods_of_a_job_do_not_fail() {
    let said = refused(
        "\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j, annotations: {simulate.muster.dev/ends: Failed}}\n\
         spec: {template: {spec: {containers: [{name: c, image: x}]}}}\n",
    );
    assert!(
        said.contains("Job j: simulate.muster.dev/ends: the pods of a Job in a scenario succeed"),
        "{said}"
    );
}

#[test]
fn a_podgroup_that_the_api_server_would_refuse_is_refused() {
    let said = refused(
        "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\nspec: {minAvailable: -1}\n",
    );
    assert!(
        said.contains("-:4:1: PodGroup g: spec.minAvailable: "),
        "{said}"
    );
}

#[test]
fn every_error_is_told_at_once() {
    let said = refused("kind: A\n---\nkind: B\n---\n[\n");
    assert_eq!(said.lines().count(), 3, "{said}");
}

#[test]
fn what_a_slip_of_the_pen_leads_to_is_said_with_its_place() {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  parallelism: -3\n  \
               template: {spec: {containers: [{name: c}]}}\n";
    let group = |min: &str| {
        let head = "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\n";
        format!("{head}spec:\n  minAvailable: {min}\n")
    };
    let node = |amounts: &str| {
        let head = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n";
        format!("{head}status:\n  allocatable:\n    cpu: {amounts}\n")
    };
    let cases = [
        ("", "-:1: there is no object in it"),
        ("# only\n---\n# comments\n", "-:1: there is no object in it"),
        (
            "apiVersion: v1\nkind: pods\nmetadata: {name: a}\n",
            "-:1: kind \"pods\" is not known: did you mean Pod?",
        ),
        (
            "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n",
            "-:1: kind \"SchedulerConfiguration\" is not known: a configuration is given by --config",
        ),
        (
            "apiVersion: v1\nkind: Node\nkind: Pod\n",
            "-:3:1: the key \"kind\" stands there twice",
        ),
        (job, "-:5:3: Job j: spec.parallelism: -3 is negative"),
        (
            &group("-1"),
            "-:5:3: PodGroup g: spec.minAvailable: must be between 0 and 2147483647",
        ),
        (
            &group("3000000000"),
            "-:5:3: PodGroup g: spec.minAvailable: the number 3000000000 where a whole number",
        ),
        (
            &group("1.5"),
            "-:5:3: PodGroup g: spec.minAvailable: the number 1.5 where a whole",
        ),
        (&group(".nan"), "-:5:17: .nan is no number that can be used"),
        (
            &node("-4"),
            "-:6:5: Node n: status.allocatable.cpu: \"-4\" is negative",
        ),
        (
            &node("four"),
            "-:6:5: Node n: status.allocatable.cpu: \"four\" is not a quantity",
        ),
        (
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: n\n  labels:\n    a.b/c: 1\n",
            "-:6:5: Node n: metadata.labels[a.b/c]: the number 1 where a text belongs: put it in",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus:\n  phase: Completed\n",
            "-:5:3: Pod a: status.phase: \"Completed\" is none of Pending, Running, Succeeded,",
        ),
        (
            "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n- kind: Pot\n",
            "-:4: apiVersion is missing\n-:5: apiVersion is missing",
        ),
        (
            "apiVersion: v1\nkind: List\n",
            "-:1: a List without a list of items",
        ),
        (
            "kind: &a [*a]\n",
            "-:1:11: an alias stands within what it refers to",
        ),
    ];
    for (scenario, words) in cases {
        let said = refused(scenario);
        assert!(said.starts_with(words), "{scenario:?}: {said}");
    }
}

#[test]
fn a_node_may_be_called_n_and_the_list_of_kinds_is_shown_once() {
    let node = NODE.replace("n1", "n");
    assert_eq!(json(&node, &[])["end"], 0.0);
    let said = refused("apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\n");
    assert_eq!(said.matches("PriorityClass, ").count(), 1, "{said}");
}

#[test]
fn aliases_that_stand_for_billions_are_refused_soon() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} [{items}]\n");
    }
    let said = refused(&text);
    assert!(said.contains("that aliases repeat"), "{said}");
}

#[test]
fn a_list_as_large_as_kubectl_prints_it_is_read() {
    let item = |index: usize| {
        let labels: String = (0..60).map(|key| format!("      k{key}: v\n")).collect();
        format!(
            "- apiVersion: v1\n  kind: Node\n  metadata:\n    name: n{index}\n    labels:\n{labels}"
        )
    };
    let items: String = (0..2500).map(item).collect();
    let report = json(&format!("apiVersion: v1\nkind: List\nitems:\n{items}"), &[]);
    assert_eq!(report["pods"], serde_json::json!([]));
}

#[test]
fn unknown_fields_warn_with_their_place_and_are_played() {
    let typo = pod("a", "1", "").replace("    image: i\n", "    imagge: i\n");
    let output = simulate(&(NODE.to_owned() + &typo), &["--output", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let said = stderr(&output);
    assert!(
        said.contains("-:14:5: Pod a: field spec.containers.0.imagge is not known"),
        "{said}"
    );
}

#[test]
fn odd_quantities_are_understood_or_refused_with_words() {
    for cpu in ["1e3", "1500m", "1Ki", "9223372036854775807", "0"] {
        let report = json(&(NODE.to_owned() + &pod("a", cpu, "")), &[]);
        assert_eq!(report["pods"].as_array().unwrap().len(), 1, "{cpu}");
    }
    for cpu in ["-1", "1.2.3", "four"] {
        let report = json(&(NODE.to_owned() + &pod("a", cpu, "")), &[]);
        assert_eq!(report["pods"][0]["node"], Value::Null, "{cpu}");
    }
}

#[test]
fn missing_files_and_bad_flags_are_bad_input() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
        command.arg("simulate").args(arguments).output().unwrap()
    };
    let output = run(&["no-such-file.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no-such-file.yaml: "));
    let folder = tempfile::tempdir().unwrap();
    let output = run(&[folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("directory"), "{}", stderr(&output));
    let file = folder.path().join("latin1.yaml");
    std::fs::write(&file, b"kind: Node\nname: caf\xe9\n").unwrap();
    let output = run(&[file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    let words = "latin1.yaml:2:10: found other bytes: expected text in UTF-8\n";
    assert!(said.ends_with(words), "{said}");
    assert_eq!(run(&["x.yaml", "--until", "soon"]).status.code(), Some(2));
}
