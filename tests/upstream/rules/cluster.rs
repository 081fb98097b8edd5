//! Nodes, pods on them, and a pod that waits: what all rules add to.

use super::super::case::{Case, NAMESPACE, OURS};
use super::super::dice::Dice;
use serde_json::{Map, Value, json};

pub(super) fn draw(dice: &mut Dice) -> Case {
    let nodes = match dice.below(50) {
        0 => 0,
        _ => dice.between(1, 7),
    };
    if nodes == 0 {
        dice.note("cluster: no nodes");
    }
    let nodes: Vec<Value> = (0..nodes).map(|index| node(index, dice)).collect();
    let pods = if nodes.is_empty() {
        0
    } else {
        dice.below(2 * nodes.len() + 2)
    };
    let pods = (0..pods).map(|index| {
        let on = dice.below(nodes.len());
        running(index, &nodes[on], dice)
    });
    let pods = pods.collect();
    let mut pod = pod("pending");
    pod["spec"]["schedulerName"] = json!(OURS);
    pod["metadata"]["labels"] = json!({"app": dice.one_of(&["a", "b"])});
    if dice.percent(2) {
        dice.note("pod: gated");
        pod["spec"]["schedulingGates"] = json!([{"name": "example.com/gate"}]);
    }
    Case {
        nodes,
        pods,
        pod,
        others: Map::new(),
        args: Map::new(),
        scores: false,
    }
}

fn node(index: usize, dice: &mut Dice) -> Value {
    let name = format!("n{index}");
    let mut labels = json!({"kubernetes.io/hostname": name});
    for (key, values) in [
        ("topology.kubernetes.io/zone", &["z1", "z2", "z3"][..]),
        ("disk", &["ssd", "hdd"]),
        ("cores", &["4", "8", "-1", "08", "many", ""]),
    ] {
        if dice.percent(85) {
            labels[key] = json!(dice.one_of(values));
        }
    }
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}},
    })
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"containers": [{"name": "c0", "image": "i"}]},
    })
}

fn running(index: usize, node: &Value, dice: &mut Dice) -> Value {
    let mut pod = pod(&format!("p{index}"));
    pod["spec"]["nodeName"] = node["metadata"]["name"].clone();
    pod["spec"]["schedulerName"] = json!("default-scheduler");
    pod["metadata"]["labels"] = json!({"app": dice.one_of(&["a", "b", "c"])});
    let phase = match dice.below(20) {
        0 => "Succeeded",
        1 => "Failed",
        2 => "Pending",
        _ => "Running",
    };
    dice.note(format!("running pods: {phase}"));
    pod["status"] = json!({"phase": phase});
    if dice.percent(8) {
        dice.note("running pods: terminating");
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        pod["metadata"]["finalizers"] = json!(["example.com/stays"]);
    }
    pod
}
