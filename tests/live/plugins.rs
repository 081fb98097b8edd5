//! Plugins in other processes on a real API server: the one of the documents in Python, and an extender
//! written with Kubernetes' own types.
//!
//! Needs what `hack/build-control-plane` builds, Python 3 and, for the extender, Go.

use crate::live::{Cluster, PODS, condition, eventually, pod, text};
use crate::process::Process;
use muster_devcluster::ControlPlane;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
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

/// A configuration file with these plugins.
fn configured(dir: &TempDir, rest: &str) -> String {
    let file = dir.path().join("muster.yaml");
    let head = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n";
    fs::write(
        &file,
        format!("{head}leaderElection: {{enabled: false}}\n{rest}"),
    )
    .unwrap();
    format!("--config={}", file.display())
}

/// A pod that needs a licence; `i` tells those of one name apart.
fn licensed(gang: &str, i: usize) -> Value {
    let mut pod = pod(gang, i, "1");
    pod["metadata"]["labels"] = json!({"licence": "solver"});
    pod
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

/// Answers every request with the next of these manners, the last for ever.
fn liar(manners: &'static [&'static str]) -> (u16, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let index = counter.fetch_add(1, Ordering::Relaxed) as usize;
            let manner = manners[index.min(manners.len() - 1)];
            thread::spawn(move || answer(stream, manner));
        }
    });
    (port, asked)
}

/// The body of a request.
fn request(stream: &TcpStream) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

fn answer(mut stream: TcpStream, manner: &str) {
    if request(&stream).is_none() {
        return;
    }
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
    if manner == "endless" {
        let chunk = format!("10000\r\n{}\r\n", "[".repeat(65_536));
        let _ = write!(stream, "{head}transfer-encoding: chunked\r\n\r\n");
        // A gigabyte, if somebody takes it.
        for _ in 0..16_384 {
            if stream.write_all(chunk.as_bytes()).is_err() {
                return;
            }
        }
        return;
    }
    let _ = write!(
        stream,
        "{head}content-length: {}\r\n\r\n{manner}",
        manner.len()
    );
}

#[test]
fn a_plugin_that_lies_or_sends_a_gigabyte_is_not_believed_and_breaks_no_gang() {
    let cluster = Cluster::start();
    cluster.nodes(2, "8");
    let (port, asked) = liar(&[
        r#"{"apiVersion": "plugins.muster.dev/v1alpha1", "refused": {"node-9": "no"}}"#,
        "endless",
        "not JSON",
        r#"{"apiVersion": "plugins.muster.dev/v1alpha1", "refused": {"node-0": "node(s) lied"}}"#,
    ]);
    let dir = tempfile::tempdir().unwrap();
    let config = configured(
        &dir,
        &format!(
            "remotePlugins:\n- {{name: liar, url: 'http://127.0.0.1:{port}/', points: [Filter], timeout: 10s}}\n"
        ),
    );
    let muster = Process::start(&cluster, &[&config]);
    cluster.gang("train", 2);
    cluster.pods("train", 2, "1");
    let heard = Arc::new(Mutex::new(Vec::new()));
    eventually("it is believed when it makes sense", || {
        let (_, message) = why(&cluster, "train");
        let mut heard = heard.lock().unwrap();
        if heard.last() != Some(&message) {
            heard.push(message);
        }
        cluster.bound("train") == 2
    });
    assert_eq!(nodes_of(&cluster, "train"), ["node-1", "node-1"]);
    assert!(asked.load(Ordering::Relaxed) >= 4);
    let metrics = muster.get("/metrics");
    for (result, count) in [("wrong", 2), ("failed", 1), ("answered", 1)] {
        let line = format!(
            "muster_plugin_requests_total{{plugin=\"liar\",point=\"Filter\",result=\"{result}\"}} {count}"
        );
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

/// A plugin that is asked about decisions: what it was asked, and how it answers.
struct Door {
    port: u16,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Door {
    /// `decide` says what it answers.
    fn open(decide: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heard, decide) = (Arc::new(Mutex::new(Vec::new())), Arc::new(decide));
        let writer = Arc::clone(&heard);
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let (heard, decide) = (Arc::clone(&writer), Arc::clone(&decide));
                thread::spawn(move || {
                    let Some(request) = request(&stream) else {
                        return;
                    };
                    let request: Value = serde_json::from_slice(&request).unwrap();
                    let mut answer = decide(&request);
                    heard.lock().unwrap().push(request);
                    answer["apiVersion"] = "plugins.muster.dev/v1alpha1".into();
                    let body = answer.to_string();
                    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
                    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
                });
            }
        });
        Self { port, heard }
    }

    /// What it was asked at a point about pods whose names begin so: how many pods, in how many questions.
    fn heard(&self, point: &str, prefix: &str) -> (usize, usize) {
        let heard = self.heard.lock().unwrap();
        let asked = heard.iter().filter(|one| one["point"] == point);
        let pods = asked.map(|one| one["pods"].as_array().unwrap().clone());
        let pods: Vec<Vec<Value>> = pods
            .filter(|pods| text(&pods[0], "/name").starts_with(prefix))
            .collect();
        (pods.iter().map(Vec::len).sum(), pods.len())
    }
}

