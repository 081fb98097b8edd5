//! What nodes say to a pod that none of them suits.

use crate::live::{Cluster, PODS, condition, deny, eventually, pod, text};
use muster::core::framework::Filter;
use muster::core::plugins::scoring::Arguments;
use muster::core::plugins::{Added, registry};
use muster::model::{Operator, Requirement, Term};
use muster_devcluster::fake_node;
use serde_json::{Value, json};
use std::sync::Arc;

/// What a node has against the pod, one each.
pub(crate) const WORDS: [&str; 16] = [
    "Insufficient cpu",
    "Too many pods",
    "node(s) were unschedulable",
    "node(s) had untolerated taint(s)",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't match PodGroup's node selector",
    "node(s) didn't have free ports for the requested pod ports",
    "node(s) refused the binding",
    "node(s) were not free for one PodGroup alone",
    "node(s) didn't match pod affinity rules",
    "node(s) didn't match pod anti-affinity rules",
    "node(s) didn't satisfy existing pods anti-affinity rules",
    "node(s) didn't match pod topology spread constraints",
    "node(s) didn't match Pod's required features",
    "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "node(s) didn't match scheduler-enforced node affinity",
];

const FEATURE: &str = "RestartAllContainersOnContainerExits";

/// A node that would suit but for its name's reason.
fn node(name: &str) -> Value {
    let cpu = if name == "small" { "1" } else { "4" };
    let pods = if name == "full" { "0" } else { "110" };
    let mut node = fake_node(name, &[("cpu", cpu), ("memory", "8Gi"), ("pods", pods)]);
    let role = if name == "elsewhere" { "play" } else { "work" };
    let zone = if name == "far" { "b" } else { "a" };
    node["metadata"]["labels"]["role"] = json!(role);
    node["metadata"]["labels"]["zone"] = json!(zone);
    node["metadata"]["labels"]["spot"] = json!(name);
    if name != "lonely" {
        node["metadata"]["labels"]["side"] = json!("left");
    }
    if name != "old" {
        node["status"]["declaredFeatures"] = json!([FEATURE]);
    }
    let ring = if name == "apart" { "outer" } else { "inner" };
    node["metadata"]["labels"]["ring"] = json!(ring);
    match name {
        "cordoned" => node["spec"]["unschedulable"] = json!(true),
        "tainted" => {
            let taint = json!({"key": "only", "value": "them", "effect": "NoSchedule"});
            node["spec"]["taints"] = json!([taint]);
        }
        _ => {}
    }
    node
}

/// Required terms of one kind, about pods of an application within the values of a label.
fn terms(kind: &str, app: &str, key: &str) -> Value {
    let term = json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}});
    json!({kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
}

/// The filters of a profile all of whose pods stay in the inner ring.
fn in_the_inner_ring() -> Vec<Arc<dyn Filter>> {
    let ring = Requirement {
        key: "ring".to_owned(),
        operator: Operator::In,
        values: vec!["inner".to_owned()],
    };
    let inner = Term {
        labels: vec![ring],
        fields: Vec::new(),
    };
    let added = Added {
        required: Some(vec![inner]),
        ..Added::default()
    };
    registry::with_the_gangs_own(registry::filters_by(&Arguments {
        added_affinity: Arc::new(added),
        ..Arguments::default()
    }))
}

/// A pod with a host port.
fn with_port(gang: &str) -> Value {
    let mut pod = pod(gang, 0, "2");
    pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 8080}]);
    pod
}

