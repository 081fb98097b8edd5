//! The objects of a run: their names, and what is in them. Nothing here sends anything.
//!
//! All carry the label of the run. Its pods run on its nodes only, and nobody else's do: on a
//! cluster in use, a run neither starts containers nor swallows other people's pods.

use super::case::{RACK, ZONE};
use super::{Case, Convention, Measure, Options};
use muster_api::names::QUEUE;
use muster_cluster::attempt::Target;
use muster_cluster::encoding::Encoding;
use muster_cluster::lanes::{self, Made};
use muster_model::PodKey;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Label and taint of everything a run makes; the value names the run.
pub(super) const LABEL: &str = "muster.dev/bench";
const TOPOLOGIES: &str = "/apis/muster.dev/v1alpha1/topologies";
const QUEUES: &str = "/apis/muster.dev/v1alpha1/queues";
const PRIORITY_CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
/// What a node offers. Its room never runs out before the pods do: see [`Objects::new`].
const NODE_CPU: usize = 64;
const NODE_MEMORY_GIB: usize = 256;
const NODE_PODS: usize = 110;
/// GPUs of a node.
pub const GPUS: usize = 8;
/// The resource they are.
const GPU: &str = "muster.dev/bench-gpu";
/// The gang that others make room for.
const PREEMPTOR: &str = "preemptor";

/// Makes the objects of one run.
#[derive(Clone, Debug)]
pub(super) struct Objects {
    run: String,
    nodes: usize,
    case: Case,
    convention: Convention,
    gang_size: usize,
    queues: usize,
    measure: Measure,
    /// How many times larger than usual the nodes are.
    scale: usize,
}

impl Objects {
    pub(super) fn new(options: &Options) -> Self {
        let pods = options.pods.max(options.raw_pods);
        let pods_per_node = pods.div_ceil(options.case.usable(options.nodes).max(1));
        Self {
            run: options.run.clone(),
            nodes: options.nodes,
            case: options.case,
            convention: options.convention,
            gang_size: options.gang_size,
            queues: options.queues,
            measure: options.measure,
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
        let are_gangs = self.gang_size > 1 || self.measure == Measure::Preempt;
        are_gangs.then(|| format!("/apis/{version}/namespaces/{}/podgroups", self.run))
    }

    /// What is in no namespace, besides nodes, and where it is created.
    pub(super) fn cluster_wide(&self) -> Vec<(String, Value)> {
        let queue = |index| {
            let body = json!({
                "apiVersion": "muster.dev/v1alpha1",
                "kind": "Queue",
                "metadata": {"name": self.queue_name(index), "labels": {LABEL: self.run}},
                "spec": {"weight": 1},
            });
            (QUEUES.to_owned(), body)
        };
        let mut all: Vec<_> = (0..self.queues).map(queue).collect();
        if self.case == Case::RequiredRack {
            let body = json!({
                "apiVersion": "muster.dev/v1alpha1",
                "kind": "Topology",
                "metadata": {"name": self.run, "labels": {LABEL: self.run}},
                "spec": {"levels": [{"nodeLabel": RACK}]},
            });
            all.push((TOPOLOGIES.to_owned(), body));
        }
        if self.measure == Measure::Slots {
            let body = json!({
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "muster-ghost", "labels": {LABEL: self.run}},
                "value": -1_000_000_000,
            });
            all.push((PRIORITY_CLASSES.to_owned(), body));
        }
        if self.measure == Measure::Preempt {
            let body = json!({
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": self.run, "labels": {LABEL: self.run}},
                "value": 1_000,
            });
            all.push((PRIORITY_CLASSES.to_owned(), body));
        }
        all
    }

    /// The collections of those.
    pub(super) fn cluster_wide_paths(&self) -> Vec<String> {
        let all: BTreeSet<_> = self
            .cluster_wide()
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        let ours = |path| format!("{path}?labelSelector={LABEL}%3D{}", self.run);
        all.into_iter().map(ours).collect()
    }

