//! Digests of who holds room on a node: what is there once or not at all adds up to one number.

use super::ids::{GangId, Id, NodeId};
use super::slots::SlotId;
use muster_model::digest;
use muster_model::resources::{Dimension, Tally};

/// From this bit on a node's number stands beside a pod's edition.
const NODE_BIT: u32 = 40;

/// The digest of a pod on a node. Editions only grow, so that what is gone does not come back as another.
pub(super) fn held_by(node: NodeId, edition: u64) -> u64 {
    digest::of_number(edition ^ ((node.index() as u64) << NODE_BIT))
}

/// The same of room that is held for a gang's members that are not there yet.
pub(super) fn room_held_by(gang: GangId, node: NodeId, amounts: &Tally) -> u64 {
    let amounts: Vec<(Dimension, i64)> = amounts.iter().collect();
    digest::of(&(gang, node, amounts))
}

/// The same of what a slot takes of its node beside its pods; of nothing it is nothing.
pub(super) fn filler_of(slot: SlotId, node: NodeId, amounts: &Tally) -> u64 {
    let amounts: Vec<(Dimension, i64)> = amounts.iter().collect();
    if amounts.is_empty() {
        return 0;
    }
    digest::of(&(slot, node, amounts))
}
