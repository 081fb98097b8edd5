//! `muster run` as a process: pages, signals, and the loss of the lease.
//!
//! Needs what `hack/build-control-plane` builds.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/live.rs"]
mod live;

use live::{Cluster, PODS, eventually};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// A line of the log. A field that stands there twice is an error of the parser.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "fields")]
    _fields: Fields,
}

#[derive(Deserialize)]
struct Fields {
    #[serde(rename = "message")]
    _message: String,
}

/// The process, with its log.
struct Process {
    child: Child,
    log: Arc<Mutex<Vec<Value>>>,
}

impl Process {
    fn start(cluster: &Cluster, more: &[&str]) -> Self {
        Self::start_with(&cluster.plane.kubeconfig(), more)
    }

    fn start_with(kubeconfig: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_muster"))
            .args(["run", "--listen=127.0.0.1:0", "--log-format=json"])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(more)
            .env_remove("RUST_LOG")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&log);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let parsed = serde_json::from_str::<Line>(&line);
                let parsed = parsed.and_then(|_| serde_json::from_str(&line));
                let line = parsed.unwrap_or(Value::String(line));
                seen.lock().unwrap().push(line);
            }
        });
        Self { child, log }
    }

    /// The fields of the first line of the log with this message.
    fn said(&self, message: &str) -> Option<Value> {
        let log = self.log.lock().unwrap();
        let said = log.iter().find(|line| line["fields"]["message"] == message);
        said.map(|line| line["fields"].clone())
    }

    fn get(&self, page: &str) -> String {
        let mut address = String::new();
        eventually("the address is in the log", || {
            let said = self.said("serving /metrics, /healthz, /readyz");
            let found = said.map(|fields| fields["address"].as_str().unwrap().to_owned());
            address = found.unwrap_or_default();
            !address.is_empty()
        });
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET {page} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(status.success());
    }

    fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the process ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if thread::panicking() {
            for line in self.log.lock().unwrap().iter() {
                eprintln!("{line}");
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn holder(cluster: &Cluster) -> Value {
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/muster";
    let lease = cluster.plane.get(path).unwrap();
    lease["spec"]["holderIdentity"].clone()
}

#[test]
fn a_process_schedules_shows_its_pages_and_stops_on_sigterm_giving_the_lease_back() {
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    let mut process = Process::start(&cluster, &[]);
    eventually("it is ready", || {
        process.get("/readyz").starts_with("HTTP/1.1 200")
    });
    eventually("it leads", || holder(&cluster).is_string());
    cluster.gang("train", 2);
    cluster.pods("train", 2, "1");
    eventually("the gang is bound", || cluster.bound("train") == 2);
    assert!(process.get("/healthz").ends_with("ok\n"));
    let metrics = process.get("/metrics");
    assert!(
        metrics.contains("muster_binds_total{result=\"bound\"} 2"),
        "{metrics}"
    );
    assert!(metrics.contains("muster_leader 1"), "{metrics}");
    let placed = process.said("placed").unwrap();
    assert_eq!(placed["gang"], "default/train");
    assert_eq!(placed["pods"], 2);
    process.signal("-TERM");
    assert!(process.ended().success());
    assert!(holder(&cluster).is_null(), "the lease is free");
}

#[test]
fn the_log_names_pods_says_what_holds_all_the_time_once_and_has_each_field_once() {
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    let text = std::fs::read_to_string(cluster.plane.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_json::from_str(&text).unwrap();
    let server = &mut kubeconfig["clusters"][0]["cluster"];
    *server = json!({"server": server["server"], "insecure-skip-tls-verify": true});
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), kubeconfig.to_string()).unwrap();
    let process = Process::start_with(file.path(), &["--leader-elect=false"]);
    let pod = json!({
        "metadata": {"name": "alone"},
        "spec": {"schedulerName": "muster", "containers": [{"name": "main", "image": "none"}]},
    });
    cluster.plane.post(PODS, &pod).unwrap();
    eventually("the pod is placed", || process.said("placed").is_some());
    assert_eq!(process.said("placed").unwrap()["gang"], "default/alone");
    let log = process.log.lock().unwrap();
    assert!(log.iter().all(Value::is_object), "{log:#?}");
    let warnings: Vec<&Value> = log.iter().filter(|line| line["level"] == "WARN").collect();
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    let said = warnings[0]["fields"]["message"].as_str().unwrap();
    assert!(said.contains("insecure-skip-tls-verify is set"), "{said}");
}

#[test]
fn a_process_that_loses_its_lease_ends_with_an_error() {
    let cluster = Cluster::start();
    let mut process = Process::start(&cluster, &[]);
    eventually("it leads", || process.said("leading").is_some());
    let thief = r#"{"spec":{"holderIdentity":"somebody-else"}}"#;
    let take = [
        "patch",
        "lease",
        "muster",
        "-n",
        "kube-system",
        "--type=merge",
        "-p",
        thief,
    ];
    cluster.plane.kubectl(&take).unwrap();
    assert_eq!(process.ended().code(), Some(1));
}

#[test]
fn a_kubeconfig_that_is_not_there_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["run", "--kubeconfig", "/nowhere/kubeconfig"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("kubeconfig /nowhere/kubeconfig"), "{said}");
}
