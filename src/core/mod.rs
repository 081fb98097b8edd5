//! The pure scheduling core: what happened goes in, what to do comes out.
//!
//! It does no I/O, reads no clock, draws no random number, and knows no Kubernetes type and no
//! thread. The modules below are listed in the order in which they may use each other: each one
//! may use those above it, never those below (a test parses the `use` lines).

pub mod actions;
pub mod engine;
pub mod fairness;
pub mod framework;
pub mod lint;
pub mod model;
pub mod placement;
pub mod plugins;
pub mod resources;
pub mod state;
pub mod transaction;
pub mod units;
