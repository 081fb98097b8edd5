//! What gangs say that wish something of a Topology which means nothing.

use super::{Sentence, read_all, waits};
use crate::live::{Cluster, PODS, pod};

/// What they wait for.
pub(crate) const WAITING: &[Sentence] = &[
    waits(
        "TopologyNotFound",
        "lost",
        "Topology \"nowhere\" does not exist",
    ),
    waits(
        "TopologyNotReady",
        "bent",
        "Topology \"crooked\" is not Ready: its condition says why",
    ),
    waits(
        "LevelNotFound",
        "odd",
        "Topology fabric has no level zone; its levels are block, rack",
    ),
    waits(
        "LevelNotFound",
        "flat",
        "Topology cables is made of links and has no level rack",
    ),
];

const OBJECTS: &str = r"
apiVersion: muster.dev/v1alpha1
kind: Topology
metadata: {name: fabric}
spec: {levels: [{nodeLabel: block}, {nodeLabel: rack}]}
---
apiVersion: muster.dev/v1alpha1
kind: Topology
metadata: {name: crooked}
spec: {levels: [{nodeLabel: block, hops: 2}, {nodeLabel: rack, hops: 4}]}
---
apiVersion: muster.dev/v1alpha1
kind: Topology
metadata: {name: cables}
spec: {links: [{a: leaf, b: n1}, {a: leaf, b: n2, cost: 2}]}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: lost}
spec: {minAvailable: 1, topology: {name: nowhere, maxHops: 2}}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: bent}
spec: {minAvailable: 1, topology: {name: crooked, maxHops: 2}}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: odd}
spec: {minAvailable: 1, topology: {name: fabric, requiredLevel: zone}}
---
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {name: flat}
spec: {minAvailable: 1, topology: {name: cables, preferredLevel: rack}}
";

#[test]
fn every_gang_says_what_is_wrong_with_what_it_wishes() {
    let cluster = Cluster::start();
    let muster = cluster.muster();
    cluster.apply(OBJECTS);
    for gang in ["lost", "bent", "odd", "flat"] {
        cluster.plane.post(PODS, &pod(gang, 0, "1")).unwrap();
    }
    read_all(&cluster, WAITING);
    muster.stop();
}
