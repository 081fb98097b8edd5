//! Sharing members out over places with room: over as few as can be, or as a profile's order wants it.

use super::capacity::Capacity;
use crate::framework::Inside;
use crate::state::{DomainId, Tree};
use std::cmp::Reverse;

/// Shares members out over the narrowest domains of one, so that as few as can be are used, or as an order
/// wants it.
pub(super) fn share_out(
    tree: &Tree,
    room: &Capacity,
    id: DomainId,
    members: u64,
    order: Option<Inside>,
    parts: &mut Vec<(DomainId, u64)>,
) {
    let inner = tree.inside(id).map(|id| (room.of_domain(id), id));
    let inner: Vec<(u64, DomainId)> = inner.collect();
    if inner.is_empty() {
        parts.push((id, members));
        return;
    }
    let shares = match order {
        Some(Inside::MostRoomFirst) => most_room_first(inner, members),
        _ => fill(inner, members),
    };
    let mut left = members;
    for (id, members) in shares {
        share_out(tree, room, id, members, order, parts);
        left -= members;
    }
    // What is left goes to nodes that are in none of the narrower domains.
    if left > 0 {
        parts.push((id, left));
    }
}

/// Shares members out over places with so much room, those with the most first.
fn most_room_first<I: Copy + Ord>(mut places: Vec<(u64, I)>, members: u64) -> Vec<(I, u64)> {
    places.sort_unstable_by_key(|(room, id)| (Reverse(*room), *id));
    let mut left = members;
    let shares = places.into_iter().map(|(room, id)| {
        let share = room.min(left);
        left -= share;
        (id, share)
    });
    shares.filter(|(_, share)| *share > 0).collect()
}

/// Shares members out over places with so much room, so that as few as can be are used: what fills one
/// fills it, and what is left goes where least is left over.
pub(super) fn fill<I: Copy + Ord>(mut places: Vec<(u64, I)>, members: u64) -> Vec<(I, u64)> {
    // The largest first, of equals the one with the lowest id.
    places.sort_unstable_by_key(|(room, id)| (Reverse(*room), *id));
    let (mut left, mut parts) = (members, Vec::new());
    for at in 0..places.len() {
        if left == 0 {
            break;
        }
        let enough = places[at..].partition_point(|(room, _)| *room >= left);
        if enough > 0 {
            // The smallest that is enough; of equals the first.
            let smallest = places[at + enough - 1].0;
            let first = places[at..].iter().find(|(room, _)| *room == smallest);
            parts.extend(first.map(|(_, id)| (*id, left)));
            break;
        }
        let (all, id) = places[at];
        parts.push((id, all));
        left -= all;
    }
    parts
}