#[test]
fn a_plugin_takes_part_in_decisions_and_what_it_reserved_is_given_back() {
    let cluster = Cluster::start();
    cluster.nodes(2, "16");
    // It lets the gang `late` wait, and denies `denied` what has to be done before its binds.
    let waits = AtomicU32::new(0);
    let door = Door::open(move |request| {
        let gang = text(request, "/gang/podGroup");
        match (text(request, "/point").as_str(), gang.as_str()) {
            ("PreBind", "denied") => json!({"decision": "Deny", "reason": "no such disk"}),
            ("Permit", "late") if waits.fetch_add(1, Ordering::Relaxed) == 0 => {
                json!({"decision": "Wait", "waitSeconds": 2})
            }
            _ => json!({"decision": "Allow"}),
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let config = configured(
        &dir,
        &format!(
            "remotePlugins:\n- name: door\n  url: http://127.0.0.1:{}/\n  \
             points: [Reserve, Permit, PreBind, PostBind]\n  timeout: 10s\n",
            door.port
        ),
    );
    let _muster = Process::start(&cluster, &[&config]);
    for gang in ["welcome", "late", "denied"] {
        cluster.gang(gang, 4);
        cluster.pods(gang, 4, "1");
    }
    for gang in ["welcome", "late"] {
        eventually("the gang is bound", || cluster.bound(gang) == 4);
        for point in ["Reserve", "PreBind"] {
            let (pods, questions) = door.heard(point, gang);
            assert!(
                pods >= 4 && questions < pods,
                "{gang}: {pods} pods in {questions}"
            );
        }
        eventually("it hears of the binds", || {
            door.heard("PostBind", gang).0 == 4
        });
    }
    assert!(door.heard("Permit", "late").1 >= 2, "it is asked again");
    eventually("the reason is said", || {
        let (reason, message) = why(&cluster, "denied");
        reason == "Rejected" && message.contains("no such disk")
    });
    eventually("what was reserved is given back", || {
        door.heard("Unreserve", "denied").0 >= 4
    });
    assert_eq!(cluster.bound("denied"), 0);
}

/// The extender of `hack/control-plane/extender`, built with the modules of the control plane.
struct Extender {
    address: String,
    process: Ended,
}

impl Extender {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(arguments: &[&Path]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = root.join("target/extender");
        let built = Command::new("go")
            .args(["build", "-trimpath", "-o"])
            .arg(&program)
            .arg("./extender")
            .current_dir(root.join("hack/control-plane"))
            .env("CGO_ENABLED", "0")
            .status();
        let install =
            "the extender is written in Go: install it (hack/build-control-plane says which)";
        let built = built.unwrap_or_else(|error| panic!("{install}: {error}"));
        assert!(built.success());
        let mut child = Command::new(program)
            .arg("127.0.0.1:0")
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut address).unwrap();
        Self {
            address: address.trim().to_owned(),
            process: Ended(child),
        }
    }

    /// Its part of the configuration.
    fn configured(&self, rest: &str) -> String {
        let address = &self.address;
        format!(
            "extenders:\n- {{urlPrefix: 'http://{address}/scheduler', filterVerb: filter, \
             prioritizeVerb: prioritize, weight: 5, {rest}}}\n"
        )
    }
}

#[test]
fn an_extender_with_kubernetes_own_types_filters_and_scores() {
    let extender = Extender::start();
    for node_cache_capable in [true, false] {
        let cluster = Cluster::start();
        cluster.nodes(4, "8");
        cluster
            .plane
            .kubectl(&["label", "node", "node-3", "card=yes"])
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let rest = extender.configured(&format!("nodeCacheCapable: {node_cache_capable}"));
        let config = configured(&dir, &rest);
        let _muster = Process::start(&cluster, &[&config]);
        let place = |name: &str, annotations: Value| {
            cluster
                .plane
                .post(PODS, &single(name, &annotations))
                .unwrap();
            eventually("the pod is bound", || cluster.bound(name) == 1);
            nodes_of(&cluster, name).remove(0)
        };
        let by_name = json!({"extender.test/nodes": "node-2,node-1"});
        assert!(["node-1", "node-2"].contains(&place("named", by_name).as_str()));
        let best = json!({"extender.test/best": "node-2"});
        assert_eq!(place("best", best), "node-2");
        // Only one that is sent the nodes can look at their labels.
        let by_label = json!({"extender.test/label": "card"});
        if node_cache_capable {
            cluster
                .plane
                .post(PODS, &single("nowhere", &by_label))
                .unwrap();
            eventually("the reason is said", || {
                let pod = cluster.pod("nowhere");
                let scheduled = condition(&pod["status"], "PodScheduled").cloned();
                let message = text(&scheduled.unwrap_or_default(), "/message");
                message.contains("0/4 nodes are available: 4 node(s) were refused by the extender.")
            });
        } else {
            assert_eq!(place("labelled", by_label), "node-3");
        }
    }
}

/// The words on a pod that waits.
fn words(cluster: &Cluster, name: &str) -> String {
    let pod = cluster.pod(name);
    let scheduled = condition(&pod["status"], "PodScheduled").cloned();
    text(&scheduled.unwrap_or_default(), "/message")
}

/// Has a pod ask for what no node has.
fn ask_for_a_card(pod: &mut Value) {
    pod["spec"]["containers"][0]["resources"] = json!({
        "requests": {"example.com/card": "1"}, "limits": {"example.com/card": "1"},
    });
}

#[test]
fn an_extender_with_kubernetes_own_types_binds() {
    let cluster = Cluster::start();
    cluster.nodes(2, "8");
    let extender = Extender::start_with(&[&cluster.plane.kubeconfig()]);
    let dir = tempfile::tempdir().unwrap();
    let rest =
        "bindVerb: bind, managedResources: [{name: example.com/card, ignoredByScheduler: true}]";
    let config = configured(&dir, &extender.configured(rest));
    let muster = Process::start(&cluster, &[&config]);
    for (name, manner) in [("bound", "yes"), ("refused", "no"), ("lied-to", "lie")] {
        let mut pod = single(name, &json!({"extender.test/bind": manner}));
        ask_for_a_card(&mut pod);
        cluster.plane.post(PODS, &pod).unwrap();
    }
    // Who asks for none is not its business.
    let plain = single("plain", &json!({"extender.test/bind": "no"}));
    cluster.plane.post(PODS, &plain).unwrap();
    eventually("the pod is bound", || cluster.bound("plain") == 1);
    eventually("the pod is bound", || cluster.bound("bound") == 1);
    let node = nodes_of(&cluster, "bound").remove(0);
    let mark = cluster.pod("bound")["metadata"]["annotations"]["extender.test/bound"].clone();
    assert_eq!(mark, node);
    for (name, said) in [
        ("refused", "the card of node-"),
        (
            "lied-to",
            "/scheduler says that it has bound the pod, and the pod is not bound",
        ),
    ] {
        eventually("the reason is said", || {
            words(&cluster, name).contains(said)
        });
        assert_eq!(cluster.bound(name), 0);
    }
    let metrics = muster.get("/metrics");
    assert!(
        metrics.contains("muster_binds_total{result=\"bound\"} 2"),
        "{metrics}"
    );
}

#[test]
fn an_extender_that_hangs_at_bind_keeps_no_others_waiting_and_a_new_leader_goes_on() {
    let cluster = Cluster::start();
    cluster.nodes(2, "8");
    let extender = Extender::start_with(&[&cluster.plane.kubeconfig()]);
    let dir = tempfile::tempdir().unwrap();
    let rest = format!(
        "extenders:\n- {{urlPrefix: 'http://{}/scheduler', bindVerb: bind, httpTimeout: 500ms, \
         managedResources: [{{name: example.com/card, ignoredByScheduler: true}}]}}\n",
        extender.address
    );
    let config = configured(&dir, &rest);
    let muster = Process::start(&cluster, &[&config]);
    extender.process.signal("-STOP");
    for name in ["asked", "deleted"] {
        let mut pod = single(name, &json!({}));
        ask_for_a_card(&mut pod);
        cluster.plane.post(PODS, &pod).unwrap();
    }
    let plain = single("plain", &json!({}));
    cluster.plane.post(PODS, &plain).unwrap();
    eventually("the pod is bound", || cluster.bound("plain") == 1);
    eventually("the reason is said", || {
        let said = words(&cluster, "asked");
        let left = "it failed several times in a row and is left alone for a while";
        ["no answer within 500 ms", left]
            .iter()
            .any(|why| said.contains(&format!("/scheduler: {why}")))
    });
    cluster
        .plane
        .kubectl(&["delete", "pod", "deleted", "--grace-period=0", "--force"])
        .unwrap();
    assert_eq!(cluster.bound("asked"), 0);
    // Killed while it asks.
    drop(muster);
    let _muster = Process::start(&cluster, &[&config]);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(cluster.bound("asked"), 0);
    extender.process.signal("-CONT");
    eventually("the pod is bound", || cluster.bound("asked") == 1);
    let pod = cluster.pod("asked");
    let mark = &pod["metadata"]["annotations"]["extender.test/bound"];
    assert_eq!(*mark, pod["spec"]["nodeName"]);
}

/// What a plugin at Bind does with a gang of this name. It binds the pods, and marks them, unless the gang
/// says otherwise.
fn bind(plane: &ControlPlane, gang: &str, times: u32, request: &Value) -> Value {
    match gang {
        "left" => return json!({"decision": "Skip"}),
        "broken" if times == 0 => return json!({"error": "the database is down"}),
        "refused" => return json!({"decision": "Deny", "reason": "no such card"}),
        _ => {}
    }
    for pod in request["pods"].as_array().unwrap() {
        let name = text(pod, "/name");
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "uid": pod["uid"], "annotations": {"marked": "yes"}},
            "target": {"apiVersion": "v1", "kind": "Node", "name": pod["node"]},
        });
        let path = format!("{PODS}/{name}/binding");
        let _ = plane.post(&path, &binding);
    }
    if gang == "late" {
        thread::sleep(Duration::from_secs(5));
    }
    json!({"decision": "Allow"})
}

