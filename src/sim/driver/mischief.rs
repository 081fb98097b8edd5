//! Bad things that happen by themselves: pods and nodes deleted, the scheduler killed.

use super::{Driver, Happening};
use crate::network::Mischief;
use muster_api::said::Said;
use muster_model::{PodKey, Recalled};

impl Driver {
    pub(super) fn foresee_mischief(&mut self) {
        if let Some((at, what)) = self.network.mischief(self.now) {
            self.heap.push(at, Happening::Mischief(what));
        }
    }

    pub(super) fn mischief(&mut self, what: Mischief) {
        match what {
            Mischief::KillScheduler => self.kill_scheduler(),
            Mischief::LoseScheduler(back_in) => self.lose_scheduler(back_in),
            Mischief::PauseScheduler(span) => self.pause_scheduler(span),
            Mischief::BreakWatch(stream) => self.break_watch(stream),
            Mischief::OverwriteWords => self.overwrite_words(),
            Mischief::KillInPlan => self.kill_in_plan = true,
            Mischief::DeletePod => {
                if let Some(key) = self.pick_pod() {
                    self.network.count(|met| met.pods_deleted += 1);
                    let name = (key.namespace.clone(), key.name.clone());
                    let controllers = self.controllers.as_ref();
                    let is_made = controllers.is_some_and(|one| one.is_of_queue_job(&name));
                    self.terminate(&key, !is_made);
                }
            }
            Mischief::DeleteNode => {
                let names: Vec<_> = self.server.nodes().map(|node| node.name.clone()).collect();
                let name = names.get(self.network.pick(names.len()));
                let node = name.and_then(|name| self.server.node(name)).cloned();
                if let Some(node) = node {
                    self.network.count(|met| met.nodes_deleted += 1);
                    self.delete_node(&node.name);
                    let at = self.now + self.network.pause();
                    self.heap.push(at, Happening::ReturnNode(node.name.clone()));
                    self.deleted_nodes.insert(node.name.clone(), node);
                }
            }
        }
        self.foresee_mischief();
    }

    /// A node that was deleted comes back as it was last, unless it is there again already.
    pub(super) fn return_node(&mut self, name: &str) {
        if self.server.node(name).is_none()
            && let Some(node) = self.deleted_nodes.get(name).cloned()
        {
            self.put_node(node);
        }
    }

    /// A pod to be deleted: most often one that is just being bound or evicted.
    pub(super) fn pick_pod(&mut self) -> Option<PodKey> {
        let brain = self.leader().and_then(|id| self.processes.get(&id));
        let busy = brain.map(|process| process.brain.pods_in_flight().collect());
        let busy: Vec<&PodKey> = busy.unwrap_or_default();
        if !busy.is_empty() && self.network.pick(4) > 0 {
            return Some(busy[self.network.pick(busy.len())].clone());
        }
        let count = self.server.pods().count();
        let picked = self.network.pick(count);
        self.server
            .pods()
            .nth(picked)
            .map(|pod| pod.spec.key.clone())
    }

    /// Somebody writes something else on an object.
    fn overwrite_words(&mut self) {
        let subjects = self.server.subjects();
        if let Some(subject) = subjects.get(self.network.pick(subjects.len())) {
            self.network.count(|met| met.overwritten += 1);
            self.server
                .say(&subject.clone(), Said::default(), Recalled::default());
        }
    }
}
