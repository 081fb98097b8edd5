//! Putting one gang on nodes, as a whole.
//!
//! Everything happens inside a [`Statement`](crate::transaction::Statement): what does not
//! work out leaves no trace. What a gang asks for is a [`Demand`], and [`Placer::place`] is the one
//! function that puts a demand on nodes: members one after the other on the best node of a domain.
//! The search over whole gangs (packing, topology) has its place here.

mod amounts;
mod arena;
mod capacity;
mod choice;
mod clearing;
mod clique;
mod close;
mod company;
mod demand;
mod diagnosis;
mod domain;
mod domains;
mod fewest;
mod improve;
mod line;
mod lost;
mod masks;
mod per_shape;
mod place;
mod ports;
mod puzzle;
mod rankings;
mod refusals;
mod scores;
mod search;
mod seats;
mod shares;
mod spot;
mod tournament;
mod wanted;
mod whole;

pub use amounts::{fits, may_be_free, room_for};
pub use clearing::{Asks, Beneficiary, Cleared, Clearing, Removal, Room};
pub use demand::Demand;
pub use diagnosis::{Diagnosis, amount_in_words, answers, diagnose};
pub use line::{line_up, neighbours_made_by};
pub use lost::Lost;
pub use place::{Confined, Placer, Shortage};

#[cfg(test)]
mod tests;
