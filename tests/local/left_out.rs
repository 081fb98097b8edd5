//! `hack/test` where there is no Java: all but the tests with real Spark and Flink is run, and what was left out is said.
//!
//! The script is run as it is, with `hack/spark` and `hack/flink`; what it calls besides is a stand-in here.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that the scripts call and that are on every machine.
const TOOLS: &[&str] = &[
    "awk", "bash", "cat", "dirname", "env", "grep", "head", "mkdir", "nice", "rm", "sed", "sleep",
    "tail", "tee",
];
/// What it calls in `hack/`.
const SCRIPTS: &[&str] = &[
    "build-control-plane",
    "build-operators",
    "helm",
    "operator-crds",
    "page-test",
    "schemathesis",
];

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/usr/bin/env bash\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Where a program of this machine is.
fn on_this_machine(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut all = std::env::split_paths(&path).map(|folder| folder.join(name));
    all.find(|file| file.is_file()).unwrap()
}

/// Runs it with these programs of Java's; what it said, and the calls of the live tests.
fn run(java: &[(&str, &str)]) -> (String, Vec<String>) {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    fs::create_dir_all(at("bin")).unwrap();
    for tool in TOOLS {
        symlink(on_this_machine(tool), at("bin").join(tool)).unwrap();
    }
    for (name, says) in java {
        program(&at("bin").join(name), &format!("echo '{says}'"));
    }
    program(&at("bin/python3"), "");
    let calls = at("calls");
    let cargo = format!(
        "echo \"$*\" >>'{}'\necho 'test result: ok. 1 passed; 0 failed'",
        calls.display()
    );
    program(&at("bin/cargo"), &cargo);
    for script in SCRIPTS {
        program(&at("hack").join(script), "");
    }
    for script in ["test", "spark", "flink"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("hack")
            .join(script);
        fs::copy(from, at("hack").join(script)).unwrap();
    }
    let text = fs::read_to_string(at("hack/test")).unwrap();
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("cargo_deny_version="));
    let says = format!("echo cargo-deny {}", version.unwrap());
    program(&at("target/tools/bin/cargo-deny"), &says);
    // Nothing is to be fetched.
    program(&at("home/bin/spark-submit"), "");
    let flink = fs::read_to_string(at("hack/flink")).unwrap();
    let version = flink.lines().find_map(|line| line.strip_prefix("version="));
    let jar = format!("home/lib/flink-dist-{}.jar", version.unwrap());
    program(&at(&jar), "");

    let output = Command::new(at("hack/test"))
        .env_clear()
        .env("PATH", at("bin"))
        .env("CARGO_TARGET_DIR", at("target"))
        .env("SPARK_HOME", at("home"))
        .env("FLINK_HOME", at("home"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complained}");
    let calls = fs::read_to_string(calls).unwrap();
    let live = calls
        .lines()
        .filter(|call| call.contains("--test live") && call.contains(" -- "));
    (said, live.map(str::to_owned).collect())
}

/// The last lines that say what was left out, and the very last.
fn end(said: &str) -> (Vec<&str>, &str) {
    let mut lines = said.lines().rev();
    let last = lines.next().unwrap();
    let mut left_out: Vec<_> = lines
        .take_while(|line| line.starts_with("LEFT OUT: "))
        .collect();
    left_out.reverse();
    (left_out, last)
}

#[test]
fn without_java_all_else_is_tested_and_what_was_left_out_is_said_last() {
    let (said, live) = run(&[]);
    let (left_out, last) = end(&said);
    assert_eq!(last, "hack/test: ok");
    let [spark, flink] = left_out[..] else {
        panic!("{said}");
    };
    assert!(spark.contains("spark::* (") && spark.contains("Java is not installed"));
    assert!(flink.contains("flink::* (") && flink.contains("there is no Java compiler"));
    let both = "--skip=spark:: --skip=flink::";
    let halves: Vec<_> = live.iter().filter(|call| call.contains(both)).collect();
    assert_eq!(halves.len(), 1, "{live:?}");
    assert!(halves[0].contains(" scenarios:: "));
    assert_eq!(live.len(), 2, "the other half is run, too: {live:?}");
}

#[test]
fn with_what_runs_java_and_no_compiler_only_flink_is_left_out() {
    for (version, runs) in [("17.0.9", true), ("11.0.2", false)] {
        let java = format!("openjdk version \"{version}\"");
        let (said, live) = run(&[("java", &java)]);
        let (left_out, last) = end(&said);
        assert_eq!(last, "hack/test: ok");
        assert_eq!(left_out.len(), if runs { 1 } else { 2 }, "{said}");
        assert!(left_out.last().unwrap().contains("flink::*"), "{said}");
        let skips = |name: &str| {
            live.iter()
                .any(|call| call.contains("-- flink::") && call.contains(name))
        };
        assert!(skips("--skip=flink::"));
        assert_eq!(skips("--skip=spark::"), !runs);
    }
}

#[test]
fn with_a_jdk_nothing_is_left_out() {
    let java = ("java", "openjdk version \"17.0.9\"");
    let (said, live) = run(&[java, ("javac", "javac 17.0.9")]);
    assert_eq!(end(&said), (vec![], "hack/test: ok"));
    assert!(!said.contains("LEFT OUT"));
    let first = live
        .iter()
        .find(|call| call.contains("-- flink::"))
        .unwrap();
    assert!(!first.contains("--skip"), "{first}");
}
