//! What other queues may lose: each victim is taken of a queue that is over its share without those
//! taken before it (source: mission, "Queues and fairness": judged victim by victim).

use super::judge::Judge;
use super::unit::Unit;
use crate::placement::Removal;
use crate::state::{ClusterState, QueueId};
use muster_model::resources::Tally;
use std::collections::BTreeMap;

/// What other queues hold, and what they may keep.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// The queues that lose with each: itself, and those above it up to where the paths part.
    levels: BTreeMap<QueueId, Vec<QueueId>>,
    /// What each of those holds, and what its share is.
    books: BTreeMap<QueueId, (Tally, u64)>,
}

impl Shares {
    pub(super) fn of(judge: &Judge<'_>, queues: impl Iterator<Item = QueueId>) -> Self {
        let mut shares = Self::default();
        for queue in queues {
            if shares.levels.contains_key(&queue) {
                continue;
            }
            let (levels, _) = judge.where_paths_part(queue);
            for id in &levels {
                if let Some(book) = judge.book(*id) {
                    shares.books.entry(*id).or_insert(book);
                }
            }
            shares.levels.insert(queue, levels);
        }
        shares
    }

    /// Takes one away, if all that lose by it are over their share; one of the same queue always.
    pub(super) fn take(&mut self, state: &ClusterState, unit: &Unit) -> bool {
        let Some(levels) = unit.other_queue.and_then(|queue| self.levels.get(&queue)) else {
            return true;
        };
        let over = |id: &QueueId| {
            let book = self.books.get(id);
            book.is_some_and(|(holds, share)| state.weights().of(holds) > *share)
        };
        if !levels.iter().all(over) {
            return false;
        }
        let amounts = amounts(state, unit);
        for id in levels {
            if let Some((holds, _)) = self.books.get_mut(id) {
                holds.subtract_all(&amounts);
            }
        }
        true
    }

    /// Whether some can be taken one after the other so that each is of a queue over its share: the
    /// largest last.
    pub(super) fn allow(&self, state: &ClusterState, units: &[Unit]) -> bool {
        let mut shares = self.clone();
        let mut units: Vec<&Unit> = units.iter().collect();
        units.sort_by_cached_key(|unit| state.weights().of(&amounts(state, unit)));
        units.into_iter().all(|unit| shares.take(state, unit))
    }
}

fn amounts(state: &ClusterState, unit: &Unit) -> Tally {
    let mut sum = Tally::default();
    for shape in unit.pods.iter().filter_map(|pod| state.shape_of(*pod)) {
        sum.add(&shape.request);
    }
    for held in unit.whole().iter().filter_map(|gang| state.held_for(*gang)) {
        sum.add_all(&held.sum());
    }
    sum
}
