//! Testbeds on a real API server: ghosts are made, follow what changes, and give way to who claims a slot.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::deployed::CONTROLLERS;
use crate::live::{Cluster, Muster, eventually, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const TESTBEDS: &str = "/apis/muster.dev/v1alpha1/testbeds";
const GHOSTS: &str = "/api/v1/namespaces/muster-system/pods";
const PODS: &str = "/api/v1/namespaces/default/pods";

impl Cluster {
    fn controllers(&self) -> Muster {
        self.controllers_as(&self.plane.kubeconfig(), None)
    }

    fn testbed(&self, per_node: u32, cpu: &str) {
        let more = json!({"slotsPerNode": per_node, "resourcesPerSlot": {"cpu": cpu}});
        let testbed = testbed(&more);
        eventually("the Testbed is taken", || {
            let taken = self.plane.kubectl_apply_stdin(&testbed.to_string());
            taken.is_ok()
        });
    }

    fn ghosts(&self) -> BTreeMap<String, Value> {
        let list = self.plane.get(GHOSTS).unwrap();
        let all = list["items"].as_array().unwrap().iter();
        let ghosts = all.filter(|pod| text(pod, "/metadata/ownerReferences/0/kind") == "Testbed");
        let ghosts = ghosts.map(|pod| (text(pod, "/metadata/name"), pod.clone()));
        ghosts.collect()
    }

    fn bed(&self) -> Value {
        self.plane.get(&format!("{TESTBEDS}/bed")).unwrap()["status"].clone()
    }

    /// The slots in short: `0 node-0/0 Free`.
    fn slots(&self) -> Vec<String> {
        let status = self.bed();
        let slots = status["slots"].as_array().into_iter().flatten();
        let words = slots.map(|slot| {
            let (node, state) = (text(slot, "/nodeName"), text(slot, "/state"));
            format!(
                "{} {node}/{} {state}",
                slot["position"], slot["nodePosition"]
            )
        });
        words.collect()
    }

    /// Waits until the slots are these, and each that is free has its ghost.
    fn has_slots(&self, wanted: &[&str]) {
        let mut seen = String::new();
        let free = wanted.iter().filter(|one| one.ends_with("Free")).count();
        eventually(&format!("the slots are {wanted:?}"), || {
            let (slots, ghosts) = (self.slots(), self.ghosts());
            let now = format!("{slots:?} {:?} {}", ghosts.keys(), self.bed()["conditions"]);
            if now != seen {
                println!("{now}");
                seen = now;
            }
            slots == wanted && ghosts.len() == free
        });
    }
}

fn testbed(more: &Value) -> Value {
    let mut testbed = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "metadata": {"name": "bed"},
        "spec": {"nodeLabel": "bed"},
    });
    let spec = testbed["spec"].as_object_mut().unwrap();
    spec.extend(more.as_object().unwrap().clone());
    testbed
}

#[test]
fn ghosts_hold_the_slots_and_follow_labels_nodes_and_sizes() {
    let cluster = Cluster::deployed(3, "8", |builder| builder);
    let controllers = cluster.controllers();
    cluster.label(0, "2");
    cluster.label(1, "1");
    cluster.testbed(2, "500m");
    let four = [
        "0 node-1/0 Free",
        "1 node-0/0 Free",
        "2 node-1/1 Free",
        "3 node-0/1 Free",
    ];
    cluster.has_slots(&four);
    let ghosts = cluster.ghosts();
    let (name, ghost) = ghosts.first_key_value().unwrap();
    assert!(name.starts_with("bed-0-"), "{name}");
    let spec = &ghost["spec"];
    assert_eq!(spec["schedulerName"], "muster");
    assert_eq!(spec["priority"], -1_000_000_000);
    assert_eq!(spec["preemptionPolicy"], "Never");
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["enableServiceLinks"], false);
    assert_eq!(spec["terminationGracePeriodSeconds"], 0);
    assert_eq!(spec["volumes"], Value::Null, "no token");
    let container = &spec["containers"][0];
    assert_eq!(container["image"], "registry.k8s.io/pause:3.10");
    assert_eq!(container["resources"], json!({"requests": {"cpu": "500m"}}));
    let owner = &ghost["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["name"], &owner["controller"]),
        (&json!("bed"), &json!(true))
    );

    cluster.label(1, "");
    cluster.has_slots(&["1 node-0/0 Free", "3 node-0/1 Free"]);
    cluster.label(2, "rack");
    cluster.has_slots(&[
        "0 node-2/0 Free",
        "1 node-0/0 Free",
        "2 node-2/1 Free",
        "3 node-0/1 Free",
    ]);
    cluster
        .plane
        .kubectl(&["delete", "node", "node-0"])
        .unwrap();
    cluster.has_slots(&["0 node-2/0 Free", "2 node-2/1 Free"]);
    let before = cluster.ghosts();
    cluster.testbed(1, "1");
    cluster.has_slots(&["0 node-2/0 Free"]);
    let after = cluster.ghosts();
    assert!(!after.keys().any(|ghost| before.contains_key(ghost)));

    cluster
        .plane
        .kubectl(&["delete", "testbed", "bed"])
        .unwrap();
    eventually("its ghosts are gone", || cluster.ghosts().is_empty());
    controllers.stop();
}

