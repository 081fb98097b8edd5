//! Quantities, time and decay over time as integers.

mod decay;
mod double;
mod doubling;
mod logarithm;
mod quantity;
mod time;

pub use decay::decayed;
pub use double::Double;
pub use doubling::Doubling;
pub use logarithm::{LOG_BITS, natural_log};
pub use quantity::{Quantity, QuantityError, thousandths_in_text};
pub use time::{Millis, Time};
