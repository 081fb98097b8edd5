//! What gangs say whose queue does not let them start.

use super::{Sentence, read_all, waits};
use crate::live::{Cluster, PODS, eventually, pod};
use muster_devcluster::fake_node;
use serde_json::json;

/// What they wait for.
pub(crate) const WAITING: &[Sentence] = &[
    waits(
        "QueueNotReady",
        "lost-way",
        "queue orphan: its parent \"nobody\" does not exist",
    ),
    waits("QueueClosed", "late", "queue closed: it is closed"),
    waits(
        "QueueForbidden",
        "stranger",
        "queue chosen: its namespaceSelector does not choose namespace default",
    ),
    waits(
        "QueueLimit",
        "bounded",
        "queue limited would hold 3 cpu, and its limit is 2 cpu",
    ),
    waits(
        "QueueHeld",
        "behind",
        "the gangs ahead of it in queue limited wait",
    ),
    waits(
        "QueueShare",
        "for-ever",
        "it asks for 1 core's worth, and gangs with an unlimited lifetime may raise the flow of queue",
    ),
    waits("QueueBudget", "an-hour", "it would be charged "),
    waits(
        "QueueGuarantee",
        "borrows",
        "it would take 2 cpu that other queues",
    ),
    waits(
        "Preempting",
        "high",
        "its place on 1 node is held for it until 1 pod has left",
    ),
    waits(
        "Preempted",
        "low",
        "preempted for default/high of queue wide",
    ),
];

/// What else they say.
pub(crate) const CONDITIONS: &[Sentence] = &[Sentence {
    kind: "Disrupted",
    reason: "Preempted",
    gang: "low",
    message: "preempted for default/high of queue wide",
}];

const OBJECTS: &str = r"
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: wide}
spec: {weight: 60000, overShareFactor: 1000}
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: orphan}
spec: {parent: nobody}
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: closed}
spec: {state: Closed}
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: chosen}
spec: {namespaceSelector: {matchLabels: {team: a}}}
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: limited}
spec: {limit: {cpu: 2}}
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: small}
spec: {}
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: poor}
spec: {excessBudget: 0}
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: owner}
spec: {weight: 1000, guaranteed: {cpu: 8}}
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: borrower}
spec: {weight: 1000, overShareFactor: 100}
";

/// Gang, queue, what else its spec has, and the CPUs of its one pod.
const GANGS: [(&str, &str, &str, &str); 9] = [
    ("lost-way", "orphan", "", "1"),
    ("late", "closed", "", "1"),
    ("stranger", "chosen", "", "1"),
    ("holds", "limited", ", lifetime: 0s", "1"),
    ("bounded", "limited", ", lifetime: 0s", "2"),
    ("behind", "limited", ", lifetime: 0s", "1"),
    ("for-ever", "small", "", "1"),
    ("an-hour", "poor", ", lifetime: 1h", "1"),
    ("borrows", "borrower", "", "4"),
];

#[test]
fn gangs_say_what_their_queue_has_against_them() {
    let cluster = Cluster::start();
    // Nobody acts for its kubelet: who is to make room stays for as long as somebody reads.
    let node = |_| {
        let mut node = fake_node("node-0", &[("cpu", "10"), ("memory", "64Gi")]);
        node["metadata"]["annotations"] = json!({"kwok.x-k8s.io/node": "none"});
        node
    };
    cluster.plane.create_nodes(1, node).unwrap();
    let muster = cluster.muster_with(&cluster.plane.kubeconfig(), None, |_| {});
    eventually("queues are taken", || {
        cluster.plane.kubectl_apply_stdin(OBJECTS).is_ok()
    });
    for (gang, queue, more, _) in GANGS {
        cluster.apply(&format!(
            "{{apiVersion: muster.dev/v1alpha1, kind: PodGroup, metadata: {{name: {gang}}}, \
             spec: {{minAvailable: 1, queue: {queue}{more}}}}}"
        ));
    }
    for (gang, _, _, cpus) in GANGS {
        cluster.pods(gang, 1, cpus);
    }
    let group = |name: &str, priority: u32| {
        cluster.apply(&format!(
            "{{apiVersion: muster.dev/v1alpha1, kind: PodGroup, metadata: {{name: {name}}}, \
             spec: {{minAvailable: 1, queue: wide, lifetime: 1h, priority: {priority}}}}}"
        ));
        cluster.plane.post(PODS, &pod(name, 0, "9")).unwrap();
    };
    group("low", 0);
    eventually("low runs", || cluster.bound("low") == 1);
    group("high", 9);
    read_all(&cluster, WAITING);
    read_all(&cluster, CONDITIONS);
    muster.stop();
}
