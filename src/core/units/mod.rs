//! Quantities and time as integers.

mod quantity;
mod time;

pub use quantity::{Quantity, QuantityError};
pub use time::{Millis, Time};
