//! Upstream's field of Kubernetes 1.36 and later.

use super::{Convention, Defined};
use crate::slim::Pod;
use muster_model::GangSpace;
use std::borrow::Cow;

pub(super) const CONVENTION: Convention = Convention {
    mark: "field `spec.schedulingGroup.podGroupName`",
    space: GangSpace::Upstream,
    defined: Defined::ByPodGroup,
    name,
};

fn name(pod: &Pod) -> Option<Cow<'_, str>> {
    pod.spec
        .scheduling_group
        .as_ref()?
        .pod_group_name
        .as_deref()
        .map(Cow::from)
}
