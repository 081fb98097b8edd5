//! Times as seconds: what an explanation says where everything else in the model counts milliseconds.
//! For serde's `with`.

use super::Thousandths;
use crate::Lifetime;
use crate::units::{Millis, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is written as a number of seconds, or as nothing.
pub(super) trait Seconds: Copy {
    fn millis(self) -> Option<u64>;
    fn of(millis: Option<u64>) -> Self;
}

impl Seconds for Time {
    fn millis(self) -> Option<u64> {
        Some(self.0)
    }

    fn of(millis: Option<u64>) -> Self {
        Self(millis.unwrap_or_default())
    }
}

impl Seconds for Option<Time> {
    fn millis(self) -> Option<u64> {
        self.map(|time| time.0)
    }

    fn of(millis: Option<u64>) -> Self {
        millis.map(Time)
    }
}

impl Seconds for Lifetime {
    fn millis(self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::Limited(Millis(span)) => Some(span),
        }
    }

    fn of(millis: Option<u64>) -> Self {
        Self::of(millis.map(Millis))
    }
}

pub(super) fn serialize<T: Seconds, S: Serializer>(time: &T, to: S) -> Result<S::Ok, S::Error> {
    time.millis().map(Thousandths).serialize(to)
}

pub(super) fn deserialize<'de, T: Seconds, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let seconds = Option::<Thousandths>::deserialize(from)?;
    Ok(T::of(seconds.map(|one| one.0)))
}
