//! An extender written with Kubernetes' own types.

use super::{Ended, configured, free_port, nodes_of, single, words};
use crate::live::{Cluster, PODS, condition, eventually, text};
use crate::process::Process;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

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
