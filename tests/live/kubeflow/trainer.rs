//! Trainer 2.0.0: TrainJobs, whose pods JobSet's controllers make.

use super::Lab;
use crate::live::within;
use crate::programs::PATIENCE;
use serde_json::json;
use std::fs;
use std::thread;
use std::time::Duration;

const GROUP: &str = "/apis/trainer.kubeflow.org/v1alpha1";

/// Makes the runtime of all: nodes of a CPU each, one gang by the PodGroup that Trainer makes for a TrainJob.
fn add_runtime(lab: &Lab) {
    let node = json!({"spec": {
        "schedulerName": "muster", "restartPolicy": "Never",
        "containers": [{
            "name": "node", "image": "shell", "command": ["true"],
            "resources": {"requests": {"cpu": "1"}},
        }],
    }});
    let runtime = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch"},
        "spec": {
            "mlPolicy": {"numNodes": 1, "torch": {"numProcPerNode": 1}},
            "podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": 120}},
            "template": {"spec": {
                // What JobSet's webhook would fill in.
                "successPolicy": {"operator": "All"},
                "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
                "network": {"enableDNSHostnames": true, "publishNotReadyAddresses": true},
                "replicatedJobs": [{"name": "node", "template": {
                    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                    "spec": {"completionMode": "Indexed", "backoffLimit": 0, "template": node},
                }}],
            }},
        },
    });
    lab.create(&format!("{GROUP}/clustertrainingruntimes"), &runtime);
}

/// Makes a TrainJob of so many nodes that run this command.
fn submit(lab: &Lab, name: &str, nodes: u32, run: &str) {
    let job = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": name},
        "spec": {
            "runtimeRef": {"name": "torch"},
            "trainer": {"numNodes": nodes, "command": ["sh", "-c", run]},
        },
    });
    lab.create(&format!("{GROUP}/namespaces/default/trainjobs"), &job);
}

fn is_complete(lab: &Lab, name: &str) -> bool {
    let path = format!("{GROUP}/namespaces/default/trainjobs/{name}");
    lab.is(&path, "Complete")
}

#[test]
fn train_jobs_run_whole_and_to_their_end() {
    let lab = Lab::start("trainer", &[]);
    let muster = lab.cluster.muster();
    add_runtime(&lab);
    let go = lab.work.join("go");
    let wait = format!(
        "echo $PET_NODE_RANK of $PET_NNODES; until [ -e {} ]; do sleep 0.1; done",
        go.display()
    );
    submit(&lab, "first", 3, &wait);
    within(PATIENCE, "the first runs whole", || {
        let mut printed: Vec<String> = lab
            .cluster
            .placed("first-")
            .keys()
            .map(|pod| lab.printed(pod))
            .collect();
        printed.sort();
        printed == ["0 of 3\n", "1 of 3\n", "2 of 3\n"]
    });
    within(PATIENCE, "and its PodGroup says so", || {
        lab.phase("first") == "Running"
    });

    // There is room for one node of it, and for none without the other.
    submit(&lab, "second", 2, "exit 0");
    within(PATIENCE, "all of the second are there", || {
        lab.cluster.placed("second-").len() == 2
    });
    thread::sleep(Duration::from_secs(2));
    assert_eq!(lab.cluster.bound("second-"), 0);
    assert_ne!(lab.phase("second"), "Running");
    assert!(!is_complete(&lab, "first"));

    fs::write(&go, "").unwrap();
    for name in ["first", "second"] {
        within(PATIENCE, "it is complete", || is_complete(&lab, name));
    }
    muster.stop();
}