#[test]
fn ghosts_come_back_and_a_forged_one_is_neither_counted_nor_deleted() {
    let cluster = Cluster::deployed(1, "8", |builder| builder);
    let controllers = cluster.controllers();
    cluster.label(0, "0");
    cluster.testbed(2, "1");
    let two = ["0 node-0/0 Free", "1 node-0/1 Free"];
    cluster.has_slots(&two);
    let ghosts = cluster.ghosts();
    let (name, ghost) = ghosts.first_key_value().unwrap();
    let uid = text(ghost, "/metadata/uid");
    let delete = ["delete", "pod", "-n", "muster-system", name, "--wait=false"];
    cluster.plane.kubectl(&delete).unwrap();
    eventually("it is back", || {
        let now = cluster.ghosts().remove(name);
        now.is_some_and(|now| text(&now, "/metadata/uid") != uid)
    });
    // The same in another namespace; and there without an owner.
    let forged = |name: &str, namespace: &str, owners: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": namespace, "ownerReferences": owners,
                "labels": ghost["metadata"]["labels"],
            },
            "spec": {
                "schedulerName": "nobody", "automountServiceAccountToken": false,
                "securityContext": ghost["spec"]["securityContext"],
                "containers": ghost["spec"]["containers"],
            },
        })
    };
    let owners = &ghost["metadata"]["ownerReferences"];
    let copied = forged(name, "default", owners.clone());
    cluster.plane.post(PODS, &copied).unwrap();
    let bare = forged("bed-7-0123456789", "muster-system", json!([]));
    cluster.plane.post(GHOSTS, &bare).unwrap();
    // What comes of this is written after they were seen.
    cluster.testbed(1, "1");
    cluster.has_slots(&two[..1]);
    let names = |path: &str| {
        let list = cluster.plane.get(path).unwrap();
        let all = list["items"].as_array().unwrap().iter();
        all.map(|pod| text(pod, "/metadata/name"))
            .collect::<Vec<_>>()
    };
    assert!(names(GHOSTS).contains(&"bed-7-0123456789".to_owned()));
    assert!(names(PODS).contains(name));
    controllers.stop();
}

#[test]
fn a_controller_that_dies_between_two_writes_is_followed_by_one_that_goes_on() {
    let cluster = Cluster::deployed(4, "64", |builder| builder);
    for node in 0..4 {
        cluster.label(node, &node.to_string());
    }
    cluster.testbed(20, "100m");
    let (mut crashed, mut last) = (0, 0);
    while crashed < 4 {
        let controllers = cluster.controllers();
        eventually("it has done something", || {
            let count = cluster.ghosts().len();
            count > last || count == 80
        });
        controllers.crash();
        last = cluster.ghosts().len();
        crashed += 1;
    }
    println!("{last} ghosts after {crashed} crashes");
    let controllers = cluster.controllers();
    eventually("all are there", || {
        let named: Vec<String> = cluster.bed()["slots"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|slot| text(slot, "/ghost"))
            .collect();
        let ghosts = cluster.ghosts();
        named.len() == 80 && ghosts.len() == 80 && named.iter().all(|one| ghosts.contains_key(one))
    });
    controllers.stop();
}

