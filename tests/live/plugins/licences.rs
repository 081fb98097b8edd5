//! The plugin of docs/plugins.md, in Python, with its file of licences.

use super::{Ended, configured, free_port, nodes_of, single, why};
use crate::live::{Cluster, PODS, eventually, pod};
use crate::process::Process;
use serde_json::{Value, json};
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The plugin of docs/plugins.md with its file of licences.
struct Licences {
    dir: TempDir,
    port: u16,
    process: Option<Ended>,
}

impl Licences {
    fn new(text: &str) -> Self {
        let mut plugin = Self {
            dir: tempfile::tempdir().unwrap(),
            port: free_port(),
            process: None,
        };
        plugin.write(text);
        plugin.start();
        plugin
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("licences.txt")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    fn start(&mut self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/plugins/licences.py");
        let child = Command::new("python3")
            .arg(script)
            .arg(self.port.to_string())
            .arg(self.file())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.process = Some(Ended(child));
        eventually("the plugin listens", || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }

    fn kill(&mut self) {
        self.process = None;
    }
}

/// A pod that needs a licence; `i` tells those of one name apart.
fn licensed(gang: &str, i: usize) -> Value {
    let mut pod = pod(gang, i, "1");
    pod["metadata"]["labels"] = json!({"licence": "solver"});
    pod
}

#[test]
fn the_python_plugin_of_the_document_decides_which_nodes_suit_and_is_asked_again() {
    let cluster = Cluster::start();
    cluster.nodes(4, "4");
    let plugin = Licences::new("other node-0\n\nsolver node-2 node-3\n");
    let config = configured(
        &plugin.dir,
        &format!(
            "remotePlugins:\n- name: licences\n  url: http://127.0.0.1:{}/\n  points: [Filter]\n  \
             answersHold: 2s\n  timeout: 5s\n",
            plugin.port
        ),
    );
    let muster = Process::start(&cluster, &[&config]);
    cluster.gang("train", 3);
    for i in 0..3 {
        cluster.plane.post(PODS, &licensed("train", i)).unwrap();
    }
    eventually("the gang is bound", || cluster.bound("train") == 3);
    for node in nodes_of(&cluster, "train") {
        assert!(["node-2", "node-3"].contains(&node.as_str()), "{node}");
    }
    // Who needs no licence goes anywhere.
    let free = single("free", &json!({}));
    cluster.plane.post(PODS, &free).unwrap();
    eventually("it is bound", || cluster.bound("free") == 1);
    // Ten do not fit on two nodes of four; the words are the plugin's.
    cluster.gang("large", 10);
    for i in 0..10 {
        cluster.plane.post(PODS, &licensed("large", i)).unwrap();
    }
    eventually("the reason is said", || {
        let (reason, message) = why(&cluster, "large");
        reason == "Unschedulable" && message.contains("2 node(s) had no licence solver")
    });
    assert_eq!(cluster.bound("large"), 0);
    // Another licence is bought: nothing in the cluster tells.
    plugin.write("solver node-0 node-1 node-2 node-3\n");
    eventually("it is asked about again", || cluster.bound("large") == 10);
    let metrics = muster.get("/metrics");
    let answered =
        "muster_plugin_requests_total{plugin=\"licences\",point=\"Filter\",result=\"answered\"}";
    assert!(metrics.contains(answered), "{metrics}");
}

#[test]
fn a_plugin_that_is_killed_or_hangs_keeps_its_own_gangs_waiting_and_no_others() {
    let cluster = Cluster::start();
    cluster.nodes(2, "8");
    let mut plugin = Licences::new("solver node-0 node-1\n");
    let config = configured(
        &plugin.dir,
        &format!(
            "remotePlugins:\n- name: licences\n  url: http://127.0.0.1:{0}/\n  points: [Filter]\n\
             - name: extra\n  url: http://127.0.0.1:{1}/\n  points: [Filter]\n  ignorable: true\n  \
             timeout: 100ms\n",
            plugin.port,
            free_port()
        ),
    );
    let _muster = Process::start(&cluster, &[&config]);
    let create = |name: &str| {
        cluster.gang(name, 2);
        for i in 0..2 {
            cluster.plane.post(PODS, &licensed(name, i)).unwrap();
        }
    };
    // One that may be left out is nobody at all from the beginning.
    create("first");
    eventually("the gang is bound", || cluster.bound("first") == 2);
    plugin.kill();
    create("second");
    eventually("the reason is said", || {
        let (reason, message) = why(&cluster, "second");
        reason == "PluginFailed" && message.starts_with("plugin licences: ")
    });
    assert_eq!(cluster.bound("second"), 0);
    plugin.start();
    eventually("it is asked again", || cluster.bound("second") == 2);
    let hanging = plugin.process.as_ref().unwrap();
    hanging.signal("-STOP");
    create("third");
    eventually("the reason is said", || {
        let (reason, message) = why(&cluster, "third");
        reason == "PluginFailed"
            && (message.contains("no answer within 1000 ms") || message.contains("left alone"))
    });
    assert_eq!(cluster.bound("third"), 0);
    hanging.signal("-CONT");
    eventually("it is asked again", || cluster.bound("third") == 2);
}
