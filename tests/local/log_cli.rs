//! The log of `muster run` as who reads it finds it: in a file, and line by line in a parser.

use serde::Deserialize;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use tempfile::NamedTempFile;

/// A line in the JSON form. A field that stands there twice is an error of the parser.
#[derive(Deserialize)]
struct Line {
    level: String,
    fields: Fields,
}

#[derive(Deserialize)]
struct Fields {
    message: String,
    error: Option<String>,
}

fn muster(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command
        .args(["run", "--listen=127.0.0.1:0", "--leader-elect=false"])
        .args(arguments)
        .env_remove("RUST_LOG")
        .env_remove("NO_COLOR");
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_log_that_goes_to_no_terminal_has_no_colours() {
    let output = muster(&["--kubeconfig=/nowhere"]).output().unwrap();
    let said = said(&output);
    assert!(said.contains("ERROR") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_line_of_json_has_each_field_once() {
    let arguments = ["--kubeconfig=/nowhere", "--log-format=json"];
    let output = muster(&arguments).output().unwrap();
    let lines: Vec<Line> = said(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = lines.last().unwrap();
    assert_eq!(
        (last.level.as_str(), last.fields.message.as_str()),
        ("ERROR", "ended")
    );
    let error = last.fields.error.as_ref().unwrap();
    assert!(error.contains("kubeconfig /nowhere: "), "{error}");
}

#[test]
fn a_filter_that_cannot_be_read_is_told() {
    let mut command = muster(&["--kubeconfig=/nowhere"]);
    let output = command.env("RUST_LOG", "info=what").output().unwrap();
    let said = said(&output);
    assert!(said.contains("$RUST_LOG cannot be read"), "{said}");
}

#[test]
fn a_configuration_that_is_wrong_is_bad_input() {
    let mut file = NamedTempFile::new().unwrap();
    let head = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n";
    writeln!(file, "{head}bindConcurrency: 0").unwrap();
    let path = file.path().to_str().unwrap();
    let output = muster(&["--config", path]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains(":3:18: "), "{}", said(&output));
}

#[test]
fn that_the_servers_certificate_is_not_checked_is_said_at_the_start() {
    // Nobody answers there; what is to be said is said before anybody is asked.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("https://{}", free.local_addr().unwrap());
    drop(free);
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": true}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    let mut file = NamedTempFile::new().unwrap();
    write!(file, "{kubeconfig}").unwrap();
    let mut child = muster(&["--kubeconfig", file.path().to_str().unwrap()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let lines = lines.map_while(Result::ok);
    let before: Vec<String> = lines.take_while(|line| !line.contains("leading")).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let warnings = before.iter().filter(|line| line.contains("WARN"));
    let warnings: Vec<&String> = warnings.collect();
    assert_eq!(warnings.len(), 1, "{before:?}");
    assert!(warnings[0].contains("insecure-skip-tls-verify is set"));
}
