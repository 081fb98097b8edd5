//! Who decides: one instance at a time, by a Lease.
//!
//! [`election`] has the rules, as a state machine without I/O or clock.

pub mod election;
mod hold;
mod identity;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use hold::{ANSWER_WITHIN, Lease, LeaseOptions};
pub use identity::Identity;
