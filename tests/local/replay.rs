//! What is recorded is played again: every scenario by the library, and as a user calls it.

use crate::expect::{Expect, split};
use crate::replayed::replayed;
use crate::scenarios::files;
use crate::simulate::simulate;
use muster::core::engine::Policy;
use muster::model::units::Time;
use muster::record::{Folder, Storage};
use muster::sim::driver::Driver;
use muster::sim::network::Network;
use muster::sim::recording::Recording;
use muster::sim::scenario::{Source, load};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Plays a scenario as long as it is given, and records it.
fn record(name: &str, text: &str, expect: &Expect, folder: &Path) -> Policy {
    let source = Source {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let scenario = load(&[source], &expect.reading().unwrap()).unwrap();
    let policy = expect.policy().unwrap();
    let mut driver = Driver::new(scenario, policy.clone(), Network::calm(0));
    let storage = Storage {
        folder: folder.to_owned(),
        limit: u64::MAX,
    };
    let recording = Recording::new(storage, driver.begin(), None);
    driver.set_tapes(Box::new(recording.clone()));
    driver.run(Time::from_secs(expect.within_seconds), |_| {});
    drop(driver);
    recording.end().unwrap();
    policy
}

#[test]
fn every_scenario_that_is_recorded_is_played_to_the_same_plans() {
    let files = files();
    assert!(files.len() >= 25, "only {} scenarios", files.len());
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let (scenario, expect) = split(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let folder = tempfile::tempdir().unwrap();
        let policy = record(&name, scenario, &expect, folder.path());
        match replayed(folder.path(), &policy) {
            Ok(plans) => assert!(plans > 0, "{name}: nothing was decided"),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

/// A gang that has room, one that is preempted for a more important one, and one that is too large.
const DAY: &str = "
apiVersion: v1
kind: Node
metadata: {name: n, annotations: {simulate.muster.dev/replicas: '2'}}
status: {allocatable: {cpu: 4, pods: 10}}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: low}
spec: {minAvailable: 2}
---
apiVersion: v1
kind: Pod
metadata: {name: low, labels: {muster.dev/pod-group: low}, annotations: {simulate.muster.dev/replicas: '2'}}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: high, annotations: {simulate.muster.dev/at: 60s}}
spec: {minAvailable: 1, priority: 100}
---
apiVersion: v1
kind: Pod
metadata: {name: high, labels: {muster.dev/pod-group: high}, annotations: {simulate.muster.dev/at: 60s}}
spec: {priority: 100, containers: [{name: c, image: i, resources: {requests: {cpu: 4}}}]}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: wide, annotations: {simulate.muster.dev/at: 30s}}
spec: {minAvailable: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: wide, labels: {muster.dev/pod-group: wide}, annotations: {simulate.muster.dev/at: 30s}}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 40}}}]}
";

const CONFIG: &str = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn path(folder: &TempDir) -> &str {
    folder.path().to_str().unwrap()
}

fn replay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muster"))
        .args([&["replay"], arguments].concat())
        .output()
        .unwrap()
}

fn said(output: &Output, code: i32) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    if code == 2 { err } else { out }
}

/// The day, recorded; with what `muster simulate` says of why the gang is where it is.
fn recorded_day() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = simulate(
        DAY,
        &[
            "--until",
            "45s",
            "--why",
            "podgroup/wide",
            "--record",
            path(&folder),
        ],
    );
    let report = said(&output, 0);
    let (_, why) = report.rsplit_once(" %\n\n").unwrap();
    assert!(why.contains("default/wide: Inqueue"), "{why}");
    (folder, why.to_owned())
}

fn whole_day() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let output = simulate(DAY, &["--until", "5m", "--record", path(&folder)]);
    said(&output, 0);
    folder
}

#[test]
fn a_record_of_a_simulation_is_played_to_the_same_plans() {
    let folder = whole_day();
    let words = said(&replay(&[path(&folder)]), 0);
    let first = words.lines().next().unwrap();
    assert!(
        first.starts_with("19700101T000000.000Z_scheduler-1: from 0s to "),
        "{words}"
    );
    assert!(words.contains("the same plans, byte for byte"), "{words}");
    let json = said(&replay(&[path(&folder), "-o", "json"]), 0);
    let json: Value = serde_json::from_str(&json).unwrap();
    let term = &json["terms"][0];
    assert_eq!(term["came"], "Same");
    assert!(term["binds"].as_u64().unwrap() >= 3, "{term}");
    assert!(term["evictions"].as_u64().unwrap() >= 1, "{term}");
    let until = said(&replay(&[path(&folder), "--at", "10s", "-o", "json"]), 0);
    let until: Value = serde_json::from_str(&until).unwrap();
    assert_eq!(until["terms"][0]["binds"], 2);
}

