//! Where what is drawn by lot comes from: a seed, or a row of digits that can be made smaller.

use muster::model::units::Millis;
use muster::sim::random::Random;

/// Draws numbers.
pub(crate) trait Lot {
    /// A number below a bound.
    fn below(&mut self, bound: u64) -> u64;

    /// True so many times in a thousand.
    fn per_mille(&mut self, rate: u64) -> bool;

    /// A count below a bound.
    fn count(&mut self, bound: u64) -> u32 {
        u32::try_from(self.below(bound)).unwrap()
    }

    /// So many times in a thousand some span up to this, in steps of a second.
    fn span(&mut self, rate: u64, seconds: u64) -> Option<Millis> {
        self.per_mille(rate)
            .then(|| Millis::from_secs(self.below(seconds)))
    }
}

impl Lot for Random {
    fn below(&mut self, bound: u64) -> u64 {
        Self::below(self, bound)
    }

    fn per_mille(&mut self, rate: u64) -> bool {
        Self::per_mille(self, rate)
    }
}

/// A row of digits, each used once; all zeros behind its end. A smaller digit draws a smaller number, and
/// zero what is more usual.
#[derive(Clone, Debug)]
pub(crate) struct Digits<'a>(pub(crate) &'a [u8]);

impl Digits<'_> {
    fn next(&mut self) -> u64 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        u64::from(*first)
    }
}

impl Lot for Digits<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.next() * bound / 256
    }

    fn per_mille(&mut self, rate: u64) -> bool {
        self.next() * 1_000 / 256 + rate >= 1_000
    }
}
