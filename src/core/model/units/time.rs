//! Points in time and spans of time, in whole milliseconds.
//!
//! The core never reads a clock: drivers pass `now` in. Live, time runs monotonically from the
//! wall clock at start; on virtual time it starts at zero.

use std::fmt;
use std::ops::{Add, Sub};

/// A point in time: milliseconds since an epoch that the driver chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(pub u64);

/// A span of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Millis(pub u64);

impl Time {
    /// The driver's epoch.
    pub const ZERO: Self = Self(0);

    /// A point in time given in whole seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// The span since `earlier`, or zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Millis {
    /// A span given in whole seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }
}

impl Add<Millis> for Time {
    type Output = Self;
    fn add(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Millis> for Time {
    type Output = Self;
    fn sub(self, span: Millis) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// Prints seconds with at most three decimals: `90s`, `0.25s`.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, rest) = (self.0 / 1000, self.0 % 1000);
        if rest == 0 {
            return write!(f, "{seconds}s");
        }
        let decimals = format!("{rest:03}");
        write!(f, "{seconds}.{}s", decimals.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_as_seconds() {
        assert_eq!(Millis(90_000).to_string(), "90s");
        assert_eq!(Millis(250).to_string(), "0.25s");
        assert_eq!(Millis(1_001).to_string(), "1.001s");
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time(5).since(Time(9)), Millis(0));
        assert_eq!(Time(u64::MAX) + Millis(1), Time(u64::MAX));
        assert_eq!(Time(1) - Millis(2), Time(0));
    }
}
