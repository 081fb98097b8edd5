//! mpi-operator's MPIJob (`kubeflow.org/v2beta1`), of which is read when its launcher is made: a PodGroup counts it,
//! and does not say so.

use super::slim::{nullable, trimmed};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::NamespaceResourceScope;
use muster_model::MpiJobSpec;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// `kubeflow.org/v2beta1` MPIJob.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct MpiJob {
    /// Identity.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What it asks for.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: Spec,
}

/// `spec` of an MPIJob.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `AtStartup` (or nothing), or `WaitForWorkersReady`.
    #[serde(deserialize_with = "nullable")]
    pub launcher_creation_policy: String,
    /// Its pods, by their role: `Launcher` and `Worker`.
    #[serde(deserialize_with = "nullable")]
    pub mpi_replica_specs: BTreeMap<String, Replicas>,
}

/// The pods of one role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Replicas {
    /// How many there are to be; one if nothing is said.
    pub replicas: Option<i32>,
}

impl MpiJob {
    /// What it means to a scheduler.
    #[must_use]
    pub fn read(&self) -> MpiJobSpec {
        let waits = self.spec.launcher_creation_policy == "WaitForWorkersReady";
        let workers = self.spec.mpi_replica_specs.get("Worker");
        let workers = workers.map_or(0, |all| all.replicas.unwrap_or(1));
        MpiJobSpec {
            namespace: self.metadata.namespace.clone().unwrap_or_default(),
            name: self.metadata.name.clone().unwrap_or_default(),
            workers_first: waits.then(|| u32::try_from(workers).unwrap_or(0)),
        }
    }
}

impl kube::Resource for MpiJob {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "MPIJob".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "kubeflow.org".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v2beta1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "mpijobs".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

    use super::*;
    use serde_json::{Value, json};

    fn workers_first(spec: Value) -> Option<u32> {
        let value = json!({"metadata": {"name": "j", "namespace": "n"}, "spec": spec});
        let job: MpiJob = serde_json::from_value(value).unwrap();
        let read = job.read();
        assert_eq!((read.namespace.as_str(), read.name.as_str()), ("n", "j"));
        read.workers_first
    }

    #[test]
    fn whether_the_launcher_waits_for_workers_is_read() {
        let late = |workers: Value| {
            json!({
                "launcherCreationPolicy": "WaitForWorkersReady",
                "mpiReplicaSpecs": {"Launcher": {"replicas": 1}, "Worker": workers},
            })
        };
        assert_eq!(
            workers_first(late(json!({"replicas": 4, "template": {}}))),
            Some(4)
        );
        assert_eq!(workers_first(late(json!({}))), Some(1));
        assert_eq!(workers_first(late(json!({"replicas": -4}))), Some(0));
        assert_eq!(
            workers_first(json!({"launcherCreationPolicy": "AtStartup"})),
            None
        );
        assert_eq!(workers_first(json!({"mpiReplicaSpecs": null})), None);
        let alone = json!({"launcherCreationPolicy": "WaitForWorkersReady"});
        assert_eq!(workers_first(alone), Some(0));
    }
}
