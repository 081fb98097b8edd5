//! The annotation that KAI's podgrouper puts on the pods of a gang, beside a PodGroup of KAI's own kind.
//!
//! That kind is not read, and where the podgrouper does not run there is none: so it is a name as the clients of other
//! schedulers give it.

use super::{Convention, Defined};
use crate::names;
use crate::slim::Pod;
use muster_model::GangSpace;
use std::borrow::Cow;

pub(super) const CONVENTION: Convention = Convention {
    mark: "annotation `pod-group-name`",
    space: GangSpace::Named,
    defined: Defined::ByPodGroupIfItComes,
    name,
};

fn name(pod: &Pod) -> Option<Cow<'_, str>> {
    names::annotation(&pod.metadata, names::KAI_POD_GROUP).map(Cow::from)
}
