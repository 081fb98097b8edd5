//! What placements make useless.

use crate::state::{ClusterState, NodeId};
use crate::transaction::Assumed;
use std::collections::BTreeMap;

/// What a placement costs those who come later: the less, the better (source: mission, "Packing").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// How many of the pods ask for no device and are on nodes that have some, which may lack cores or
    /// memory then to be of use.
    pub beside_devices: usize,
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
        let mut beside_devices = 0;
        for one in placed {
            *on.entry(one.node).or_default() += 1;
            if state.nodes().with_devices().contains(one.node) {
                let shape = state.shape_of(one.pod);
                let asks = shape.is_some_and(|shape| shape.asks_for_devices(state.dimensions()));
                beside_devices += usize::from(!asks);
            }
        }
        let opened = on
            .iter()
            .filter(|(node, pods)| state.nodes().in_use_by(**node) == **pods);
        let left = opened.map(|(node, _)| state.worth_left_on(*node));
        Self {
            beside_devices,
            opportunity: left.fold(0, u64::saturating_add),
            nodes: on.len(),
        }
    }
}
