//! Quantities, time and decay over time as integers.

mod decay;
mod quantity;
mod time;

pub use decay::decayed;
pub use quantity::{Quantity, QuantityError};
pub use time::{Millis, Time};
