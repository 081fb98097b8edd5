//! `--external` as who gives it finds it: what may not be is said at once, with what may.

use std::io::Write;
use std::process::Command;
use tempfile::NamedTempFile;

/// A cluster that nobody asks anything before the flags are right.
const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: nobody
clusters: [{name: nobody, cluster: {server: 'http://127.0.0.1:9'}}]
contexts: [{name: nobody, context: {cluster: nobody}}]
";

/// What a command says that has to fail.
fn refused(arguments: &[&str]) -> String {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(KUBECONFIG.as_bytes()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(arguments)
        .args(["--listen=127.0.0.1:0", "--leader-elect=false"])
        .arg("--kubeconfig")
        .arg(file.path())
        .output()
        .unwrap();
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn it_is_served_beside_the_controllers() {
    let said = refused(&["run", "--external=127.0.0.1:0"]);
    assert!(said.contains("give --controllers, too"), "{said}");
}

#[test]
fn others_reach_it_only_where_that_was_said() {
    for program in [&["controllers"][..], &["run", "--controllers"]] {
        let said = refused(&[program, &["--external=0.0.0.0:0"]].concat());
        let wanted = "--external 0.0.0.0:0: others can reach it; give a loopback address";
        assert!(said.contains(wanted), "{said}");
    }
}

#[test]
fn a_namespace_that_is_none_is_named() {
    let flags = ["--external=127.0.0.1:0", "--external-namespace=Not_One"];
    let said = refused(&[&["controllers"][..], &flags].concat());
    assert!(said.contains("--external-namespace Not_One"), "{said}");
}
