//! `muster top` on a real control plane, and as kubectl itself runs it: `kubectl muster top`.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, eventually};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

/// Two queues, and one who may read the PodGroups of `default` and nothing else.
const OBJECTS: &str = "
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: research}
spec: {weight: 3}
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: vision}
spec: {parent: research}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules: [{apiGroups: [muster.dev], resources: [podgroups], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, name: alice}]
";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn top(kubeconfig: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command
        .args(["top", "--once", "--kubeconfig"])
        .arg(kubeconfig);
    command.args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn it_shows_what_the_objects_say_to_who_may_read_them() {
    let cluster = Cluster::of(|builder| builder.user("alice", &["system:authenticated"]));
    cluster.apply_folder("crds");
    cluster.nodes(1, "4");
    let muster = cluster.muster();
    eventually("the kinds are served", || {
        cluster.plane.kubectl_apply_stdin(OBJECTS).is_ok()
    });
    cluster.gang("small", 2);
    cluster.pods("small", 2, "1");
    eventually("it runs", || {
        cluster.status_of("small")["phase"] == "Running"
    });
    cluster.gang("large", 3);
    cluster.pods("large", 3, "1");
    let admin = cluster.plane.kubeconfig();
    let mut shown = String::new();
    eventually("the one that waits is shown with the reason", || {
        shown = said(&top(&admin, &[]));
        shown.contains("QueueShare: it asks for 3 cores' worth")
    });
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "namespace default: 1 waiting, 1 running");
    let starts = |start: &str| lines.iter().any(|line| line.starts_with(start));
    assert!(starts("research ") && starts("  vision "), "{shown}");
    assert!(starts("1  default/large  -      Inqueue  0/3 "), "{shown}");
    assert!(
        !shown.contains("default/small"),
        "it waits for nothing: {shown}"
    );
    let everywhere = said(&top(&admin, &["-A"]));
    assert!(
        everywhere.starts_with("all namespaces: 1 waiting"),
        "{everywhere}"
    );
    let json: Value = serde_json::from_str(&said(&top(&admin, &["-o", "json"]))).unwrap();
    assert_eq!(json["gangs"][0]["name"], "large");
    assert_eq!(json["queues"][1]["parent"], "research");

    let alice = cluster.plane.kubeconfig_of("alice").unwrap();
    let seen = said(&top(&alice, &[]));
    assert!(seen.contains("default/large"), "{seen}");
    assert!(
        seen.contains("\nqueues cannot be read: queues.muster.dev is forbidden"),
        "{seen}"
    );
    let hidden = top(&alice, &["-n", "kube-system"]);
    assert_eq!(hidden.status.code(), Some(1));
    let complaint = text(&hidden.stderr);
    let wanted = "PodGroups of namespace kube-system cannot be read: ";
    assert!(
        complaint.starts_with(wanted) && complaint.contains("forbidden"),
        "{complaint}"
    );
    muster.stop();
}

#[test]
fn kubectl_runs_it_as_its_plugin_and_completes_its_lines() {
    let cluster = Cluster::start();
    let folder = tempfile::tempdir().unwrap();
    for name in ["kubectl-muster", "kubectl_complete-muster"] {
        symlink(env!("CARGO_BIN_EXE_muster"), folder.path().join(name)).unwrap();
    }
    let usual = std::env::var("PATH").unwrap_or_default();
    let kubectl = |arguments: &[&str]| {
        let mut command = Command::new(muster_devcluster::find_program("kubectl").unwrap());
        command.env("PATH", format!("{}:{usual}", folder.path().display()));
        command.env("KUBECONFIG", cluster.plane.kubeconfig());
        command.args(arguments).output().unwrap()
    };
    eventually("the kinds are served", || {
        kubectl(&["muster", "top", "--once", "-A"]).status.success()
    });
    let shown = said(&kubectl(&["muster", "top", "--once", "-A"]));
    assert_eq!(
        shown,
        "all namespaces: 0 waiting, 0 running\n\nNo gang waits.\n"
    );
    let completed = said(&kubectl(&["__complete", "muster", "wh"]));
    assert!(
        completed.starts_with("why\tAsks the instance"),
        "{completed}"
    );
    let completed = said(&kubectl(&["__complete", "muster", "why", "qu"]));
    assert_eq!(
        completed.lines().next(),
        Some("queue/\tA queue"),
        "{completed}"
    );
}
