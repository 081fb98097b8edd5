//! Resource dimensions and amounts of them.
//!
//! A [`Dimensions`] registry gives every resource name a small number; amounts are then columns
//! or short lists of `i64`. `cpu` counts thousandths of a core, everything else
//! whole units. All arithmetic saturates: a nonsensical amount makes a node full, never a panic.

mod dimensions;
mod request;
mod tally;
mod weights;

pub use dimensions::{Dimension, Dimensions, WIDTH};
pub use request::Request;
pub use tally::Tally;
pub use weights::{CORE, Measure, PRICE_BITS, Weights, Worth};
