//! Where a gang stands in the order.

use super::Cycle;
use super::notes::{Lane, MAX_RANKS, OrderKey, Stage};
use crate::state::GangId;

/// Where a gang stands in the order.
pub(super) fn order_key(cx: &Cycle<'_>, gang_id: GangId) -> OrderKey {
    let gang = &cx.state[gang_id];
    let lane = if gang.has_to_be_completed() {
        Lane::Urgent
    } else if cx.claims.nominated.contains(&gang_id) {
        Lane::Promised
    } else if gang.lifetime.is_zero() {
        Lane::Free
    } else {
        Lane::Charged
    };
    let mut ranks = [0; MAX_RANKS];
    for (rank, plugin) in ranks.iter_mut().zip(&cx.profiles.first().queue_sort) {
        *rank = plugin.rank(cx.state, gang);
    }
    OrderKey {
        ranks,
        arrival: gang.arrival,
        gang: gang_id,
        queue: cx.state.queue_of(gang_id),
        lane,
    }
}

/// Puts a gang into the queue, at the place where it stands now.
pub(super) fn queue(cx: &mut Cycle<'_>, gang_id: GangId) {
    let key = order_key(cx, gang_id);
    cx.agenda.set_stage(cx.state, gang_id, Stage::Queued(key));
}
