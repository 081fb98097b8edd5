//! kube-scheduler and Muster on a real API server, one after the other, with the same pods on the same
//! nodes: what either does, the other's filters agree with.
//!
//! Many small random scenarios (tests/upstream draws them) share a cluster: each has its own nodes,
//! labels and namespaces, so that none has to do with another. Their pods come in waves, one of each
//! scenario at a time; who finds no node is gone before the next wave. Every placement of Muster's is
//! one that kube-scheduler's filters accept, and what Muster leaves pending they accept nowhere; and
//! the other way round. `MUSTER_SCENARIOS=20` plays so many.

#![expect(clippy::disallowed_methods, reason = "waits in real time")]
#![expect(dead_code, reason = "of what tests/upstream needs, this uses a part")]

#[path = "../upstream/case.rs"]
mod case;
#[path = "../upstream/dice.rs"]
mod dice;
#[path = "../upstream/oracle.rs"]
mod oracle;
#[path = "../upstream/ours.rs"]
mod ours;
#[path = "../upstream/rules/mod.rs"]
mod rules;

use crate::admin::Admin;
use crate::live::{Cluster, LIMIT, condition};
use case::{Case, OURS, name_of};
use dice::Dice;
use oracle::Oracle;
use ours::ours;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// How many scenarios are played unless the environment says otherwise.
const SCENARIOS: u64 = 200;
/// So many pods of a scenario are tried, one after the other.
const WAVES: usize = 4;
/// How many requests are in flight.
const THREADS: usize = 8;
/// The scheduler to compare with.
const THEIRS: &str = "default-scheduler";

/// Nodes, and pods that come one after the other.
struct Scenario {
    key: String,
    nodes: Vec<Value>,
    pods: Vec<Value>,
    namespaces: Vec<Value>,
    /// Pods that have a node by now, in one run.
    placed: Vec<Value>,
}

/// What has to be different in every scenario.
const OWN: [&str; 11] = [
    "z1", "z2", "z3", "ssd", "hdd", "nvme", "other", "nobodys", "x", "y", "z",
];

impl Scenario {
    fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut case = rules::draw(&mut dice);
        let key = format!("s{seed}");
        let names = case.node_names();
        let own = |text: &str| names.iter().any(|name| name == text) || OWN.contains(&text);
        let mut rename = |object: &mut Value| {
            accepted(object);
            rewrite(object, &|text| match text {
                "default" => Some(key.clone()),
                _ if own(text) => Some(format!("{key}-{text}")),
                _ => None,
            });
        };
        case.nodes.iter_mut().for_each(&mut rename);
        for node in &mut case.nodes {
            node["metadata"]["labels"]["scenario"] = json!(key);
            node["metadata"]["labels"]["kubernetes.io/hostname"] = node["metadata"]["name"].clone();
        }
        let mut namespaces = case.of_kind("namespaces").to_vec();
        namespaces.iter_mut().for_each(&mut rename);
        if namespaces.is_empty() {
            namespaces.push(json!({"metadata": {"name": key}}));
        }
        for namespace in &mut namespaces {
            namespace["metadata"]["labels"]["scenario"] = json!(key);
        }
        // The pod that the case is about comes last.
        let from = case.pods.len().saturating_sub(WAVES - 1);
        let mut pods = case.pods.split_off(from);
        pods.push(case.pod);
        pods.iter_mut().for_each(&mut rename);
        for pod in &mut pods {
            alone(pod, &key);
        }
        Self {
            key,
            nodes: case.nodes,
            pods,
            namespaces,
            placed: Vec::new(),
        }
    }

    /// What there is to decide about a pod.
    fn case(&self, pod: &Value) -> Case {
        let mut pod = pod.clone();
        pod["spec"]["schedulerName"] = json!(OURS);
        let mut case = Case {
            nodes: self.nodes.clone(),
            pods: self.placed.clone(),
            pod,
            others: Map::new(),
            args: Map::new(),
            scores: false,
        };
        for namespace in &self.namespaces {
            case.add("namespaces", namespace.clone());
        }
        case
    }
}

/// Changes every text that has another form.
fn rewrite(tree: &mut Value, form: &impl Fn(&str) -> Option<String>) {
    match tree {
        Value::String(text) => {
            if let Some(other) = form(text) {
                *text = other;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|one| rewrite(one, form)),
        Value::Object(fields) => fields.values_mut().for_each(|one| rewrite(one, form)),
        _ => {}
    }
}

fn array<'a>(object: &'a mut Value, path: &str) -> Option<&'a mut Vec<Value>> {
    object.pointer_mut(path).and_then(Value::as_array_mut)
}

