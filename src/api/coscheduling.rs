//! The PodGroup of scheduler-plugins' coscheduling (`scheduling.x-k8s.io/v1alpha1`), as far as it is honoured.
//!
//! Operators that may be told which scheduler to use make it for any but Volcano: spark-operator, mpi-operator and
//! training-operator.

use super::slim::{Texts, nullable, trimmed};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// `scheduling.x-k8s.io/v1alpha1` PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct PodGroup {
    /// Identity.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What it asks for.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PodGroupSpec,
    /// What was said of it.
    #[serde(default, deserialize_with = "nullable")]
    pub status: PodGroupStatus,
}

/// `spec` of that PodGroup. For how long its pods may hold room and wait for the others (`scheduleTimeoutSeconds`) is not
/// read: they never do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodGroupSpec {
    /// How many must run.
    pub min_member: Option<i32>,
    /// Room that must be free before it is admitted.
    #[serde(deserialize_with = "nullable")]
    pub min_resources: Texts,
}

/// `status` of that PodGroup. It has no conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodGroupStatus {
    /// Pending, Scheduling, Running, Unknown, Finished or Failed.
    #[serde(deserialize_with = "nullable")]
    pub phase: String,
    /// Members that run.
    pub running: u32,
    /// Members that ended well.
    pub succeeded: u32,
    /// Members that ended badly.
    pub failed: u32,
}

impl kube::Resource for PodGroup {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "PodGroup".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "scheduling.x-k8s.io".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1alpha1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "podgroups".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
