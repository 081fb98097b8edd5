//! What news of storage, and of pods with volumes, means for the rest of the state.

use super::objects::Stir;
use super::{PodVolumes, Volumes};
use crate::state::ClusterState;
use crate::state::ids::{Id, NodeId, PodId};
use muster_model::{HOSTNAME, PodSpec};
use std::collections::BTreeSet;

impl ClusterState {
    /// What is known of claims and volumes.
    #[must_use]
    pub const fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    /// Changes what is known of storage, and tells those to whom it makes a difference.
    pub(in crate::state) fn change_storage(
        &mut self,
        change: impl FnOnce(&mut Volumes, &mut Stir),
    ) {
        let mut stir = Stir::default();
        change(&mut self.volumes, &mut stir);
        self.reshape_all(&stir.pods);
        self.stir_nodes(&stir);
        for id in stir.wake {
            self.touch_gang_of(id);
        }
    }

    fn touch_gang_of(&mut self, id: PodId) {
        let pod = self.pods.get(id);
        let waits = pod.filter(|pod| pod.place.node().is_none());
        if let Some(gang) = waits.and_then(|pod| pod.gang) {
            self.touch(gang);
        }
    }

    /// Nodes on which something about volumes changed may give other answers.
    fn stir_nodes(&mut self, stir: &Stir) {
        let mut nodes: BTreeSet<NodeId> = BTreeSet::new();
        for host in &stir.hosts {
            nodes.extend(self.nodes_of_host(host));
        }
        let named = stir.node.as_ref().and_then(|name| self.nodes.find(name));
        nodes.extend(named);
        if stir.everywhere {
            nodes.extend(self.nodes.present().iter());
        }
        for node in nodes {
            if stir.facts {
                self.nodes.change_facts(node);
            } else {
                self.nodes.touch(node);
            }
            self.changes.nodes.insert(node);
        }
    }

    /// The nodes with this hostname: as a rule the one of that name.
    fn nodes_of_host(&self, host: &str) -> Vec<NodeId> {
        let is_host = |node: &NodeId| {
            let labels = &self.nodes.facts(*node).labels;
            labels.get(HOSTNAME).is_some_and(|label| label == host)
        };
        match self.nodes.find(host).filter(is_host) {
            Some(node) => vec![node],
            None => {
                let all = (0..self.nodes.len()).map(NodeId::from_index);
                all.filter(is_host).collect()
            }
        }
    }

    /// Fills in what a pod's volumes ask for, so that news of it does not look as if it had another
    /// shape.
    pub(in crate::state) fn fill_in_volumes(&self, id: PodId, spec: &mut PodSpec) {
        if !spec.volumes.is_empty() {
            spec.shape.constraints.volumes = self.volumes.needs(id).cloned();
        }
    }

    /// Takes note of a pod's volumes.
    pub(in crate::state) fn register_volumes(&mut self, id: PodId, of: PodVolumesOf) {
        let known = self.volumes.pods.get(&id);
        if known.is_some_and(|known| known.volumes == of.0.volumes) {
            return;
        }
        if known.is_none() && of.0.volumes.is_empty() {
            return;
        }
        self.unregister_volumes(id);
        let room = self.pods.get(id).and_then(|pod| pod.room());
        let mut others = self.volumes.register(id, of.0);
        others.insert(id);
        if let Some(node) = room {
            self.volumes.count(id, node);
        }
        self.reshape_all(&others);
    }

    /// Forgets a pod's volumes.
    pub(in crate::state) fn unregister_volumes(&mut self, id: PodId) {
        if self.volumes.pods.contains_key(&id) {
            self.volumes.discount(id);
            let others = self.volumes.unregister(id);
            self.reshape_all(&others);
        }
    }

    fn reshape_all(&mut self, pods: &BTreeSet<PodId>) {
        for id in pods {
            if self.volumes.is_stale(*id) {
                self.reshape(*id);
            }
        }
    }

    /// Gives a pod the shape that follows from its volumes as they are now. It stays on its node, of
    /// which it takes what it took: one that is not there yet would be forgotten with its last pod.
    fn reshape(&mut self, id: PodId) {
        let Some(pod) = self.pods.get(id) else { return };
        let (before, gang, shape) = (self.footprint(id), pod.gang, pod.shape);
        let room = pod.room();
        self.leave_gang(id);
        self.discount_volumes(id);
        let differs = self.volumes.refresh(id);
        let needs = self.volumes.needs(id).cloned();
        let new = self.shapes.with_volumes(shape, needs);
        if let Some(pod) = self.pods.get_mut(id) {
            pod.shape = new;
        }
        if let Some(node) = room {
            self.count_volumes(id, node);
            self.nodes.touch(node);
        }
        if let Some(gang) = gang {
            self.join_gang(id, gang, Some(gang));
        }
        self.compare(id, before, differs);
    }

    /// Counts a pod's volumes on its node.
    pub(in crate::state) fn count_volumes(&mut self, id: PodId, node: NodeId) {
        if !self.volumes.pods.is_empty() {
            self.volumes.count(id, node);
        }
    }

    /// Does not count them any more.
    pub(in crate::state) fn discount_volumes(&mut self, id: PodId) {
        if !self.volumes.pods.is_empty() {
            self.volumes.discount(id);
        }
    }

    /// Chooses volumes for a pod that is put on a node, or gives back what was chosen for one that is
    /// taken off.
    pub(in crate::state) fn choose_volumes(&mut self, id: PodId, node: Option<NodeId>) {
        if self.volumes.pods.is_empty() {
            return;
        }
        self.volumes.give_back(id);
        let Some(node) = node else { return };
        let gang = self.pods.get(id).and_then(|pod| pod.gang);
        let here = super::choice::Where {
            id: node,
            name: self.nodes.name(node),
            labels: &self.nodes.facts(node).labels,
        };
        self.volumes.choose(id, gang, here);
    }
}

/// What of a pod's spec is about its volumes.
#[derive(Debug)]
pub(in crate::state) struct PodVolumesOf(PodVolumes);

impl PodVolumesOf {
    pub(in crate::state) fn new(spec: &mut PodSpec) -> Self {
        let volumes = std::mem::take(&mut spec.volumes);
        if volumes.is_empty() {
            return Self(PodVolumes::default());
        }
        Self(PodVolumes {
            uid: spec.key.uid.clone(),
            namespace: spec.key.namespace.clone(),
            name: spec.key.name.clone(),
            ours: spec.ours,
            volumes,
            ..PodVolumes::default()
        })
    }
}
