//! Muster's own label.

use super::Convention;
use crate::names;
use crate::slim::Pod;
use muster_model::GangSpace;

pub(super) const CONVENTION: Convention = Convention {
    mark: "label `muster.dev/pod-group`",
    space: GangSpace::Named,
    name,
};

fn name(pod: &Pod) -> Option<&str> {
    names::label(&pod.metadata, names::POD_GROUP)
}
