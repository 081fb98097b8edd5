//! Numbers and spans of time within bounds.

use muster_api::duration;
use muster_model::resources::CORE;
use muster_model::units::Millis;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "u32")]
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

/// Not a derive: its error would say what a number is, and not what was found.
impl<'de, const MIN: u32, const MAX: u32, const DEFAULT: u32> Deserialize<'de>
    for Bounded<MIN, MAX, DEFAULT>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Within::<MIN, MAX>).map(Self)
    }
}

/// Takes numbers from `MIN` to `MAX`.
struct Within<const MIN: u32, const MAX: u32>;

impl<const MIN: u32, const MAX: u32> Within<MIN, MAX> {
    fn take<E: Error>(found: impl fmt::Display, number: Option<u32>) -> Result<u32, E> {
        number
            .filter(|number| (MIN..=MAX).contains(number))
            .ok_or_else(|| {
                E::custom(format!(
                    "found {found}: expected a number from {MIN} to {MAX}"
                ))
            })
    }
}

impl<const MIN: u32, const MAX: u32> Visitor<'_> for Within<MIN, MAX> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number from {MIN} to {MAX}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
        Self::take(number, u32::try_from(number).ok())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u32, E> {
        Self::take(number, u32::try_from(number).ok())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u32, E> {
        Self::take(format!("{text:?}"), None)
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

/// What a unit of a resource is worth, in cores: a number from 0 to a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoresWorth(u64);

impl CoresWorth {
    /// In millionths of a core.
    #[must_use]
    pub const fn millionths(self) -> u64 {
        self.0
    }
}

impl Serialize for CoresWorth {
    #[expect(clippy::cast_precision_loss, reason = "at most a million millions")]
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / CORE as f64)
    }
}

impl<'de> Deserialize<'de> for CoresWorth {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "it is within bounds"
    )]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cores = f64::deserialize(deserializer)?;
        if !(0.0..=1e6).contains(&cores) {
            let problem = format!("found {cores}: expected a number from 0 to 1000000");
            return Err(Error::custom(problem));
        }
        Ok(Self((cores * CORE as f64).round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Small = Bounded<1, 3, 2>;
    type Minute = Span<1, 60, 30>;

    #[test]
    fn numbers_outside_of_their_bounds_are_refused() {
        let read = |text: &str| serde_saphyr::from_str::<Small>(text);
        for text in ["-1", "0", "4", "99999999999", "\"2\"", "lots", "2.5", "[]"] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains("from 1 to 3"), "{text}: {message}");
        }
        assert_eq!(["1", "3"].map(|text| read(text).unwrap().get()), [1, 3]);
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
