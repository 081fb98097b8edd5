//! The annotation by which Volcano itself marks the pods that its controllers make.
//!
//! Its companion `group-min-member` is not read: the minimum stands on the PodGroup, and a pod
//! waits for that.

use super::{Convention, Defined};
use crate::names;
use crate::slim::Pod;
use muster_model::GangSpace;
use std::borrow::Cow;

pub(super) const CONVENTION: Convention = Convention {
    mark: "annotation `scheduling.volcano.sh/group-name`",
    space: GangSpace::Named,
    defined: Defined::ByPodGroupIfItComes,
    name,
};

fn name(pod: &Pod) -> Option<Cow<'_, str>> {
    names::annotation(&pod.metadata, names::VOLCANO_GROUP_NAME).map(Cow::from)
}
