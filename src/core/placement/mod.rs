//! Putting one gang on nodes, as a whole.
//!
//! Everything happens inside a [`Statement`](crate::core::transaction::Statement): what does not
//! work out leaves no trace. Members are placed one after the other on the best node of a domain;
//! pods of one shape cost one pass of the cached filters, whatever the gang's size. The search over
//! whole gangs (packing, topology) has its place here.

mod diagnosis;
mod masks;
mod per_shape;
mod place;
mod rankings;
mod refusals;
mod tournament;

pub use diagnosis::{Diagnosis, diagnose};
pub use place::{Placer, Shortage};

#[cfg(test)]
mod tests;