#[test]
fn a_plugin_binds_and_whatever_it_says_the_pods_are_believed() {
    let cluster = Cluster::start();
    cluster.nodes(2, "16");
    let (plane, asked) = (Arc::downgrade(&cluster.plane), AtomicU32::new(0));
    let door = Door::open(move |request| {
        let gang = text(request, "/gang/podGroup");
        let times = match gang.as_str() {
            "broken" => asked.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        let plane = plane.upgrade().unwrap();
        bind(&plane, &gang, times, request)
    });
    let dir = tempfile::tempdir().unwrap();
    let config = configured(
        &dir,
        &format!(
            "remotePlugins:\n- {{name: cards, url: 'http://127.0.0.1:{}/', points: [Bind], timeout: 3s}}\n",
            door.port
        ),
    );
    let _muster = Process::start(&cluster, &[&config]);
    for (gang, is_marked) in [
        ("done", true),
        ("left", false),
        ("broken", true),
        ("late", true),
    ] {
        cluster.gang(gang, 4);
        cluster.pods(gang, 4, "1");
        eventually("the gang is bound", || cluster.bound(gang) == 4);
        let pod = cluster.pod(&format!("{gang}-0"));
        let marked = pod["metadata"]["annotations"]["marked"] == "yes";
        assert_eq!(marked, is_marked, "{gang}");
    }
    let (pods, questions) = door.heard("Bind", "done");
    assert!(pods == 4 && questions < 4, "{pods} pods in {questions}");
    cluster.gang("refused", 2);
    cluster.pods("refused", 2, "1");
    eventually("the reason is said", || {
        words(&cluster, "refused-0").contains("cards: no such card")
    });
    assert_eq!(cluster.bound("refused"), 0);
}

#[test]
fn an_extender_is_asked_only_about_pods_with_its_resources() {
    // Nobody is there: whoever it is asked about waits.
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    let dir = tempfile::tempdir().unwrap();
    let config = configured(
        &dir,
        &format!(
            "extenders:\n- {{urlPrefix: 'http://127.0.0.1:{}/', filterVerb: filter, \
             managedResources: [{{name: example.com/card}}]}}\n",
            free_port()
        ),
    );
    let _muster = Process::start(&cluster, &[&config]);
    cluster
        .plane
        .post(PODS, &single("plain", &json!({})))
        .unwrap();
    eventually("the pod is bound", || cluster.bound("plain") == 1);
    let mut card = single("card", &json!({}));
    ask_for_a_card(&mut card);
    cluster.plane.post(PODS, &card).unwrap();
    eventually("the reason is said", || {
        let pod = cluster.pod("card");
        let scheduled = condition(&pod["status"], "PodScheduled").cloned();
        text(&scheduled.unwrap_or_default(), "/message").contains("it is asked again")
    });
    thread::sleep(Duration::from_millis(500));
    assert_eq!(cluster.bound("card"), 0);
}
