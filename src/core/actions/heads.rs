//! Who heads a queue, and whose place is held for that.

use super::Agenda;
use crate::state::{ClusterState, GangId};
use muster_model::units::Millis;
use muster_model::{QueueOrder, Reservation};

/// So many of each queue's first may be such that no place can be found for them at all: the next one
/// counts as its head.
const HOPELESS: usize = 8;
/// So far down a queue's line its head is looked for.
const LOOKS: usize = 256;
/// After how long a place is held for a gang although nobody knows when it will be free; `None`: its
/// place is not reserved at all.
pub(super) fn patience(state: &ClusterState, agenda: &Agenda, gang_id: GangId) -> Option<Millis> {
    let gang = &state[gang_id];
    let grows = gang.missing() == 0 && agenda.note(gang_id).admitted;
    if grows
        || gang.lifetime.is_zero()
        || gang.is_partly_bound()
        || !heads_its_queue(state, agenda, gang_id)
    {
        return None;
    }
    let queue = state.queues().get(gang.queue?)?.spec.as_ref()?;
    // Where nobody passes the head but by backfill, its place is held from the start.
    let patience = match queue.order {
        QueueOrder::Fifo => Millis(0),
        QueueOrder::Priority => queue.reserve_after,
    };
    (queue.reservation != Reservation::None).then_some(patience)
}

/// Whether gangs past their lifetime have to go for a gang, of whatever queue: it heads its queue, so
/// what they hold is promised to it.
pub(super) fn may_clear_its_place(state: &ClusterState, agenda: &Agenda, gang_id: GangId) -> bool {
    patience(state, agenda, gang_id).is_some()
}

/// Whether a gang is the first of its queue's line, but for those that nothing can help. One that
/// gives way at any time does not count: what it got it could not keep, and two of them could have each
/// other go for ever.
pub(super) fn heads_its_queue(state: &ClusterState, agenda: &Agenda, gang_id: GangId) -> bool {
    let Some(queue) = state[gang_id].queue else {
        return false;
    };
    let lasts = |gang: &GangId| !state[*gang].lifetime.is_zero();
    let line = agenda.line(queue).take(LOOKS);
    let mut line = line.filter(lasts).take(HOPELESS);
    line.find(|gang| *gang == gang_id || !agenda.note(*gang).search.hopeless) == Some(gang_id)
}
