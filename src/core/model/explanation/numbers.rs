//! Numbers with three digits after the point.

/// An amount of cores, or of core-minutes, in thousandths: finer than that nobody is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thousandths(pub u64);

impl Thousandths {
    /// Worth, in cores.
    #[must_use]
    pub const fn of_worth(worth: u64) -> Self {
        Self(worth / (crate::resources::CORE / 1_000))
    }

    /// As a number.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "for people: what is beyond 2^53 thousandths is shown a little off"
    )]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64 / 1_000.0
    }

    /// The nearest to a number; zero where there is none.
    #[cfg(feature = "serde")]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturating"
    )]
    pub(super) fn nearest(number: f64) -> Self {
        Self((number * 1_000.0).round() as u64)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Thousandths {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.as_f64().serialize(to)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Thousandths {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        f64::deserialize(from).map(Self::nearest)
    }
}
