//! Why a gang is where it is.

use super::{Code, cut};
use std::sync::Arc;

/// Why a gang is where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Why {
    /// Typed: CamelCase.
    pub reason: Code,
    /// In words, bounded.
    pub message: Arc<str>,
}

impl Why {
    /// A reason with its words.
    #[must_use]
    pub fn new(reason: impl Into<Code>, message: &str) -> Self {
        Self {
            reason: reason.into(),
            message: cut(message).into(),
        }
    }
}
