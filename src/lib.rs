//! Muster, a gang scheduler for Kubernetes.
//!
//! A pure core decides; everything else carries news in and orders out.

pub mod api;
pub mod bench;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod core;
pub mod live;
pub mod serve;
pub mod sim;
