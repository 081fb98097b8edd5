//! `muster run --dry-run` beside kube-scheduler, on a cluster where Muster is not installed.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::audit::{Written, written};
use crate::live::{Cluster, PODS, eventually};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};

/// Who it is in `deploy/dry-run`.
const ACCOUNT: &str = "system:serviceaccount:muster-system:muster-dry-run";

/// A dry run as a process of its own.
struct DryRun {
    child: Child,
    folder: tempfile::TempDir,
}

impl DryRun {
    fn start(cluster: &Cluster, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| File::create(folder.path().join(name)).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_muster"))
            .args(["run", "--dry-run", "--listen=127.0.0.1:0", "-o", "json"])
            .arg("--kubeconfig")
            .arg(cluster.plane.kubeconfig_of(ACCOUNT).unwrap())
            .args(more)
            .stdout(file("out"))
            .stderr(file("log"))
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// The reports so far.
    fn reports(&self) -> Vec<Value> {
        let out = self.read("out");
        let lines = out
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Waits for a report of which this holds.
    fn reports_that(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut found = None;
        eventually(what, || {
            found = self.reports().into_iter().rev().find(&holds);
            found.is_some()
        });
        found.unwrap()
    }

    /// Tells it to stop; returns its last report.
    fn stop(mut self) -> (Value, String) {
        let before = self.reports().len();
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(told.success());
        let log = self.read("log");
        assert!(self.child.wait().unwrap().success(), "{log}");
        let reports = self.reports();
        assert!(reports.len() > before, "it reports at its end");
        (reports.into_iter().next_back().unwrap(), self.read("log"))
    }
}

impl Drop for DryRun {
    fn drop(&mut self) {
        // It has ended where the test came to its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A cluster with what a dry run needs, and so many nodes with two CPUs.
fn cluster(nodes: usize) -> Cluster {
    let cluster = Cluster::of(|builder| {
        let groups = ["system:serviceaccounts", "system:authenticated"];
        let builder = builder.user(ACCOUNT, &groups);
        builder.kube_scheduler(true).audit(true)
    });
    for file in ["deploy/01-namespace.yaml", "deploy/dry-run/rights.yaml"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        cluster.apply(&fs::read_to_string(path).unwrap());
    }
    cluster.nodes(nodes, "2");
    cluster
}

/// A pod of kube-scheduler's that takes a node, of a gang of two.
fn member(gang: &str, number: usize) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{gang}-{number}"),
            "labels": {
                "pod-group.scheduling.sigs.k8s.io/name": gang,
                "pod-group.scheduling.sigs.k8s.io/min-available": "2",
            },
        },
        "spec": {"containers": [{
            "name": "main", "image": "none", "resources": {"requests": {"cpu": "2"}},
        }]},
    })
}

/// The gangs that differ, with how far they are in both.
fn states(report: &Value) -> BTreeSet<[String; 3]> {
    let all = report["differences"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.map(|one| {
        let [real, shadow] = ["real", "shadow"].map(|side| text(&one[side]["state"]));
        [text(&one["gang"]), real, shadow]
    })
    .collect()
}

fn replayed(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .arg("replay")
        .arg(folder)
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
fn beside_kube_scheduler_it_starts_one_of_two_gangs_that_deadlock_there_and_writes_nothing() {
    let cluster = cluster(2);
    let record = tempfile::tempdir().unwrap();
    let record = record.path().join("record");
    let flags = ["--report-every=1s", "--record", record.to_str().unwrap()];
    let dry_run = DryRun::start(&cluster, &flags);
    dry_run.reports_that("it reports", |_| true);
    let create = |gang, number| cluster.plane.post(PODS, &member(gang, number)).unwrap();
    for gang in ["a", "b"] {
        create(gang, 0);
    }
    eventually("kube-scheduler gives each gang a node", || {
        cluster.bound("a") == 1 && cluster.bound("b") == 1
    });
    for gang in ["a", "b"] {
        create(gang, 1);
    }
    let deadlocked = |report: &Value| report["now"]["real"]["podsWaiting"] == 2;
    let report = dry_run.reports_that("both wait for each other", |report| {
        deadlocked(report) && report["now"]["shadow"]["gangsWhole"] == 1
    });
    let real = json!({
        "gangsWhole": 0, "gangsInPart": 2, "gangsWaiting": 0,
        "podsOnNodes": 2, "podsWaiting": 2, "nodesUsed": 2,
    });
    let shadow = json!({
        "gangsWhole": 1, "gangsInPart": 0, "gangsWaiting": 1,
        "podsOnNodes": 2, "podsWaiting": 2, "nodesUsed": 2,
    });
    assert_eq!(report["now"], json!({"real": real, "shadow": shadow}));
    let started = |report: &Value, side: &str| report["total"]["gangs"][side]["started"].clone();
    assert_eq!(
        (started(&report, "real"), started(&report, "shadow")),
        (json!(0), json!(1))
    );
    let found = states(&report);
    let of =
        |gang: &str, shadow: &str| ["default/".to_owned() + gang, "InPart".into(), shadow.into()];
    let [whole, waits] = if found.contains(&of("a", "Whole")) {
        ["a", "b"]
    } else {
        ["b", "a"]
    };
    assert_eq!(
        found,
        BTreeSet::from([of(whole, "Whole"), of(waits, "Waits")])
    );
    let reason = report["differences"].as_array().unwrap().iter();
    let reason = reason
        .filter_map(|one| one["reason"].as_str())
        .next()
        .unwrap();
    assert!(reason.contains("0/2 nodes are available"), "{reason}");
    // Who is behind it ends the deadlock: what waited in the shadow takes the room that was left.
    for number in [1, 0] {
        cluster.delete_now(&format!("{whole}-{number}"));
    }
    eventually("kube-scheduler starts the other", || {
        cluster.bound(waits) == 2
    });
    let both = |report: &Value| {
        let [real, shadow] = ["real", "shadow"].map(|side| report["now"][side].clone());
        real == shadow && real["gangsWhole"] == 1
    };
    dry_run.reports_that("it runs in both", both);
    let (last, log) = dry_run.stop();
    assert_eq!(last["differences"], json!([]), "{last:#}");
    assert_eq!(
        (started(&last, "real"), started(&last, "shadow")),
        (json!(1), json!(2))
    );
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
    // The audit log has all that this account asked for, and it is that much.
    let verbs: BTreeSet<String> = written(&cluster.plane, ACCOUNT)
        .into_iter()
        .map(|one: Written| one.verb)
        .collect();
    assert_eq!(
        verbs,
        ["list", "watch"].map(str::to_owned).into(),
        "what it asked"
    );
    // kube-scheduler is the admin here, and its binds are there.
    let by_admin = written(&cluster.plane, "admin");
    let binds = by_admin.iter().filter(|one| one.path.ends_with("/binding"));
    assert_eq!(binds.count(), 3);
    for kind in ["leases", "events"] {
        let there = cluster
            .plane
            .kubectl(&["get", kind, "-A", "-o", "json"])
            .unwrap();
        assert!(!there.contains("muster"), "{there}");
    }
    // What it decided there is in the record.
    replayed(&record, &[]);
    let binds = replayed(&record, &["--decisions", "-o", "json"]);
    let binds = binds
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(binds.filter(|line| line["decision"] == "Bind").count(), 4);
}
