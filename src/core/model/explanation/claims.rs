//! What a gang, or a testbed, has a claim to.

use super::words;
use crate::units::Time;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

words! {
    /// What sort of claim to room it is (docs/architecture.md, "Claims to room").
    ClaimKind {
        /// Its places are taken, and its binds are not ordered yet.
        Decided,
        /// Others are leaving it.
        Nominated,
        /// Held for members that are not there yet.
        Held,
        /// Held for a gang that was moved, until its pods are made again.
        Returning,
        /// A place in the future.
        Reserved,
        /// Of a testbed: held for slots that no pod has.
        Slot,
    }
}

impl ClaimKind {
    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Decided => "Decided",
            Self::Nominated => "Nominated",
            Self::Held => "Held",
            Self::Returning => "Returning",
            Self::Reserved => "Reserved",
            Self::Slot => "Slot",
            Self::Other(word) => word,
        }
    }
}

/// A claim to room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct RoomClaim {
    /// Which sort.
    pub kind: ClaimKind,
    /// On so many nodes.
    pub nodes: usize,
    /// Since when, or since when a member last came to it; `None`: that is not noted.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub since: Option<Time>,
    /// When it ends if nothing happens, or, of a place in the future, when it will be free; `None`: only what
    /// happens ends it, or nobody knows.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub until: Option<Time>,
}
