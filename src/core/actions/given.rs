//! What a gang's queue gives it: asked for what it would take, and again where others of its members have a place,
//! who take more.

use super::Cycle;
use crate::fairness::{self, Blocked};
use crate::placement::{Demand, Room};
use crate::state::{ClusterState, GangId, PodId};
use crate::transaction::Statement;
use muster_model::resources::Tally;

/// What a gang's queue gives it.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// What it is charged.
    pub(super) charge: u128,
    /// What it was asked for; `None`: whatever it takes.
    pub(super) amounts: Option<Tally>,
}

impl Given {
    /// Whether that is all of this, too.
    pub(super) fn covers(&self, taken: &Tally) -> bool {
        self.amounts
            .as_ref()
            .is_none_or(|most| is_within(taken, most))
    }
}

/// Whether its queue gives a gang what it asks for, as if nothing were held for it. One that has to be completed
/// was let in before, but for what its minimum was raised by.
pub(super) fn ask_the_queue(cx: &mut Cycle<'_>, gang_id: GangId) -> Result<Given, Blocked> {
    let (gang, note) = (&cx.state[gang_id], cx.agenda.note(gang_id));
    if gang.has_to_be_completed() && gang.min_available() <= note.let_in {
        return Ok(Given::default());
    }
    let amounts = if note.admitted {
        Demand::amounts(cx.state, gang_id)
    } else {
        cx.state.room_wanted(gang_id)
    };
    if cx.claims.nominated.contains(&gang_id) {
        // It was let in when the room was found, and what is held counts already. Who takes it may be others by
        // now: of members that are known when they have a place, of such as are to come at once.
        let given = note.search.given.as_deref().cloned().unwrap_or_default();
        if note.admitted || is_within(&amounts, &given) {
            let queue = cx.state.queues().get(cx.state.queue_of(gang_id));
            return Ok(Given {
                charge: queue.map_or(0, |queue| queue.account.charge_of(gang_id)),
                amounts: Some(given),
            });
        }
    }
    let charge = ask_the_books(cx, gang_id, &amounts)?;
    // Of equal members all take the same, whichever have a place.
    let may_differ = cx.state[gang_id].pending.only_class().is_none();
    Ok(Given {
        charge,
        amounts: may_differ.then_some(amounts),
    })
}

/// Whether its queue gives a gang so much, as if nothing were held for it; what it is charged.
pub(super) fn ask_the_books(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    amounts: &Tally,
) -> Result<u128, Blocked> {
    if cx.claims.nominated.contains(&gang_id) {
        // It is charged for the room already.
        return cx.state.without_its_charge(gang_id, |state| {
            let mut statement = Statement::new(state);
            statement.lift_claims(gang_id);
            fairness::check(statement.state(), gang_id, amounts)
        });
    }
    let mut statement = Statement::new(cx.state);
    statement.hold_room(gang_id, None);
    fairness::check(statement.state(), gang_id, amounts)
}

/// Whether its queue gives a gang the room that was found for it, in which others may be than those for whom it
/// was asked.
pub(super) fn ask_for_room(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    room: &Room,
    given: &mut Given,
) -> Result<(), Blocked> {
    let mut taken = taken_by(cx.state, room.members.iter().map(|(pod, _)| *pod));
    room.held.values().for_each(|held| taken.add_all(held));
    if !given.covers(&taken) {
        given.charge = ask_the_books(cx, gang_id, &taken)?;
    }
    cx.agenda.note_mut(gang_id).search.given = Some(Box::new(taken));
    Ok(())
}

/// What these take together.
pub(super) fn taken_by(state: &ClusterState, pods: impl Iterator<Item = PodId>) -> Tally {
    let mut taken = Tally::default();
    for shape in pods.filter_map(|pod| state.shape_of(pod)) {
        taken.add(&shape.request);
    }
    taken
}

fn is_within(taken: &Tally, most: &Tally) -> bool {
    taken.iter().all(|(one, amount)| amount <= most.get(one))
}
