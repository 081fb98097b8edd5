//! How orders reach a cluster, and how its news comes back.
//!
//! The protocols of the writes are pure state machines ([`binding`], [`evicting`]): they do no
//! I/O and read no clock, so the simulator and the live lanes run the same ones.

pub mod attempt;
pub mod binding;
pub mod evicting;