/// Without what the API server, or kube-scheduler as it is by default, does not take.
fn accepted(object: &mut Value) {
    rewrite(object, &|text| {
        matches!(text, "-1" | "-3" | "+5").then(|| "3".to_owned())
    });
    let mut keys = BTreeSet::new();
    if let Some(taints) = array(object, "/spec/taints") {
        taints.retain(|one| keys.insert((one["key"].to_string(), one["effect"].to_string())));
    }
    if let Some(tolerations) = array(object, "/spec/tolerations") {
        tolerations.retain(|one| one["operator"] != "Gt" && one["operator"] != "Lt");
    }
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    if fields.get("kind") != Some(&json!("Pod")) {
        return;
    }
    fields.remove("status");
    let spec = object["spec"].as_object_mut().unwrap();
    for field in ["nodeName", "hostUsers", "schedulingGates", "overhead"] {
        spec.remove(field);
    }
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            container.as_object_mut().unwrap().remove("volumeMounts");
        }
    }
    for constraint in spec
        .get_mut("topologySpreadConstraints")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        // Without affinity the domains of other scenarios would count.
        constraint
            .as_object_mut()
            .unwrap()
            .remove("nodeAffinityPolicy");
    }
    let meta = object["metadata"].as_object_mut().unwrap();
    meta.remove("deletionTimestamp");
    meta.remove("finalizers");
}

/// Keeps a pod on the nodes, and its terms in the namespaces, of its scenario.
fn alone(pod: &mut Value, key: &str) {
    pod["spec"]["nodeSelector"]["scenario"] = json!(key);
    for kind in ["podAffinity", "podAntiAffinity"] {
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let terms = pod.pointer_mut(&format!("/spec/affinity/{kind}/{required}"));
        for term in terms.and_then(Value::as_array_mut).into_iter().flatten() {
            if term["namespaceSelector"].is_object() {
                term["namespaceSelector"]["matchLabels"]["scenario"] = json!(key);
            }
        }
    }
}

/// Does something with each, several at a time.
fn side_by_side<T: Sync>(all: &[T], act: impl Fn(&T) + Sync) {
    let act = &act;
    scope(|scope| {
        for first in 0..THREADS {
            scope.spawn(move || all.iter().skip(first).step_by(THREADS).for_each(act));
        }
    });
}

fn namespace_of(pod: &Value) -> &str {
    pod["metadata"]["namespace"].as_str().unwrap()
}

fn path_of(pod: &Value) -> String {
    format!("/api/v1/namespaces/{}/pods", namespace_of(pod))
}

/// Where the pods of one scheduler are: `Some(node)`, or `None` once it is said that there is none.
fn outcomes(cluster: &Cluster, pods: &[Value]) -> BTreeMap<(String, String), Option<String>> {
    let id = |pod: &Value| (namespace_of(pod).to_owned(), name_of(pod));
    let wanted: BTreeSet<_> = pods.iter().map(id).collect();
    let start = Instant::now();
    loop {
        let list = cluster.plane.get("/api/v1/pods").unwrap();
        let mut found = BTreeMap::new();
        for pod in list["items"].as_array().unwrap() {
            let node = pod["spec"]["nodeName"].as_str().map(str::to_owned);
            let refused = condition(&pod["status"], "PodScheduled")
                .is_some_and(|found| found["reason"] == "Unschedulable");
            if wanted.contains(&id(pod)) && (node.is_some() || refused) {
                found.insert(id(pod), node);
            }
        }
        if found.len() == wanted.len() {
            return found;
        }
        assert!(
            start.elapsed() < LIMIT,
            "undecided: {:?}",
            wanted
                .iter()
                .filter(|one| !found.contains_key(one))
                .collect::<Vec<_>>()
        );
        sleep(Duration::from_millis(100));
    }
}

