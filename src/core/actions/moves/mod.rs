//! Defragmentation: running gangs are moved to other nodes when that lets a waiting gang run, and only
//! then (docs/placement.md, "Defragmentation").
//!
//! It is tried for the first of a queue's line after preemption has found nobody who could make room, and
//! only where the configuration says so. The plan is made in a `Statement`: the gangs that may be moved
//! are thought off their nodes, the waiting gang is placed by the search that everybody is placed by, who
//! is not in its way is put back, and each of the others is placed anew as a whole. Only if all of them
//! have a place is anybody moved. A gang's new place is held for it until its pods have been made again,
//! or for a bounded time.

mod search;
mod who;

use super::claims::{MoveLimits, Reserved, nominated, returning};
use super::given::{Given, ask_for_room};
use super::heads::heads_its_queue;
use super::preempt::Spending;
use super::{Cycle, release, reservation};
use crate::fairness::Blocked;
use crate::state::{GangId, NodeId, View};
use muster_model::RoomNote;
use muster_model::explanation::Lost;
use muster_model::units::Millis;
use muster_model::{Why, counted};
use search::Plan;
use std::collections::BTreeSet;

/// A gang that waits has a plan looked for no more often than this.
const PACE: Millis = Millis(5_000);
/// The same where no node has changed: who may be moved changes with time, too.
const AGAIN: Millis = Millis(30_000);

/// Moves others so that a gang that found no room has some, if that can be done. Says so; or who does not give it
/// that room.
pub(super) fn make_room(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    given: &mut Given,
) -> Option<Result<Why, Blocked>> {
    let limits = cx.claims.moves.limits?;
    if !may_benefit(cx, gang_id, &limits) {
        return None;
    }
    let mark = cx.state.nodes().mark();
    let looked = cx.agenda.note(gang_id).history.moves_looked;
    if let Some((of, at)) = looked {
        let again = at + if of == mark { AGAIN } else { PACE };
        if cx.now < again {
            cx.agenda.at(again, gang_id);
            return None;
        }
    }
    cx.agenda.note_mut(gang_id).history.moves_looked = Some((mark, cx.now));
    cx.agenda.at(cx.now + AGAIN, gang_id);
    let candidates = who::may_be_moved(cx, gang_id, &limits);
    if candidates.is_empty() {
        return None;
    }
    cx.claims.moves.counts.looked += 1;
    let own = cx.claims.reserved.get(&gang_id).map(Reserved::slot);
    cx.state.show(View::ALL.without(own));
    let plan = search::find(cx, gang_id, &candidates, limits.max_pods);
    cx.state.show(reservation::view_of(cx, gang_id));
    let plan = plan.filter(|plan| is_allowed(cx, plan))?;
    let asked = ask_for_room(cx, gang_id, &plan.room, given);
    Some(asked.map(|()| carry_out(cx, gang_id, &plan, &limits)))
}

/// Whether others may be moved for a gang now.
fn may_benefit(cx: &mut Cycle<'_>, gang_id: GangId, limits: &MoveLimits) -> bool {
    let gang = &cx.state[gang_id];
    let room = cx.agenda.note(gang_id).search.room;
    let in_vain = matches!(room, Some(RoomNote::Impossible | RoomNote::CutShort));
    if !in_vain
        || !cx.agenda.note(gang_id).admitted
        || gang.is_partly_bound()
        || cx.claims.nominated.contains(&gang_id)
        || !heads_its_queue(cx.state, cx.agenda, gang_id)
        || cx.state.never_preempts(gang_id)
    {
        return false;
    }
    let since = gang.submitted.unwrap_or(cx.now);
    let still = cx.agenda.note(gang_id).history.still_until;
    let last = cx.claims.moves.last.map(|at| at + limits.interval);
    let due = [Some(since + limits.after), still, last];
    let due = due.into_iter().flatten().max().unwrap_or(cx.now);
    if due > cx.now {
        cx.agenda.at(due, gang_id);
    }
    due <= cx.now
}

/// Whether a plan stays within all PodDisruptionBudgets, and its places can be held.
fn is_allowed(cx: &Cycle<'_>, plan: &Plan) -> bool {
    let pods: Vec<_> = plan
        .moved
        .iter()
        .flat_map(|one| one.pods.iter().copied())
        .collect();
    let within = Spending::new(cx.state).spend(&pods).is_empty();
    within && plan.moved.len() <= cx.claims.moves.slots_free().len()
}

/// Orders the evictions, and holds all places.
fn carry_out(cx: &mut Cycle<'_>, gang_id: GangId, plan: &Plan, limits: &MoveLimits) -> Why {
    let queue = cx.state.queue_name(gang_id).to_owned();
    let arrival = cx.state[gang_id].arrival;
    let rests_until = cx.now + limits.rest;
    let mut slots = cx.claims.moves.slots_free().into_iter();
    let mut titles = Vec::new();
    for one in &plan.moved {
        let nodes: BTreeSet<NodeId> = one.to.iter().map(|(_, node)| *node).collect();
        let title = cx.state.gang_title_for(one.gang, gang_id);
        let message = format!(
            "moved so that {title} of queue {queue} has room: it fits elsewhere as well, and its place on \
             {} is held for it for {}",
            counted(nodes.len(), "node"),
            limits.hold
        );
        titles.push(cx.state.gang_title(one.gang));
        if let Some(slot) = slots.next() {
            returning::hold(cx, one.gang, &one.to, slot, limits.hold);
        }
        let note = cx.agenda.note_mut(one.gang);
        note.history.still_until = Some(rests_until);
        note.history
            .taken
            .get_or_insert_default()
            .note_whole(cx.now, arrival);
        release::preempt(cx, one.gang, gang_id, Lost::Moved, &message);
    }
    let pods = plan.moved.iter().map(|one| one.pods.len()).sum::<usize>();
    let note = cx.agenda.note_mut(gang_id);
    note.history.still_until = Some(rests_until);
    note.search.room = Some(RoomNote::Found);
    if let Some(asked) = &mut note.search.asked {
        asked.go = u32::try_from(pods).unwrap_or(u32::MAX);
        asked.go_of.clone_from(&titles);
    }
    nominated::nominate(cx, gang_id, &plan.room);
    cx.claims.moves.last = Some(cx.now);
    let counts = &mut cx.claims.moves.counts;
    counts.plans += 1;
    counts.gangs += plan.moved.len() as u64;
    counts.pods += pods as u64;
    let nodes = plan.room.nodes();
    let first = plan.moved.first();
    let first = first.map(|one| cx.state.gang_title_for(gang_id, one.gang));
    let others = match titles.len() {
        1 => String::new(),
        more => format!(" and {} more", counted(more - 1, "gang")),
    };
    let message = format!(
        "its place on {} is held for it until {} of {}{others} {} moved elsewhere",
        counted(nodes.len(), "node"),
        counted(pods, "pod"),
        first.unwrap_or_default(),
        if pods == 1 { "has" } else { "have" },
    );
    Why::new("Preempting", &message)
}
