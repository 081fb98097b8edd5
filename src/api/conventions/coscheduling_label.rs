//! The label of scheduler-plugins' coscheduling, which operators write for any scheduler but Volcano, and its older name.

use super::{Convention, Defined};
use crate::names;
use muster_model::GangSpace;
use std::borrow::Cow;

pub(super) const CONVENTION: Convention = Convention {
    mark: "label `scheduling.x-k8s.io/pod-group`",
    space: GangSpace::Coscheduling,
    defined: Defined::ByPodGroupIfItComes,
    name: |pod| names::label(&pod.metadata, "scheduling.x-k8s.io/pod-group").map(Cow::from),
};

pub(super) const OLDER: Convention = Convention {
    mark: "label `pod-group.scheduling.sigs.k8s.io`",
    space: GangSpace::Coscheduling,
    defined: Defined::ByPodGroupIfItComes,
    name: |pod| names::label(&pod.metadata, "pod-group.scheduling.sigs.k8s.io").map(Cow::from),
};
