//! The best of some nodes, where which those are changes from one time to the next.
//!
//! As long as it changes little, a tournament among them is kept, and who came or went is set in it;
//! else all of them are looked at. Both give the same answer.

use super::tournament::{Tournament, UNFIT};
use crate::state::{Id, NodeId, NodeSet};

/// To set a node in a tournament costs about as much as to look at so many in a row.
const SET: usize = 16;

/// All scores, and a tournament among some nodes.
#[derive(Debug)]
pub(super) struct Arena {
    scores: Vec<i64>,
    tournament: Tournament,
    /// Who is in the tournament.
    inside: NodeSet,
    /// Among whom it was asked the last time.
    last: NodeSet,
}

impl Arena {
    /// Of these scores, by the nodes' ids.
    pub(super) fn new(scores: Vec<i64>) -> Self {
        let nobody = vec![UNFIT; scores.len()];
        Self {
            tournament: Tournament::new(&nobody),
            scores,
            inside: NodeSet::default(),
            last: NodeSet::default(),
        }
    }

    /// Gives a node another score.
    pub(super) fn set(&mut self, node: NodeId, score: i64) {
        self.scores[node.index()] = score;
        if self.inside.contains(node) {
            self.tournament.set(node, score);
        }
    }

    /// The best of some nodes, of equals the one with the lowest id.
    pub(super) fn best_of(&mut self, among: &NodeSet) -> Option<NodeId> {
        let worth_it = among.len() / SET;
        if self.inside.count_differences(among) <= worth_it {
            for node in self.inside.differences(among) {
                let score = self.scores.get(node.index()).copied().unwrap_or(UNFIT);
                if score != UNFIT {
                    let score = if among.contains(node) { score } else { UNFIT };
                    self.tournament.set(node, score);
                }
            }
            self.inside.copy_from(among);
        } else if self.last.count_differences(among) <= worth_it {
            self.begin(among);
        } else {
            self.last.copy_from(among);
            return self.look_at(among);
        }
        self.tournament.best()
    }

    /// A tournament among these, anew.
    fn begin(&mut self, among: &NodeSet) {
        let mut scores = vec![UNFIT; self.scores.len()];
        for node in self.known(among) {
            scores[node.index()] = self.scores[node.index()];
        }
        self.tournament = Tournament::new(&scores);
        self.inside.copy_from(among);
    }

    fn look_at(&self, among: &NodeSet) -> Option<NodeId> {
        let mut winner = None;
        for node in self.known(among) {
            let score = self.scores[node.index()];
            if score != UNFIT && winner.is_none_or(|(best, _)| score > best) {
                winner = Some((score, node));
            }
        }
        winner.map(|(_, node)| node)
    }

    fn known(&self, among: &NodeSet) -> impl Iterator<Item = NodeId> {
        let known = self.scores.len();
        among.iter().take_while(move |node| node.index() < known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A node's new score, or who comes into question.
    #[derive(Clone, Debug)]
    enum Step {
        Set(usize, i64),
        Flip(usize),
        All(bool),
    }

    fn step(nodes: usize) -> impl Strategy<Value = Step> {
        let score = prop_oneof![Just(UNFIT), -3_i64..3];
        prop_oneof![
            (0..nodes, score).prop_map(|(node, score)| Step::Set(node, score)),
            (0..nodes + 9).prop_map(Step::Flip),
            any::<bool>().prop_map(Step::All),
        ]
    }

    proptest! {
        #[test]
        fn the_best_of_some_is_the_one_a_look_at_all_finds(
            steps in prop::collection::vec(step(150), 1..80),
        ) {
            let mut scores = vec![0_i64; 150];
            let mut arena = Arena::new(scores.clone());
            let mut among = NodeSet::default();
            for step in steps {
                match step {
                    Step::Set(node, score) => {
                        scores[node] = score;
                        arena.set(NodeId::from_index(node), score);
                    }
                    Step::Flip(node) => {
                        let node = NodeId::from_index(node);
                        among.set(node, !among.contains(node));
                    }
                    Step::All(inside) => {
                        (0..150).for_each(|node| among.set(NodeId::from_index(node), inside));
                    }
                }
                let fit = |node: &NodeId| scores.get(node.index()).is_some_and(|one| *one != UNFIT);
                let best = among.iter().filter(fit).max_by_key(|node| {
                    (scores[node.index()], std::cmp::Reverse(*node))
                });
                prop_assert_eq!(arena.best_of(&among), best);
            }
        }
    }
}
