//! The built-in plugins, one file each, and the table that names them.
//!
//! To add one: a file here that implements a trait of [`super::framework`], and its line in
//! [`registry`].

mod allocated;
mod default_binder;
mod exclusive;
mod gang_members;
mod gang_selector;
mod inter_pod_affinity;
mod minimum_first;
mod node_affinity;
mod node_declared_features;
mod node_ports;
mod node_resources;
mod node_unschedulable;
mod one_profile;
mod packing;
mod priority;
mod queue_exists;
pub mod registry;
mod remote;
pub mod scoring;
mod slots;
mod submission;
mod supported_fields;
mod taints;
mod topology_exists;
mod topology_spread;
mod valid_definition;
mod volume_binding;
mod volume_limits;
mod volume_restrictions;
mod volume_zone;

pub use exclusive::keeps_apart;
pub use node_affinity::Added;
pub use packing::Weights;
pub use remote::{SLACK, join};
