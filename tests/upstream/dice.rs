//! Chance, from a seed; and what was drawn, counted.

use muster::sim::random::Random;
use std::collections::BTreeMap;

/// Draws what a case is made of, and counts the corners it comes to.
pub(crate) struct Dice {
    random: Random,
    seen: BTreeMap<String, u64>,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            seen: BTreeMap::new(),
        }
    }

    /// A number in `0..bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).unwrap()
    }

    /// A number from the first to the last.
    pub(crate) fn between(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last - first + 1)
    }

    /// True so many times in a hundred.
    pub(crate) fn percent(&mut self, rate: u64) -> bool {
        self.random.per_mille(rate * 10)
    }

    pub(crate) fn one_of<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }

    /// Each of them by itself with this chance.
    pub(crate) fn some_of<T: Copy>(&mut self, among: &[T], percent: u64) -> Vec<T> {
        among
            .iter()
            .copied()
            .filter(|_| self.percent(percent))
            .collect()
    }

    /// Notes that a corner was drawn.
    pub(crate) fn note(&mut self, corner: impl Into<String>) {
        *self.seen.entry(corner.into()).or_default() += 1;
    }

    pub(crate) fn seen(self) -> BTreeMap<String, u64> {
        self.seen
    }
}
