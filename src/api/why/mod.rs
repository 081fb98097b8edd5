//! Why a gang is where it is and who holds what of a queue: the core's explanations as JSON
//! (docs/why.md has the fields) and in plain words.
//!
//! Words are made of the JSON, in one place: whoever asks a running scheduler reads what
//! `muster simulate` would say. Fields are added and never change their meaning; a reader passes over
//! what it does not know.

mod convert;
mod types;
mod words;

pub use convert::{gang, queue};
pub use types::{
    Ahead, Asked, Bound, Child, ClockKind, Closest, ConditionSaid, Could, Disruption, Gang, Held,
    Holder, KeptFor, Lack, Lender, Members, Near, NearLimit, NodeCount, Packed, Place, PlaceHolder,
    Protection, Queue, QueueBooks, Reason, RoomHeld, Runs, Short, SparedCount, Start, Waits,
};
pub use words::{gang as gang_in_words, queue as queue_in_words};
