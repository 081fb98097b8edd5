//! `muster simulate` as a user calls it.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Plays a scenario from standard input.
pub(crate) fn simulate(scenario: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["simulate", "-"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(scenario.as_bytes()).unwrap();
    drop(input);
    child.wait_with_output().unwrap()
}
