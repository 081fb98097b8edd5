//! The pure scheduling core: what happened goes in, what to do comes out.
//!
//! It does no I/O, reads no clock, draws no random number, and knows no Kubernetes type and no
//! thread. What goes in and comes out is data of `muster-model`. The modules below are listed in the
//! order in which they may use each other (a test parses the `use` lines).

pub mod actions;
pub mod engine;
pub mod fairness;
pub mod framework;
mod front;
pub mod implied;
pub mod placement;
pub mod plugins;
pub mod state;
pub mod transaction;

pub use front::Core;
