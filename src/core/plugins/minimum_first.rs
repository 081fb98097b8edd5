//! `MinimumFirst`: minima before surplus, and surplus in round robin.

use crate::framework::{Plugin, QueueSort};
use crate::state::{ClusterState, Gang};

/// A gang below its minimum goes before one that only wants to grow; of those that grow, the one
/// with the smallest surplus goes first.
#[derive(Debug)]
pub(super) struct MinimumFirst;

impl Plugin for MinimumFirst {
    fn name(&self) -> &'static str {
        "MinimumFirst"
    }
}

impl QueueSort for MinimumFirst {
    fn rank(&self, _: &ClusterState, gang: &Gang) -> i64 {
        if gang.missing() > 0 || gang.min_available() == 0 {
            return 0;
        }
        1 + i64::from(gang.available()) - i64::from(gang.min_available())
    }
}
