//! `muster simulate` as a user calls it, and other commands that read standard input.

use std::io::{ErrorKind, Write};
use std::process::{Command, Output, Stdio};

/// Plays a scenario from standard input.
pub(crate) fn simulate(scenario: &str, arguments: &[&str]) -> Output {
    fed(scenario, &[&["simulate", "-"], arguments].concat())
}

/// Runs a command with this as its standard input, which it may leave unread.
pub(crate) fn fed(input: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let written = child.stdin.take().unwrap().write_all(input.as_bytes());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
        _ => child.wait_with_output().unwrap(),
    }
}
