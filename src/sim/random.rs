//! A small source of numbers that look random and follow from a seed (SplitMix64).
//!
//! Only the simulator draws numbers; the core never does.

/// Draws numbers; the same seed gives the same ones.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A source that starts from `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; zero if `bound` is zero.
    pub const fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // The bias of a remainder by small bounds does not matter here.
        self.bits() % bound
    }

    /// True so many times in a thousand.
    pub const fn per_mille(&mut self, rate: u64) -> bool {
        rate > 0 && self.below(1000) < rate
    }

    /// How often a kind of fault is met: never in about every second draw, else at most so often.
    pub const fn rate(&mut self, most: u64) -> u64 {
        let rate = self.below(most + 1);
        if self.per_mille(500) { rate } else { 0 }
    }

    /// A source of its own for another matter: drawing from it changes nothing here.
    pub const fn split(&mut self) -> Self {
        Self::new(self.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [(); 8].map(|()| random.bits())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn rates_are_about_kept() {
        let mut random = Random::new(7);
        let hits = (0..100_000).filter(|_| random.per_mille(250)).count();
        assert!((24_000..26_000).contains(&hits), "{hits}");
        assert!(!(0..1000).any(|_| random.per_mille(0)));
    }
}
