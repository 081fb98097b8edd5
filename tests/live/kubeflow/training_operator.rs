//! The training-operator 1.8.1: PyTorchJobs and TFJobs.

use super::Lab;
use crate::live::within;
use crate::programs::PATIENCE;
use serde_json::{Value, json};
use std::fs;
use std::thread;
use std::time::Duration;

const JOBS: &str = "/apis/kubeflow.org/v1/namespaces/default";

/// Makes a job whose replicas run this command, each with a CPU of its own.
fn submit(lab: &Lab, kind: &str, name: &str, replicas: &[(&str, u32)], container: &str, run: &str) {
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
    lab.create(&format!("{JOBS}/{}s", kind.to_lowercase()), &job);
}

fn has_succeeded(lab: &Lab, kind: &str, name: &str) -> bool {
    let path = format!("{JOBS}/{}s/{name}", kind.to_lowercase());
    lab.is(&path, "Succeeded")
}

#[test]
fn jobs_of_the_training_operator_run_whole_and_to_their_end() {
    let lab = Lab::start("training-operator", &["--gang-scheduler-name=muster"]);
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
    submit(&lab, "PyTorchJob", "first", &team, "pytorch", &wait);
    within(PATIENCE, "the first runs whole", || {
        let ranks = ["first-master-0", "first-worker-0", "first-worker-1"];
        let printed = ranks.map(|pod| lab.printed(pod));
        printed == ["0 of 3\n", "1 of 3\n", "2 of 3\n"]
    });

    // There is room for one of it, and for none without the others.
    submit(&lab, "PyTorchJob", "second", &team, "pytorch", "exit 0");
    within(PATIENCE, "all of the second are there", || {
        lab.cluster.placed("second-").len() == 3
    });
    let workers = [("Worker", 2)];
    submit(&lab, "TFJob", "third", &workers, "tensorflow", "exit 0");
    within(PATIENCE, "all of the third are there", || {
        lab.cluster.placed("third-").len() == 2
    });
    thread::sleep(Duration::from_secs(2));
    for waits in ["second", "third"] {
        assert_eq!(lab.cluster.bound(&format!("{waits}-")), 0, "{waits}");
        assert_ne!(lab.phase(waits), "Running", "{waits}");
    }
    assert!(!has_succeeded(&lab, "PyTorchJob", "first"));

    fs::write(&go, "").unwrap();
    for (kind, name) in [
        ("PyTorchJob", "first"),
        ("PyTorchJob", "second"),
        ("TFJob", "third"),
    ] {
        within(PATIENCE, "it has succeeded", || {
            has_succeeded(&lab, kind, name)
        });
    }
    muster.stop();
}
