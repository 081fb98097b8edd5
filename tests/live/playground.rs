//! `muster playground` with the real kubectl: what it promises in docs/playground.md.

use crate::live::eventually;
use muster_devcluster::find_program;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The program, and a kubeconfig for it.
struct Playground {
    child: Child,
    folder: TempDir,
    address: String,
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

impl Playground {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_muster"))
            .args(["playground", "--listen=127.0.0.1:0", "--kubeconfig"])
            .arg(folder.path().join("config"))
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, address) = line.split_once("http://")?;
            Some(address.trim_end_matches('/').to_owned())
        });
        // What it says later is read as well, so that it never waits for a reader.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self {
            child,
            folder,
            address: address.unwrap(),
        }
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut kubectl = Command::new(find_program("kubectl").unwrap())
            .env("KUBECONFIG", self.folder.path().join("config"))
            .env("HOME", self.folder.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = kubectl.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        kubectl.wait_with_output().unwrap()
    }

    /// What kubectl prints where it does what it is told.
    fn does(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, "");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Why kubectl does not do what it is told.
    fn refuses(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// What `kubectl get` says of a field.
    fn field(&self, object: &str, path: &str) -> String {
        let asked = format!("jsonpath={{{path}}}");
        self.does(&["get", object, "-o", &asked])
    }

    /// The cells of a row that `kubectl get` prints.
    fn row(&self, arguments: &[&str], name: &str) -> Vec<String> {
        let text = self.does(arguments);
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        let row = row.unwrap_or_else(|| panic!("no {name} in {text}"));
        row.split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Playground {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const GANG: &str = "
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: research}
spec: {weight: 2}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: train}
spec: {minAvailable: 3, queue: research}
---
apiVersion: v1
kind: Pod
metadata:
  name: train
  labels: {muster.dev/pod-group: train}
  annotations: {simulate.muster.dev/replicas: '3'}
spec:
  containers: [{name: c, image: i, resources: {requests: {cpu: 4}}}]
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: big}
spec: {minAvailable: 1, queue: research}
---
apiVersion: v1
kind: Pod
metadata: {name: big, labels: {muster.dev/pod-group: big}}
spec:
  containers: [{name: c, image: i, resources: {requests: {cpu: 40}}}]
";

#[test]
fn kubectl_applies_a_gang_looks_at_it_and_deletes_it() {
    let playground = Playground::start(&[]);
    assert_eq!(
        playground
            .does(&["get", "nodes", "-o", "name"])
            .lines()
            .count(),
        4
    );
    assert_eq!(playground.does(&["get", "muster"]), "");
    let gang = playground.folder.path().join("gang.yaml");
    std::fs::write(&gang, GANG).unwrap();
    let gang = gang.to_str().unwrap();
    let applied = playground.does(&["apply", "-f", gang]);
    assert_eq!(applied.matches(" created").count(), 5, "{applied}");
    eventually("the gang runs", || {
        playground.field("podgroup/train", ".status.phase") == "Running"
    });
    // Tables are made by the server: the columns of a definition, and those of Kubernetes' own kinds.
    let row = playground.row(&["get", "podgroups"], "train");
    assert_eq!(row[..5], ["train", "Running", "3", "3", "research"]);
    let row = playground.row(&["get", "pods", "-o", "wide"], "train-0");
    assert_eq!(row[1..4], ["1/1", "Running", "0"]);
    assert!(row[6].starts_with("node-"), "{row:?}");
    let all = playground.does(&["get", "muster", "-o", "name"]);
    let wanted = [
        "podgroup.muster.dev/big",
        "podgroup.muster.dev/train",
        "queue.muster.dev/research",
    ];
    assert_eq!(all.split_whitespace().collect::<Vec<_>>(), wanted);
    let why = "0/4 nodes are available: 4 Insufficient cpu.";
    eventually("who waits says why", || {
        playground.does(&["describe", "pod", "big"]).contains(why)
    });
    let told = playground.does(&["describe", "podgroup", "big"]);
    assert!(
        told.contains("Unschedulable") && told.contains(why),
        "{told}"
    );
    let again = playground.does(&["apply", "-f", gang]);
    assert_eq!(again.matches(" unchanged").count(), 4, "{again}");

    playground.does(&["label", "pod", "big", "a=b"]);
    playground.does(&["annotate", "podgroup", "big", "a=b"]);
    let found = playground.does(&["get", "pods", "-l", "a=b", "-o", "name"]);
    assert_eq!(found.trim(), "pod/big");
    playground.does(&[
        "patch",
        "queue.muster.dev",
        "research",
        "--type=merge",
        "-p",
        r#"{"spec":{"weight":5}}"#,
    ]);
    assert_eq!(
        playground.field("queue.muster.dev/research", ".spec.weight"),
        "5"
    );
    let explained = playground.does(&["explain", "podgroup.spec.lifetime"]);
    assert!(
        explained.contains("How long it is protected"),
        "{explained}"
    );

    playground.does(&["delete", "-f", gang]);
    assert_eq!(playground.does(&["get", "all,muster"]), "");
}

