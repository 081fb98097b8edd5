//! The labels that controllers put on the pods they make, by which those of one workload are told from those of another:
//! no mark of a gang, but what belongs together where something else says that it is one. That is our annotation for
//! how many of them must run, or the configuration, which chooses the workloads whose labels are enough.

use super::podsets;
use crate::names;
use crate::slim::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::{GangRef, GangSpace, Implied};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What makes pods that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Workload {
    /// The pods of all Jobs of a JobSet, and so those of Kubeflow's Trainer.
    JobSet,
    /// One group of a LeaderWorkerSet: a leader and its workers.
    LeaderWorkerSet,
    /// The head and the workers of a Ray cluster.
    Ray,
    /// The replicas of a job of Kubeflow's training operator or MPI operator.
    Kubeflow,
    /// A driver and its executors.
    Spark,
    /// A JobManager and its TaskManagers.
    Flink,
}

/// By which labels the pods of a workload belong together.
#[derive(Clone, Copy, Debug)]
pub struct Together {
    /// What makes them.
    pub workload: Workload,
    /// Which of its pods they are, in words.
    pub of: &'static str,
    /// The labels whose values they have in common.
    pub labels: &'static [&'static str],
    /// A label by whose value they are told from pods of somebody else with the same labels, and its values.
    pub only: Option<(&'static str, &'static [&'static str])>,
    /// Tells names of one kind of workload from those of another, where the values alone do not.
    prefix: &'static str,
}

/// All of them, in the order in which they are looked for: a pod is of the first of which it has all labels.
pub const TOGETHER: &[Together] = &[
    Together {
        workload: Workload::JobSet,
        of: "JobSet, of one restart",
        labels: &[
            "jobset.sigs.k8s.io/jobset-name",
            "jobset.sigs.k8s.io/jobset-uid",
            "jobset.sigs.k8s.io/restart-attempt",
        ],
        only: None,
        prefix: "",
    },
    Together {
        workload: Workload::LeaderWorkerSet,
        of: "LeaderWorkerSet, of one group",
        labels: &[
            "leaderworkerset.sigs.k8s.io/name",
            "leaderworkerset.sigs.k8s.io/group-index",
        ],
        only: None,
        prefix: "lws.",
    },
    Together {
        workload: Workload::Ray,
        of: "Ray cluster",
        labels: &["ray.io/cluster"],
        only: None,
        prefix: "ray.",
    },
    Together {
        workload: Workload::Kubeflow,
        of: "Kubeflow's training job",
        labels: &["training.kubeflow.org/job-name"],
        only: None,
        prefix: "kubeflow.",
    },
    Together {
        workload: Workload::Spark,
        of: "Spark application",
        labels: &["spark-app-selector"],
        only: None,
        prefix: "",
    },
    Together {
        workload: Workload::Flink,
        of: "Flink cluster of Apache's",
        labels: &["app"],
        only: Some((
            "type",
            &["flink-native-kubernetes", "flink-standalone-kubernetes"],
        )),
        prefix: "flink.",
    },
    Together {
        workload: Workload::Flink,
        of: "FlinkCluster",
        labels: &["cluster"],
        only: Some(("app", &["flink"])),
        prefix: "flink.",
    },
];

impl Workload {
    /// Its name in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::JobSet => "JobSet",
            Self::LeaderWorkerSet => "LeaderWorkerSet",
            Self::Ray => "Ray",
            Self::Kubeflow => "Kubeflow",
            Self::Spark => "Spark",
            Self::Flink => "Flink",
        }
    }
}

impl Together {
    /// The name that a pod shares with those it belongs to.
    fn name(&self, meta: &ObjectMeta) -> Option<String> {
        if let Some((key, values)) = self.only
            && !names::label(meta, key).is_some_and(|value| values.contains(&value))
        {
            return None;
        }
        let label = |key: &&'static str| names::filled_label(meta, key);
        let values: Option<Vec<&str>> = self.labels.iter().map(label).collect();
        Some(format!("{}{}", self.prefix, values?.join(".")))
    }
}

