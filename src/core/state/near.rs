//! How near to each other the members of a gang are that have a place, and by what that is known.

use super::topologies::{Closeness, Common, Network};
use super::{ClusterState, Gang, NodeId};
use muster_model::explanation::{Near, NearLimit};

impl ClusterState {
    /// How near to each other the members of each subgroup are; where the gang wishes something of all
    /// its members, they come first. Nobody is near where no topology says so.
    #[must_use]
    pub fn near(&self, gang: &Gang) -> Vec<Near> {
        let mut all = Vec::new();
        if let Ok(Some(closeness)) = self.closeness_of_all(gang) {
            let mut on = gang.subgroups.iter().flat_map(|one| one.on.keys().copied());
            all.extend(self.near_by(None, closeness, &mut on));
        }
        let named = gang
            .definition()
            .is_some_and(|spec| !spec.subgroups.is_empty());
        for subgroup in &gang.subgroups {
            if let Ok(Some(closeness)) = self.closeness(gang, subgroup) {
                let name = named.then(|| subgroup.name.clone());
                all.extend(self.near_by(name, closeness, &mut subgroup.on.keys().copied()));
            }
        }
        all
    }

    fn near_by(
        &self,
        subgroup: Option<String>,
        closeness: Closeness,
        nodes: &mut dyn Iterator<Item = NodeId>,
    ) -> Option<Near> {
        let topology = self.topologies.get(closeness.topology)?;
        let nodes: Vec<NodeId> = nodes.collect();
        let first = *nodes.first()?;
        let on_one = nodes.iter().all(|node| *node == first);
        let (domain, limit) = match topology.network() {
            Network::Tree(tree) => {
                let domain = match tree.common(nodes.iter().copied()) {
                    Common::Domain(id) => Some(tree.path(id)),
                    _ => None,
                };
                let limit = |height| {
                    let level = topology.level_at(height).to_owned();
                    NearLimit {
                        level: Some(level),
                        max_hops: tree.hops_at(height as usize),
                    }
                };
                (domain, closeness.at_most.map(limit))
            }
            Network::Graph(_) => {
                let limit = |max_hops| NearLimit {
                    level: None,
                    max_hops,
                };
                (None, closeness.at_most.map(limit))
            }
        };
        Some(Near {
            subgroup,
            topology: topology.spec.name.clone(),
            max_hops: topology.network().hops(nodes),
            domain,
            node: on_one.then(|| self.nodes.name(first).to_owned()),
            limit,
        })
    }
}
