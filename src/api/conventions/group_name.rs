//! The annotation of kube-batch and Volcano, written by Spark, Flink, Ray, Kubeflow and others.

use super::Convention;
use crate::names;
use crate::slim::Pod;
use muster_model::GangSpace;

pub(super) const ANNOTATION: &str = "scheduling.k8s.io/group-name";

pub(super) const CONVENTION: Convention = Convention {
    mark: "annotation `scheduling.k8s.io/group-name`",
    space: GangSpace::Named,
    name,
};

fn name(pod: &Pod) -> Option<&str> {
    names::annotation(&pod.metadata, ANNOTATION)
}
