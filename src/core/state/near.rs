//! How near to each other the members of a gang are that have a place, and by what that is known.

use super::topologies::{Closeness, Common};
use super::{ClusterState, Gang, NodeId};

/// How near some members are to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// Whose members: of a subgroup; `None`: all of the gang.
    pub subgroup: Option<String>,
    /// By which Topology.
    pub topology: String,
    /// The largest number of hops between two of them; `None`: no domain has all.
    pub hops: Option<u32>,
    /// The narrowest domain that has all of them.
    pub domain: Option<String>,
    /// The node, where all are on one.
    pub node: Option<String>,
    /// The widest domain that may have them: its level, and its hops.
    pub limit: Option<(String, u32)>,
}

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
        let tree = topology.tree();
        let nodes: Vec<NodeId> = nodes.collect();
        let (domain, node) = match tree.common(nodes.iter().copied()) {
            Common::Anywhere => return None,
            Common::Node(node) => (None, Some(self.nodes.name(node).to_owned())),
            Common::Domain(id) => (Some(tree.path(id)), None),
            Common::Nowhere => (None, None),
        };
        let limit = |height| (topology.level_at(height).to_owned(), tree.hops_at(height));
        Some(Near {
            subgroup,
            topology: topology.spec.name.clone(),
            hops: tree.hops(nodes),
            domain,
            node,
            limit: closeness.at_most.map(limit),
        })
    }
}