#[test]
fn a_spec_that_makes_no_sense_is_refused_with_a_sentence() {
    let cluster = Cluster::deployed(0, "1", |builder| builder);
    let one = json!({"cpu": "1"});
    let odd = [
        (
            json!({"slotsPerNode": 0, "resourcesPerSlot": one}),
            "must be between 1 and 100",
        ),
        (
            json!({"slotsPerNode": 101, "resourcesPerSlot": one}),
            "must be between 1 and 100",
        ),
        (
            json!({"slotsPerNode": 1, "resourcesPerSlot": {}}),
            "must name at least one resource",
        ),
        (
            json!({"slotsPerNode": 1, "resourcesPerSlot": {"cpu": "many"}}),
            "resourcesPerSlot.cpu",
        ),
        (
            json!({"slotsPerNode": 1, "resourcesPerSlot": one, "nodeLabel": "/"}),
            "must be the name of a label",
        ),
        (json!({"resourcesPerSlot": one}), "slotsPerNode"),
    ];
    cluster.testbed(1, "1");
    for (spec, words) in odd {
        let refused = cluster.plane.post(TESTBEDS, &testbed(&spec)).unwrap_err();
        assert!(refused.to_string().contains(words), "{spec}: {refused}");
    }
}

#[test]
fn with_the_rights_in_deploy_slots_are_held_given_to_who_claims_and_held_again() {
    let cluster = Cluster::deployed(2, "4", |builder| builder);
    let controllers = cluster.controllers_by_their_rights("first");
    let muster = cluster.muster_with_ghosts();
    cluster.label(0, "0");
    cluster.label(1, "1");
    cluster.testbed(1, "2");
    cluster.has_slots(&["0 node-0/0 Free", "1 node-1/0 Free"]);
    eventually("every slot is held", || {
        text(&cluster.bed(), "/conditions/0/reason") == "Held"
    });
    for ghost in cluster.ghosts().values() {
        let terms = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/\
                     nodeSelectorTerms/0/matchFields/0/values/0";
        assert_eq!(text(ghost, "/spec/nodeName"), text(ghost, terms));
    }
    assert_eq!(controllers.health.problems(), [""; 0]);
    assert_eq!(controllers.health.remarks(), [""; 0]);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "labels": {"muster.dev/testbed": "bed", "muster.dev/slots": "1"}},
        "spec": {
            "schedulerName": "muster",
            "containers": [{"name": "a", "image": "none", "resources": {"requests": {"cpu": "2"}}}],
        },
    });
    cluster.plane.post(PODS, &pod).unwrap();
    cluster.has_slots(&["0 node-0/0 Free", "1 node-1/0 Occupied"]);
    assert_eq!(text(&cluster.bed(), "/slots/1/podName"), "p");
    assert_eq!(cluster.pod("p")["spec"]["nodeName"], "node-1");
    cluster.delete_now("p");
    cluster.has_slots(&["0 node-0/0 Free", "1 node-1/0 Free"]);
    let can = |verb: &str, resource: &str, namespace: &str| {
        let asked = [
            "auth",
            "can-i",
            verb,
            resource,
            "-n",
            namespace,
            "--as",
            CONTROLLERS,
        ];
        cluster.plane.kubectl(&asked).is_ok()
    };
    assert!(can("create", "pods", "muster-system"));
    assert!(!can("create", "pods", "default") && !can("delete", "pods", "default"));
    assert!(!can("update", "testbeds.muster.dev", "default"));
    assert!(!can("get", "secrets", "muster-system"));
    let text = controllers.metrics.text().unwrap();
    let refused = text
        .lines()
        .find(|line| line.contains("result=\"refused\"") && !line.ends_with(" 0"));
    assert_eq!(refused, None);
    muster.stop();
    controllers.stop();
}