#[test]
fn every_node_says_what_it_has_against_a_pod() {
    let cluster = Cluster::start();
    let names = [
        "small",
        "full",
        "cordoned",
        "tainted",
        "elsewhere",
        "far",
        "busy",
        "refusing",
        "alone",
        "lonely",
        "loud",
        "guarded",
        "crowded",
        "old",
        "unnamed",
        "apart",
    ];
    cluster
        .plane
        .create_nodes(names.len(), |i| node(names[i]))
        .unwrap();
    let mut there = with_port("there");
    there["spec"]["nodeName"] = json!("busy");
    cluster.plane.post(PODS, &there).unwrap();
    cluster.apply(
        "{apiVersion: muster.dev/v1alpha1, kind: PodGroup, metadata: {name: hermit}, \
         spec: {minAvailable: 1, exclusive: true}}",
    );
    let mut hermit = pod("hermit", 0, "1");
    hermit["spec"]["nodeName"] = json!("alone");
    cluster.plane.post(PODS, &hermit).unwrap();
    let mut loud = pod("loud", 0, "1");
    loud["metadata"]["labels"]["app"] = json!("loud");
    loud["spec"]["nodeName"] = json!("loud");
    cluster.plane.post(PODS, &loud).unwrap();
    let mut guard = pod("guard", 0, "1");
    guard["spec"]["affinity"] = terms("podAntiAffinity", "picky", "spot");
    guard["spec"]["nodeName"] = json!("guarded");
    cluster.plane.post(PODS, &guard).unwrap();
    for index in 0..2 {
        let mut one = pod("crowd", index, "1");
        one["metadata"]["labels"]["app"] = json!("crowd");
        one["spec"]["nodeName"] = json!("crowded");
        cluster.plane.post(PODS, &one).unwrap();
    }
    let rule = "object.target.name != 'refusing'";
    cluster.apply(&deny(
        "binds",
        "CREATE",
        "pods/binding",
        rule,
        "not on this node",
    ));
    cluster.refuses_to_bind("picky-0", "refusing", "not on this node");
    let muster = cluster.muster_with(&cluster.plane.kubeconfig(), None, |options| {
        options.policy.profile.filter = in_the_inner_ring();
    });
    cluster.apply(
        "{apiVersion: muster.dev/v1alpha1, kind: PodGroup, metadata: {name: picky}, \
         spec: {minAvailable: 1, nodeSelector: {zone: a}}}",
    );
    let mut picky = with_port("picky");
    picky["spec"]["nodeSelector"] = json!({"role": "work"});
    picky["metadata"]["labels"]["app"] = json!("picky");
    // It is the first of those it wants to be with, which needs the label.
    picky["spec"]["affinity"] = terms("podAffinity", "picky", "side");
    picky["spec"]["affinity"]["podAntiAffinity"] =
        terms("podAntiAffinity", "loud", "spot")["podAntiAffinity"].clone();
    picky["spec"]["restartPolicy"] = json!("Never");
    let container = &mut picky["spec"]["containers"][0];
    container["restartPolicy"] = json!("Never");
    container["restartPolicyRules"] = json!([
        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [3]}},
    ]);
    let others: Vec<&str> = names
        .into_iter()
        .filter(|name| *name != "unnamed")
        .collect();
    picky["spec"]["affinity"]["nodeAffinity"] = named(&others)["nodeAffinity"].clone();
    picky["spec"]["topologySpreadConstraints"] = json!([{
        "maxSkew": 1, "topologyKey": "spot", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "crowd"}},
    }]);
    cluster.plane.post(PODS, &picky).unwrap();
    let mut said = String::new();
    eventually("all nodes have said no", || {
        let status = cluster.status_of("picky");
        let found = condition(&status, "Scheduled");
        said = found.map_or_else(String::new, |found| text(found, "/message"));
        said.contains(WORDS[7])
    });
    eprintln!("{said}");
    assert!(said.contains("(the last refusal: "), "{said}");
    assert!(said.contains("not on this node"), "{said}");
    assert!(said.contains("0/16 nodes are available: "), "{said}");
    for words in WORDS {
        assert!(said.contains(&format!("1 {words}")), "{words} in {said}");
    }
    let mut torn = pod("torn", 0, "1");
    torn["metadata"]["annotations"] = json!({});
    torn["spec"]["affinity"] = named(&["small"]);
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = &mut torn["spec"]["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"];
    let other = json!({"key": "metadata.name", "operator": "In", "values": ["full"]});
    terms[0]["matchFields"].as_array_mut().unwrap().push(other);
    cluster.plane.post(PODS, &torn).unwrap();
    eventually("lists that exclude each other are told", || {
        let status = &cluster.pod("torn-0")["status"];
        let found = condition(status, "PodScheduled").map(|found| text(found, "/message"));
        found.as_deref() == Some("0/16 nodes are available: pod affinity terms conflict.")
    });
    muster.stop();
}

/// Affinity to nodes of these names: a term each, for the API takes one name a term.
fn named(names: &[&str]) -> Value {
    let term = |name: &&str| {
        let field = json!({"key": "metadata.name", "operator": "In", "values": [name]});
        json!({"matchFields": [field]})
    };
    let terms: Vec<Value> = names.iter().map(term).collect();
    let required = json!({"nodeSelectorTerms": terms});
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})
}
