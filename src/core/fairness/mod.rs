//! Who may have how much of the cluster, and which queue is next (source: mission, "Queues and
//! fairness"; docs/queues.md tells it to those who run queues).
//!
//! Everything here reads the books of [`Queues`](crate::state::Queues) and changes nothing.

mod contest;
mod entry;
mod quota;

pub use contest::Contest;
pub use entry::refuses;
pub use quota::{Blocked, Hold, budget_left, charge_of_running, check, check_terms};

#[cfg(test)]
mod tests;
