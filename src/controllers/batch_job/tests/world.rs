//! A world of BatchJobs: Schedulings that claim, Jobs that end, pods that run.

use crate::batch_job::{BatchJobs, Settings};
use crate::{Resource, testing};
use muster_api::crd::{BatchJob, BatchJobStatus};
use serde_json::{Value, json};

pub(super) use crate::testing::Key;

pub(super) type World = testing::World<BatchJobs>;

/// All of an application's resources, and the group's.
pub(super) const OURS: [Resource; 4] = [
    Resource::Jobs,
    Resource::SparkApplications,
    Resource::FlinkDeployments,
    Resource::PodGroups,
];

pub(super) fn key(resource: Resource, name: &str) -> Key {
    (resource, "team".to_owned(), name.to_owned())
}

/// A Job whose one container asks for something else than a slot has.
pub(super) fn plain() -> Value {
    let container = json!({"name": "main", "image": "work", "resources": {"requests": {"cpu": 9}}});
    json!({"job": {"spec": {"template": {"spec": {"containers": [container]}}}}})
}

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self::made_by(|| BatchJobs::new(Settings::default()));
        world.testbed("lab", "4", "8Gi");
        world
    }

    pub(super) fn rest(&mut self) {
        self.rest_with(|_| false);
    }

    pub(super) fn testbed(&mut self, name: &str, cpu: &str, memory: &str) {
        let slot = json!({"cpu": cpu, "memory": memory});
        let spec = json!({"nodeLabel": "lab", "slotsPerNode": 2, "resourcesPerSlot": slot});
        self.put(
            Resource::Testbeds,
            json!({"metadata": {"name": name}, "spec": spec}),
        );
    }

    /// Creates or replaces a BatchJob; its status stays.
    pub(super) fn batch(&mut self, name: &str, spec: Value) {
        let key = key(Resource::BatchJobs, name);
        let status = self.objects.get(&key).map(|one| one["status"].clone());
        let meta = json!({"namespace": "team", "name": name});
        let mut object = json!({"metadata": meta, "spec": spec});
        if let Some(status) = status.filter(|status| !status.is_null()) {
            object["status"] = status;
        }
        self.put(Resource::BatchJobs, object);
    }

    /// A Scheduling claims it, and asks it to run on these slots, if there are any.
    pub(super) fn claim(&mut self, name: &str, scheduling: &str, slots: &[u32]) {
        let slots = slots.to_vec();
        self.edit(&key(Resource::BatchJobs, name), |one| {
            let spec = &mut one["spec"];
            spec["activeScheduling"] = json!({"namespace": "team", "name": scheduling});
            let count = slots.len();
            spec["creationRequest"] =
                json!({"replication": count, "testbed": "lab", "slots": slots});
            if count == 0 {
                spec.as_object_mut().unwrap().remove("creationRequest");
            }
        });
    }

    pub(super) fn release(&mut self, name: &str) {
        self.edit(&key(Resource::BatchJobs, name), |one| {
            let spec = one["spec"].as_object_mut().unwrap();
            spec.remove("activeScheduling");
            spec.remove("creationRequest");
        });
    }

    pub(super) fn status(&self, name: &str) -> BatchJobStatus {
        let object = self.objects[&key(Resource::BatchJobs, name)].clone();
        let batch: BatchJob = serde_json::from_value(object).unwrap();
        batch.status.unwrap_or_default()
    }

    /// State, and the name of the Scheduling whose claim counts.
    pub(super) fn state(&self, name: &str) -> String {
        let status = self.status(name);
        let by = status.active_scheduling.map(|one| one.name);
        let state = status.state.unwrap();
        format!("{state:?} {}", by.unwrap_or_default())
            .trim_end()
            .to_owned()
    }

    /// Reason and words of the condition.
    pub(super) fn accepted(&self, name: &str) -> (String, String) {
        let status = self.status(name);
        let one = &status.conditions[0];
        assert_eq!(one.is_true(), one.reason == "Accepted");
        (one.reason.clone(), one.message.clone())
    }

    /// How the Job of a BatchJob ends: `Complete` or `Failed`.
    pub(super) fn ends(&mut self, name: &str, how: &str) {
        let condition = json!({"type": how, "status": "True"});
        self.edit(&key(Resource::Jobs, name), |one| {
            one["status"] = json!({"conditions": [condition]});
        });
    }

    /// So many pods of a Job run.
    pub(super) fn pods_run(&mut self, name: &str, count: usize) {
        let uid = testing::text(&self.objects[&key(Resource::Jobs, name)], "uid");
        for number in 0..count {
            self.pod(&format!("{name}-{number}"), ("Job", name, &uid), "muster");
        }
    }

    /// A pod that runs; with its uid.
    pub(super) fn pod(&mut self, name: &str, owner: (&str, &str, &str), scheduler: &str) -> String {
        let (kind, owner, uid) = owner;
        let gang = owner.trim_end_matches("-driver");
        let owner = json!({
            "apiVersion": "v1", "kind": kind, "name": owner, "uid": uid, "controller": true,
        });
        let labels = json!({"muster.dev/pod-group": gang});
        let meta = json!({
            "namespace": "team", "name": name, "labels": labels, "ownerReferences": [owner],
        });
        let spec = json!({"schedulerName": scheduler, "containers": []});
        let pod = json!({"metadata": meta, "spec": spec, "status": {"phase": "Running"}});
        self.put(Resource::Pods, pod);
        testing::text(&self.objects[&key(Resource::Pods, name)], "uid")
    }

    /// What there is of applications and groups, in short: `Jobs work`.
    pub(super) fn there(&self) -> Vec<String> {
        let all = self.objects.keys().filter(|key| OURS.contains(&key.0));
        all.map(|key| format!("{:?} {}", key.0, key.2)).collect()
    }
}
