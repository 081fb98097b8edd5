//! Room that is thought free while a plan is made, and room that is held for who is to have it.

use super::ClusterState;
use super::ids::{GangId, NodeId, PodId};
use super::pods::{Place, Pod};
use muster_model::resources::Tally;
use std::collections::BTreeSet;

impl ClusterState {
    /// Thinks a pod away: until it is put back it takes no room.
    pub fn lift(&mut self, id: PodId) {
        self.set_lifted(id, true);
    }

    /// Puts back a pod that was thought away.
    pub fn put_back(&mut self, id: PodId) {
        self.set_lifted(id, false);
    }

    fn set_lifted(&mut self, id: PodId, lifted: bool) {
        self.change_room(id, |pod| pod.lifted = lifted);
    }

    /// Holds room on a node for a pod that has none yet, even beyond what is free there: those who
    /// are in the way are leaving.
    pub fn nominate(&mut self, id: PodId, node: NodeId) {
        if self
            .pods
            .get(id)
            .is_some_and(|pod| pod.place == Place::None)
        {
            self.change_room(id, |pod| pod.nominated = Some(node));
        }
    }

    /// Holds no room for a pod any more.
    pub fn withdraw(&mut self, id: PodId) {
        self.change_room(id, |pod| pod.nominated = None);
    }

    fn change_room(&mut self, id: PodId, change: impl FnOnce(&mut Pod)) {
        self.leave_room(id);
        self.charge(id, false);
        if let Some(pod) = self.pods.get_mut(id) {
            let before = pod.nominated;
            change(pod);
            if pod.nominated != before {
                self.claims_changed.note_pod(id);
            }
        }
        self.charge(id, true);
        self.take_room(id);
    }

    /// The members of a gang for which room is held, and where.
    #[must_use]
    pub fn nominations(&self, gang: GangId) -> Vec<(PodId, NodeId)> {
        let members = self[gang].members.iter();
        let held = |id: &PodId| Some((*id, self.pods.get(*id)?.nominated?));
        members.filter_map(held).collect()
    }

    /// What is held for members of a gang that have no node yet.
    pub(super) fn nominated_for(&self, gang: GangId) -> Tally {
        let mut sum = Tally::default();
        for id in &self[gang].members {
            let pod = self.pods.get(*id).filter(|pod| pod.is_only_nominated());
            if let Some(shape) = pod.and_then(|pod| self.shapes.get(pod.shape)) {
                sum.add(&shape.request);
            }
        }
        if let Some(held) = self.held_for(gang).filter(|held| held.awaits) {
            sum.add_all(&held.sum());
        }
        sum
    }

    /// Holds no room for a gang any more; says where it was.
    pub fn drop_nominations(&mut self, gang: GangId) -> Vec<NodeId> {
        let held = self.nominations(gang);
        for (pod, _) in &held {
            self.withdraw(*pod);
            self.point_back(*pod, None);
        }
        held.into_iter().map(|(_, node)| node).collect()
    }

    /// How many pods have to leave these nodes before everybody who is to be there has room.
    #[must_use]
    pub fn leaving_from(&self, nodes: &BTreeSet<NodeId>) -> usize {
        let pods = nodes.iter().flat_map(|node| self.nodes.pods(*node));
        let leaves = |id: &&PodId| self.pods.get(**id).is_some_and(Pod::departs);
        pods.filter(leaves).count()
    }
}
