//! Bad things that happen by themselves: pods and nodes deleted, the scheduler killed.

use super::{Driver, Happening};
use crate::core::model::PodKey;
use crate::sim::brain::Brain;
use crate::sim::network::Mischief;

impl Driver {
    pub(super) fn foresee_mischief(&mut self) {
        if let Some((at, what)) = self.network.mischief(self.now) {
            self.heap.push(at, Happening::Mischief(what));
        }
    }

    pub(super) fn mischief(&mut self, what: Mischief) {
        match what {
            Mischief::KillScheduler => self.kill_scheduler(),
            Mischief::KillInPlan => self.kill_in_plan = true,
            Mischief::DeletePod => {
                if let Some(key) = self.pick_pod() {
                    self.network.count(|met| met.pods_deleted += 1);
                    self.terminate(&key, true);
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
                    self.heap.push(at, Happening::ReturnNode(node));
                }
            }
        }
        self.foresee_mischief();
    }

    /// A pod to be deleted: most often one that is just being bound or evicted.
    pub(super) fn pick_pod(&mut self) -> Option<PodKey> {
        let busy: Vec<_> = self.brain.iter().flat_map(Brain::pods_in_flight).collect();
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
}