    fn queue_name(&self, index: usize) -> String {
        format!("{}-{}", self.run, index % self.queues.max(1))
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
            (GPU): GPUS.to_string(),
        });
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {
                    LABEL: self.run,
                    ZONE: Case::zone(index),
                    RACK: Case::rack(index),
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
        let (path, mut group) = self.group_of(&gang_name(index), self.gang_size);
        if self.queues > 0 {
            group["spec"]["queue"] = json!(self.queue_name(index));
        }
        (path, group)
    }

    /// The PodGroup of the gang that others make room for.
    pub(super) fn preemptors_group(&self, size: usize) -> (String, Value) {
        self.group_of(PREEMPTOR, size)
    }

    fn group_of(&self, name: &str, size: usize) -> (String, Value) {
        let mut body = json!({
            "apiVersion": self.convention.api_version(),
            "kind": "PodGroup",
            "metadata": {"name": name, "labels": {LABEL: self.run}},
            "spec": self.convention.spec(size),
        });
        if self.case == Case::RequiredRack {
            body["spec"]["topology"] = json!({"name": self.run, "requiredLevel": RACK});
        }
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
        if prefix == super::WAITING {
            let cpu = (2 * NODE_CPU * self.scale).to_string();
            pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(cpu);
        }
        let ours = scheduler_name != super::NOBODY;
        if ours {
            self.case.mark(&mut pod, &json!({LABEL: self.run}));
        }
        if ours && self.gang_size > 1 {
            self.convention
                .mark(&mut pod, &gang_name(index / self.gang_size));
        } else if ours && self.queues > 0 {
            pod["metadata"]["labels"][QUEUE] = json!(self.queue_name(index));
        }
        if self.measure == Measure::Preempt {
            ask_for_gpus(&mut pod, 1);
        }
        pod
    }

    /// What comes and goes beside the pods that are to be bound, and where it is created: a node for nobody, a
    /// Service of nobody, and a pod that no node has room for.
    pub(super) fn passing(&self, scheduler_name: &str) -> [(String, Value); 3] {
        let mut node = self.node(self.nodes);
        node["metadata"]["name"] = json!(format!("{}-passing", self.run));
        node["spec"]["taints"] = json!([{"key": "muster.dev/passing", "effect": "NoSchedule"}]);
        let service = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "passing"},
            "spec": {"selector": {LABEL: "nobody"}, "ports": [{"port": 80}]},
        });
        let services = format!("/api/v1/namespaces/{}/services", self.run);
        let pod = self.pod(super::WAITING, 0, scheduler_name);
        [
            ("/api/v1/nodes".to_owned(), node),
            (services, service),
            (self.pods_path(), pod),
        ]
    }

    /// A pod of the gang that others make room for.
    pub(super) fn preemptor(&self, index: usize, scheduler_name: &str) -> Value {
        let mut pod = self.pod(super::SCHEDULED, index, scheduler_name);
        self.convention.mark(&mut pod, PREEMPTOR);
        ask_for_gpus(&mut pod, GPUS);
        pod["spec"]["priorityClassName"] = json!(self.run);
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
        let target = Target {
            node: self.node_name(index),
            slot: None,
        };
        lanes::binding(&pod, &target, encoding)
    }
}

fn ask_for_gpus(pod: &mut Value, count: usize) {
    let resources = &mut pod["spec"]["containers"][0]["resources"];
    for list in ["requests", "limits"] {
        resources[list][GPU] = json!(count.to_string());
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
    use crate::tests::options;

    #[test]
    fn pods_of_a_gang_follow_each_other_and_those_of_nobody_have_none() {
        let objects = Objects::new(&options(100, 20, 5));
        let gang = |pod: Value| pod["metadata"]["labels"]["muster.dev/pod-group"].clone();
        assert_eq!(gang(objects.pod("pod", 4, "muster")), "gang-0");
        assert_eq!(gang(objects.pod("pod", 5, "muster")), "gang-1");
        assert!(gang(objects.pod("raw", 5, crate::NOBODY)).is_null());
    }

    #[test]
    fn gangs_and_single_pods_are_dealt_out_between_the_queues() {
        let mut options = options(100, 20, 5);
        options.queues = 3;
        let objects = Objects::new(&options);
        assert_eq!(objects.pod_group(4).1["spec"]["queue"], "run-1");
        options.gang_size = 1;
        let pod = Objects::new(&options).pod("pod", 5, "muster");
        assert_eq!(pod["metadata"]["labels"]["muster.dev/queue"], "run-2");
        let names = objects.cluster_wide();
        let names: Vec<_> = names
            .iter()
            .map(|(_, body)| &body["metadata"]["name"])
            .collect();
        assert_eq!(names, ["run-0", "run-1", "run-2"]);
    }

    #[test]
    fn who_preempts_needs_all_that_those_before_it_hold_of_a_node() {
        let mut options = options(2, 16, 1);
        options.measure = Measure::Preempt;
        let objects = Objects::new(&options);
        let gpus = |pod: Value| pod["spec"]["containers"][0]["resources"]["limits"][GPU].clone();
        assert_eq!(objects.node(0)["status"]["allocatable"][GPU], "8");
        assert_eq!(gpus(objects.pod("pod", 0, "muster")), "1");
        let preemptor = objects.preemptor(16, "muster");
        assert_eq!(
            preemptor["metadata"]["labels"]["muster.dev/pod-group"],
            PREEMPTOR
        );
        assert_eq!(preemptor["spec"]["priorityClassName"], "run");
        assert_eq!(gpus(preemptor), "8");
        assert_eq!(
            objects.cluster_wide_paths(),
            ["/apis/scheduling.k8s.io/v1/priorityclasses?labelSelector=muster.dev/bench%3Drun"]
        );
    }

    #[test]
    fn nodes_have_room_for_all_pods_however_few_they_are() {
        let objects = Objects::new(&options(2, 1_000, 1));
        assert_eq!(objects.node(0)["status"]["allocatable"]["pods"], "550");
        assert_eq!(objects.node(0)["status"]["allocatable"]["cpu"], "320");
    }

    #[test]
    fn no_node_has_room_for_those_that_are_to_wait_and_none_is_for_what_passes() {
        let objects = Objects::new(&options(2, 1_000, 1));
        let cpu =
            |pod: &Value| pod["spec"]["containers"][0]["resources"]["requests"]["cpu"].clone();
        let has = objects.node(0)["status"]["allocatable"]["cpu"].clone();
        assert_eq!(
            (has, cpu(&objects.pod("waiting", 0, "muster"))),
            (json!("320"), json!("640"))
        );
        let [(_, node), _, (_, pod)] = objects.passing("muster");
        assert_eq!(node["spec"]["taints"][0]["key"], "muster.dev/passing");
        assert_eq!(cpu(&pod), "640");
    }

    #[test]
    fn the_number_of_a_pod_is_read_back_from_its_name() {
        assert_eq!(index_of(&pod_name("raw-8", 12)), Some(12));
        assert_eq!(index_of("pod"), None);
    }
}
