//! Waits that grow: each twice as long as the one before, up to a bound.

use super::Millis;

/// What is tried again ever more rarely waits so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubling {
    /// The first wait.
    pub first: Millis,
    /// No wait is longer.
    pub longest: Millis,
}

impl Doubling {
    /// The wait after so many others.
    #[must_use]
    pub const fn after(self, waits: u32) -> Millis {
        // So often that the longest is reached from any first wait of a millisecond or more.
        let doublings = if waits < 40 { waits } else { 40 };
        let wait = self.first.0.saturating_mul(1 << doublings);
        if wait < self.longest.0 {
            Millis(wait)
        } else {
            self.longest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_the_one_before_up_to_the_longest() {
        let waits = Doubling {
            first: Millis(50),
            longest: Millis(1_000),
        };
        let found: Vec<u64> = (0..7).map(|times| waits.after(times).0).collect();
        assert_eq!(found, [50, 100, 200, 400, 800, 1_000, 1_000]);
        assert_eq!(waits.after(u32::MAX), Millis(1_000));
        let endless = Doubling {
            first: Millis(u64::MAX),
            longest: Millis(u64::MAX),
        };
        assert_eq!(endless.after(u32::MAX), Millis(u64::MAX));
    }
}
