//! Of each queue the gangs that wait for the place of their minimum, in order: what positions are
//! counted in.

use crate::actions::notes::OrderKey;
use crate::state::{GangId, QueueId};
use std::collections::{BTreeMap, BTreeSet};

/// The line of each queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    queues: BTreeMap<QueueId, BTreeSet<OrderKey>>,
    /// Who stands in one, and where.
    places: BTreeMap<GangId, OrderKey>,
    /// Queues whose line changed.
    changed: BTreeSet<QueueId>,
    /// Queues whose line somebody left: those behind moved up.
    left: BTreeSet<QueueId>,
    /// Somebody moved up with no other news than what a cycle made itself.
    moved_up: bool,
}

impl Lines {
    /// Puts a gang where it belongs.
    pub(super) fn enter(&mut self, key: OrderKey) {
        match self.places.insert(key.gang, key) {
            Some(before) if before == key => return,
            Some(before) => self.take_out(&before),
            None => {}
        }
        self.queues.entry(key.queue).or_default().insert(key);
        self.changed.insert(key.queue);
    }

    /// Takes a gang out, if it is in one.
    pub(super) fn leave(&mut self, gang: GangId) {
        if let Some(key) = self.places.remove(&gang) {
            self.take_out(&key);
        }
    }

    fn take_out(&mut self, key: &OrderKey) {
        self.changed.insert(key.queue);
        self.left.insert(key.queue);
        if let Some(line) = self.queues.get_mut(&key.queue) {
            line.remove(key);
            if line.is_empty() {
                // Nobody is left whose position could have changed.
                self.queues.remove(&key.queue);
                self.changed.remove(&key.queue);
                self.left.remove(&key.queue);
            }
        }
    }

    /// A gang's place, from 1; `None` if it is in no line, or behind `at_most` others or more.
    pub(super) fn position(&self, gang: GangId, at_most: u32) -> Option<u32> {
        let key = self.places.get(&gang)?;
        let line = self.queues.get(&key.queue)?;
        let places = line.iter().zip(1..=at_most);
        let mut places = places.skip_while(|(ahead, _)| *ahead != key);
        places.next().map(|(_, place)| place)
    }

    /// The place of every gang that is in a line, from 1.
    pub(super) fn positions(&self) -> BTreeMap<GangId, u32> {
        let lines = self.queues.values();
        let places = lines.flat_map(|line| line.iter().map(|key| key.gang).zip(1..));
        places.collect()
    }

    /// The gangs of a queue's line.
    pub(super) fn of(&self, queue: QueueId) -> impl Iterator<Item = GangId> {
        let line = self.queues.get(&queue).into_iter().flatten();
        line.map(|key| key.gang)
    }

    /// How many gangs stand in a queue's line.
    pub(super) fn len_of(&self, queue: QueueId) -> usize {
        self.queues.get(&queue).map_or(0, BTreeSet::len)
    }

    pub(super) fn have_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    pub(super) fn take_changed(&mut self) -> BTreeSet<QueueId> {
        std::mem::take(&mut self.changed)
    }

    /// Somebody of a queue has no part in what those behind it wait for any more.
    pub(super) fn move_up(&mut self, queue: QueueId) {
        self.left.insert(queue);
        self.moved_up = true;
    }

    /// Whether somebody moved up so since that was last asked.
    pub(super) const fn moved_up(&self) -> bool {
        self.moved_up
    }

    pub(super) fn take_left(&mut self) -> BTreeSet<QueueId> {
        self.moved_up = false;
        std::mem::take(&mut self.left)
    }

    /// Who stands in a line.
    pub(super) fn gangs(&self) -> impl Iterator<Item = &GangId> {
        self.places.keys()
    }

    /// Whether each stands in one line, once.
    pub(super) fn is_consistent(&self) -> bool {
        let in_lines: usize = self.queues.values().map(BTreeSet::len).sum();
        let in_its_line = |key: &OrderKey| {
            let line = self.queues.get(&key.queue);
            line.is_some_and(|line| line.contains(key))
        };
        in_lines == self.places.len() && self.places.values().all(in_its_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::notes::{Lane, MAX_RANKS};
    use crate::state::Id;

    fn key(rank: i64, gang: usize) -> OrderKey {
        OrderKey {
            ranks: [rank; MAX_RANKS],
            arrival: 0,
            gang: GangId::from_index(gang),
            queue: QueueId::from_index(0),
            lane: Lane::Charged,
        }
    }

    #[test]
    fn positions_follow_who_comes_and_goes() {
        let mut lines = Lines::default();
        for (rank, gang) in [(3, 0), (1, 1), (2, 2)] {
            lines.enter(key(rank, gang));
        }
        let gang = GangId::from_index(0);
        assert_eq!(lines.position(gang, 3), Some(3));
        assert_eq!(lines.position(gang, 2), None);
        lines.leave(GangId::from_index(1));
        assert_eq!(lines.position(gang, 3), Some(2));
        lines.enter(key(0, 0));
        assert_eq!(lines.position(gang, 3), Some(1));
        assert_eq!(lines.positions()[&GangId::from_index(2)], 2);
        assert!(lines.is_consistent());
    }

    #[test]
    fn a_line_without_anybody_has_no_news() {
        let mut lines = Lines::default();
        lines.enter(key(1, 0));
        assert!(lines.have_changed());
        lines.leave(GangId::from_index(0));
        assert!(!lines.have_changed());
    }
}
