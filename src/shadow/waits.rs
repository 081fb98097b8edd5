//! How long many have waited, of which percentiles are wanted.

use muster_model::units::Millis;
use std::collections::VecDeque;

/// Percentiles are over so many at most, the latest.
const KEPT: usize = 100_000;

/// How long those waited that started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    started: u64,
    latest: VecDeque<Millis>,
}

impl Waits {
    /// Counts one that started.
    pub fn add(&mut self, wait: Millis) {
        self.started += 1;
        if self.latest.len() == KEPT {
            self.latest.pop_front();
        }
        self.latest.push_back(wait);
    }

    /// How many started.
    #[must_use]
    pub const fn started(&self) -> u64 {
        self.started
    }

    /// The wait that so many of a hundred did not exceed (nearest rank); `None` where nobody started.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<Millis> {
        let mut sorted: Vec<Millis> = self.latest.iter().copied().collect();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_waits_that_there_were() {
        let mut waits = Waits::default();
        assert_eq!(waits.percentile(50), None);
        for wait in [40, 10, 30, 20] {
            waits.add(Millis(wait));
        }
        let percentiles = [1, 50, 51, 75, 99].map(|percent| waits.percentile(percent).unwrap().0);
        assert_eq!(percentiles, [10, 20, 30, 30, 40]);
        assert_eq!(waits.started(), 4);
    }

    #[test]
    fn of_very_many_the_latest_count() {
        let mut waits = Waits::default();
        waits.add(Millis(9));
        (0..KEPT).for_each(|_| waits.add(Millis(1)));
        assert_eq!(waits.percentile(100), Some(Millis(1)));
        assert_eq!(waits.started(), KEPT as u64 + 1);
    }
}
