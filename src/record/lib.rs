//! A record: what reached the core, when, and what it decided, in files that are bounded; and the core played by it
//! again.
//!
//! ```text
//!  news, time ──► Taped ──► core ──► plan
//!                   │                  │
//!                   └──► Tape ◄────────┘         Tape: Writer (at once) or Recorder (on a thread of its own)
//!                         │
//!                       files ──► Folder, Reader ──► Player ──► the same plans, or where the first differs
//! ```
//!
//! A *term* is what one core went through, from its start on: a scheduler that takes over begins one. A term is split into
//! *parts*, a file each. docs/replay.md describes them for users.

mod decisions;
mod entry;
mod error;
mod folder;
mod head;
mod player;
mod reader;
mod recorder;
mod taped;
#[cfg(test)]
mod tests;
mod writer;

pub use decisions::{Decided, Decisions, What};
pub use entry::{Entry, EntryRef, Gap};
pub use error::RecordError;
pub use folder::{Folder, Part, Term};
pub use head::{About, VERSION};
pub use player::{Difference, Played, Player};
pub use reader::{Line, Read, Reader};
pub use recorder::{Counts, Recorder};
pub use taped::{Tape, Taped};
pub use writer::{MIN_LIMIT, Storage, Writer};
