//! Plugins in other processes on a real API server: the one of the documents in Python, some that lie,
//! some that take part in decisions, and an extender written with Kubernetes' own types.
//!
//! Needs what `hack/build-control-plane` builds, Python 3 and, for the extender, Go.

mod binding;
mod deaf_extender;
mod decisions;
mod door;
mod extenders;
mod licences;
mod lies;

use crate::live::{Cluster, condition, text};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command};
use tempfile::TempDir;

/// A process that ends with its test.
struct Ended(Child);

impl Ended {
    fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        let status = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that nobody has.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The option that names a configuration file with these plugins, for a scheduler without others beside it.
fn configured(dir: &TempDir, rest: &str) -> String {
    config_file(dir, &format!("leaderElection: {{enabled: false}}\n{rest}"))
}

/// The option that names a configuration file.
fn config_file(dir: &TempDir, rest: &str) -> String {
    let file = dir.path().join("muster.yaml");
    let head = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n";
    fs::write(&file, format!("{head}{rest}")).unwrap();
    format!("--config={}", file.display())
}

/// A pod on its own.
fn single(name: &str, annotations: &Value) -> Value {
    json!({
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"schedulerName": "muster", "containers": [{
            "name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}},
        }]},
    })
}

fn nodes_of(cluster: &Cluster, prefix: &str) -> Vec<String> {
    cluster.placed(prefix).into_values().flatten().collect()
}

fn why(cluster: &Cluster, gang: &str) -> (String, String) {
    let status = cluster.status_of(gang);
    let scheduled = condition(&status, "Scheduled").cloned().unwrap_or_default();
    (text(&scheduled, "/reason"), text(&scheduled, "/message"))
}

/// The words on a pod that waits.
fn words(cluster: &Cluster, name: &str) -> String {
    let pod = cluster.pod(name);
    let scheduled = condition(&pod["status"], "PodScheduled").cloned();
    text(&scheduled.unwrap_or_default(), "/message")
}
