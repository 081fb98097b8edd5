//! Why a gang is where it is.

use super::cut;
use std::sync::Arc;

/// Why a gang is where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// Typed: CamelCase.
    pub reason: &'static str,
    /// In words, bounded.
    pub message: Arc<str>,
}

impl Why {
    /// A reason with its words.
    #[must_use]
    pub fn new(reason: &'static str, message: &str) -> Self {
        Self {
            reason,
            message: cut(message).into(),
        }
    }
}
