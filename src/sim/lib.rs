//! The same scheduler on virtual time: a scenario is played against a simulated API server and
//! simulated kubelets, without a cluster, a network or a clock.
//!
//! [`scenario`] says what exists when; [`driver`] plays it; [`ledger`] keeps what happened. Normal
//! play is calm; [`network`] can also lose, delay and refuse, all from one seed.

pub mod brain;
mod disruption;
pub mod driver;
pub mod heap;
pub mod jobs;
pub mod lease;
pub mod ledger;
pub mod network;
pub mod outside;
pub mod page;
pub mod picture;
pub mod random;
pub mod recording;
pub mod report;
pub mod scenario;
pub mod server;
pub mod storage;
pub mod story;
pub mod usage;
mod whole;
