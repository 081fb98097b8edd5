//! What a node says to pods whose volumes do not suit it.

use crate::live::{Cluster, PODS, condition, eventually, pod, text};
use muster_devcluster::fake_node;
use serde_json::{Value, json};

/// What the node has against each pod, in the order of their gangs.
pub(crate) const WORDS: [&str; 6] = [
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) had no available volume zone",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) exceed max volume count",
    "node(s) had no available disk",
];

/// The gangs.
const GANGS: [&str; 6] = ["apart", "zoned", "unmet", "cramped", "crowded", "disk"];

/// Claims, volumes and what the node attaches.
const OBJECTS: &str = "
apiVersion: v1
kind: PersistentVolume
metadata: {name: apart}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /tmp/apart}
  claimRef: {namespace: default, name: apart}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: zone, operator: In, values: [elsewhere]}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: zoned, labels: {topology.kubernetes.io/zone: b}}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /tmp/zoned}
  claimRef: {namespace: default, name: zoned}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: crowded}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: full.example.com, volumeHandle: crowded}
  claimRef: {namespace: default, name: crowded}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: unmet}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: cramped}
provisioner: small.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: small.example.com}
spec: {storageCapacity: true}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: node-0}
spec: {drivers: [{name: full.example.com, nodeID: node, topologyKeys: [], allocatable: {count: 0}}]}
";

/// A claim of this name, of a class of this name if that is one.
fn claim(name: &str) -> String {
    let class = if ["unmet", "cramped"].contains(&name) {
        name
    } else {
        ""
    };
    format!(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {name}}}, \
         spec: {{storageClassName: \"{class}\", accessModes: [ReadWriteOnce], \
         resources: {{requests: {{storage: 1Gi}}}}}}}}"
    )
}

fn with_volume(gang: &str, volume: &Value) -> Value {
    let mut pod = pod(gang, 0, "100m");
    pod["spec"]["volumes"] = json!([volume]);
    pod
}

#[test]
fn a_node_says_what_it_has_against_volumes() {
    // Claims are bound by a controller.
    let cluster = Cluster::of(|builder| builder.controller_manager(true));
    cluster.apply_folder("crds");
    let node = |_| {
        let mut node = fake_node(
            "node-0",
            &[("cpu", "8"), ("memory", "8Gi"), ("pods", "110")],
        );
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!("a");
        node
    };
    cluster.plane.create_nodes(1, node).unwrap();
    cluster.apply(OBJECTS);
    let disk = json!({
        "name": "data",
        "iscsi": {"targetPortal": "10.0.0.2:3260", "iqn": "iqn.2001-04.com.example:disk", "lun": 0},
    });
    let mut there = with_volume("there", &disk);
    there["spec"]["nodeName"] = json!("node-0");
    cluster.plane.post(PODS, &there).unwrap();
    let muster = cluster.muster();
    for gang in GANGS {
        cluster.gang(gang, 1);
        let volume = if gang == "disk" {
            disk.clone()
        } else {
            cluster.apply(&claim(gang));
            json!({"name": "data", "persistentVolumeClaim": {"claimName": gang}})
        };
        cluster
            .plane
            .post(PODS, &with_volume(gang, &volume))
            .unwrap();
    }
    for (gang, words) in GANGS.iter().zip(WORDS) {
        eventually(&format!("{gang} hears that {words}"), || {
            let status = cluster.status_of(gang);
            let found = condition(&status, "Scheduled");
            found.is_some_and(|found| text(found, "/message").contains(&format!("1 {words}")))
        });
    }
    muster.stop();
}
