//! A set of nodes as bits.

use super::ids::{Id, NodeId};
use fixedbitset::FixedBitSet;

/// Nodes by rising id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet(FixedBitSet);

/// Nodes in a word.
pub(super) const LANES: usize = usize::BITS as usize;

impl NodeSet {
    /// Adds a node.
    pub fn insert(&mut self, node: NodeId) {
        self.0.grow_and_insert(node.index());
    }

    /// Removes a node.
    pub fn remove(&mut self, node: NodeId) {
        if node.index() < self.0.len() {
            self.0.remove(node.index());
        }
    }

    /// Adds or removes a node.
    pub fn set(&mut self, node: NodeId, is_in: bool) {
        if is_in {
            self.insert(node);
        } else {
            self.remove(node);
        }
    }

    /// Whether the node is in it.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.contains(node.index())
    }

    /// Becomes equal to `other`, keeping its own memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    /// Keeps what is in `other` too.
    pub fn intersect(&mut self, other: &Self) {
        self.0.intersect_with(&other.0);
    }

    /// Adds what is in `other`.
    pub fn add_all(&mut self, other: &Self) {
        self.0.union_with(&other.0);
    }

    /// Takes out what is in `other`.
    pub fn subtract(&mut self, other: &Self) {
        self.0.difference_with(&other.0);
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_clear()
    }

    /// Whether all of it is in `other`, too.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Whether a node is in both.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// The nodes that are in one of the two and not in the other, by rising id.
    pub fn differences(&self, other: &Self) -> impl Iterator<Item = NodeId> + use<> {
        let mut differ = self.0.clone();
        differ.symmetric_difference_with(&other.0);
        differ.into_ones().map(NodeId::from_index)
    }

    /// How many those are.
    #[must_use]
    pub fn count_differences(&self, other: &Self) -> usize {
        self.0.symmetric_difference_count(&other.0)
    }

    /// For how many nodes there is room in it.
    #[must_use]
    pub fn room(&self) -> usize {
        self.0.len()
    }

    /// How many nodes are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.count_ones(..)
    }

    /// Whether more than so many are: not all are counted for that.
    #[must_use]
    pub fn has_more_than(&self, count: usize) -> bool {
        let mut left = count;
        self.0.as_slice().iter().any(|bits| {
            let here = bits.count_ones() as usize;
            let more = here > left;
            left = left.saturating_sub(here);
            more
        })
    }

    /// The nodes by rising id.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.ones().map(NodeId::from_index)
    }

    /// The node before which `index` others come, by rising id.
    #[must_use]
    pub fn nth(&self, index: usize) -> Option<NodeId> {
        let mut left = index;
        for (word, bits) in self.0.as_slice().iter().enumerate() {
            let count = bits.count_ones() as usize;
            if left < count {
                let rest = (0..left).fold(*bits, |bits, _| bits & (bits - 1));
                let bit = rest.trailing_zeros() as usize;
                return Some(NodeId::from_index(word * LANES + bit));
            }
            left -= count;
        }
        None
    }

    /// The words, a bit for each node, to narrow in bulk.
    pub fn words_mut(&mut self) -> &mut [usize] {
        self.0.as_mut_slice()
    }

    /// Keeps the nodes for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(NodeId) -> bool) {
        for (index, word) in self.0.as_mut_slice().iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !keep(NodeId::from_index(index * LANES + bit as usize)) {
                    *word &= !(1 << bit);
                }
            }
        }
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::default();
        for node in nodes {
            set.insert(node);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(of: &[usize]) -> NodeSet {
        of.iter().map(|index| NodeId::from_index(*index)).collect()
    }

    #[test]
    fn iterates_by_rising_id() {
        let nodes: Vec<_> = set(&[130, 3, 64]).iter().map(Id::index).collect();
        assert_eq!(nodes, [3, 64, 130]);
    }

    #[test]
    fn the_nth_node_is_the_nth_that_is_iterated() {
        let nodes = set(&[0, 3, 63, 64, 130, 131]);
        for (index, node) in nodes.iter().enumerate() {
            assert_eq!(nodes.nth(index), Some(node));
        }
        assert_eq!(nodes.nth(6), None);
        for count in 0..8 {
            assert_eq!(nodes.has_more_than(count), nodes.len() > count);
        }
    }

    #[test]
    fn intersects_sets_of_different_lengths() {
        let mut few = set(&[1, 200]);
        few.intersect(&set(&[1, 2]));
        assert_eq!(few.iter().map(Id::index).collect::<Vec<_>>(), [1]);
        assert_eq!(few.len(), 1);
    }

    #[test]
    fn nodes_of_one_of_two_sets_are_the_differences() {
        let (one, other) = (set(&[1, 64, 200]), set(&[1, 2, 64]));
        for (one, other) in [(&one, &other), (&other, &one)] {
            let differ: Vec<_> = one.differences(other).map(Id::index).collect();
            assert_eq!(differ, [2, 200]);
            assert_eq!(one.count_differences(other), 2);
        }
    }

    #[test]
    fn retains_by_predicate() {
        let mut nodes = set(&[0, 1, 63, 64, 65]);
        nodes.retain(|node| node.index() % 2 == 1);
        assert_eq!(nodes, set(&[1, 63, 65]));
    }
}
