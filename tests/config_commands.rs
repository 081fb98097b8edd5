//! `muster config check` and `muster crds`, as a user runs them.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::process::{Command, Output};

fn muster(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command.args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks a file of this text.
fn check(content: &str) -> (Option<i32>, String, String) {
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
    assert_eq!(
        (code, said.as_str(), complaint.as_str()),
        (Some(0), "ok\n", "")
    );
}

#[test]
fn an_unknown_plugin_is_refused_with_its_place_and_the_known_ones() {
    let (code, said, complaint) = check(&format!("{HEAD}profile:\n  filter: [NodeNam]\n"));
    assert_eq!((code, said.as_str()), (Some(2), ""));
    assert!(complaint.contains("muster.yaml:4:12: "), "{complaint}");
    assert!(
        complaint.contains("NodeNam") && complaint.contains("NodeName, "),
        "{complaint}"
    );
}

#[test]
fn a_file_that_is_not_there_is_bad_input() {
    let output = muster(&["config", "check", "no/such.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("no/such.yaml: "));
}

#[test]
fn the_manifests_are_printed_as_they_stand_in_crds() {
    let output = muster(&["crds"]);
    assert_eq!(output.status.code(), Some(0));
    let manifests = muster::api::crd::manifests().unwrap();
    let wanted: Vec<String> = manifests.into_iter().map(|(_, yaml)| yaml).collect();
    assert_eq!(text(&output.stdout), wanted.join("---\n"));
}
