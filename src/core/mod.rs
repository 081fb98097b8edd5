//! The pure scheduling core.
