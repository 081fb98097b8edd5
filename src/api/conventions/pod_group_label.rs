//! Muster's own label.

use super::Convention;
use crate::api::names;
use crate::api::slim::Pod;
use crate::core::model::GangSpace;

pub(super) const CONVENTION: Convention = Convention {
    mark: "label `muster.dev/pod-group`",
    space: GangSpace::Named,
    name,
};

fn name(pod: &Pod) -> Option<&str> {
    names::label(&pod.metadata, names::POD_GROUP)
}
