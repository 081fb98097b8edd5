//! The label of scheduler-plugins' coscheduling, which operators write for any scheduler but Volcano, and its older name.

use super::Convention;
use crate::names;
use muster_model::GangSpace;

pub(super) const CONVENTION: Convention = Convention {
    mark: "label `scheduling.x-k8s.io/pod-group`",
    space: GangSpace::Coscheduling,
    name: |pod| names::label(&pod.metadata, "scheduling.x-k8s.io/pod-group"),
};

pub(super) const OLDER: Convention = Convention {
    mark: "label `pod-group.scheduling.sigs.k8s.io`",
    space: GangSpace::Coscheduling,
    name: |pod| names::label(&pod.metadata, "pod-group.scheduling.sigs.k8s.io"),
};
