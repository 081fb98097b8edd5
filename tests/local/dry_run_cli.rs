//! `muster run --dry-run` as who gives it finds it: what may not be is said at once, with what may.

use std::fs;
use std::process::Command;

/// A cluster that nobody asks anything before the flags are right.
const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: nobody
clusters: [{name: nobody, cluster: {server: 'http://127.0.0.1:9'}}]
contexts: [{name: nobody, context: {cluster: nobody}}]
";

/// What `muster run` says that has to fail as bad input does, with this configuration.
fn refused(arguments: &[&str], configuration: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let head = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n";
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["run", "--listen=127.0.0.1:0"])
        .args(arguments)
        .arg("--kubeconfig")
        .arg(file("kubeconfig", KUBECONFIG))
        .arg("--config")
        .arg(file("config.yaml", &format!("{head}{configuration}")))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    said
}

#[test]
fn what_writes_does_not_go_with_it() {
    for other in ["--controllers", "--external=127.0.0.1:0"] {
        let said = refused(&["--dry-run", other], "");
        let name = other.split('=').next().unwrap();
        assert!(said.contains("'--dry-run' cannot be used with"), "{said}");
        assert!(said.contains(name), "{said}");
    }
}

#[test]
fn its_flags_are_about_a_dry_run() {
    for flag in [
        "--report-every=5m",
        "--dry-run-scheduler-name=volcano",
        "--output=json",
    ] {
        let said = refused(&[flag], "");
        assert!(
            said.contains("not provided:\n  --dry-run"),
            "{flag}: {said}"
        );
    }
}

#[test]
fn values_that_make_no_sense_are_named_with_what_does() {
    let said = refused(&["--dry-run", "--report-every=0s"], "");
    assert!(said.contains("it has to be from 1s to 24h"), "{said}");
    let said = refused(&["--dry-run", "--dry-run-scheduler-name=a,b c"], "");
    assert!(
        said.contains("found \"b c\": expected a scheduler's name"),
        "{said}"
    );
}

#[test]
fn a_configuration_that_asks_others_is_refused_with_the_field() {
    let others = [
        (
            "extenders",
            "[{urlPrefix: 'http://127.0.0.1:1/', filterVerb: filter}]",
        ),
        (
            "remotePlugins",
            "[{name: door, url: 'http://127.0.0.1:1/', points: [Permit]}]",
        ),
    ];
    for (field, value) in others {
        let said = refused(&["--dry-run"], &format!("{field}: {value}\n"));
        let wanted = format!("{field}: in a dry run nobody outside is asked");
        assert!(said.contains(&wanted), "{said}");
    }
}
