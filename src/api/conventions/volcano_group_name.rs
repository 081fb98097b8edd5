//! The annotation by which Volcano itself marks the pods that its controllers make.
//!
//! Its companion `group-min-member` is not read: the minimum stands on the PodGroup, and a pod
//! waits for that.

use super::Convention;
use crate::names;
use crate::slim::Pod;
use muster_model::GangSpace;

pub(super) const ANNOTATION: &str = "scheduling.volcano.sh/group-name";

pub(super) const CONVENTION: Convention = Convention {
    mark: "annotation `scheduling.volcano.sh/group-name`",
    space: GangSpace::Named,
    name,
};

fn name(pod: &Pod) -> Option<&str> {
    names::annotation(&pod.metadata, ANNOTATION)
}
