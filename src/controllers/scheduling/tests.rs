//! The rules of Schedulings, each by its name, in a small world; all that may happen in the smallest worlds;
//! and that any interleaving comes to rest.

mod model;
mod rules;
mod storms;
mod world;
