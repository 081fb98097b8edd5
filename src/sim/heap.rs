//! What is to happen, ordered by time and, within one instant, by when it was put in.

use muster_model::units::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Things to come. The same pushes give the same pops.
#[derive(Debug)]
pub struct Heap<T> {
    entries: BinaryHeap<Entry<T>>,
    sequence: u64,
    /// That of what was taken last.
    taken: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Time,
    sequence: u64,
    what: T,
}

impl<T> Default for Heap<T> {
    fn default() -> Self {
        Self {
            entries: BinaryHeap::new(),
            sequence: 0,
            taken: 0,
        }
    }
}

impl<T> Heap<T> {
    /// Puts something in that happens at `at`, after all that was put in for `at` before.
    pub fn push(&mut self, at: Time, what: T) {
        self.sequence += 1;
        self.entries.push(Entry {
            at,
            sequence: self.sequence,
            what,
        });
    }

    /// Puts back what was taken last: it happens at `at`, still before all that was put in after it.
    pub fn put_back(&mut self, at: Time, what: T) {
        let sequence = self.taken;
        self.entries.push(Entry { at, sequence, what });
    }

    /// When the next thing happens.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        self.entries.peek().map(|entry| entry.at)
    }

    /// All that is to come, in its order.
    #[must_use]
    pub fn to_come(&self) -> Vec<(Time, &T)> {
        let mut entries: Vec<&Entry<T>> = self.entries.iter().collect();
        entries.sort_by_key(|entry| (entry.at, entry.sequence));
        let entries = entries.into_iter();
        entries.map(|entry| (entry.at, &entry.what)).collect()
    }

    /// Takes the next thing if it happens by `now`.
    pub fn pop_due(&mut self, now: Time) -> Option<T> {
        if self.next_at()? > now {
            return None;
        }
        let entry = self.entries.pop()?;
        self.taken = entry.sequence;
        Some(entry.what)
    }
}

// The standard heap gives the greatest first: earlier is greater.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_first_and_equal_times_in_the_order_of_pushing() {
        let mut heap = Heap::default();
        for (at, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b'), (5, 'e')] {
            heap.push(Time(at), what);
        }
        assert_eq!(heap.next_at(), Some(Time(1)));
        let first: String = std::iter::from_fn(|| heap.pop_due(Time(4))).collect();
        assert_eq!(first, "ab");
        let rest: String = std::iter::from_fn(|| heap.pop_due(Time(5))).collect();
        assert_eq!(rest, "cde");
        assert_eq!(heap.next_at(), None);
    }

    #[test]
    fn what_is_put_back_still_comes_before_what_was_put_in_after_it() {
        let mut heap = Heap::default();
        heap.push(Time(1), 'a');
        heap.push(Time(5), 'b');
        let first = heap.pop_due(Time(1)).unwrap();
        heap.put_back(Time(5), first);
        let rest: String = std::iter::from_fn(|| heap.pop_due(Time(5))).collect();
        assert_eq!(rest, "ab");
    }
}
