//! What makes one node that fits better than another.

use super::super::case::{Case, NAMESPACE, list};
use super::super::dice::Dice;
use super::pod_affinity::term;
use super::spread::constraint;
use super::{node_affinity, selectors::pods_with_versions};
use serde_json::{Value, json};

const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const KEYS: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "kubernetes.io/hostname",
    "disk",
    "none",
];
const IMAGES: [&str; 3] = ["i:latest", "reg.example.com/big:1", "data:2"];

pub(super) fn add(case: &mut Case, dice: &mut Dice) {
    case.scores = true;
    pods_with_versions(case, dice);
    namespaces(case);
    if dice.percent(60) {
        affinity_of_pods(case, dice);
    }
    if dice.percent(50) {
        spread(case, dice);
    }
    if dice.percent(40) {
        dice.note("scores: preferred node affinity");
        for _ in 0..dice.between(1, 2) {
            let mut term = node_affinity::expression(dice);
            // That is no value of a label: required terms may have it, and preferred ones may not.
            if term["values"][0] == "-2" {
                term["values"][0] = json!("2");
            }
            let one = json!({
                "weight": dice.between(1, 100), "preference": {"matchExpressions": [term]},
            });
            list(
                &mut case.pod,
                &["spec", "affinity", "nodeAffinity", PREFERRED],
            )
            .push(one);
        }
    }
    if dice.percent(30) {
        images(case, dice);
    }
    if dice.percent(30) {
        dice.note("scores: taints");
        for node in &mut case.nodes {
            for key in dice.some_of(&["cost", "other"], 40) {
                list(node, &["spec", "taints"]).push(json!({
                    "key": key, "effect": "PreferNoSchedule",
                }));
            }
        }
    }
    for class in dice.some_of(&["there", "made"], 20) {
        storage(case, class, dice);
    }
}

/// A claim without a volume, and on some nodes volumes that suit, or room for new ones.
fn storage(case: &mut Case, class: &str, dice: &mut Dice) {
    dice.note(format!("scores: storage that is {class}"));
    let driver = "scored.example.com";
    let claim = format!("scored-{class}");
    let provisioner = if class == "made" {
        driver
    } else {
        "kubernetes.io/no-provisioner"
    };
    case.add(
        "storageClasses",
        json!({
            "metadata": {"name": claim}, "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        }),
    );
    if class == "made" {
        let spec = json!({"storageCapacity": true});
        case.add(
            "csiDrivers",
            json!({"metadata": {"name": driver}, "spec": spec}),
        );
    }
    case.add(
        "persistentVolumeClaims",
        json!({
            "metadata": {"name": claim, "namespace": NAMESPACE, "uid": claim},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": claim,
                "resources": {"requests": {"storage": dice.one_of(&["1Gi", "3Gi"])}},
            },
            "status": {"phase": "Pending"},
        }),
    );
    list(&mut case.pod, &["spec", "volumes"]).push(json!({
        "name": claim, "persistentVolumeClaim": {"claimName": claim},
    }));
    let host = "kubernetes.io/hostname";
    for node in case.node_names() {
        let size = dice.one_of(&["2Gi", "3Gi", "7Gi", "10Gi"]);
        let name = format!("{claim}-{node}");
        if class == "made" {
            case.add(
                "csiStorageCapacities",
                json!({
                    "metadata": {"name": name, "namespace": NAMESPACE}, "storageClassName": claim,
                    "nodeTopology": {"matchLabels": {host: node}}, "capacity": size,
                }),
            );
            continue;
        }
        let here = json!({"key": host, "operator": "In", "values": [node]});
        let here = json!({"nodeSelectorTerms": [{"matchExpressions": [here]}]});
        case.add(
            "persistentVolumes",
            json!({
                "metadata": {"name": name, "uid": name},
                "spec": {
                    "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
                    "storageClassName": claim, "local": {"path": "/v"},
                    "persistentVolumeReclaimPolicy": "Retain", "nodeAffinity": {"required": here},
                },
                "status": {"phase": "Available"},
            }),
        );
    }
}

/// Affinity looks for them, and a term that chooses namespaces by labels reads these.
fn namespaces(case: &mut Case) {
    if case.of_kind("namespaces").is_empty() {
        for (name, team) in [(NAMESPACE, "x"), ("other", "y")] {
            let labels = json!({"team": team});
            case.add(
                "namespaces",
                json!({"metadata": {"name": name, "labels": labels}}),
            );
        }
    }
}

/// Preferred terms of the pod and of those that run, and required affinity of the latter.
fn affinity_of_pods(case: &mut Case, dice: &mut Dice) {
    let kinds = ["podAffinity", "podAntiAffinity"];
    for pod in &mut case.pods {
        for kind in dice.some_of(&kinds, 20) {
            dice.note(format!("scores: a running pod prefers {kind}"));
            weighted(pod, kind, dice);
        }
        if dice.percent(20) {
            dice.note("scores: a running pod requires podAffinity");
            let one = term(dice);
            list(pod, &["spec", "affinity", "podAffinity", REQUIRED]).push(one);
        }
    }
    for kind in dice.some_of(&kinds, 60) {
        dice.note(format!("scores: the pod prefers {kind}"));
        for _ in 0..dice.one_of(&[1, 1, 2]) {
            weighted(&mut case.pod, kind, dice);
        }
    }
    if dice.percent(20) {
        dice.note("scores: arguments of InterPodAffinity");
        let args = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "InterPodAffinityArgs",
            "hardPodAffinityWeight": dice.one_of(&[0, 7]),
            "ignorePreferredTermsOfExistingPods": dice.percent(50),
        });
        case.args.insert("InterPodAffinity".to_owned(), args);
    }
}

fn weighted(pod: &mut Value, kind: &str, dice: &mut Dice) {
    let one = json!({"weight": dice.between(1, 100), "podAffinityTerm": term(dice)});
    list(pod, &["spec", "affinity", kind, PREFERRED]).push(one);
}

/// As far as that goes.
fn spread(case: &mut Case, dice: &mut Dice) {
    for key in dice.some_of(&KEYS[..3], 50) {
        dice.note(format!("scores: spread over {key}"));
        let mut one = constraint(key, dice);
        one["whenUnsatisfiable"] = json!("ScheduleAnyway");
        // That is for required ones only.
        one.as_object_mut().unwrap().remove("minDomains");
        list(&mut case.pod, &["spec", "topologySpreadConstraints"]).push(one);
    }
}

fn images(case: &mut Case, dice: &mut Dice) {
    dice.note("scores: images");
    // An image has one size, on whatever node it is.
    let sizes = IMAGES.map(|name| (name, dice.between(1, 4_000) * 1_000_000));
    for node in &mut case.nodes {
        for (name, size) in dice.some_of(&sizes, 40) {
            let image = json!({"names": [name], "sizeBytes": size});
            list(node, &["status", "images"]).push(image);
        }
    }
    case.pod["spec"]["containers"][0]["image"] = json!(dice.one_of(&IMAGES));
}
