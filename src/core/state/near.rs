//! How near to each other the members of a gang are that have a place, and by what that is known.

use super::topologies::{Closeness, Common, Network};
use super::{ClusterState, Gang, NodeId};

/// How near some members are to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// Whose members: of a subgroup; `None`: all of the gang.
    pub subgroup: Option<String>,
    /// By which Topology.
    pub topology: String,
    /// The largest number of hops between two of them; `None`: two have no path.
    pub hops: Option<u32>,
    /// The narrowest domain that has all of them, where there are domains.
    pub domain: Option<String>,
    /// The node, where all are on one.
    pub node: Option<String>,
    /// The hops they may be apart, and the level of the widest domain that may have them, where there
    /// are domains.
    pub limit: Option<(Option<String>, u32)>,
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
                    (Some(level), tree.hops_at(height as usize))
                };
                (domain, closeness.at_most.map(limit))
            }
            Network::Graph(_) => (None, closeness.at_most.map(|hops| (None, hops))),
        };
        Some(Near {
            subgroup,
            topology: topology.spec.name.clone(),
            hops: topology.network().hops(nodes),
            domain,
            node: on_one.then(|| self.nodes.name(first).to_owned()),
            limit,
        })
    }
}
