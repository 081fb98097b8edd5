//! Since when a gang runs, and when others may have it leave.

use super::Cycle;
use super::agenda::{Agenda, Term};
use crate::state::{Gang, GangId, Standing};
use muster_model::Lifetime;
use muster_model::units::{Millis, Time};

/// So long after the end of its lifetime a gang may end by itself, before a reservation has it go.
pub(super) const GRACE: Millis = Millis(1_000);

/// When a gang started: until the API server has said when it was bound, when that was decided.
pub(super) fn started_at(agenda: &Agenda, id: GangId, gang: &Gang) -> Option<Time> {
    gang.started_at.or(agenda.note(id).run.scheduled_at)
}

/// When a gang that has started is not protected any more; `None`: never.
pub(crate) fn ends_at(agenda: &Agenda, id: GangId, gang: &Gang) -> Option<Time> {
    match gang.lifetime {
        Lifetime::Unlimited => None,
        Lifetime::Limited(span) => Some(started_at(agenda, id, gang)? + span),
    }
}

/// Notes since when a gang holds nodes, when it will leave them, and by what others may have it go.
pub(super) fn note_term(cx: &mut Cycle<'_>, gang_id: GangId) {
    let gang = &cx.state[gang_id];
    let (counts, started) = (gang.counts(), cx.agenda.note(gang_id).run.scheduled_at);
    let on_its_way = counts.of(Standing::Assumed) > 0;
    let holds = counts.holding() > 0 || on_its_way || cx.state.has_room_held(gang_id);
    let term = holds.then(|| Term {
        start: started.unwrap_or(cx.now),
        end: ends_at(cx.agenda, gang_id, gang),
        queue: cx.state.queue_of(gang_id),
        priority: gang.priority,
        unsettled: on_its_way || gang.unsecured() > 0 || gang.secured() > gang.min_available(),
    });
    cx.agenda.note_term(gang_id, term);
}