#[test]
fn kubectl_watches_waits_and_works_on_nodes() {
    let playground = Playground::start(&["--nodes=2", "--speed=10"]);
    let mut watch = Command::new(find_program("kubectl").unwrap())
        .env("KUBECONFIG", playground.folder.path().join("config"))
        .args(["get", "pods", "-w", "--no-headers"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "short", "annotations": {
        "simulate.muster.dev/duration": "20s"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}"#;
    // Where the watch begins before or after it, it tells how the pod ends.
    let made = playground.run(&["create", "-f", "-"], pod);
    assert!(made.status.success(), "{made:?}");
    playground.does(&[
        "wait",
        "pod/short",
        "--for=jsonpath={.status.phase}=Succeeded",
        "--timeout=60s",
    ]);
    let told = lines.find(|line| line.as_ref().unwrap().contains("Completed"));
    assert!(told.unwrap().unwrap().starts_with("short "));
    watch.kill().unwrap();
    watch.wait().unwrap();

    playground.does(&["taint", "node", "node-0", "a=b:NoSchedule"]);
    assert_eq!(playground.field("node/node-0", ".spec.taints[0].key"), "a");
    playground.does(&["taint", "node", "node-0", "a-"]);
    playground.does(&["cordon", "node-1"]);
    playground.does(&["create", "namespace", "team"]);
    playground.does(&["run", "solo", "-n", "team", "--image=i"]);
    eventually("the pod is where it may be", || {
        playground.does(&[
            "get",
            "pod",
            "solo",
            "-n",
            "team",
            "-o",
            "jsonpath={.spec.nodeName}",
        ]) == "node-0"
    });
    playground.does(&["drain", "node-0", "--force"]);
    assert_eq!(playground.does(&["get", "pods", "-n", "team"]), "");
}

#[test]
fn what_kubectl_cannot_have_is_said() {
    let playground = Playground::start(&[]);
    let apply = ["apply", "-f", "-"];
    let unknown = playground.refuses(
        &apply,
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}",
    );
    assert!(
        unknown.contains("no matches for kind \"Deployment\""),
        "{unknown}"
    );
    let group = "{apiVersion: muster.dev/v1alpha1, kind: PodGroup, metadata: {name: x}, spec: ";
    let wrong = playground.refuses(&apply, &format!("{group}{{minAvailable: -2}}}}"));
    assert!(wrong.contains("spec.minAvailable"), "{wrong}");
    let slip = playground.refuses(&apply, &format!("{group}{{minAvailabel: 2}}}}"));
    assert!(slip.contains("spec.minAvailabel"), "{slip}");
    let no_yaml = playground.refuses(&apply, "a: [");
    assert!(no_yaml.contains("error"), "{no_yaml}");
    let server_side = playground.refuses(&["apply", "--server-side", "-f", "-"], GANG);
    assert!(
        server_side.contains("does not serve server-side apply"),
        "{server_side}"
    );
    let nothing = playground.refuses(&["get", "podgroup", "nothing"], "");
    assert!(nothing.contains("\"nothing\" not found"), "{nothing}");
    playground.does(&["run", "solo", "--image=i"]);
    let logs = playground.refuses(&["logs", "solo"], "");
    assert!(
        logs.contains("nothing runs in the pods of the playground"),
        "{logs}"
    );
    assert_eq!(playground.does(&["get", "muster"]), "");
}

#[test]
fn a_file_of_the_examples_is_there_and_the_page_shows_it() {
    let example = file("examples/quickstart.yaml");
    let playground = Playground::start(&[example.to_str().unwrap(), "--speed=60"]);
    assert_eq!(
        playground
            .does(&["get", "nodes", "-o", "name"])
            .lines()
            .count(),
        28
    );
    eventually("a gang of the file runs", || {
        let asked = [
            "get",
            "podgroups.muster.dev",
            "etl-nightly",
            "-n",
            "prod",
            "-o",
            "json",
        ];
        let found: Value = serde_json::from_str(&playground.does(&asked)).unwrap();
        found["status"]["bound"] == 16
    });
    let mut stream = TcpStream::connect(&playground.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let request = format!(
        "GET / HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        playground.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{}", &page[..100]);
    assert!(page.contains("prod/etl-nightly") && page.contains("connect-src 'self'"));
    eventually("what comes later in the file comes", || {
        playground
            .does(&["get", "podgroups.muster.dev", "-n", "prod", "-o", "name"])
            .contains("/rush")
    });
}

mod page {
    use super::{Command, Playground};

    #[test]
    #[ignore = "needs Node and a Chromium: hack/page-test runs it"]
    fn a_browser_sees_it_go_on() {
        let place = std::env::var("PAGE_TEST").expect("hack/page-test sets PAGE_TEST");
        let playground = Playground::start(&["--speed=2"]);
        let status = Command::new("node")
            .arg("playground.mjs")
            .current_dir(&place)
            .env("PLAYGROUND", format!("http://{}/", playground.address))
            .status()
            .unwrap();
        assert!(status.success(), "the page does not what it is to do");
    }
}
