//! A set of nodes as bits.

use super::ids::{Id, NodeId};

/// Nodes by rising id, 64 to a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet {
    words: Vec<u64>,
}

/// Nodes in a word.
pub(super) const LANES: usize = 64;

impl NodeSet {
    /// Adds a node.
    pub fn insert(&mut self, node: NodeId) {
        let word = node.index() / LANES;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (node.index() % LANES);
    }

    /// Removes a node.
    pub fn remove(&mut self, node: NodeId) {
        if let Some(word) = self.words.get_mut(node.index() / LANES) {
            *word &= !(1 << (node.index() % LANES));
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
        let word = self.words.get(node.index() / LANES);
        word.is_some_and(|word| word >> (node.index() % LANES) & 1 == 1)
    }

    /// Becomes equal to `other`, keeping its own memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.words.clear();
        self.words.extend_from_slice(&other.words);
    }

    /// Keeps what is in `other` too.
    pub fn intersect(&mut self, other: &Self) {
        for (index, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(index).copied().unwrap_or(0);
        }
    }

    /// Adds what is in `other`.
    pub fn add_all(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Takes out what is in `other`.
    pub fn subtract(&mut self, other: &Self) {
        for (word, less) in self.words.iter_mut().zip(&other.words) {
            *word &= !less;
        }
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Whether all of it is in `other`, too.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        let words = self.words.iter().enumerate();
        let mut beyond =
            words.map(|(index, word)| word & !other.words.get(index).copied().unwrap_or(0));
        beyond.all(|word| word == 0)
    }

    /// Whether a node is in both.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let mut words = self.words.iter().zip(&other.words);
        words.any(|(word, other)| word & other != 0)
    }

    /// The nodes that are in one of the two and not in the other, by rising id.
    pub fn differences<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = NodeId> + 'a {
        let words = self.words.len().max(other.words.len());
        let word = |set: &Self, index: usize| set.words.get(index).copied().unwrap_or(0);
        (0..words).flat_map(move |index| bits(index, word(self, index) ^ word(other, index)))
    }

    /// How many those are.
    #[must_use]
    pub fn count_differences(&self, other: &Self) -> usize {
        let words = self.words.len().max(other.words.len());
        let word = |set: &Self, index: usize| set.words.get(index).copied().unwrap_or(0);
        let differ = |index: usize| (word(self, index) ^ word(other, index)).count_ones() as usize;
        (0..words).map(differ).sum()
    }

    /// How many nodes are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// The nodes by rising id.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        let words = self.words.iter().enumerate();
        words.flat_map(|(index, word)| bits(index, *word))
    }

    /// The node before which `index` others come, by rising id.
    #[must_use]
    pub fn nth(&self, index: usize) -> Option<NodeId> {
        let mut left = index;
        for (word, bits) in self.words.iter().enumerate() {
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

    /// The words, each for 64 nodes, to narrow in bulk.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Keeps the nodes for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(NodeId) -> bool) {
        for (index, word) in self.words.iter_mut().enumerate() {
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

/// The nodes of a word, by rising id.
fn bits(index: usize, word: u64) -> impl Iterator<Item = NodeId> {
    let mut left = word;
    std::iter::from_fn(move || {
        (left != 0).then(|| {
            let bit = left.trailing_zeros() as usize;
            left &= left - 1;
            NodeId::from_index(index * LANES + bit)
        })
    })
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
