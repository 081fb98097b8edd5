//! Upstream's field of Kubernetes 1.36 and later.

use super::Convention;
use crate::slim::Pod;
use muster_model::GangSpace;

pub(super) const CONVENTION: Convention = Convention {
    mark: "field `spec.schedulingGroup.podGroupName`",
    space: GangSpace::Upstream,
    name,
};

fn name(pod: &Pod) -> Option<&str> {
    pod.spec
        .scheduling_group
        .as_ref()?
        .pod_group_name
        .as_deref()
}
