//! A world of QueueJobs: pods that run and end, quotas that run out.

use crate::queue_job::QueueJobs;
use crate::{Answer, Deed, Machine, Resource, Write, testing};
use muster_api::crd::QueueJobStatus;
use muster_model::units::Millis;
use serde_json::{Value, json};

pub(super) use crate::testing::Key;

pub(super) type World = testing::World<QueueJobs>;

pub(super) fn key(resource: Resource, name: &str) -> Key {
    (resource, "team".to_owned(), name.to_owned())
}

/// So many pods of a task of this name.
pub(super) fn task(name: &str, replicas: i32) -> Value {
    let container = json!({"name": "a", "resources": {"requests": {"cpu": "1"}}});
    let template = json!({
        "metadata": {"labels": {"app": "x", "muster.dev/task": "forged"}},
        "spec": {"containers": [container]},
    });
    json!({"name": name, "replicas": replicas, "template": template})
}

/// What a server of a few lines says where a quota leaves no room: its numbers change.
pub(super) fn over_quota(used: usize) -> Answer {
    let words =
        format!("pods \"p\" is forbidden: exceeded quota: q, used: pods={used}, limited: pods=9");
    Answer::Refused { message: words }
}

impl World {
    pub(super) fn new() -> Self {
        Self::made_by(QueueJobs::new)
    }

    /// Creates or replaces a QueueJob of a namespace; its status stays.
    pub(super) fn job_in(&mut self, namespace: &str, name: &str, created: u32, spec: Value) {
        let key = (Resource::QueueJobs, namespace.to_owned(), name.to_owned());
        let status = self.objects.get(&key).map(|one| one["status"].clone());
        let created = format!("2026-01-01T00:00:{created:02}Z");
        let meta = json!({"namespace": namespace, "name": name, "creationTimestamp": created});
        let mut object = json!({"metadata": meta, "spec": spec});
        if let Some(status) = status.filter(|status| !status.is_null()) {
            object["status"] = status;
        }
        self.put(Resource::QueueJobs, object);
    }

    pub(super) fn job(&mut self, name: &str, spec: Value) {
        self.job_in("team", name, 0, spec);
    }

    /// A QueueJob of these tasks, of which so many pods have to run.
    pub(super) fn tasks(&mut self, name: &str, min: Option<i32>, tasks: Value) {
        let mut spec = json!({"taskSpecs": tasks});
        if let Some(min) = min {
            spec["schedSpec"] = json!({"minAvailable": min});
        }
        self.job(name, spec);
    }

    /// Changes the spec of a QueueJob.
    pub(super) fn edit_job(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        self.edit(&key(Resource::QueueJobs, name), |one| {
            change(&mut one["spec"]);
        });
    }

    /// The same, with no more than so many pods in a namespace.
    pub(super) fn rest_within(&mut self, quota: usize) {
        for _ in 0..3_000 {
            self.hear_all();
            let writes = self.machine.due(self.now, 100);
            if writes.is_empty() {
                match self.machine.wakes_at() {
                    // Longer than any wait between tries.
                    Some(at) if at < self.now + Millis(25_000) => {
                        self.now = self.now.max(at) + Millis(1);
                    }
                    _ => return,
                }
            }
            for write in writes {
                let answer = self.answer_within(&write, quota);
                self.machine.answered(write.ticket, answer, self.now);
            }
        }
        let last: Vec<_> = self.written.iter().rev().take(20).collect();
        panic!("it does not come to rest: {last:?}");
    }

    pub(super) fn rest(&mut self) {
        self.rest_within(usize::MAX);
    }

    /// Carries out a write, if so many pods may be there.
    pub(super) fn answer_within(&mut self, write: &Write, quota: usize) -> Answer {
        let namespace = &write.on.namespace;
        let pods = self.of(Resource::Pods);
        let there = pods.filter(|(key, _)| key.1 == *namespace).count();
        let makes_pod =
            write.on.resource == Resource::Pods && matches!(write.deed, Deed::Create(_));
        if makes_pod && there >= quota {
            return over_quota(there);
        }
        self.carry_out(write)
    }

    /// So many seconds pass.
    pub(super) fn pass(&mut self, seconds: u64) {
        self.now = self.now + Millis(seconds * 1_000);
    }

    /// The names of all pods.
    pub(super) fn pods(&self) -> Vec<String> {
        self.of(Resource::Pods)
            .map(|(key, _)| key.2.clone())
            .collect()
    }

    pub(super) fn pod(&self, name: &str) -> &Value {
        &self.objects[&key(Resource::Pods, name)]
    }

    pub(super) fn phase(&mut self, pod: &str, phase: &str) {
        self.edit(&key(Resource::Pods, pod), |pod| {
            pod["status"] = json!({"phase": phase});
        });
    }

    /// All pods that are pending run.
    pub(super) fn run_all(&mut self) {
        let pods = self.of(Resource::Pods);
        let pending = pods.filter(|(_, pod)| pod["status"]["phase"].is_null());
        let pending: Vec<String> = pending.map(|(key, _)| key.2.clone()).collect();
        for pod in pending {
            self.phase(&pod, "Running");
        }
    }

    pub(super) fn status(&self, name: &str) -> QueueJobStatus {
        let status = self.objects[&key(Resource::QueueJobs, name)]["status"].clone();
        serde_json::from_value(status).unwrap_or_default()
    }

    /// Pending, running, succeeded, failed.
    pub(super) fn counts(&self, name: &str) -> [i32; 4] {
        let status = self.status(name);
        [
            status.pending,
            status.running,
            status.succeeded,
            status.failed,
        ]
    }

    /// Reason and words of a condition; empty where there is none.
    pub(super) fn condition(&self, name: &str, kind: &str) -> (String, String) {
        let all = self.status(name).conditions;
        let one = all
            .into_iter()
            .find(|one| one.kind == kind)
            .unwrap_or_default();
        if kind == "Accepted" {
            assert_eq!(one.is_true(), one.reason == "Accepted");
        } else {
            assert!(one.is_true() || one.reason.is_empty());
        }
        (one.reason, one.message)
    }

    pub(super) fn accepted(&self, name: &str) -> String {
        self.condition(name, "Accepted").0
    }

    /// The uid of a pod.
    pub(super) fn uid(&self, pod: &str) -> String {
        testing::text(self.pod(pod), "uid")
    }
}

impl World {
    /// One step on the way to rest, whatever time it takes.
    pub(super) fn rest_one(&mut self) {
        self.hear_all();
        let writes = self.machine.due(self.now, 100);
        if writes.is_empty()
            && let Some(at) = self.machine.wakes_at()
        {
            self.now = self.now.max(at);
        }
        for write in writes {
            let answer = self.carry_out(&write);
            self.machine.answered(write.ticket, answer, self.now);
        }
    }
}