#[test]
fn the_same_is_said_of_why_as_was_said_then() {
    let (folder, why) = recorded_day();
    let whole = whole_day();
    let asked = ["--why", "podgroup/wide", "--at", "45s"];
    for folder in [&folder, &whole] {
        let answer = said(&replay(&[&[path(folder)], &asked[..]].concat()), 0);
        assert_eq!(answer, why);
    }
    let json = [&[path(&whole)], &asked[..], &["-o", "json"]].concat();
    let json: Value = serde_json::from_str(&said(&replay(&json), 0)).unwrap();
    assert_eq!(json["name"], "wide");
    let early = ["--why", "podgroup/wide", "--at", "20s"];
    let words = said(&replay(&[&[path(&whole)], &early[..]].concat()), 2);
    assert!(
        words.contains("there is no PodGroup default/wide at 20s"),
        "{words}"
    );
}

#[test]
fn decisions_are_listed() {
    let folder = whole_day();
    let rows = said(&replay(&[path(&folder), "--decisions", "-o", "json"]), 0);
    let rows: Vec<Value> = rows
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |decision: &str, gang: &str| {
        let is = |row: &&Value| row["decision"] == decision && row["gang"] == gang;
        rows.iter().filter(is).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("Placed", "default/low")[0]["pods"], 2);
    assert_eq!(of("Bind", "default/low")[0]["at"], 0.0);
    assert_eq!(of("Refused", "default/wide")[0]["reason"], "Unschedulable");
    let evicted = of("Evict", "default/low");
    assert!(!evicted.is_empty(), "{rows:#?}");
    assert_eq!(evicted[0]["beneficiary"], "default/high");
    assert_eq!(evicted[0]["at"], 60.0);
    assert_eq!(of("Bind", "default/high").len(), 1);
    let words = said(&replay(&[path(&folder), "--decisions", "--at", "60s"]), 0);
    let evicts = |line: &str| {
        line.starts_with("60s  evict       default/low-") && line.contains(", for default/high: ")
    };
    assert!(words.lines().any(evicts), "{words}");
    assert!(!words.contains("bind        default/high"), "{words}");
}

#[test]
fn another_configuration_is_played_up_to_what_it_decides_otherwise() {
    let folder = whole_day();
    let file = folder.path().join("config.yaml");
    fs::write(&file, CONFIG).unwrap();
    let against = ["--against", file.to_str().unwrap()];
    let words = said(&replay(&[&[path(&folder)], &against[..]].concat()), 0);
    assert!(
        words.contains("config.yaml, byte for byte"),
        "the same configuration decides the same: {words}"
    );
    fs::write(&file, format!("{CONFIG}defaultQueue: false\n")).unwrap();
    let words = said(&replay(&[&[path(&folder)], &against[..]].concat()), 0);
    assert!(
        words.contains("at 0s ") && words.contains("config.yaml decides otherwise"),
        "{words}"
    );
    assert!(
        words.contains("recorded: bind default/low-0 to n-0"),
        "{words}"
    );
    fs::write(&file, "kind: Pod\n").unwrap();
    let words = said(&replay(&[&[path(&folder)], &against[..]].concat()), 2);
    assert!(words.contains("config.yaml:"), "{words}");
}

#[test]
fn what_cannot_be_played_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let words = said(&replay(&[path(&folder)]), 2);
    assert!(words.contains("there is no record in it"), "{words}");
    let words = said(&replay(&["/nowhere/at/all"]), 2);
    assert!(words.starts_with("/nowhere/at/all: "), "{words}");
    let folder = whole_day();
    let file = Folder::open(folder.path()).unwrap().terms[0].parts[0]
        .file
        .clone();
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let words = said(&replay(&[path(&folder)]), 0);
    assert!(words.contains("without an end"), "{words}");
    let words = said(&replay(&[path(&folder), "--at", "2026-01-31T12:00:00Z"]), 2);
    assert!(words.contains("counted from its beginning"), "{words}");
    fs::write(&file, "apiVersion: v1\n").unwrap();
    let words = said(&replay(&[path(&folder)]), 2);
    assert!(words.contains("it is no record: it is no gzip"), "{words}");
    fs::rename(
        &file,
        file.with_file_name("19700101T000000.000Z_scheduler-1.00002.gz"),
    )
    .unwrap();
    fs::write(
        file.with_file_name("19700101T000000.000Z_scheduler-1.00002.gz"),
        whole,
    )
    .unwrap();
    let words = said(&replay(&[path(&folder)]), 2);
    assert!(words.contains("it says that it is part 1"), "{words}");
}

#[test]
fn a_record_is_never_written_over() {
    let folder = whole_day();
    let output = simulate(DAY, &["--until", "5m", "--record", path(&folder)]);
    assert_eq!(output.status.code(), Some(1));
    let words = text(&output.stderr);
    assert!(
        words.contains("--record: ") && words.contains(".00001.gz: "),
        "{words}"
    );
    said(&replay(&[path(&folder)]), 0);
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let output = simulate(DAY, &["--record", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let words = text(&output.stderr);
    assert!(words.starts_with("--record "), "{words}");
}

#[test]
fn a_scheduler_does_not_start_where_nothing_can_be_recorded() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let folder = file.path().to_str().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["run", "--kubeconfig", "/nowhere", "--record", folder])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let words = text(&output.stderr);
    assert!(words.contains(&format!("--record {folder}: ")), "{words}");
}
