//! The operator of `examples/operator`, by its own rights and without a line of Muster's in it: its pods are gangs.
//!
//! Needs what `hack/build-control-plane` builds, and Python.

use crate::live::{Cluster, LIMIT, condition, eventually, text, within};
use crate::programs;
use muster_devcluster::ControlPlane;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;

const RUNS: &str = "/apis/training.example.com/v1/namespaces/default/trainingruns";
const SPECS: &str = "/apis/muster.dev/v1alpha1/namespaces/default/schedulingspecs";
const ACCOUNT: &str = "system:serviceaccount:default:training-operator";

/// The operator, as its ServiceAccount.
struct Operator {
    child: Child,
    log: PathBuf,
}

impl Operator {
    fn start(plane: &ControlPlane) -> Self {
        let config = fs::read_to_string(plane.kubeconfig_of(ACCOUNT).unwrap()).unwrap();
        let config: Value = serde_json::from_str(&config).unwrap();
        let token = plane.dir().join("operator.token");
        fs::write(&token, text(&config, "/users/0/user/token")).unwrap();
        let log = plane.dir().join("operator.log");
        let out = File::create(&log).unwrap();
        let child = Command::new("python3")
            .arg(programs::example("operator/operator.py"))
            .args(["--server", plane.url()])
            .arg("--token-file")
            .arg(&token)
            .arg("--ca-file")
            .arg(plane.ca())
            .stderr(out.try_clone().unwrap())
            .stdout(out)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        if thread::panicking() {
            eprintln!("{}:\n{}", self.log.display(), self.said());
        }
    }
}

impl Cluster {
    /// Makes a TrainingRun of the example's shape.
    fn train(&self, name: &str, workers: u32, min: Option<u32>, duration: &str) {
        let mut run = json!({
            "apiVersion": "training.example.com/v1", "kind": "TrainingRun", "metadata": {"name": name},
            "spec": {"workers": workers, "template": {
                "metadata": {"annotations": {"simulate.muster.dev/duration": duration}},
                "spec": {"containers": [
                    {"name": "worker", "image": "none", "resources": {"requests": {"cpu": "1"}}},
                ]},
            }},
        });
        if let Some(min) = min {
            run["spec"]["minAvailable"] = json!(min);
        }
        eventually("the TrainingRun is taken", || {
            self.plane.post(RUNS, &run).is_ok()
        });
    }

    fn run(&self, name: &str) -> Value {
        self.plane.get(&format!("{RUNS}/{name}")).unwrap()
    }

    fn phase(&self, name: &str) -> String {
        text(&self.run(name), "/status/phase")
    }

    fn delete_run(&self, name: &str) {
        let delete = ["delete", "trainingrun", name, "--wait=false"];
        self.plane.kubectl(&delete).unwrap();
    }
}

#[test]
fn the_pods_of_an_operator_of_ones_own_are_one_gang_from_its_first_to_its_last() {
    let cluster = Cluster::of(|builder| {
        let groups = ["system:serviceaccounts", "system:authenticated"];
        builder.controller_manager(true).user(ACCOUNT, &groups)
    });
    cluster.apply_folder("crds");
    cluster.nodes(2, "2");
    for file in ["crd.yaml", "rbac.yaml"] {
        cluster.apply(&fs::read_to_string(programs::example(&format!("operator/{file}"))).unwrap());
    }
    let muster = cluster.muster();
    let operator = Operator::start(&cluster.plane);

    // There is room for four: a gang of three goes as a whole, one of two does not, though one of them would fit.
    cluster.train("first", 3, None, "1h");
    eventually("all of the first run", || cluster.bound("first-") == 3);
    cluster.train("second", 2, None, "1s");
    eventually("the second says why it waits", || {
        text(&cluster.run("second"), "/status/message").contains("1 of 2 members fit")
    });
    assert_eq!(cluster.placed("second-").len(), 2, "its pods are there");
    assert_eq!(cluster.bound("second-"), 0);
    assert_eq!(cluster.phase("second"), "Pending");
    let spec = cluster.plane.get(&format!("{SPECS}/second")).unwrap();
    let scheduled = condition(&spec["status"], "Scheduled").unwrap();
    let words = text(&cluster.run("second"), "/status/message");
    assert_eq!(text(scheduled, "/message"), words, "they are Muster's own");
    // Of three that need one at least, one goes.
    cluster.train("few", 3, Some(1), "1h");
    eventually("one of them runs", || {
        cluster.bound("few-") == 1 && cluster.phase("few") == "Running"
    });
    assert_eq!(cluster.phase("first"), "Running");
    let status = &cluster.run("first")["status"];
    assert_eq!(
        *status,
        json!({"phase": "Running", "running": 3, "succeeded": 0, "message": ""})
    );

    // With the object goes all that it controls, and who waited has the room: to its end.
    cluster.delete_run("few");
    cluster.delete_run("first");
    // Kubernetes' garbage collector hears of a new kind only every half a minute.
    within(3 * LIMIT, "the second has run", || {
        cluster.phase("second") == "Succeeded"
    });
    eventually("nothing is left of the others", || {
        let is_there = |name: &str| cluster.plane.get(&format!("{SPECS}/{name}")).is_ok();
        !is_there("first")
            && !is_there("few")
            && cluster.placed("first-").is_empty()
            && cluster.placed("few-").is_empty()
    });
    // A pod that goes is made anew, and is a member as the one before.
    cluster.train("third", 4, None, "1h");
    eventually("all of the third run", || cluster.bound("third-") == 4);
    let uid = |pod: &str| text(&cluster.pod(pod), "/metadata/uid");
    let before = uid("third-2");
    cluster.delete_now("third-2");
    eventually("it is there again, and bound", || {
        let pods = cluster.placed("third-");
        pods.len() == 4 && pods.values().all(Option::is_some) && uid("third-2") != before
    });
    assert_eq!(operator.said(), "", "it was refused nothing");
    muster.stop();
}

#[test]
fn the_run_that_the_example_shows_is_one_of_its_kind() {
    let cluster = Cluster::bare();
    cluster.apply(&fs::read_to_string(programs::example("operator/crd.yaml")).unwrap());
    let run = fs::read_to_string(programs::example("operator/run.yaml")).unwrap();
    eventually("it is taken", || {
        cluster.plane.kubectl_apply_stdin(&run).is_ok()
    });
    let more = r#"{"spec": {"workers": 5}}"#;
    let patch = ["patch", "trainingrun", "resnet", "--type=merge", "-p", more];
    let refusal = cluster.plane.kubectl(&patch).unwrap_err().to_string();
    assert!(refusal.contains("cannot be changed"), "{refusal}");
}
