//! What placements make useless.

use crate::core::state::{ClusterState, NodeId};
use crate::core::transaction::Assumed;
use std::collections::BTreeMap;

/// What a placement costs those who come later: the less, the better (source: mission, "Packing").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// What stays free on the nodes that it opens, in worth: nodes that no pods were on but those of
    /// DaemonSets.
    pub opportunity: u64,
    /// How many nodes it uses.
    pub nodes: usize,
}

impl Lost {
    /// Of pods that were placed, as they are now.
    #[must_use]
    pub fn by(state: &ClusterState, placed: impl Iterator<Item = Assumed>) -> Self {
        let mut on: BTreeMap<NodeId, u32> = BTreeMap::new();
        for one in placed {
            *on.entry(one.node).or_default() += 1;
        }
        let opened = on
            .iter()
            .filter(|(node, pods)| state.nodes().in_use_by(**node) == **pods);
        let left = opened.map(|(node, _)| state.worth_left_on(*node));
        Self {
            opportunity: left.fold(0, u64::saturating_add),
            nodes: on.len(),
        }
    }
}
