//! Muster's own label.

use super::{Convention, Defined};
use crate::names;
use crate::slim::Pod;
use muster_model::GangSpace;
use std::borrow::Cow;

pub(super) const CONVENTION: Convention = Convention {
    mark: "label `muster.dev/pod-group`",
    space: GangSpace::Named,
    defined: Defined::ByPodGroup,
    name,
};

fn name(pod: &Pod) -> Option<Cow<'_, str>> {
    names::label(&pod.metadata, names::POD_GROUP).map(Cow::from)
}
