//! What the slow lane has still to write: the latest word per object, bounded.

use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// What goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// How far a gang is. Never dropped: there are no more of them than gangs.
    Status,
    /// What is said about a pod. Dropped when too many wait.
    Pod,
}

/// What became of a word that was put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// It waits.
    Queued,
    /// It took the place of an earlier one about the same thing.
    Replaced,
    /// Too many wait already.
    Dropped,
}

#[derive(Debug)]
struct Waiting<N> {
    place: (Rank, u64),
    since: Instant,
    note: N,
}

/// First come, first served within a rank; one note per key; one writer per key.
#[derive(Debug)]
pub(super) struct Queue<K, N> {
    notes: BTreeMap<K, Waiting<N>>,
    order: BTreeMap<(Rank, u64), K>,
    writing: BTreeSet<K>,
    bound: usize,
    serial: u64,
}

impl<K: Ord + Clone, N> Queue<K, N> {
    /// An empty queue in which at most `bound` notes wait.
    #[must_use]
    pub(super) const fn new(bound: usize) -> Self {
        Self {
            notes: BTreeMap::new(),
            order: BTreeMap::new(),
            writing: BTreeSet::new(),
            bound,
            serial: 0,
        }
    }

    /// Puts a note in. The latest note per key counts, at the place of the first.
    pub(super) fn put(&mut self, rank: Rank, key: K, note: N, now: Instant) -> Put {
        if let Some(waiting) = self.notes.get_mut(&key) {
            waiting.note = note;
            return Put::Replaced;
        }
        if rank == Rank::Pod && self.notes.len() >= self.bound {
            return Put::Dropped;
        }
        let place = (rank, self.serial);
        self.serial += 1;
        self.order.insert(place, key.clone());
        let since = now;
        self.notes.insert(key, Waiting { place, since, note });
        Put::Queued
    }

    /// Takes the first note whose key nobody is writing; [`Self::written`] must follow.
    pub(super) fn take(&mut self) -> Option<(K, N)> {
        let free = |key: &&K| !self.writing.contains(*key);
        let key = self.order.values().find(free)?.clone();
        let waiting = self.notes.remove(&key)?;
        self.order.remove(&waiting.place);
        self.writing.insert(key.clone());
        Some((key, waiting.note))
    }

    /// The note taken for `key` is written, or given up.
    pub(super) fn written(&mut self, key: &K) {
        self.writing.remove(key);
    }

    /// Puts a note back that could not be written, unless there is a later one.
    pub(super) fn put_back(&mut self, rank: Rank, key: K, note: N, now: Instant) -> Put {
        if self.notes.contains_key(&key) {
            return Put::Replaced;
        }
        self.put(rank, key, note, now)
    }

    /// Since when the first note that could be taken waits.
    #[must_use]
    pub(super) fn oldest(&self) -> Option<Instant> {
        let key = self
            .order
            .values()
            .find(|key| !self.writing.contains(key))?;
        self.notes.get(key).map(|waiting| waiting.since)
    }

    /// Whether none waits and none is being written.
    #[must_use]
    pub(super) fn is_finished(&self) -> bool {
        self.notes.is_empty() && self.writing.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(queue: &mut Queue<&'static str, u32>, rank: Rank, key: &'static str, note: u32) -> Put {
        queue.put(rank, key, note, Instant::now())
    }

    #[test]
    fn the_latest_note_takes_the_place_of_the_first() {
        let mut queue = Queue::new(9);
        put(&mut queue, Rank::Pod, "a", 1);
        put(&mut queue, Rank::Pod, "b", 2);
        assert_eq!(put(&mut queue, Rank::Pod, "a", 3), Put::Replaced);
        assert_eq!(queue.take(), Some(("a", 3)));
        assert_eq!(queue.take(), Some(("b", 2)));
    }

    #[test]
    fn statuses_go_before_what_is_said_about_pods() {
        let mut queue = Queue::new(9);
        put(&mut queue, Rank::Pod, "pod", 1);
        put(&mut queue, Rank::Status, "gang", 2);
        assert_eq!(queue.take(), Some(("gang", 2)));
    }

    #[test]
    fn two_notes_about_one_thing_are_never_written_at_once() {
        let mut queue = Queue::new(9);
        put(&mut queue, Rank::Pod, "a", 1);
        assert_eq!(queue.take(), Some(("a", 1)));
        put(&mut queue, Rank::Pod, "a", 2);
        assert_eq!(queue.take(), None);
        assert_eq!(queue.oldest(), None);
        queue.written(&"a");
        assert_eq!(queue.take(), Some(("a", 2)));
        assert!(!queue.is_finished());
        queue.written(&"a");
        assert!(queue.is_finished());
    }

    #[test]
    fn when_full_pods_are_dropped_and_gangs_are_not() {
        let mut queue = Queue::new(1);
        assert_eq!(put(&mut queue, Rank::Pod, "a", 1), Put::Queued);
        assert_eq!(put(&mut queue, Rank::Pod, "b", 2), Put::Dropped);
        assert_eq!(put(&mut queue, Rank::Status, "c", 3), Put::Queued);
        assert_eq!(queue.notes.len(), 2);
    }

    #[test]
    fn a_note_put_back_gives_way_to_a_later_one() {
        let mut queue = Queue::new(9);
        put(&mut queue, Rank::Pod, "a", 1);
        queue.take();
        put(&mut queue, Rank::Pod, "a", 2);
        assert_eq!(
            queue.put_back(Rank::Pod, "a", 1, Instant::now()),
            Put::Replaced
        );
        queue.written(&"a");
        assert_eq!(queue.take(), Some(("a", 2)));
    }
}
