//! A case: a cluster and a pod that waits in it.

use serde_json::{Map, Value, json};

/// The kinds of objects that a case may have beside nodes and pods: the field in what the oracle reads,
/// and what the object is called.
pub(crate) const KINDS: [(&str, &str, &str); 12] = [
    ("namespaces", "v1", "Namespace"),
    ("services", "v1", "Service"),
    ("replicationControllers", "v1", "ReplicationController"),
    ("replicaSets", "apps/v1", "ReplicaSet"),
    ("statefulSets", "apps/v1", "StatefulSet"),
    ("persistentVolumes", "v1", "PersistentVolume"),
    ("persistentVolumeClaims", "v1", "PersistentVolumeClaim"),
    ("storageClasses", "storage.k8s.io/v1", "StorageClass"),
    ("csiNodes", "storage.k8s.io/v1", "CSINode"),
    ("csiDrivers", "storage.k8s.io/v1", "CSIDriver"),
    (
        "csiStorageCapacities",
        "storage.k8s.io/v1",
        "CSIStorageCapacity",
    ),
    ("volumeAttachments", "storage.k8s.io/v1", "VolumeAttachment"),
];

/// The scheduler that the waiting pod names.
pub(crate) const OURS: &str = "muster";
/// Where all pods are, unless a rule says otherwise.
pub(crate) const NAMESPACE: &str = "default";

/// A cluster and a pod that waits in it, as objects of the API.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    pub(crate) nodes: Vec<Value>,
    /// They have a node.
    pub(crate) pods: Vec<Value>,
    pub(crate) pod: Value,
    /// Objects by their field in [`KINDS`].
    pub(crate) others: Map<String, Value>,
    /// Arguments of plugins, as in a KubeSchedulerConfiguration.
    pub(crate) args: Map<String, Value>,
    /// Whether scores are compared, too.
    pub(crate) scores: bool,
}

impl Case {
    /// The line that the oracle reads.
    pub(crate) fn question(&self) -> String {
        let mut all = json!({
            "nodes": self.nodes, "pods": self.pods, "pod": self.pod,
            "args": self.args, "scores": self.scores,
        });
        for (kind, objects) in &self.others {
            all[kind] = objects.clone();
        }
        all.to_string()
    }

    /// Adds an object of a kind.
    pub(crate) fn add(&mut self, kind: &str, object: Value) {
        assert!(KINDS.iter().any(|(field, ..)| *field == kind), "{kind}");
        let list = self
            .others
            .entry(kind.to_owned())
            .or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(object);
    }

    /// Those of a kind.
    pub(crate) fn of_kind(&self, kind: &str) -> &[Value] {
        let list = self.others.get(kind).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    /// The waiting pod and the others.
    pub(crate) fn all_pods(&mut self) -> impl Iterator<Item = &mut Value> {
        self.pods.iter_mut().chain([&mut self.pod])
    }

    /// The names of the nodes.
    pub(crate) fn node_names(&self) -> Vec<String> {
        self.nodes.iter().map(name_of).collect()
    }
}

/// An object's name.
pub(crate) fn name_of(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// A list in an object, made if it is not there.
pub(crate) fn list<'a>(object: &'a mut Value, path: &[&str]) -> &'a mut Vec<Value> {
    let mut at = object;
    for step in path {
        at = &mut at[*step];
    }
    if at.is_null() {
        *at = json!([]);
    }
    at.as_array_mut().unwrap()
}
