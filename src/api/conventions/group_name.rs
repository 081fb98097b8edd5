//! The annotation of kube-batch and Volcano, written by Spark, Flink, Ray, Kubeflow and others.

use super::{Convention, Defined};
use crate::names;
use crate::slim::Pod;
use muster_model::GangSpace;
use std::borrow::Cow;

pub(super) const CONVENTION: Convention = Convention {
    mark: "annotation `scheduling.k8s.io/group-name`",
    space: GangSpace::Named,
    defined: Defined::ByPodGroupIfItComes,
    name,
};

fn name(pod: &Pod) -> Option<Cow<'_, str>> {
    names::annotation(&pod.metadata, names::GROUP_NAME).map(Cow::from)
}
