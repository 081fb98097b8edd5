//! Numbers and spans of time within bounds.

use crate::api::duration;
use crate::core::units::Millis;
use serde::{Deserialize, Serialize};

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "u32")]
pub struct Bounded<const MIN: u32, const MAX: u32, const DEFAULT: u32>(u32);

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> Bounded<MIN, MAX, DEFAULT> {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> Default for Bounded<MIN, MAX, DEFAULT> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> TryFrom<i64>
    for Bounded<MIN, MAX, DEFAULT>
{
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        let within = u32::try_from(number).ok();
        let within = within.filter(|number| (MIN..=MAX).contains(number));
        within
            .map(Self)
            .ok_or_else(|| format!("found {number}: expected a number from {MIN} to {MAX}"))
    }
}

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> From<Bounded<MIN, MAX, DEFAULT>> for u32 {
    fn from(number: Bounded<MIN, MAX, DEFAULT>) -> Self {
        number.0
    }
}

/// A span of time from `MIN` to `MAX` seconds, written as Go does: `90s`, `5m`, `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span<const MIN: u64, const MAX: u64, const DEFAULT: u64>(Millis);

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Span<MIN, MAX, DEFAULT> {
    /// The span.
    #[must_use]
    pub const fn millis(self) -> Millis {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Default for Span<MIN, MAX, DEFAULT> {
    fn default() -> Self {
        Self(Millis::from_secs(DEFAULT))
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> TryFrom<String>
    for Span<MIN, MAX, DEFAULT>
{
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let span = duration::parse(&text).map_err(|error| error.to_string())?;
        if (Millis::from_secs(MIN)..=Millis::from_secs(MAX)).contains(&span) {
            return Ok(Self(span));
        }
        Err(format!(
            "found {text}: expected a duration from {MIN}s to {MAX}s"
        ))
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> From<Span<MIN, MAX, DEFAULT>> for String {
    fn from(span: Span<MIN, MAX, DEFAULT>) -> Self {
        span.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Small = Bounded<1, 3, 2>;
    type Minute = Span<1, 60, 30>;

    #[test]
    fn numbers_outside_of_their_bounds_are_refused() {
        for number in [-1, 0, 4, i64::MAX] {
            let message = Small::try_from(number).unwrap_err();
            assert!(message.contains("from 1 to 3") && message.contains(&number.to_string()));
        }
        assert_eq!(
            [1, 3].map(|one| Small::try_from(one).unwrap().get()),
            [1, 3]
        );
    }

    #[test]
    fn spans_outside_of_their_bounds_are_refused() {
        for text in ["0", "999ms", "1m1ms", "soon"] {
            assert!(Minute::try_from(text.to_owned()).is_err(), "{text}");
        }
        let minute = Minute::try_from("1m".to_owned()).unwrap();
        assert_eq!(minute.millis(), Millis::from_secs(60));
        assert_eq!(String::from(minute), "60s");
    }
}
