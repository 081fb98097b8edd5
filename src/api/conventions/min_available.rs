//! Our own annotation for pods that no PodGroup is made for: how many of them must run. The pods of one JobSet,
//! Ray cluster, group of a LeaderWorkerSet, training job or Spark application belong together, and else those
//! that one object controls, such as a Job.

use super::{Convention, Defined, count};
use crate::names;
use crate::slim::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::{GangSpace, Implied};
use std::borrow::Cow;

pub(super) const CONVENTION: Convention = Convention {
    mark: "annotation `muster.dev/min-available`, of as many as it says, of those that belong together",
    space: GangSpace::Pods,
    defined: Defined::ByPods(implied),
    name: |pod| name(&pod.metadata).filter(|_| says(pod).is_some()),
};

/// Labels by whose values pods belong together: those of the first of which a pod has all.
pub const TOGETHER: [(&str, &[&str]); 5] = [
    (
        "JobSet, of one restart",
        &[
            "jobset.sigs.k8s.io/jobset-name",
            "jobset.sigs.k8s.io/jobset-uid",
            "jobset.sigs.k8s.io/restart-attempt",
        ],
    ),
    (
        "LeaderWorkerSet, of one group",
        &[
            "leaderworkerset.sigs.k8s.io/name",
            "leaderworkerset.sigs.k8s.io/group-index",
        ],
    ),
    ("Ray cluster", &["ray.io/cluster"]),
    (
        "Kubeflow's training job",
        &["training.kubeflow.org/job-name"],
    ),
    ("Spark application", &["spark-app-selector"]),
];

fn says(pod: &Pod) -> Option<&str> {
    names::filled_annotation(&pod.metadata, names::MIN_AVAILABLE)
}

/// The values of the labels by which it belongs to others, or who controls it.
fn name(meta: &ObjectMeta) -> Option<Cow<'_, str>> {
    let values = |labels: &[&'static str]| {
        let label = |key: &&'static str| names::filled_label(meta, key);
        let values: Option<Vec<&str>> = labels.iter().map(label).collect();
        values.map(|values| Cow::from(values.join(".")))
    };
    let by_labels = TOGETHER.iter().find_map(|(_, labels)| values(labels));
    by_labels.or_else(|| {
        names::controller(meta).map(|owner| format!("{}.{}", owner.name, owner.uid).into())
    })
}

fn implied(pod: &Pod) -> Implied {
    let path = format!("metadata.annotations[{}]", names::MIN_AVAILABLE);
    let minimum = count(&path, says(pod));
    Implied {
        min_available: minimum.as_ref().copied().unwrap_or(0),
        invalid: minimum.err(),
        ..Implied::default()
    }
}
