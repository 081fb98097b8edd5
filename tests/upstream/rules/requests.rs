//! What pods request, what nodes offer, and pods whose resources are being changed.

use super::super::case::{Case, list};
use super::super::dice::Dice;
use serde_json::{Value, json};

const CPU: [&str; 9] = ["0", "1m", "100m", "0.25", "500m", "1", "1500m", "2", "1u"];
const MEMORY: [&str; 9] = [
    "0", "1", "64Mi", "128Mi", "500M", "0.5Gi", "1Gi", "1e9", "1500m",
];
const STORAGE: [&str; 3] = ["0", "1Gi", "3G"];
const PAGES: [&str; 3] = ["0", "2Mi", "4Mi"];
const GPUS: [&str; 3] = ["0", "1", "2"];

/// The resources, what is requested of them, and what nodes offer.
const RESOURCES: [(&str, &[&str], &[&str]); 5] = [
    ("cpu", &CPU, &["1", "2", "3500m", "4"]),
    ("memory", &MEMORY, &["1Gi", "2Gi", "2000000000", "4Gi"]),
    ("ephemeral-storage", &STORAGE, &["2Gi", "6Gi"]),
    ("hugepages-2Mi", &PAGES, &["0", "4Mi", "8Mi"]),
    ("example.com/gpu", &GPUS, &["0", "1", "4"]),
];

pub(super) fn add(case: &mut Case, dice: &mut Dice) {
    for node in &mut case.nodes {
        let offered = &mut node["status"]["allocatable"];
        for (name, _, amounts) in RESOURCES {
            if dice.percent(90) || matches!(name, "cpu" | "memory") {
                offered[name] = json!(dice.one_of(amounts));
            }
        }
        offered["pods"] = json!(dice.one_of(&["0", "1", "2", "3", "6", "110", "110", "110"]));
        if dice.percent(5) {
            dice.note("requests: a node with capacity only");
            node["status"]["capacity"] = node["status"]["allocatable"].take();
            node["status"]
                .as_object_mut()
                .unwrap()
                .remove("allocatable");
        }
    }
    for pod in case.all_pods() {
        let containers = dice.between(1, 3);
        let all = (0..containers).map(|index| container(&format!("c{index}"), dice));
        pod["spec"]["containers"] = all.collect();
        if dice.percent(35) {
            let inits = (0..dice.between(1, 3)).map(|index| {
                let mut one = container(&format!("i{index}"), dice);
                if dice.percent(50) {
                    dice.note("requests: sidecar");
                    one["restartPolicy"] = json!("Always");
                }
                one
            });
            pod["spec"]["initContainers"] = inits.collect();
        }
        if dice.percent(15) {
            dice.note("requests: overhead");
            pod["spec"]["overhead"] = json!({"cpu": "100m", "memory": "64Mi"});
        }
        if dice.percent(20) {
            dice.note("requests: pod-level");
            pod["spec"]["resources"] = pod_level(dice);
        }
    }
}

fn container(name: &str, dice: &mut Dice) -> Value {
    json!({"name": name, "image": "i", "resources": amounts(dice)})
}

/// Requests, limits, or both; of what cannot be shared the two are equal.
fn amounts(dice: &mut Dice) -> Value {
    let mut resources = json!({});
    for (name, requested, _) in RESOURCES {
        let rate = match name {
            "cpu" | "memory" => 75,
            _ => 12,
        };
        if !dice.percent(rate) {
            continue;
        }
        let amount = json!(dice.one_of(requested));
        let shared = matches!(name, "cpu" | "memory" | "ephemeral-storage");
        match dice.below(3) {
            0 if shared => resources["requests"][name] = amount,
            1 => {
                dice.note("requests: limits only");
                resources["limits"][name] = amount;
            }
            _ => {
                resources["requests"][name] = amount.clone();
                resources["limits"][name] = amount;
            }
        }
    }
    resources
}

fn pod_level(dice: &mut Dice) -> Value {
    let mut resources = json!({});
    for (name, requested, _) in [RESOURCES[0], RESOURCES[1], RESOURCES[3]] {
        for kind in ["requests", "limits"] {
            if dice.percent(40) {
                resources[kind][name] = json!(dice.one_of(requested));
            }
        }
    }
    resources
}

/// What the kubelet says of resources in running pods.
pub(super) fn resize(case: &mut Case, dice: &mut Dice) {
    for pod in &mut case.pods {
        if dice.percent(40) {
            continue;
        }
        for (containers, statuses) in [
            ("containers", "containerStatuses"),
            ("initContainers", "initContainerStatuses"),
        ] {
            let names = list(pod, &["spec", containers]).clone();
            let all = names.iter().filter_map(|container| status(container, dice));
            pod["status"][statuses] = all.collect();
        }
        if dice.percent(30) {
            dice.note("resize: pod-level allocated");
            pod["status"]["allocatedResources"] = said(dice);
        }
        if dice.percent(30) {
            dice.note("resize: pod-level in force");
            pod["status"]["resources"] = json!({"requests": said(dice)});
        }
        let mut conditions = Vec::new();
        for _ in 0..dice.below(3) {
            let kind = dice.one_of(&[
                "PodResizePending",
                "PodResizePending",
                "PodResizeInProgress",
            ]);
            let reason = dice.one_of(&["Infeasible", "Infeasible", "Deferred"]);
            dice.note(format!("resize: {kind} {reason}"));
            let status = dice.one_of(&["True", "True", "False"]);
            conditions.push(json!({"type": kind, "status": status, "reason": reason}));
        }
        pod["status"]["conditions"] = json!(conditions);
    }
}

fn status(container: &Value, dice: &mut Dice) -> Option<Value> {
    if dice.percent(25) {
        dice.note("resize: a container without status");
        return None;
    }
    let mut status = json!({"name": container["name"]});
    if dice.percent(60) {
        status["allocatedResources"] = said(dice);
    }
    if dice.percent(60) {
        status["resources"] = json!({"limits": said(dice)});
        if dice.percent(80) {
            status["resources"]["requests"] = said(dice);
        }
    }
    Some(status)
}

/// What a kubelet may say: at least one amount.
fn said(dice: &mut Dice) -> Value {
    let mut said = json!({"cpu": dice.one_of(&CPU)});
    for (name, requested, _) in &RESOURCES[1..] {
        if dice.percent(30) {
            said[*name] = json!(dice.one_of(requested));
        }
    }
    said
}
