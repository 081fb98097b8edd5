//! The objects of the scenario come and go, and what the controllers of Kubernetes do about it.

use super::whole::{job_named, whole_named};
use super::{COLLECTION, Driver, Happening};
use crate::scenario::{OnEviction, Played};
use crate::server::Pod;
use crate::whole::name_of;
use muster_model::{GangKey, GangSpec, NodeSpec, Object, ObjectKey};

impl Driver {
    pub(super) fn create(&mut self, index: usize) {
        let Some(entry) = &mut self.entries[index] else {
            return;
        };
        let (deleted_later, kept) = (entry.delete_at.is_some(), entry.kept);
        let object = if deleted_later {
            entry.object.clone()
        } else {
            match self.entries[index].take() {
                Some(entry) => entry.object,
                None => return,
            }
        };
        self.last_change = self.now;
        self.still_to_keep -= usize::from(kept);
        match object {
            Played::Plain(Object::Node(node)) => self.put_node(*node),
            Played::Plain(Object::Gang(gang)) if kept => self.keep_gang(*gang),
            Played::Plain(Object::Gang(gang)) => self.put_gang(*gang),
            Played::Plain(object) if kept => self.server.keep(object),
            Played::Plain(object) => self.server.put(object, self.now),
            Played::Pod(plan) => {
                self.add_pod(*plan, None);
            }
            Played::PodEdit(plan) => self.edit_pod(*plan),
            Played::Job(plan) => {
                self.put_job(&plan.namespace, &plan.name);
                for name in &plan.running {
                    if let Some(pod) = self.server.pod_named(&plan.namespace, name) {
                        self.jobs.owns(index, pod.line);
                    }
                }
                for pod in self.jobs.create(index, *plan) {
                    self.add_pod(pod, Some(index));
                }
            }
            Played::Whole(resource, value) if kept => self.keep_whole(resource, *value),
            Played::Whole(resource, value) => self.put_whole(resource, *value),
            Played::Budget(budget) => self.server.put_budget(*budget),
            Played::Answers(rules) => self.outside.add_rules(rules),
        }
    }

    pub(super) fn delete(&mut self, index: usize) {
        let Some(entry) = self.entries[index].take() else {
            return;
        };
        self.last_change = self.now;
        match entry.object {
            Played::Plain(object) => match whole_named(&object.key()) {
                Some(on) if self.server.wholes().get(&on).is_some() => self.delete_whole(&on),
                _ => self.delete_plain(&object.key()),
            },
            Played::Pod(plan) | Played::PodEdit(plan) => {
                let key = &plan.spec.key;
                self.delete_named(&key.namespace, &key.name);
            }
            Played::Job(plan) => {
                self.delete_whole(&job_named(&plan.namespace, &plan.name));
                for line in self.jobs.delete(index) {
                    let line = &self.ledger.pods[line];
                    let (namespace, name) = (line.namespace.clone(), line.name.clone());
                    self.delete_named(&namespace, &name);
                }
            }
            Played::Whole(resource, value) => self.delete_whole(&name_of(resource, &value)),
            Played::Budget(budget) => {
                self.server
                    .delete_budget(&budget.spec.namespace, &budget.spec.name);
            }
            // They are given once and for all.
            Played::Answers(_) => {}
        }
    }

    pub(super) fn delete_plain(&mut self, key: &ObjectKey) {
        if let ObjectKey::Node(name) = key {
            return self.delete_node(name);
        }
        self.server.delete(key);
        let now = self.ledger.clock(self.now);
        let Some(story) = &mut self.ledger.story else {
            return;
        };
        match key {
            ObjectKey::Gang(key, _) => story.group_deleted(key, now),
            ObjectKey::Queue(name) => story.books.deleted(name),
            _ => {}
        }
    }

    pub(super) fn put_gang(&mut self, gang: GangSpec) {
        let key = gang.key.clone();
        let edited = self.server.has_gang(&key, gang.source);
        self.network.count(|met| met.edits += u64::from(edited));
        let is_new = self.server.gang(&key).is_none();
        self.server.put(gang.into(), self.now);
        self.note_gang(&key, is_new);
    }

    /// A gang that was there before the beginning.
    pub(super) fn keep_gang(&mut self, gang: GangSpec) {
        let key = gang.key.clone();
        let is_new = self.server.gang(&key).is_none();
        self.server.keep(gang.into());
        self.note_gang(&key, is_new);
    }

    fn note_gang(&mut self, key: &GangKey, is_new: bool) {
        if let Some(gang) = self.server.gang(key) {
            let namespace = self.server.namespace(&key.namespace);
            let claimed = namespace.is_some_and(|one| one.claims);
            self.ledger.gang_changed(gang, claimed, is_new, self.now);
        }
    }

    pub(super) fn put_node(&mut self, node: NodeSpec) {
        self.last_change = self.now;
        if let Some(before) = self.server.node(&node.name) {
            self.ledger.usage.withdraw(&before.allocatable, self.now);
        }
        self.ledger.usage.offer(&node.allocatable, self.now);
        let now = self.ledger.clock(self.now);
        if let Some(story) = &mut self.ledger.story {
            story.places.node(&node, now);
        }
        self.server.put(node.into(), self.now);
    }

    pub(super) fn delete_node(&mut self, name: &str) {
        let key = ObjectKey::Node(name.to_owned());
        if let Some(Object::Node(node)) = self.server.delete(&key) {
            self.ledger.usage.withdraw(&node.allocatable, self.now);
            let now = self.ledger.clock(self.now);
            if let Some(story) = &mut self.ledger.story {
                story.places.node_gone(name, now);
            }
            let collect = Happening::CollectPods(name.to_owned());
            self.heap.push(self.now + COLLECTION, collect);
        }
    }

    /// What the garbage collector of pods does for a node that is gone.
    pub(super) fn collect_pods(&mut self, node: &str) {
        if self.server.node(node).is_some() {
            return;
        }
        let on_node = |pod: &&Pod| pod.spec.node.as_deref() == Some(node);
        let pods = self.server.pods().filter(on_node);
        let pods: Vec<_> = pods
            .map(|pod| {
                let line = pod.takes_room().then_some(pod.line);
                (pod.spec.key.clone(), pod.run.on_eviction, line)
            })
            .collect();
        let now = self.ledger.clock(self.now);
        for (key, on_eviction, line) in pods {
            if let (Some(story), Some(line)) = (&mut self.ledger.story, line) {
                story.lost(line, node, now);
            }
            self.terminate(&key, on_eviction == OnEviction::Requeue);
        }
    }
}
