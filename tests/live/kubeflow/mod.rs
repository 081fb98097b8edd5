//! Kubeflow's operators with Muster as their gang scheduler: their own controllers, and pods that run.
//!
//! Left out are their webhooks. Needs what `hack/build-control-plane` and `hack/build-operators` build, and Python.

mod trainer;
mod training_operator;

use crate::live::{Cluster, condition, eventually, text};
use crate::programs::{Program, operator_home};
use serde_json::Value;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;

const GROUPS: &str = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups";

/// A cluster with an operator, and with kubelets that run what its pods say.
struct Lab {
    operator: Child,
    _kubelet: Program,
    work: PathBuf,
    cluster: Cluster,
}

impl Lab {
    /// With two nodes of two CPUs.
    fn start(operator: &str, arguments: &[&str]) -> Self {
        let home = operator_home(operator);
        let cluster = Cluster::of(|builder| builder.kwok(false).controller_manager(true));
        cluster.apply_folder("crds");
        cluster.apply_folder("deploy/compat");
        let mut kinds: Vec<PathBuf> = fs::read_dir(home.join("crds"))
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        kinds.sort();
        for file in kinds {
            let file = file.to_str().unwrap();
            // Too large for what `apply` notes on them.
            cluster.plane.kubectl(&["create", "-f", file]).unwrap();
            let served = ["wait", "--for=condition=Established", "-f", file];
            cluster.plane.kubectl(&served).unwrap();
        }
        let work = cluster.plane.dir().join("pods");
        fs::create_dir_all(&work).unwrap();
        let log = File::create(work.join("operator.log")).unwrap();
        let operator = Command::new(home.join(operator))
            .args(arguments)
            .env("KUBECONFIG", cluster.plane.kubeconfig())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let lab = Self {
            operator,
            _kubelet: Program::kubelet(&cluster, &work, "shell", &work),
            work,
            cluster,
        };
        lab.cluster.nodes(2, "2");
        lab
    }

    /// Makes an object as soon as the API server takes it.
    fn create(&self, path: &str, object: &Value) {
        eventually("it is taken", || {
            self.cluster.plane.post(path, object).is_ok()
        });
    }

    /// Whether an object has this condition.
    fn is(&self, path: &str, kind: &str) -> bool {
        let object = self.cluster.plane.get(path).unwrap();
        condition(&object["status"], kind).is_some_and(|one| one["status"] == "True")
    }

    /// What a pod has printed.
    fn printed(&self, pod: &str) -> String {
        let log = self.work.join(format!("default_{pod}/log"));
        fs::read_to_string(log).unwrap_or_default()
    }

    fn phase(&self, group: &str) -> String {
        let group = self.cluster.plane.get(&format!("{GROUPS}/{group}"));
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
