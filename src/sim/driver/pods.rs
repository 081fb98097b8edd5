//! The life of a pod: created, started by its kubelet, ended or told to go, made again.

use super::{COLLECTION, Driver, Happening, TERMINATION};
use crate::scenario::PodPlan;
use crate::server::Pod;
use muster_model::units::{Millis, Time};
use muster_model::{PodKey, PodPhase, PodSpec};

impl Driver {
    pub(super) fn add_pod(&mut self, plan: PodPlan, job: Option<usize>) {
        let line = self.ledger.open(&plan, self.now);
        if let Some(value) = &plan.made {
            let name = (plan.spec.key.namespace.clone(), plan.spec.key.name.clone());
            self.made.insert(name.clone(), line);
            if let Some(controllers) = &mut self.controllers {
                controllers.note(name, (**value).clone());
            }
        }
        self.plans.push(plan);
        if let Some(job) = job {
            self.jobs.owns(job, line);
        }
        self.create_pod(line);
    }

    /// A pod that a controller makes: all that follow each other under one name are one.
    pub(super) fn add_made(&mut self, plan: PodPlan) {
        let name = (plan.spec.key.namespace.clone(), plan.spec.key.name.clone());
        let Some(line) = self.made.get(&name).copied() else {
            self.made.insert(name, self.plans.len());
            return self.add_pod(plan, None);
        };
        self.plans[line] = plan;
        self.ledger.reopen(line);
        self.ledger.pods[line].finished_at = None;
        self.create_pod(line);
    }

    pub(super) fn create_pod(&mut self, line: usize) {
        self.last_change = self.now;
        let plan = &self.plans[line];
        let (has_ended, has_node) = (plan.spec.phase.is_terminal(), plan.spec.node.is_some());
        let before = plan.before;
        let Some(key) = self.server.create_pod(plan, line, self.now) else {
            let name = &plan.spec.key;
            let holder = self.server.pod_named(&name.namespace, &name.name);
            if holder.is_some_and(|pod| pod.spec.terminating) {
                let again = Happening::CreatePod(line);
                self.heap.push(self.now + TERMINATION, again);
            }
            return;
        };
        self.note_gangs_by_pods();
        if let Some(pod) = self.server.pod(&key) {
            self.ledger.created(pod, self.now);
        }
        if has_ended {
            if let Some(pod) = self.server.pod(&key) {
                self.ledger.ended_before(pod, &self.server, self.now);
            }
        } else if has_node {
            self.start(&key);
        }
        if let Some(at) = before.and_then(|before| before.leaves_at) {
            self.leave(&key, at);
        }
    }

    /// A pod was told to go before the beginning.
    fn leave(&mut self, key: &PodKey, at: Time) {
        if let Some(pod) = self.server.pod(key).filter(|pod| pod.takes_room()) {
            self.ledger.leaving(pod, &self.server, self.now);
        }
        let at = at.max(self.now + TERMINATION);
        self.heap.push(at, Happening::Removed(key.clone()));
    }

    /// A pod is changed as far as pods can be; whatever became of it stays.
    pub(super) fn edit_pod(&mut self, plan: PodPlan) {
        let name = &plan.spec.key;
        let Some(before) = self.server.pod_named(&name.namespace, &name.name).cloned() else {
            return self.add_pod(plan, None);
        };
        self.last_change = self.now;
        let edited = PodSpec {
            key: before.spec.key.clone(),
            created: before.spec.created,
            node: before.spec.node.clone(),
            bound_at: before.spec.bound_at,
            phase: before.spec.phase,
            terminating: before.spec.terminating,
            ..plan.spec.clone()
        };
        self.plans[before.line] = plan;
        let change = |pod: &mut Pod| pod.spec = edited;
        if let Some(after) = self.server.change_pod(&before.spec.key, change).cloned() {
            self.note_gangs_by_pods();
            self.ledger.edited(&before, &after, &self.server, self.now);
        }
    }