/// The name that a pod shares with those of its workload, if it is of one of these.
pub(super) fn name(meta: &ObjectMeta, is_one: impl Fn(Workload) -> bool) -> Option<String> {
    let rows = TOGETHER.iter().filter(|row| is_one(row.workload));
    rows.into_iter().find_map(|row| row.name(meta))
}

/// The gang of a pod without a mark, where labels of these workloads are enough, and what it says of it: one of its
/// pods must run, for how many there will be is known to whoever makes them.
#[must_use]
pub fn gang_by_labels(pod: &Pod, of: &[Workload]) -> Option<(GangRef, Implied)> {
    let gang = GangRef::Named {
        space: GangSpace::Pods,
        name: name(&pod.metadata, |one| of.contains(&one))?,
    };
    let implied = Implied {
        min_available: 1,
        topology: podsets::wish(pod),
        ..Implied::default()
    };
    Some((gang, implied))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const ALL: [Workload; 6] = [
        Workload::JobSet,
        Workload::LeaderWorkerSet,
        Workload::Ray,
        Workload::Kubeflow,
        Workload::Spark,
        Workload::Flink,
    ];

    fn gang(labels: &Value, of: &[Workload]) -> Option<String> {
        let pod = json!({"metadata": {"name": "p", "labels": labels}});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let (gang, implied) = gang_by_labels(&pod, of)?;
        assert_eq!((implied.min_available, implied.after), (1, None));
        match gang {
            GangRef::Named {
                space: GangSpace::Pods,
                name,
            } => Some(name),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn labels_of_the_chosen_workloads_name_a_gang() {
        let jobset = json!({
            "jobset.sigs.k8s.io/jobset-name": "a",
            "jobset.sigs.k8s.io/jobset-uid": "u",
            "jobset.sigs.k8s.io/restart-attempt": "1",
        });
        let lws = json!({
            "leaderworkerset.sigs.k8s.io/name": "a",
            "leaderworkerset.sigs.k8s.io/group-index": "0",
        });
        let spark = json!({"spark-app-selector": "spark-1", "spark-role": "driver"});
        let native = json!({"app": "a", "type": "flink-native-kubernetes"});
        let cases = [
            (Workload::JobSet, jobset, "a.u.1"),
            (Workload::LeaderWorkerSet, lws, "lws.a.0"),
            (Workload::Ray, json!({"ray.io/cluster": "a"}), "ray.a"),
            (
                Workload::Kubeflow,
                json!({"training.kubeflow.org/job-name": "a"}),
                "kubeflow.a",
            ),
            (Workload::Spark, spark, "spark-1"),
            (Workload::Flink, native, "flink.a"),
            (
                Workload::Flink,
                json!({"app": "flink", "cluster": "a"}),
                "flink.a",
            ),
        ];
        for (workload, labels, name) in cases {
            assert_eq!(gang(&labels, &ALL).as_deref(), Some(name));
            assert_eq!(gang(&labels, &[workload]).as_deref(), Some(name));
            let others = ALL.map(|one| (one != workload).then_some(one));
            let others: Vec<Workload> = others.into_iter().flatten().collect();
            assert_eq!(gang(&labels, &others), None, "{name} is not chosen");
            assert_eq!(gang(&labels, &[]), None);
        }
    }

    #[test]
    fn labels_that_anybody_writes_are_flinks_by_their_values_alone() {
        for labels in [
            json!({"app": "a", "type": "web"}),
            json!({"app": "a"}),
            json!({"type": "flink-native-kubernetes"}),
            json!({"app": "", "type": "flink-native-kubernetes"}),
            json!({"cluster": "a", "app": "etcd"}),
            json!({"spark-app-selector": "", "ray.io/cluster": ""}),
        ] {
            assert_eq!(gang(&labels, &ALL), None, "{labels}");
        }
    }

    #[test]
    fn each_workload_is_called_in_the_configuration_as_it_is_in_the_table() {
        for workload in ALL {
            assert_eq!(json!(workload), json!(workload.name()));
            assert!(TOGETHER.iter().any(|row| row.workload == workload));
        }
    }
}
