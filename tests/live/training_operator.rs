//! Kubeflow's training-operator 1.8.1 with Muster as its gang scheduler: its own controllers, and pods that run.
//!
//! Left out is its webhook. Needs what `hack/build-control-plane` and `hack/build-training-operator` build, and Python.

use crate::live::{Cluster, condition, eventually, text, within};
use crate::programs::{PATIENCE, Program, training_operator_home};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

const JOBS: &str = "/apis/kubeflow.org/v1/namespaces/default";
const GROUPS: &str = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups";

/// A cluster with the operator, and with kubelets that run what its pods say.
struct Lab {
    operator: Child,
    _kubelet: Program,
    work: PathBuf,
    cluster: Cluster,
}

impl Lab {
    fn start() -> Self {
        let home = training_operator_home();
        let cluster = Cluster::of(|builder| builder.kwok(false).controller_manager(true));
        cluster.apply_folder("crds");
        cluster.apply_folder("deploy/compat");
        for kind in ["pytorchjobs", "tfjobs"] {
            let file = home.join(format!("crds/{kind}.yaml"));
            // Too large for what `apply` notes on them.
            let create = ["create", "-f", file.to_str().unwrap()];
            cluster.plane.kubectl(&create).unwrap();
            let served = || cluster.plane.get(&format!("{JOBS}/{kind}")).is_ok();
            eventually("its kinds are served", served);
        }
        let work = cluster.plane.dir().join("pods");
        fs::create_dir_all(&work).unwrap();
        let log = File::create(work.join("operator.log")).unwrap();
        let operator = Command::new(home.join("training-operator"))
            .arg("--gang-scheduler-name=muster")
            .env("KUBECONFIG", cluster.plane.kubeconfig())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self {
            operator,
            _kubelet: Program::kubelet(&cluster, &work, "shell", &work),
            work,
            cluster,
        }
    }

    /// Makes a job whose replicas run this command, each with a CPU of its own.
    fn submit(&self, kind: &str, name: &str, replicas: &[(&str, u32)], container: &str, run: &str) {
        let replica = |count: u32| {
            json!({"replicas": count, "restartPolicy": "Never", "template": {"spec": {"containers": [{
                "name": container, "image": "shell", "command": ["sh", "-c", run],
                "resources": {"requests": {"cpu": "1"}},
            }]}}})
        };
        let specs = replicas.iter();
        let specs: serde_json::Map<String, Value> = specs
            .map(|(role, count)| ((*role).to_owned(), replica(*count)))
            .collect();
        let field = match kind {
            "PyTorchJob" => "pytorchReplicaSpecs",
            _ => "tfReplicaSpecs",
        };
        let job = json!({
            "apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name},
            "spec": {"runPolicy": {"cleanPodPolicy": "None"}, field: specs},
        });
        let path = format!("{JOBS}/{}s", kind.to_lowercase());
        eventually("the job is taken", || {
            self.cluster.plane.post(&path, &job).is_ok()
        });
    }

    fn has_succeeded(&self, kind: &str, name: &str) -> bool {
        let path = format!("{JOBS}/{}s/{name}", kind.to_lowercase());
        let job = self.cluster.plane.get(&path).unwrap();
        let succeeded = condition(&job["status"], "Succeeded");
        succeeded.is_some_and(|one| one["status"] == "True")
    }

    /// What a pod has printed.
    fn printed(&self, pod: &str) -> String {
        let log = self.work.join(format!("default_{pod}/log"));
        fs::read_to_string(log).unwrap_or_default()
    }

    fn phase(&self, name: &str) -> String {
        let group = self.cluster.plane.get(&format!("{GROUPS}/{name}"));
        group
            .map(|group| text(&group, "/status/phase"))
            .unwrap_or_default()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        _ = self.operator.kill();
        _ = self.operator.wait();
        if thread::panicking() {
            let log = self.work.join("operator.log");
            let said = fs::read_to_string(&log).unwrap_or_default();
            let from = said.len().saturating_sub(4_000);
            eprintln!(
                "{}:\n{}",
                log.display(),
                said.get(from..).unwrap_or_default()
            );
        }
    }
}

#[test]
fn jobs_of_the_training_operator_run_whole_and_to_their_end() {
    let lab = Lab::start();
    lab.cluster.nodes(2, "2");
    // It goes on when somebody has a word on its PodGroup, which has no pods so far.
    let claim = [
        "label",
        "namespace",
        "default",
        "muster.dev/scheduler-name=muster",
    ];
    lab.cluster.plane.kubectl(&claim).unwrap();
    let muster = lab.cluster.muster();
    let go = lab.work.join("go");
    let wait = format!(
        "echo $RANK of $WORLD_SIZE; until [ -e {} ]; do sleep 0.1; done",
        go.display()
    );
    let team = [("Master", 1), ("Worker", 2)];
    lab.submit("PyTorchJob", "first", &team, "pytorch", &wait);
    within(PATIENCE, "the first runs whole", || {
        let ranks = ["first-master-0", "first-worker-0", "first-worker-1"];
        let printed = ranks.map(|pod| lab.printed(pod));
        printed == ["0 of 3\n", "1 of 3\n", "2 of 3\n"]
    });

    // There is room for one of it, and for none without the others.
    lab.submit("PyTorchJob", "second", &team, "pytorch", "exit 0");
    within(PATIENCE, "all of the second are there", || {
        lab.cluster.placed("second-").len() == 3
    });
    lab.submit("TFJob", "third", &[("Worker", 2)], "tensorflow", "exit 0");
    within(PATIENCE, "all of the third are there", || {
        lab.cluster.placed("third-").len() == 2
    });
    thread::sleep(Duration::from_secs(2));
    for waits in ["second", "third"] {
        assert_eq!(lab.cluster.bound(&format!("{waits}-")), 0, "{waits}");
        assert_ne!(lab.phase(waits), "Running", "{waits}");
    }
    assert!(!lab.has_succeeded("PyTorchJob", "first"));

    fs::write(&go, "").unwrap();
    for (kind, name) in [
        ("PyTorchJob", "first"),
        ("PyTorchJob", "second"),
        ("TFJob", "third"),
    ] {
        within(PATIENCE, "it has succeeded", || {
            lab.has_succeeded(kind, name)
        });
    }
    muster.stop();
}
