//! One resource over all nodes, as two columns and their sums.

use super::ids::{Id, NodeId};

/// One resource over all nodes. Both columns have whole words of nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    pub(super) allocatable: Vec<i64>,
    pub(super) used: Vec<i64>,
    /// What all nodes offer together.
    pub(super) offered: i128,
    /// What all nodes have left together, full ones counting as zero.
    pub(super) free: i128,
}

impl Column {
    pub(super) fn resize(&mut self, capacity: usize) {
        self.allocatable.resize(capacity, 0);
        self.used.resize(capacity, 0);
    }

    pub(super) fn set_allocatable(&mut self, node: NodeId, amount: i64) {
        let (slot, used) = (&mut self.allocatable[node.index()], self.used[node.index()]);
        self.offered += i128::from(amount) - i128::from(*slot);
        self.free += left(amount, used) - left(*slot, used);
        *slot = amount;
    }

    pub(super) fn set_used(&mut self, node: NodeId, amount: i64) {
        let (offered, slot) = (self.allocatable[node.index()], &mut self.used[node.index()]);
        self.free += left(offered, amount) - left(offered, *slot);
        *slot = amount;
    }
}

/// What a node that offers so much and uses so much has left, at least nothing.
pub(super) fn left(allocatable: i64, used: i64) -> i128 {
    (i128::from(allocatable) - i128::from(used)).max(0)
}

pub(super) fn clamp(sum: i128) -> i64 {
    i64::try_from(sum).unwrap_or(i64::MAX)
}
