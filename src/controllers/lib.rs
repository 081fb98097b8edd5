//! Controllers as machines: what is observed in, writes with preconditions out, each answered once.
//!
//! No I/O, no clock, no threads: whoever drives a machine brings the news, sends what is due, and says
//! what came back. So a cluster and virtual time run the same ones. docs/controllers.md has the
//! protocol, and how to write another one.

mod all;
pub mod batch_job;
mod desk;
mod flights;
pub mod job;
mod machine;
pub mod queue_job;
mod ranges;
mod room;
mod said;
pub mod scheduling;
pub mod testbed;
#[cfg(test)]
mod testing;

pub use all::All;
pub use machine::{
    Answer, Deed, Definition, Machine, ObjectName, Observation, Other, Resource, Ticket, Write,
};
pub use room::{Room, UpTo};