    /// Takes down what pods make of gangs that no PodGroup defines.
    fn note_gangs_by_pods(&mut self) {
        for spec in self.server.take_redefined() {
            let known = self.ledger.gangs.get(&spec.key);
            let is_new = known.is_none_or(|line| line.spec.is_none());
            self.ledger.gang_changed(&spec, true, is_new, self.now);
        }
    }

    /// The kubelet starts a pod that was bound.
    pub(super) fn start(&mut self, key: &PodKey) {
        self.last_change = self.now;
        let Some(pod) = self.server.pod(key) else {
            return;
        };
        self.ledger.bound(pod, &self.server, self.now);
        if let Some(duration) = pod.run.duration {
            // It may have run for a while before the beginning.
            let since = pod.spec.bound_at.unwrap_or(self.now).min(self.now);
            let finished = Happening::Finished(key.clone());
            self.heap.push((since + duration).max(self.now), finished);
        }
        let node = pod.spec.node.clone().unwrap_or_default();
        if self.server.node(&node).is_none() {
            let collect = Happening::CollectPods(node);
            return self.heap.push(self.now + COLLECTION, collect);
        }
        let running = |pod: &mut Pod| pod.spec.phase = PodPhase::Running;
        if let Some(pod) = self.server.change_pod(key, running) {
            self.ledger.started(pod);
        }
    }

    pub(super) fn finish(&mut self, key: &PodKey) {
        if self.server.pod(key).is_none_or(|pod| !pod.is_bound()) {
            return;
        }
        self.last_change = self.now;
        let done = |pod: &mut Pod| {
            pod.spec.phase = if pod.run.fails {
                PodPhase::Failed
            } else {
                PodPhase::Succeeded
            };
        };
        self.server.change_pod(key, done);
        let Some(pod) = self.server.pod(key) else {
            return;
        };
        if let (PodPhase::Failed, Some(witness)) = (pod.spec.phase, &mut self.witness) {
            witness.failed(pod);
        }
        self.ledger.finished(pod, &self.server, self.now);
        if let Some((job, next)) = self.jobs.finished(pod.line) {
            self.add_pod(next, Some(job));
        }
    }

    pub(super) fn delete_named(&mut self, namespace: &str, name: &str) {
        let key = self
            .server
            .pod_named(namespace, name)
            .map(|pod| pod.spec.key.clone());
        if let Some(key) = key {
            self.terminate(&key, false);
        }
    }

    /// A pod is told to go, and goes when its kubelet is done; one that is not on a node at once.
    pub(super) fn terminate(&mut self, key: &PodKey, comes_back: bool) {
        let Some(pod) = self.server.pod(key) else {
            return;
        };
        if pod.is_bound() {
            self.ledger.leaving(pod, &self.server, self.now);
        }
        let (first, takes_room) = (!pod.spec.terminating, pod.takes_room());
        let stops_in = pod.run.stops_in;
        // No controller makes a pod again that ended well.
        let comes_back = comes_back && !pod.spec.phase.is_terminal();
        self.last_change = self.now;
        self.server.delete_pod(key, comes_back);
        if first {
            let wait = if takes_room {
                stops_in.max(TERMINATION)
            } else {
                Millis(0)
            };
            self.heap
                .push(self.now + wait, Happening::Removed(key.clone()));
        }
    }

    pub(super) fn remove(&mut self, key: &PodKey) {
        let Some(pod) = self.server.remove_pod(key) else {
            return;
        };
        self.last_change = self.now;
        self.ledger.removed(&pod, self.now);
        if pod.comes_back && !pod.spec.phase.is_terminal() {
            // Whatever bound it, its controller makes an unbound one.
            let plan = &mut self.plans[pod.line];
            plan.before = None;
            (plan.spec.node, plan.spec.phase) = (None, PodPhase::Pending);
            self.heap.push(self.now, Happening::Recreate(pod.line));
        }
    }
}
