//! What plugins in other processes are asked and what they answer, as it travels.
//!
//! `wire` has Muster's own messages and `schema` publishes them; `extender` has those of
//! kube-scheduler's extenders. `read` checks answers: what a plugin says is believed only where it makes
//! sense. No I/O happens here.

pub mod extender;
mod read;
mod schema;
pub mod wire;
mod write;

pub use read::{MAX_REASON, Wrong, read};
pub use schema::{FILE, schema};
pub use write::write;
