//! Who decides: one instance at a time, by a Lease.
//!
//! [`election`] has the rules, as a state machine without I/O or clock; `hold` carries its
//! requests to the API server, brings it what is heard of the Lease, and opens and closes the
//! [`Fence`](super::Fence) by what it says. docs/architecture.md has the times in one picture.

pub mod election;
mod hold;
mod identity;
mod object;
mod watch;

#[cfg(test)]
mod every_order;
#[cfg(test)]
mod served;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use hold::Lease;
pub use identity::Identity;

use muster_model::units::Millis;
use std::time::Duration;

/// How long a request about the Lease waits for its answer.
pub const ANSWER_WITHIN: Duration = duration(election::ANSWER_WITHIN);

/// Where the lease is and who asks for it.
#[derive(Clone, Debug)]
pub struct LeaseOptions {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Our name in it.
    pub identity: Identity,
}

const fn duration(span: Millis) -> Duration {
    Duration::from_millis(span.0)
}
