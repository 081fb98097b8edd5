//! Testbeds, BatchJobs and Schedulings over HTTP, for schedulers that plan by themselves, and for people.
//!
//! What is shown comes from a book that watches fill ([`book`]); what is asked for is read and held to what is allowed
//! ([`wishes`]) and written by a [`Store`]; who asks may do what [`Access`] says they may. So all of it runs in
//! tests without a cluster; `cluster` has the book, the store and the access of a cluster.

pub mod book;
pub mod cluster;
mod counted;
pub mod desk;
mod earlier;
mod earlier_routes;
#[cfg(test)]
mod outside;
mod page;
mod routes;
mod stomp;
mod stream;
mod testbeds;
#[cfg(test)]
mod tests;
mod troubles;
pub mod views;
pub mod wishes;

pub use counted::show;
pub use desk::{Access, Desk, Later, Refusal, Store};
pub use routes::router;
