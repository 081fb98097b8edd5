//! The objects of the scenario come and go, and what the controllers of Kubernetes do about it.

use super::{COLLECTION, Driver, Happening};
use crate::scenario::{Object, OnEviction};
use crate::server::Pod;
use muster_model::{GangSpec, NodeSpec};

impl Driver {
    pub(super) fn create(&mut self, index: usize) {
        let Some(entry) = &mut self.entries[index] else {
            return;
        };
        let deleted_later = entry.delete_at.is_some();
        let object = if deleted_later {
            entry.object.clone()
        } else {
            match self.entries[index].take() {
                Some(entry) => entry.object,
                None => return,
            }
        };
        self.last_change = self.now;
        match object {
            Object::Node(node) => self.put_node(node),
            Object::Pod(plan) => {
                self.add_pod(*plan, None);
            }
            Object::PodEdit(plan) => self.edit_pod(*plan),
            Object::Job(plan) => {
                for pod in self.jobs.create(index, *plan) {
                    self.add_pod(pod, Some(index));
                }
            }
            Object::Gang(gang) => self.put_gang(*gang),
            Object::Queue(queue) => self.server.put_queue(queue),
            Object::Topology(topology) => self.server.put_topology(topology),
            Object::HyperNode(hyper_node) => self.server.put_hyper_node(*hyper_node),
            Object::PriorityClass(class) => self.server.put_class(class),
            Object::Namespace(namespace) => self.server.put_namespace(namespace),
            Object::Budget(budget) => self.server.put_budget(*budget),
            Object::Storage(event) => self.server.put_storage(*event),
            Object::Answers(rules) => self.outside.add_rules(rules),
        }
    }

    pub(super) fn delete(&mut self, index: usize) {
        let Some(entry) = self.entries[index].take() else {
            return;
        };
        self.last_change = self.now;
        match entry.object {
            Object::Node(node) => self.delete_node(&node.name),
            Object::Pod(plan) | Object::PodEdit(plan) => {
                let key = &plan.spec.key;
                self.delete_named(&key.namespace, &key.name);
            }
            Object::Job(_) => {
                for line in self.jobs.delete(index) {
                    let line = &self.ledger.pods[line];
                    let (namespace, name) = (line.namespace.clone(), line.name.clone());
                    self.delete_named(&namespace, &name);
                }
            }
            Object::Gang(gang) => {
                self.server.delete_gang(&gang.key, gang.source);
                if let Some(story) = &mut self.ledger.story {
                    story.group_deleted(&gang.key, self.now);
                }
            }
            Object::Queue(queue) => {
                self.server.delete_queue(&queue.name);
                if let Some(story) = &mut self.ledger.story {
                    story.books.deleted(&queue.name);
                }
            }
            Object::Topology(topology) => self.server.delete_topology(&topology.name),
            Object::HyperNode(hyper_node) => self.server.delete_hyper_node(&hyper_node.name),
            Object::PriorityClass(class) => self.server.delete_class(&class.name),
            Object::Namespace(namespace) => self.server.delete_namespace(&namespace.name),
            // They are given once and for all.
            Object::Answers(_) => {}
            Object::Budget(budget) => {
                self.server
                    .delete_budget(&budget.spec.namespace, &budget.spec.name);
            }
            Object::Storage(event) => self.server.delete_storage(&event),
        }
    }

    fn put_gang(&mut self, gang: GangSpec) {
        let key = gang.key.clone();
        let edited = self.server.has_gang(&key, gang.source);
        self.network.count(|met| met.edits += u64::from(edited));
        let is_new = self.server.gang(&key).is_none();
        self.server.put_gang(gang, self.now);
        if let Some(gang) = self.server.gang(&key) {
            self.ledger.gang_changed(gang, is_new, self.now);
        }
    }

    pub(super) fn put_node(&mut self, node: NodeSpec) {
        self.last_change = self.now;
        if let Some(before) = self.server.node(&node.name) {
            self.ledger.usage.withdraw(&before.allocatable, self.now);
        }
        self.ledger.usage.offer(&node.allocatable, self.now);
        if let Some(story) = &mut self.ledger.story {
            story.places.node(&node, self.now);
        }
        self.server.put_node(node);
    }

    pub(super) fn delete_node(&mut self, name: &str) {
        if let Some(node) = self.server.delete_node(name) {
            self.ledger.usage.withdraw(&node.allocatable, self.now);
            if let Some(story) = &mut self.ledger.story {
                story.places.node_gone(name, self.now);
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
        for (key, on_eviction, line) in pods {
            if let (Some(story), Some(line)) = (&mut self.ledger.story, line) {
                story.lost(line, node, self.now);
            }
            self.terminate(&key, on_eviction == OnEviction::Requeue);
        }
    }
}
