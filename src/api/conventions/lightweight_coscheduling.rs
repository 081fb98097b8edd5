//! The first coscheduling of scheduler-plugins, without PodGroups: each pod says how many are needed.

use super::{Convention, Defined, count};
use crate::names;
use crate::slim::Pod;
use muster_model::{GangSpace, Implied};
use std::borrow::Cow;

/// How many pods are needed.
const MINIMUM: &str = "pod-group.scheduling.sigs.k8s.io/min-available";

pub(super) const CONVENTION: Convention = Convention {
    mark: "label `pod-group.scheduling.sigs.k8s.io/name`, of as many as label `pod-group.scheduling.sigs.k8s.io/min-available` says",
    space: GangSpace::Pods,
    defined: Defined::ByPods(implied),
    name: |pod| names::label(&pod.metadata, "pod-group.scheduling.sigs.k8s.io/name").map(Cow::from),
};

fn implied(pod: &Pod) -> Implied {
    let path = format!("metadata.labels[{MINIMUM}]");
    let minimum = count(&path, names::label(&pod.metadata, MINIMUM));
    Implied {
        min_available: minimum.as_ref().copied().unwrap_or(0),
        invalid: minimum.err(),
        ..Implied::default()
    }
}
