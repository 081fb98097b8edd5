//! The rules of QueueJobs, each by its name, in a small world; and that any interleaving comes to rest.
#![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

mod ends;
mod order;
mod rules;
mod storms;
mod world;
