//! What gangs say with the built-in profile.

use super::{Sentence, read_all, waits};
use crate::live::{Cluster, PODS, condition, deny, eventually, hang, pod, text};
use serde_json::json;
use std::net::TcpListener;

/// Where there is no PodGroup of ours, or it has all it needs, it is read on the pods: the reason, the pod, and what it
/// says.
pub(crate) const ON_PODS: [(&str, &str, &str); 3] = [
    (
        "PodGroupNotFound",
        "undefined-0",
        "PodGroup default/undefined does not exist",
    ),
    (
        "Invalid",
        "invalid-0",
        "spec.networkTopology: highestTierAllowed and highestTierName exclude each other",
    ),
    (
        "AtMaximum",
        "capped-1",
        "the PodGroup's replicas let 1 member run at once",
    ),
];

/// What they wait for.
pub(crate) const WAITING: &[Sentence] = &[
    // The first, for it is so for ten seconds only.
    waits(
        "Released",
        "part",
        "only 3 of 4 members could be bound; pod part-3: ",
    ),
    waits(
        "Unschedulable",
        "large",
        "4 of 5 members fit; pod large-4: 0/4 nodes are available: 4 Insufficient cpu.",
    ),
    waits("NotEnoughPods", "few", "2 of 4 pods exist"),
    waits(
        "SchedulingGated",
        "gated",
        "pod gated-0 is held back by scheduling gate example.com/quota",
    ),
    waits(
        "QueueNotFound",
        "astray",
        "queue \"nowhere\" does not exist",
    ),
    waits(
        "PriorityClassNotFound",
        "unranked",
        "priority class \"noble\" does not exist",
    ),
    waits(
        "Unsupported",
        "claims",
        "pod claims-0: not supported: spec.resourceClaims (dynamic resource allocation)",
    ),
    waits(
        "NotEnoughResources",
        "greedy",
        "minResources: 100 cpu wanted, ",
    ),
    waits(
        "BindRefused",
        "refused",
        "binding pod refused-0 was refused: ",
    ),
    waits(
        "BindFailed",
        "unanswered",
        "binding pod unanswered-0 failed: ",
    ),
];

/// What else they say.
pub(crate) const CONDITIONS: &[Sentence] = &[
    Sentence {
        kind: "Admitted",
        reason: "Admitted",
        gang: "large",
        message: "",
    },
    Sentence {
        kind: "Scheduled",
        reason: "Scheduled",
        gang: "lost",
        message: "the minimum of 3 is bound",
    },
    Sentence {
        kind: "Scheduled",
        reason: "Scheduled",
        gang: "mended",
        message: "the minimum of 2 is bound",
    },
    Sentence {
        kind: "Repairing",
        reason: "Repair",
        gang: "mended",
        message: "1 of 2 members have a node; pod mended-1 ",
    },
    Sentence {
        kind: "Repairing",
        reason: "Partial",
        gang: "lost",
        message: "2 of 3 members have a node; pod lost-1 ",
    },
    Sentence {
        kind: "Disrupted",
        reason: "Released",
        gang: "lost",
        message: "only 2 of 3 members are left; pod lost-1 ",
    },
    Sentence {
        kind: "ReleaseRefused",
        reason: "DeleteRefused",
        gang: "kept",
        message: "pod kept-",
    },
    Sentence {
        kind: "ReleaseRefused",
        reason: "DeleteFailed",
        gang: "stranded",
        message: "pod stranded-",
    },
    Sentence {
        kind: "Scheduled",
        reason: "Binding",
        gang: "many",
        message: "",
    },
];

/// PodGroups that are not only a name and a minimum.
const GROUPS: &str = r"
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: invalid}
spec: {minMember: 1, networkTopology: {highestTierAllowed: 1, highestTierName: rack}}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: astray}
spec: {minAvailable: 1, queue: nowhere}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: unranked}
spec: {minAvailable: 1, priorityClassName: noble}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: greedy}
spec: {minAvailable: 1, minResources: {cpu: 100}}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: capped}
spec: {minAvailable: 1, replicas: 1}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: mended}
spec: {minAvailable: 2, disruption: {policy: Repair, deadline: 10m}}
";

/// A pod of a gang with more in its spec.
fn special(cluster: &Cluster, gang: &str, field: &str, value: serde_json::Value) {
    let mut pod = pod(gang, 0, "100m");
    pod["spec"][field] = value;
    cluster.plane.post(PODS, &pod).unwrap();
}

