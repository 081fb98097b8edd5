//! The best of all nodes, found without asking all.

use crate::state::{Id, NodeId, NodeSet};

/// What a node scores that does not suit.
pub(super) const UNFIT: i64 = i64::MIN;

/// Every node's score, and the best of each half of them, of each quarter, and so on: a node's new
/// score changes only what stands above it.
#[derive(Debug, Default)]
pub(super) struct Tournament {
    /// The root at 1, the children of `i` at `2 * i` and `2 * i + 1`; the nodes are the second half.
    best: Vec<i64>,
}

impl Tournament {
    /// Of these scores, by the nodes' ids.
    pub(super) fn new(scores: &[i64]) -> Self {
        let leaves = scores.len().next_power_of_two().max(2);
        let mut best = vec![UNFIT; 2 * leaves];
        best[leaves..leaves + scores.len()].copy_from_slice(scores);
        for at in (1..leaves).rev() {
            best[at] = best[2 * at].max(best[2 * at + 1]);
        }
        Self { best }
    }

    /// How many nodes it has room for.
    pub(super) const fn room(&self) -> usize {
        self.best.len() / 2
    }

    /// Gives a node another score.
    pub(super) fn set(&mut self, node: NodeId, score: i64) {
        let mut at = self.room() + node.index();
        self.best[at] = score;
        while at > 1 {
            let above = self.best[at].max(self.best[at ^ 1]);
            at /= 2;
            if self.best[at] == above {
                return;
            }
            self.best[at] = above;
        }
    }

    /// The best node, of equals the one with the lowest id.
    pub(super) fn best(&self) -> Option<NodeId> {
        let winner = self.best[1];
        if winner == UNFIT {
            return None;
        }
        let mut at = 1;
        while at < self.room() {
            at *= 2;
            if self.best[at] != winner {
                at += 1;
            }
        }
        Some(NodeId::from_index(at - self.room()))
    }

    /// The same among some.
    pub(super) fn best_of(&self, nodes: &NodeSet) -> Option<NodeId> {
        let mut winner = None;
        for node in nodes.iter().take_while(|node| node.index() < self.room()) {
            let score = self.best[self.room() + node.index()];
            if score != UNFIT && winner.is_none_or(|(best, _)| score > best) {
                winner = Some((score, node));
            }
        }
        winner.map(|(_, node)| node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a scan finds.
    fn scan(scores: &[i64], of: impl Fn(usize) -> bool) -> Option<NodeId> {
        let fit = |index: &usize| scores[*index] != UNFIT && of(*index);
        let best = (0..scores.len()).filter(fit).max_by(|a, b| {
            let lower_id = b.cmp(a);
            scores[*a].cmp(&scores[*b]).then(lower_id)
        });
        best.map(NodeId::from_index)
    }

    proptest! {
        #[test]
        fn the_winner_is_the_one_a_scan_finds(
            mut scores in prop::collection::vec(prop_oneof![Just(UNFIT), -3_i64..3], 1..70),
            changes in prop::collection::vec((0_usize..70, prop_oneof![Just(UNFIT), -3_i64..3]), 0..40),
        ) {
            let mut tournament = Tournament::new(&scores);
            for (index, score) in changes {
                let index = index % scores.len();
                scores[index] = score;
                tournament.set(NodeId::from_index(index), score);
                prop_assert_eq!(tournament.best(), scan(&scores, |_| true));
                let odd = |index: usize| index % 2 == 1;
                let some = (0..scores.len()).filter(|index| odd(*index));
                let some: NodeSet = some.map(NodeId::from_index).collect();
                prop_assert_eq!(tournament.best_of(&some), scan(&scores, odd));
            }
        }
    }
}
