//! What gangs are charged against the budget of their queue.

use super::notes::ChargedBy;
use super::{Cycle, preempt};
use crate::fairness;
use crate::state::{GangId, QueueId};
use muster_model::resources::Tally;
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Charges gangs that were found running, by another process that is gone, what they were when they started:
/// in that order, each for what was beyond the share with those before it. So is charged anew whose queue,
/// lifetime or minimum is another than when it was charged.
pub fn charge_who_runs(cx: &mut Cycle<'_>, gangs: &BTreeSet<GangId>) {
    let mut due = Vec::new();
    for id in gangs {
        if cx.state.gang(*id).is_some_and(|gang| gang.holding > 0) {
            cx.state.resolve(*id);
            let terms = Some(ChargedBy::of(&cx.state[*id]));
            if cx.agenda.note(*id).charged != terms {
                due.push(*id);
            }
        }
    }
    if due.is_empty() {
        return;
    }
    // The shares are those of the queues that have work now.
    gangs.iter().for_each(|id| cx.state.resolve(*id));
    cx.state.settle();
    let found = |id: GangId| {
        let gang = cx.state.gang(id)?;
        Some((gang.started_at.unwrap_or(cx.now), gang.queue?, id))
    };
    let mut found: Vec<(Time, QueueId, GangId)> = due.into_iter().filter_map(found).collect();
    found.sort_unstable();
    let mut held: BTreeMap<QueueId, Tally> = BTreeMap::new();
    for (_, queue, id) in &found {
        let books = cx.state.queues().get(*queue);
        let books = books.map(|queue| queue.account.held.to_stay());
        let held = held.entry(*queue).or_insert(books.unwrap_or_default());
        if !cx.state[*id].lifetime.is_zero() {
            held.subtract_all(&cx.state[*id].in_use);
        }
    }
    for (_, queue, id) in found {
        note_found(cx, id);
        let before = held.entry(queue).or_default();
        let charge = fairness::charge_of_running(cx.state, id, before, &protected(cx, id));
        if !cx.state[id].lifetime.is_zero() {
            before.add_all(&cx.state[id].in_use);
        }
        cx.state.charge_budget(id, charge);
        let note = cx.agenda.note_mut(id);
        note.charged = Some(ChargedBy::of(&cx.state[id]));
    }
}

/// Whoever is found running was let in by a process before, on what its status says, or on what it asks for; but for
/// those who got a node from somebody else since this one has begun.
fn note_found(cx: &mut Cycle<'_>, id: GangId) {
    let (gang, note) = (&cx.state[id], cx.agenda.note_mut(id));
    if note.charged.is_some() {
        return;
    }
    let before = gang.recalled.let_in.as_ref();
    note.let_in = before.map_or_else(|| gang.min_available(), |let_in| let_in.min_available);
    if !cx.state.has_begun() {
        let asked = gang.definition().map(|spec| &spec.min_resources);
        let amounts = before.map(|let_in| &let_in.min_resources).or(asked);
        note.let_in_on = Some(amounts.cloned().unwrap_or_default());
    }
}

/// What a gang holds that its lifetime protects: members beyond its minimum may be taken back.
pub(super) fn protected(cx: &Cycle<'_>, id: GangId) -> Tally {
    let state = &*cx.state;
    let mut protected = state[id].in_use.clone();
    for (_, pod) in preempt::surplus(state, cx.agenda.note(id), &state[id]) {
        if let Some(shape) = state.shape_of(pod) {
            protected.subtract(&shape.request);
        }
    }
    protected
}

/// A gang that holds nothing any more gives its charge back; says whether it had one.
pub(super) fn keep_the_charge(cx: &mut Cycle<'_>, gang_id: GangId) -> bool {
    let ended = cx.state[gang_id].in_use == Tally::default();
    let note = cx.agenda.note_mut(gang_id);
    let ended = ended && note.charged.take().is_some();
    if ended {
        note.let_in = 0;
        if !cx.state.has_room_held(gang_id) {
            note.let_in_on = None;
        }
        cx.state.give_back_budget(gang_id);
    }
    ended
}

/// The same of those whose places were given back in this cycle: what that eases is looked at in the next.
pub fn end_charges(cx: &mut Cycle<'_>, gangs: &BTreeSet<GangId>) {
    for gang_id in gangs {
        if cx.state.gang(*gang_id).is_some() && keep_the_charge(cx, *gang_id) {
            cx.state.touch(*gang_id);
        }
    }
}

/// A gang is charged for what it gets, and has it on the terms that it asked for.
pub(super) fn note_charged(cx: &mut Cycle<'_>, gang_id: GangId) {
    cx.state.note_granted(gang_id);
    let gang = &cx.state[gang_id];
    let (terms, minimum) = (ChargedBy::of(gang), gang.min_available());
    let note = cx.agenda.note_mut(gang_id);
    note.charged = Some(terms);
    note.let_in = note.let_in.max(minimum);
}