/// Answers no to some binds and deletions, and nothing to others.
fn refusals(cluster: &Cluster) -> [TcpListener; 2] {
    let rule = "!(request.name in ['refused-0', 'part-3', 'kept-3', 'stranded-3'])";
    let binds = deny("binds", "CREATE", "pods/binding", rule, "not on my nodes");
    cluster.apply(&binds);
    let rule = "!request.name.startsWith('kept-')";
    let deletes = deny("deletes", "DELETE", "pods", rule, "kept for the audit");
    cluster.apply(&deletes);
    cluster.refuses_to_bind("part-3", "node-0", "not on my nodes");
    let rule = "request.name == 'unanswered-0'";
    let binds = hang(cluster, "deaf-to-binds", "CREATE", "pods/binding", rule);
    let rule = "request.name.startsWith('stranded-')";
    let deletes = hang(cluster, "deaf-to-deletes", "DELETE", "pods", rule);
    [binds, deletes]
}

#[test]
fn gangs_say_why_they_wait_and_how_far_they_are() {
    let cluster = Cluster::start();
    cluster.nodes(4, "8");
    let _deaf = refusals(&cluster);
    cluster.apply_folder("deploy/compat");
    let muster = cluster.muster_with(&cluster.plane.kubeconfig(), None, |options| {
        options.binds_in_flight = 4;
    });
    for (gang, min, count) in [
        ("few", 4, 2),
        ("lost", 3, 3),
        ("refused", 1, 1),
        ("part", 4, 4),
        ("kept", 4, 4),
        ("unanswered", 1, 1),
        ("stranded", 4, 4),
    ] {
        cluster.gang(gang, min);
        cluster.pods(gang, count, "100m");
    }
    for gang in ["gated", "claims"] {
        cluster.gang(gang, 1);
    }
    special(
        &cluster,
        "gated",
        "schedulingGates",
        json!([{"name": "example.com/quota"}]),
    );
    let claim = json!([{"name": "gpu", "resourceClaimName": "gpu-0"}]);
    special(&cluster, "claims", "resourceClaims", claim);
    eventually("PodGroups are taken", || {
        cluster.plane.kubectl_apply_stdin(GROUPS).is_ok()
    });
    for gang in ["invalid", "astray", "unranked", "greedy", "undefined"] {
        cluster.pods(gang, 1, "100m");
    }
    cluster.pods("capped", 2, "100m");
    cluster.pods("mended", 2, "100m");
    cluster.gang("large", 5);
    cluster.pods("large", 5, "5");
    read_all(&cluster, WAITING);
    for (reason, pod, message) in ON_PODS {
        let what = format!("{pod} says that it waits for {reason}");
        eventually(&what, || says(&cluster, pod, message));
    }
    eventually("pods say what their gang says", || {
        says(&cluster, "few-1", "2 of 4 pods exist")
    });

    let many = 300;
    cluster.pods_at_once("many", many, "1m");
    let (others, last) = CONDITIONS.split_at(CONDITIONS.len() - 1);
    let (whole, cut) = others.split_at(3);
    read_all(&cluster, whole);
    cluster.delete_now("lost-1");
    cluster.delete_now("mended-1");
    read_all(&cluster, cut);
    cluster.gang("many", u32::try_from(many).unwrap());
    read_all(&cluster, last);
    events(&cluster);
    muster.stop();
}

/// Whether a pod says so on why it waits.
fn says(cluster: &Cluster, pod: &str, message: &str) -> bool {
    let status = cluster.pod(pod)["status"].clone();
    condition(&status, "PodScheduled").is_some_and(|found| {
        let reason = text(found, "/reason");
        let known = ["Unschedulable", "AtMaximum"].contains(&&*reason);
        known && text(found, "/message").starts_with(message)
    })
}

/// The events that the document names.
fn events(cluster: &Cluster) {
    for (pod, event) in [
        ("few-0", "FailedScheduling: 2 of 4 pods exist"),
        ("lost-0", "Scheduled: "),
        (
            "lost-0",
            "Released: only 2 of 3 members are left; pod lost-1 ",
        ),
        ("kept-0", "EvictionRefused: "),
        ("stranded-0", "EvictionFailed: "),
    ] {
        eventually(&format!("{pod} has the event {event}"), || {
            let events = cluster.events(pod);
            events.iter().any(|said| said.starts_with(event))
        });
    }
    let kept = cluster.pod("kept-0")["status"].clone();
    assert!(condition(&kept, "DisruptionTarget").is_some(), "{kept}");
}
