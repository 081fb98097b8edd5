//! Muster, a gang scheduler for Kubernetes.
//!
//! A pure core decides; everything else carries news in and orders out. Each room of the house is a
//! crate of its own (docs/architecture.md); this one shows them all under one name, to the binary, to
//! tests, and to whoever builds a scheduler with plugins of their own.

pub use muster_api as api;
pub use muster_bench as bench;
pub use muster_cli as cli;
pub use muster_cluster as cluster;
pub use muster_config as config;
pub use muster_controllers as controllers;
pub use muster_core as core;
pub use muster_external as external;
pub use muster_lint as lint;
pub use muster_live as live;
pub use muster_model as model;
pub use muster_playground as playground;
pub use muster_record as record;
pub use muster_serve as serve;
pub use muster_shadow as shadow;
pub use muster_sim as sim;
