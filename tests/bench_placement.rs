//! `muster bench placement`: what it prints, what it refuses, and that every rule plays by the limits.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use muster::bench::placement::{Options, Rule, Workload, run};
use serde_json::Value;
use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["bench", "placement"])
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One short run.
const SHORT: [&str; 6] = [
    "--workload=whole-nodes",
    "--rule=muster",
    "--rule=first-fit",
    "--rule=muster",
    "--hours=1",
    "--seed=3",
];

#[test]
fn the_report_in_json_has_every_rule_once_and_is_the_same_again() {
    let arguments = [&SHORT[..], &["--output=json"]].concat();
    let output = bench(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["seed"], &report["hours"]), (&3.into(), &1.into()));
    let [one] = &report["workloads"].as_array().unwrap()[..] else {
        panic!("{report}");
    };
    assert_eq!(one["workload"], "whole-nodes");
    assert_eq!(one["nodes"], 1_024);
    let rules = one["rules"].as_array().unwrap();
    let names: Vec<&Value> = rules.iter().map(|rule| &rule["rule"]).collect();
    assert_eq!(names, ["muster", "first-fit"]);
    for rule in rules {
        assert_eq!(rule["quarters"].as_array().unwrap().len(), 4);
        assert_eq!(rule["hops"]["atOptimum"], 1.0);
        assert!(rule["utilisation"]["cpu"].as_f64().unwrap() > 0.5);
        assert!(rule["waits"]["gangs"].as_u64().unwrap() > 20);
        assert!(rule.get("violations").is_none(), "{rule}");
    }
    // What is printed while it plays is on standard error.
    assert!(text(&output.stderr).contains("whole-nodes with first-fit"));
    assert_eq!(bench(&arguments).stdout, output.stdout);
}

#[test]
fn the_table_has_a_line_for_each_rule() {
    let output = bench(&SHORT);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    let line = |name: &str| table.lines().filter(|line| line.starts_with(name)).count();
    assert_eq!((line("| muster "), line("| first-fit ")), (1, 1), "{table}");
    assert!(table.contains("whole-nodes: 1024 nodes"), "{table}");
}

#[test]
fn what_is_not_known_is_refused_with_what_is() {
    for (arguments, said) in [
        (
            &["--workload=none"][..],
            "[possible values: whole-nodes, mixed, elastic]",
        ),
        (
            &["--rule=random"],
            "[possible values: muster, best-fit, first-fit, spread, fullest-domain]",
        ),
        (&["--hours=0"], "0 is not in 1..=1000"),
        (&["--hours=1001"], "1001 is not in 1..=1000"),
        (&["--seed=-1"], "--seed"),
        (&["--nodes=5"], "--nodes"),
    ] {
        let output = bench(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let stderr = text(&output.stderr);
        assert!(stderr.contains(said), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn flags_for_a_cluster_do_not_go_with_it() {
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["bench", "--nodes=5", "placement"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn every_rule_keeps_the_limits_and_starts_everything_in_the_end() {
    let options = Options {
        workloads: vec![Workload::WholeNodes],
        rules: Rule::ALL.to_vec(),
        seed: 5,
        hours: 1,
    };
    let report = run(&options, |_, _| {});
    assert_eq!(report.violations().next(), None);
    let [one] = &report.workloads[..] else {
        panic!("one workload was asked for");
    };
    assert_eq!(one.rules.len(), Rule::ALL.len());
    for rule in &one.rules {
        let measured = &rule.measured;
        assert!(measured.hops.gangs > 20, "{rule:?}");
        assert!((measured.hops.at_optimum, measured.hops.mean_excess) == (1.0, 0.0));
        assert_eq!(measured.waits.never_started, 0);
        // Nodes are whole: nothing is free on one in use.
        assert!(measured.stranded < 1e-9, "{rule:?}");
        let used = measured.utilisation["cpu"];
        assert!((0.5..=1.0).contains(&used), "{rule:?}");
        let quarters: usize = measured.quarters.iter().map(|one| one.waits.gangs).sum();
        assert_eq!(quarters, measured.waits.gangs);
    }
}
