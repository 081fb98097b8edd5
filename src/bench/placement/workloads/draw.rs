//! Numbers drawn by lot, in integers only, so that they are the same everywhere.

use muster_model::units::Millis;
use muster_sim::random::Random;

/// Draws for workloads.
#[derive(Clone, Debug)]
pub(super) struct Draw(Random);

impl Draw {
    pub(super) const fn new(random: Random) -> Self {
        Self(random)
    }

    /// For another matter: drawing from it changes nothing here.
    pub(super) const fn split(&mut self) -> Self {
        Self(self.0.split())
    }

    /// A number of this range, both ends included, all as likely.
    pub(super) const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    /// One of these, as likely as its number says.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[(T, u64)], otherwise: T) -> T {
        let mut left = self.0.below(choices.iter().map(|(_, weight)| weight).sum());
        for (choice, weight) in choices {
            if left < *weight {
                return *choice;
            }
            left -= weight;
        }
        otherwise
    }

    /// A whole number from 1 to `most`: falls off as an exponential distribution does whose mean would be
    /// `mean` without an end.
    pub(super) fn falling(&mut self, mean: u64, most: u64) -> u64 {
        loop {
            let mut number = 1;
            while self.0.below(mean) > 0 {
                number += 1;
            }
            if number <= most {
                return number;
            }
        }
    }

    /// How long something runs, in seconds from `low` to `high`, and how long it says it does: as long to
    /// twice as long.
    pub(super) const fn runs(&mut self, low: u64, high: u64) -> (Millis, Millis) {
        let runs = self.between(low * 1_000, high * 1_000);
        let percent = self.between(100, 200);
        (Millis(runs), Millis(runs * percent / 100))
    }
}
