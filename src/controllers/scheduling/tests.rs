//! The rules of Schedulings, each by its name, in a small world; all that may happen in the smallest worlds;
//! and that any interleaving comes to rest.
#![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

mod model;
mod rules;
mod world;
