//! The commands: one file each.

pub mod bench;
pub mod run;
