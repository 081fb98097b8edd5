//! Our own annotation for pods that no PodGroup is made for: how many of them must run. The pods of one workload belong
//! together, such as a JobSet or a Spark application, and else those that one object controls, such as a Job.

use super::{Convention, Defined, count, workloads};
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

fn says(pod: &Pod) -> Option<&str> {
    names::filled_annotation(&pod.metadata, names::MIN_AVAILABLE)
}

/// By what it belongs to others: the labels of its workload, or who controls it.
fn name(meta: &ObjectMeta) -> Option<Cow<'_, str>> {
    let by_labels = workloads::name(meta, |_| true);
    let by_owner = || names::controller(meta).map(|owner| format!("{}.{}", owner.name, owner.uid));
    by_labels.or_else(by_owner).map(Cow::from)
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
