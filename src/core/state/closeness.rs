//! What gangs wish of topologies, and how near their members are to each other.

use super::topologies::{Closeness, Moved, WishError};
use super::{ClusterState, Gang, GangId, NodeId, Subgroup};
use std::collections::BTreeSet;

impl ClusterState {
    /// Where the members of a subgroup should be, and where they have to.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn closeness(
        &self,
        gang: &Gang,
        subgroup: &Subgroup,
    ) -> Result<Option<Closeness>, WishError> {
        let wish = subgroup.topology.as_ref();
        if gang.is_single() || (wish.is_none() && self.topologies.is_empty()) {
            return Ok(None);
        }
        self.topologies.closeness(wish)
    }

    /// Where all members of a gang should be that has wishes for them beside those of its subgroups. What
    /// is wished of the only subgroup is no other wish.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn closeness_of_all(&self, gang: &Gang) -> Result<Option<Closeness>, WishError> {
        let of_all = gang.definition().filter(|spec| match &spec.subgroups[..] {
            [] => false,
            [only] => only.topology.is_some() && only.topology != spec.topology,
            _ => true,
        });
        match of_all.and_then(|spec| spec.topology.as_ref()) {
            Some(wish) => self.topologies.closeness(Some(wish)),
            None => Ok(None),
        }
    }

    /// The largest number of hops between two members of a subgroup, of any; where the gang wishes
    /// something of all its members, between any two. `None` where nobody is placed, or no topology
    /// says how far they are from each other.
    #[must_use]
    pub fn max_hops(&self, gang: &Gang) -> Option<u32> {
        let hops = |closeness: Closeness, nodes: &mut dyn Iterator<Item = NodeId>| {
            self.topologies
                .get(closeness.topology)?
                .network()
                .hops(nodes)
        };
        let placed = gang.subgroups.iter().filter(|one| !one.on.is_empty());
        let mut most = None;
        for subgroup in placed {
            let closeness = self.closeness(gang, subgroup).ok()??;
            most = most.max(Some(hops(closeness, &mut subgroup.on.keys().copied())?));
        }
        if let Some(closeness) = self.closeness_of_all(gang).ok()?
            && most.is_some()
        {
            let all = gang.subgroups.iter().flat_map(|one| one.on.keys().copied());
            most = most.max(Some(hops(closeness, &mut all.into_iter())?));
        }
        most
    }

    /// What is left free on a node, in worth.
    #[must_use]
    pub fn worth_left_on(&self, node: NodeId) -> u64 {
        let weights = self.weights();
        weights.of_each(|dimension| self.nodes.free(node, dimension).max(0))
    }

    /// A topology came, changed or went.
    pub(super) fn topologies_changed(&mut self, changed: bool) {
        if changed {
            self.changes.topologies = true;
            self.changes.rules = true;
            self.touch_all_gangs();
        }
    }

    /// HyperNodes came, changed or went. Who waits may fit on the nodes that are elsewhere now, or others
    /// there may have to go for them.
    pub(super) fn hyper_nodes_changed(&mut self, moved: Option<Moved>) {
        let Some(moved) = moved else { return };
        self.topologies_changed(moved.declared);
        self.changes.topologies = true;
        self.changes.rules |= !moved.nodes.is_empty();
        for node in moved.nodes {
            self.changes.nodes.insert(node);
            self.touch_gangs_on(node);
        }
    }

    /// A node came, changed or went.
    pub(super) fn tell_topologies(&mut self, node: NodeId) {
        let heard = self.topologies.hear(node, &self.nodes);
        self.topologies_changed(heard.declared);
        if heard.moved {
            self.changes.topologies = true;
            self.touch_gangs_on(node);
        }
    }

    /// Something may be said of those who run here: they may be nearer to each other, or further apart.
    fn touch_gangs_on(&mut self, node: NodeId) {
        let pods = self.nodes.pods(node).iter();
        let gangs: BTreeSet<GangId> = pods.filter_map(|pod| self.pod(*pod)?.gang).collect();
        self.changes.gangs.extend(gangs);
    }
}
