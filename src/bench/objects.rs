//! The objects of a run: their names, and what is in them. Nothing here sends anything.
//!
//! All carry the label of the run. Its pods run on its nodes only, and nobody else's do: on a
//! cluster in use, a run neither starts containers nor swallows other people's pods.

use super::{Convention, Options};
use crate::cluster::encoding::Encoding;
use crate::cluster::lanes::{self, Made};
use crate::core::model::PodKey;
use serde_json::{Value, json};

/// Label and taint of everything a run makes; the value names the run.
const LABEL: &str = "muster.dev/bench";
/// What a node offers. Its room never runs out before the pods do: see [`Objects::new`].
const NODE_CPU: usize = 64;
const NODE_MEMORY_GIB: usize = 256;
const NODE_PODS: usize = 110;

/// Makes the objects of one run.
#[derive(Clone, Debug)]
pub(super) struct Objects {
    run: String,
    nodes: usize,
    convention: Convention,
    gang_size: usize,
    /// How many times larger than usual the nodes are.
    scale: usize,
}

impl Objects {
    pub(super) fn new(options: &Options) -> Self {
        let pods = options.pods.max(options.raw_pods);
        let pods_per_node = pods.div_ceil(options.nodes.max(1));
        Self {
            run: options.run.clone(),
            nodes: options.nodes,
            convention: options.convention,
            gang_size: options.gang_size,
            scale: pods_per_node.div_ceil(NODE_PODS).max(1),
        }
    }

    pub(super) fn namespace_name(&self) -> &str {
        &self.run
    }

    pub(super) fn namespace_path(&self) -> String {
        format!("/api/v1/namespaces/{}", self.run)
    }

    pub(super) fn pods_path(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.run)
    }

    pub(super) fn nodes_path(&self) -> String {
        format!("/api/v1/nodes?labelSelector={LABEL}%3D{}", self.run)
    }

    pub(super) fn pod_groups_path(&self) -> Option<String> {
        let version = self.convention.api_version()?;
        (self.gang_size > 1).then(|| format!("/apis/{version}/namespaces/{}/podgroups", self.run))
    }

    pub(super) fn namespace(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.run, "labels": {LABEL: self.run}},
        })
    }

    pub(super) fn node_name(&self, index: usize) -> String {
        format!("{}-{}", self.run, index % self.nodes.max(1))
    }

    /// A node that says it is Ready. No kubelet stands behind it.
    pub(super) fn node(&self, index: usize) -> Value {
        let name = self.node_name(index);
        let room = json!({
            "cpu": (NODE_CPU * self.scale).to_string(),
            "memory": format!("{}Gi", NODE_MEMORY_GIB * self.scale),
            "pods": (NODE_PODS * self.scale).to_string(),
        });
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {
                    LABEL: self.run,
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                },
            },
            "spec": {"taints": [{"key": LABEL, "value": self.run, "effect": "NoSchedule"}]},
            "status": {
                "capacity": room,
                "allocatable": room,
                "conditions": [{"type": "Ready", "status": "True", "reason": "MusterBench"}],
            },
        })
    }

    /// The PodGroup of the gang of this number, and where it is created.
    pub(super) fn pod_group(&self, index: usize) -> (String, Value) {
        let body = json!({
            "apiVersion": self.convention.api_version(),
            "kind": "PodGroup",
            "metadata": {"name": gang_name(index), "labels": {LABEL: self.run}},
            "spec": self.convention.spec(self.gang_size),
        });
        (self.pod_groups_path().unwrap_or_default(), body)
    }

    pub(super) fn pod(&self, prefix: &str, index: usize, scheduler_name: &str) -> Value {
        let mut pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod_name(prefix, index), "labels": {LABEL: self.run}},
            "spec": {
                "schedulerName": scheduler_name,
                "nodeSelector": {LABEL: self.run},
                "tolerations": [{"key": LABEL, "operator": "Exists"}],
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "main",
                    "image": "never-pulled",
                    "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}},
                }],
            },
        });
        let ours = scheduler_name != super::NOBODY;
        if ours && self.gang_size > 1 {
            self.convention
                .mark(&mut pod, &gang_name(index / self.gang_size));
        }
        pod
    }

    /// What names a pod of this uid.
    pub(super) fn pod_key(&self, prefix: &str, index: usize, uid: &str) -> PodKey {
        PodKey {
            namespace: self.run.clone(),
            name: pod_name(prefix, index),
            uid: uid.to_owned(),
        }
    }

    /// Where a pod is.
    pub(super) fn pod_path(&self, prefix: &str, index: usize) -> String {
        format!("{}/{}", self.pods_path(), pod_name(prefix, index))
    }

    /// What a scheduler sends to bind a pod, whatever its uid.
    pub(super) fn binding(&self, prefix: &str, index: usize, encoding: Encoding) -> Made {
        let pod = self.pod_key(prefix, index, "");
        lanes::binding(&pod, &self.node_name(index), encoding)
    }
}

fn gang_name(index: usize) -> String {
    format!("gang-{index}")
}

fn pod_name(prefix: &str, index: usize) -> String {
    format!("{prefix}-{index}")
}

/// The number in the name of a pod.
pub(super) fn index_of(pod: &str) -> Option<usize> {
    pod.rsplit_once('-')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::options;

    #[test]
    fn pods_of_a_gang_follow_each_other_and_those_of_nobody_have_none() {
        let objects = Objects::new(&options(100, 20, 5));
        let gang = |pod: Value| pod["metadata"]["labels"]["muster.dev/pod-group"].clone();
        assert_eq!(gang(objects.pod("pod", 4, "muster")), "gang-0");
        assert_eq!(gang(objects.pod("pod", 5, "muster")), "gang-1");
        assert!(gang(objects.pod("raw", 5, crate::bench::NOBODY)).is_null());
    }

    #[test]
    fn nodes_have_room_for_all_pods_however_few_they_are() {
        let objects = Objects::new(&options(2, 1_000, 1));
        assert_eq!(objects.node(0)["status"]["allocatable"]["pods"], "550");
        assert_eq!(objects.node(0)["status"]["allocatable"]["cpu"], "320");
    }

    #[test]
    fn the_number_of_a_pod_is_read_back_from_its_name() {
        assert_eq!(index_of(&pod_name("raw-8", 12)), Some(12));
        assert_eq!(index_of("pod"), None);
    }
}
