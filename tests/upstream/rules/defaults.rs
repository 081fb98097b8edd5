//! Pods that say nothing of how they are spread: who chooses them, and by which constraints they are spread then.

use super::super::case::{Case, NAMESPACE};
use super::super::dice::Dice;
use super::selectors::{pods_with_versions, selector};
use serde_json::{Map, Value, json};

/// The version that names the arguments of plugins.
const ARGS: &str = "kubescheduler.config.k8s.io/v1";
const KEYS: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "kubernetes.io/hostname",
    "disk",
    "none",
];

pub(super) fn add(case: &mut Case, dice: &mut Dice) {
    case.scores = true;
    pods_with_versions(case, dice);
    if dice.percent(85) {
        let spec = case.pod["spec"].as_object_mut().unwrap();
        spec.remove("topologySpreadConstraints");
    } else {
        dice.note("defaults: constraints of its own");
    }
    for index in 0..dice.one_of(&[0, 1, 1, 2]) {
        service(case, index, dice);
    }
    if dice.percent(60) {
        controller(case, dice);
    }
    if dice.percent(60) {
        list(case, dice);
    } else {
        dice.note("defaults: System");
    }
    if dice.percent(20) {
        dice.note("defaults: ignored resources");
        let args = match dice.below(2) {
            0 => json!({"ignoredResources": ["example.com/gpu"]}),
            _ => json!({"ignoredResourceGroups": ["example.com"]}),
        };
        put(case, "NodeResourcesFit", args);
    }
}

fn put(case: &mut Case, plugin: &str, mut args: Value) {
    args["apiVersion"] = json!(ARGS);
    args["kind"] = json!(format!("{plugin}Args"));
    case.args.insert(plugin.to_owned(), args);
}

/// Labels by which something chooses, which may be nobody's.
fn labels(dice: &mut Dice) -> Value {
    let mut labels = Map::new();
    for (key, values) in [
        ("app", &["a", "a", "b", "c"]),
        ("version", &["1", "1", "1", "2"]),
    ] {
        if dice.percent(60) {
            labels.insert(key.to_owned(), json!(dice.one_of(values)));
        }
    }
    Value::Object(labels)
}

fn service(case: &mut Case, index: usize, dice: &mut Dice) {
    dice.note("defaults: a Service");
    let namespace = dice.one_of(&[NAMESPACE, NAMESPACE, NAMESPACE, "elsewhere"]);
    let mut spec = json!({});
    if dice.percent(90) {
        spec["selector"] = labels(dice);
    }
    case.add(
        "services",
        json!({"metadata": {"name": format!("s{index}"), "namespace": namespace}, "spec": spec}),
    );
}

/// One that the pod names, or would if it were there.
fn controller(case: &mut Case, dice: &mut Dice) {
    let (field, version, kind) = dice.one_of(&[
        ("replicationControllers", "v1", "ReplicationController"),
        ("replicaSets", "apps/v1", "ReplicaSet"),
        ("statefulSets", "apps/v1", "StatefulSet"),
        ("replicaSets", "extensions/v1beta1", "ReplicaSet"),
    ]);
    dice.note(format!("defaults: {version} {kind}"));
    case.pod["metadata"]["ownerReferences"] = json!([{
        "apiVersion": version, "kind": kind, "name": "owner", "uid": "owner",
        "controller": dice.percent(90),
    }]);
    let chooses = match field {
        "replicationControllers" => Some(labels(dice)),
        _ => selector(dice),
    };
    let mut spec = json!({"template": {"metadata": {}, "spec": {"containers": []}}});
    if let Some(chooses) = chooses {
        spec["selector"] = chooses;
    }
    let name = dice.one_of(&["owner", "owner", "owner", "owner", "another"]);
    case.add(
        field,
        json!({"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}),
    );
}

/// Constraints of an administrator's.
fn list(case: &mut Case, dice: &mut Dice) {
    dice.note("defaults: a list");
    let mut constraints: Vec<Value> = Vec::new();
    for _ in 0..dice.one_of(&[0, 1, 2, 2, 3]) {
        let key = KEYS[dice.one_of(&[0, 0, 0, 1, 1, 2, 2, 3])];
        let when = dice.one_of(&["ScheduleAnyway", "DoNotSchedule"]);
        let mut one = json!({
            "topologyKey": key, "maxSkew": dice.one_of(&[1, 1, 2, 3]), "whenUnsatisfiable": when,
        });
        if when == "DoNotSchedule" {
            dice.note("defaults: DoNotSchedule");
            if dice.percent(30) {
                one["minDomains"] = json!(dice.between(1, 4));
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if dice.percent(40) {
                one[policy] = json!(dice.one_of(&["Honor", "Ignore"]));
            }
        }
        let alike = |other: &Value| {
            other["topologyKey"] == one["topologyKey"]
                && other["whenUnsatisfiable"] == one["whenUnsatisfiable"]
        };
        if !constraints.iter().any(alike) {
            constraints.push(one);
        }
    }
    let args = json!({"defaultingType": "List", "defaultConstraints": constraints});
    put(case, "PodTopologySpread", args);
}
