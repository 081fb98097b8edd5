//! `muster run` or `muster controllers` as a process of its own, with its log.

use super::live::{Cluster, eventually};
use serde::Deserialize;
use serde_json::Value;
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
pub(crate) struct Process {
    child: Child,
    log: Arc<Mutex<Vec<Value>>>,
}

impl Process {
    /// Starts it as the admin.
    pub(crate) fn start(cluster: &Cluster, more: &[&str]) -> Self {
        Self::start_as(&cluster.plane.kubeconfig(), more, &[])
    }

    /// Starts it as somebody, with these variables in its environment.
    pub(crate) fn start_as(kubeconfig: &Path, more: &[&str], env: &[(&str, &str)]) -> Self {
        Self::of("run", kubeconfig, more, env)
    }

    /// Starts the controllers as somebody.
    pub(crate) fn controllers(kubeconfig: &Path, more: &[&str]) -> Self {
        Self::of("controllers", kubeconfig, more, &[])
    }

    fn of(command: &str, kubeconfig: &Path, more: &[&str], env: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_muster"))
            .args([command, "--listen=127.0.0.1:0", "--log-format=json"])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(more)
            .env_remove("RUST_LOG")
            .env_remove("POD_UID")
            .envs(env.iter().copied())
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

    /// The log so far; a line that is not as it should be is a string.
    pub(crate) fn log(&self) -> Vec<Value> {
        self.log.lock().unwrap().clone()
    }

    /// The fields of the first line of the log with this message.
    pub(crate) fn said(&self, message: &str) -> Option<Value> {
        let log = self.log.lock().unwrap();
        let said = log.iter().find(|line| line["fields"]["message"] == message);
        said.map(|line| line["fields"].clone())
    }

    /// The answer to a GET of one of its pages.
    pub(crate) fn get(&self, page: &str) -> String {
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

    /// Its id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal: `-TERM`, `-KILL`, `-STOP`, `-CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
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

/// The name in the Lease `muster` of `kube-system`, or null.
pub(crate) fn holder(cluster: &Cluster) -> Value {
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/muster";
    let lease = cluster.plane.get(path).unwrap();
    lease["spec"]["holderIdentity"].clone()
}

/// Makes the Lease that a first start would make, held by nobody: so nobody has to be waited for.
pub(crate) fn free_lease(cluster: &Cluster) {
    let lease = serde_json::json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "muster"},
    });
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    eventually("the lease is made", || {
        cluster.plane.post(path, &lease).is_ok()
    });
}
