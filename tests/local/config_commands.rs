//! `muster config check` and `muster crds`, as a user runs them.

use std::fs;
use std::process::{Command, Output};

fn muster(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command.args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks a file of these bytes.
fn check(content: impl AsRef<[u8]>) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("muster.yaml");
    fs::write(&file, content).unwrap();
    let output = muster(&["config", "check", file.to_str().unwrap()]);
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

const HEAD: &str = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n";

#[test]
fn a_file_that_can_be_used_is_ok() {
    let (code, said, complaint) = check(HEAD);
    assert_eq!((code, complaint.as_str()), (Some(0), ""));
    let wanted = "ok
pods with schedulerName muster:
  order: Priority, MinimumFirst, Submission
  filters: GangSelector, Exclusive, Slots, NodeAffinity, NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit, VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity, NodeDeclaredFeatures
  scores: Packing x1
  preemption: those go who lose least
";
    assert_eq!(said, wanted);
}

#[test]
fn what_each_profile_runs_is_said() {
    let profiles = "schedulerNames: [muster, batch]
profiles:
- schedulerName: spreading
  base: kubernetes
  plugins:
    score: {disabled: [{name: ImageLocality}], enabled: [{name: TaintToleration, weight: 5}]}
- schedulerName: batch
  plugins: {filter: {disabled: [{name: '*'}]}, score: {disabled: [{name: '*'}]}}
";
    let (code, said, complaint) = check(format!("{HEAD}{profiles}"));
    assert_eq!((code, complaint.as_str()), (Some(0), ""));
    for line in [
        "pods with schedulerName muster:",
        "  scores: Packing x1",
        "pods with schedulerName spreading:",
        "  scores: TaintToleration x5, NodeAffinity x2, NodeResourcesFit x1, PodTopologySpread x2, \
         InterPodAffinity x2, VolumeBinding x1, NodeResourcesBalancedAllocation x1",
        "pods with schedulerName batch:",
        "  filters: GangSelector, Exclusive, Slots",
        "  scores: none",
    ] {
        assert!(
            said.lines().any(|one| one == line),
            "{line:?} is not in\n{said}"
        );
    }
}

#[test]
fn an_unknown_plugin_is_refused_with_its_place_and_the_known_ones() {
    let (code, said, complaint) = check(format!("{HEAD}profile:\n  filter: [NodePort]\n"));
    assert_eq!((code, said.as_str()), (Some(2), ""));
    assert!(complaint.contains("muster.yaml:4:12: "), "{complaint}");
    assert!(
        complaint.contains("NodePort") && complaint.contains("NodePorts, "),
        "{complaint}"
    );
}

#[test]
fn a_file_that_is_no_configuration_is_bad_input() {
    let long = format!("{HEAD}listen: {}\n", "x".repeat(100_000));
    let deep = format!("{HEAD}schedulerNames: {}\n", "[".repeat(20_000));
    let cases: [(&[u8], &str); 8] = [
        (b"", ":1:1: there is nothing in it\n"),
        (b"# a\n", ":2:1: there is nothing in it\n"),
        (
            b"caf\xe9\n",
            ":1:4: found other bytes: expected text in UTF-8\n",
        ),
        (
            b"\xff\xfea\0",
            ":1:1: found UTF-16: expected text in UTF-8\n",
        ),
        (
            b"apiVersion: v1\nkind: Pod\n",
            ":1:13: found \"v1\": expected config.muster.dev/v1alpha1\n",
        ),
        (b"- a\n", ":1:1: found \"- a\": expected a map of fields\n"),
        (
            long.as_bytes(),
            "expected an IP address and a port, such as 127.0.0.1:10270\n",
        ),
        (deep.as_bytes(), ""),
    ];
    for (content, words) in cases {
        let (code, said, complaint) = check(content);
        assert_eq!((code, said.as_str()), (Some(2), ""), "{complaint}");
        assert!(complaint.ends_with(words), "{complaint}");
        assert!(complaint.contains("muster.yaml:"), "{complaint}");
        assert!(
            complaint.lines().count() == 1 && complaint.len() < 600,
            "{complaint}"
        );
    }
}

#[test]
fn a_file_that_is_not_there_or_a_folder_is_bad_input() {
    let output = muster(&["config", "check", "no/such.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("no/such.yaml: "));
    let folder = tempfile::tempdir().unwrap();
    let output = muster(&["config", "check", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("directory"));
}

#[test]
fn the_manifests_are_printed_as_they_stand_in_crds() {
    let output = muster(&["crds"]);
    assert_eq!(output.status.code(), Some(0));
    let manifests = muster::api::crd::manifests().unwrap();
    let wanted: Vec<String> = manifests.into_iter().map(|(_, yaml)| yaml).collect();
    assert_eq!(text(&output.stdout), wanted.join("---\n"));
}