/// Lets one scheduler place all pods, wave by wave, and says with what the other does not agree.
fn run(
    cluster: &Cluster,
    admin: &Admin,
    scenarios: &mut [Scenario],
    scheduler: &str,
    mut disagrees: impl FnMut(&Case, Option<&str>) -> Option<String>,
) -> (Vec<String>, [usize; 2]) {
    let (mut wrong, mut counts) = (Vec::new(), [0; 2]);
    for wave in 0..WAVES {
        let pods: Vec<Value> = scenarios
            .iter()
            .filter_map(|one| one.pods.get(wave).cloned())
            .map(|mut pod| {
                pod["spec"]["schedulerName"] = json!(scheduler);
                pod
            })
            .collect();
        let refused = std::sync::Mutex::new(BTreeSet::new());
        side_by_side(&pods, |pod| {
            if let Err(error) = cluster.plane.post(&path_of(pod), pod) {
                let text = error.to_string();
                assert!(
                    text.contains("422") || text.contains("Invalid"),
                    "{text}: {pod}"
                );
                refused
                    .lock()
                    .unwrap()
                    .insert(namespace_of(pod).to_owned() + &name_of(pod));
            }
        });
        let refused = refused.into_inner().unwrap();
        let is_there =
            |pod: &Value| !refused.contains(&(namespace_of(pod).to_owned() + &name_of(pod)));
        let pods: Vec<Value> = pods.into_iter().filter(is_there).collect();
        let found = outcomes(cluster, &pods);
        let mut stuck = Vec::new();
        for scenario in scenarios.iter_mut() {
            let Some(pod) = scenario.pods.get(wave).filter(|pod| is_there(pod)).cloned() else {
                continue;
            };
            let node = &found[&(namespace_of(&pod).to_owned(), name_of(&pod))];
            counts[usize::from(node.is_none())] += 1;
            if let Some(problem) = disagrees(&scenario.case(&pod), node.as_deref()) {
                wrong.push(format!(
                    "{}, {scheduler}, pod {}: {problem}",
                    scenario.key,
                    name_of(&pod)
                ));
            }
            match node {
                Some(node) => {
                    let mut placed = pod;
                    placed["spec"]["nodeName"] = json!(node);
                    scenario.placed.push(placed);
                }
                None => stuck.push(pod),
            }
        }
        for pod in &stuck {
            admin.delete(&format!("{}/{}", path_of(pod), name_of(pod)));
        }
    }
    for scenario in scenarios {
        for pod in scenario.placed.drain(..) {
            admin.delete(&format!("{}/{}", path_of(&pod), name_of(&pod)));
        }
    }
    (wrong, counts)
}

#[test]
fn neither_does_what_the_other_s_filters_refuse_nor_leaves_what_they_accept() {
    let count = std::env::var("MUSTER_SCENARIOS").map(|text| text.parse().unwrap());
    let count = count.unwrap_or(SCENARIOS);
    let start = Instant::now();
    let plane = muster_devcluster::ControlPlane::builder().kube_scheduler(true);
    let cluster = Cluster::of(|_| plane);
    cluster.apply_folder("crds");
    let admin = Admin::of(&cluster.plane);
    let mut scenarios: Vec<Scenario> = (0..count).map(Scenario::draw).collect();
    side_by_side(&scenarios, |scenario| {
        for namespace in &scenario.namespaces {
            cluster.plane.post("/api/v1/namespaces", namespace).unwrap();
        }
        for node in &scenario.nodes {
            cluster.plane.post("/api/v1/nodes", node).unwrap();
        }
    });
    eprintln!("{count} scenarios are there after {:?}", start.elapsed());
    let (mut wrong, theirs) = run(&cluster, &admin, &mut scenarios, THEIRS, |case, node| {
        let mine = ours(case);
        match node {
            Some(node) if !mine.nodes[node].is_empty() => Some(format!(
                "is on {node}, where Muster says {:?}",
                mine.nodes[node]
            )),
            None if mine.bound.is_some() => Some(format!(
                "waits, and Muster would bind it to {:?}",
                mine.bound
            )),
            _ => None,
        }
    });
    eprintln!(
        "kube-scheduler placed {} and refused {} after {:?}",
        theirs[0],
        theirs[1],
        start.elapsed()
    );
    let muster = cluster.muster();
    let mut oracle = Oracle::start();
    let (more, mine) = run(&cluster, &admin, &mut scenarios, OURS, |case, node| {
        let answer = oracle.ask(case);
        assert_eq!(answer.error, "", "{}", case.question());
        match node {
            Some(node) if !answer.nodes[node].fits() => Some(format!(
                "is on {node}, where upstream says {:?}",
                answer.nodes[node]
            )),
            None if answer.fit().next().is_some() => Some(format!(
                "waits, and upstream accepts {:?}",
                answer.fit().collect::<Vec<_>>()
            )),
            _ => None,
        }
    });
    muster.stop();
    wrong.extend(more);
    eprintln!(
        "Muster placed {} and refused {} after {:?}",
        mine[0],
        mine[1],
        start.elapsed()
    );
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    for counts in [theirs, mine] {
        assert!(
            counts.iter().all(|one| *one as u64 >= count / 10),
            "{counts:?}: too much alike"
        );
    }
}
