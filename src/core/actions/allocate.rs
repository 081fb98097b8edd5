//! Giving places: gang by gang in order, each as a whole or not at all.

use super::advise::{self, Advised};
use super::agenda::{Awaited, Block, Want};
use super::charges::note_charged;
use super::claims::{nominated, reserved, returning};
use super::company::{hope_by_others, wake_by_company};
use super::given::{Given, ask_for_room, ask_the_books, ask_the_queue, taken_by};
use super::next::queue_or_wait;
use super::notes::{Short, Stage};
use super::order::order_key;
use super::park::{park, park_without_room, want_of};
use super::{Cycle, admit, asks, finish, moves, preempt, reservation};
use crate::fairness::{Blocked, Contest};
use crate::framework::{Preemption, Profile, Reason};
use crate::placement::Confined;
use crate::placement::Demand;
use crate::placement::Diagnosis;
use crate::placement::Placer;
use crate::placement::Room;
use crate::placement::Shortage;
use crate::placement::line_up;
use crate::state::{ClusterState, Eased, GangId, Limit, NodeId, ShapeId, View};
use crate::transaction::{Checkpoint, Statement};
use muster_model::Why;
use muster_model::resources::Tally;
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A cycle ends after this many placements, so that orders leave and news come in.
const MAX_PLACEMENTS: u64 = 2_000;
/// A cycle ends after this many gangs were tried in vain.
const MAX_ATTEMPTS: u64 = 20_000;
/// A cycle ends after so many pods were thought away to find places in the future: some tens of milliseconds.
const MAX_THOUGHT_AWAY: usize = 100_000;

/// What this cycle already knows not to fit: by shape, by what room it may take and by how close
/// together it has to be, what came of the smallest gang that was tried. Within a cycle room is only
/// taken, so what did not fit will not; unless it waits for somebody to be near, who may have come.
type Refused = BTreeMap<(ShapeId, View, Option<Limit>), Known>;

/// What is known of a shape.
struct Known {
    /// The smallest number of members that did not fit.
    size: u32,
    /// Places given in the cycle by then: while there are no more, the counts are right, too.
    as_of: u64,
    /// What it hoped for of others who get a place.
    hope: u64,
    /// How many did fit, and what the nodes say to the next one.
    shortage: Arc<Shortage>,
}

/// Tries all queued gangs in order. Says whether it stopped at its bound with work left.
pub fn allocate(cx: &mut Cycle<'_>) -> bool {
    let mut refused = Refused::new();
    let mut contest = Contest::default();
    let before = cx.orders.attempts;
    cx.agenda.begin_choosing(cx.now);
    let more = try_all(cx, &mut refused, &mut contest, before);
    cx.state.show(View::OPEN);
    // Who was not tried after all says something else, too.
    cx.orders.seen.extend(cx.agenda.take_requeued());
    more
}

fn try_all(cx: &mut Cycle<'_>, refused: &mut Refused, contest: &mut Contest, before: u64) -> bool {
    loop {
        for (want, after) in cx.agenda.take_next() {
            cx.agenda
                .wake(cx.state, cx.claims.views(cx.now), want, after);
        }
        let Some(gang) = next_gang(cx, contest) else {
            // Who got a place may help others to one.
            if cx.state.take_pods_changed() && wake_by_company(cx) {
                continue;
            }
            return false;
        };
        let bound = cx.orders.placed >= MAX_PLACEMENTS
            || cx.orders.attempts >= before + MAX_ATTEMPTS
            || cx.orders.thought_away >= MAX_THOUGHT_AWAY
            || cx.placer.has_asked_enough();
        if bound {
            return true;
        }
        cx.orders.attempts += 1;
        try_gang(cx, gang, refused);
    }
}

/// Who is next: who has to be completed, else who has reserved a place that may be free, else the head of
/// the queue that is next.
fn next_gang(cx: &mut Cycle<'_>, contest: &mut Contest) -> Option<GangId> {
    if let Some(urgent) = cx.agenda.first_urgent() {
        return Some(urgent);
    }
    if let Some(reserved) = reservation::next(cx) {
        return Some(reserved);
    }
    // With nobody to compare it with, a queue's standing is of no interest.
    if let Some(only) = cx.agenda.only_ready() {
        return cx.agenda.head_of(only);
    }
    for queue in cx.agenda.take_moved() {
        let head = cx.agenda.head_of(queue);
        let head = head.map(|gang| asks::amounts(cx.state, cx.agenda, gang));
        contest.update(cx.state, queue, head);
    }
    cx.agenda.head_of(contest.first()?)
}

/// Why a gang got no place.
enum Refusal {
    /// Its members do not fit.
    Shortage(Shortage),
    /// Something else that is about this gang alone.
    Own(Why),
    /// Those who have a place take more than its queue was asked for: this much.
    More(Tally),
    /// Ghosts are on the slots of those who have a place.
    Ghosts(Room),
}

/// Tries one gang. Leaves it anywhere but in the queue, unless it got something and may grow.
fn try_gang(cx: &mut Cycle<'_>, gang_id: GangId, refused: &mut Refused) {
    cx.orders.seen.insert(gang_id);
    cx.claims.has_its_turn(gang_id);
    let (now, note) = (cx.now, cx.agenda.note_mut(gang_id));
    note.history.tried_at = Some(now);
    note.forget_try();
    let mut given = match ask_the_queue(cx, gang_id) {
        Ok(given) => given,
        Err(blocked) => return hold_back(cx, gang_id, &blocked),
    };
    if !cx.agenda.note(gang_id).admitted {
        return try_to_admit(cx, gang_id, given);
    }
    match advise::advise(cx, gang_id) {
        Advised::Waits(why) => return advise::wait_for_answers(cx, gang_id, why),
        advised => {
            cx.agenda.note_mut(gang_id).asking_since = None;
            if let Advised::Fails(why) = advised {
                return park(cx, gang_id, why);
            }
        }
    }
    let view = reservation::view_of(cx, gang_id);
    cx.state.show(view);
    let want = want_of(cx, gang_id, view);
    if let Some(want) = want
        && let Some(known) = refused.get(&(want.shape, view, want.limit))
        && want.size >= known.size
        && known.hope == hope_by_others(cx.state, want.shape)
    {
        let shortage = known.shortage_of(cx, gang_id, want);
        note_shortage(cx, gang_id, &shortage, &Arc::clone(&known.shortage));
        let why = |state: &ClusterState| explain(state, gang_id, &shortage);
        return find_room_later(cx, gang_id, given, why);
    }
    let mut placed = place(cx, gang_id, &given);
    if let Err(Refusal::More(taken)) = placed {
        // Others than those who would be first have a place.
        given.charge = match ask_the_books(cx, gang_id, &taken) {
            Ok(charge) => charge,
            Err(blocked) => return hold_back(cx, gang_id, &blocked),
        };
        given.amounts = Some(taken);
        placed = place(cx, gang_id, &given);
    }
    match placed {
        Ok(()) => {
            if given.charge > 0 {
                cx.state.charge_budget(gang_id, given.charge);
            }
            note_charged(cx, gang_id);
            cx.agenda.seated(gang_id);
        }
        Err(Refusal::Own(why)) => park(cx, gang_id, why),
        Err(Refusal::Ghosts(room)) => {
            if let Err(blocked) = ask_for_room(cx, gang_id, &room, &mut given) {
                return hold_back(cx, gang_id, &blocked);
            }
            let why = preempt::take_place(cx, gang_id, &room);
            await_leaving(cx, gang_id, given.charge);
            park_without_room(cx, gang_id, None, why);
        }
        // It was asked for what they take.
        Err(Refusal::More(_)) => {
            let why = Why::new(
                "QueueLimit",
                "what its members take changes while they are placed",
            );
            park(cx, gang_id, why);
        }
        Err(Refusal::Shortage(shortage)) => {
            let shortage = Arc::new(shortage);
            note_shortage(cx, gang_id, &shortage, &shortage);
            let why = |state: &ClusterState| explain(state, gang_id, &shortage);
            find_room_later(cx, gang_id, given, why);
            if let Some(Want {
                shape, size, limit, ..
            }) = want
            {
                let known = Known {
                    size,
                    as_of: cx.orders.placed,
                    hope: hope_by_others(cx.state, shape),
                    shortage,
                };
                refused.insert((shape, view, limit), known);
            }
        }
    }
}

/// Lets a gang in if there is room for its members that are not there yet; what it can be tried for now comes
/// next. It is charged when it starts.
fn try_to_admit(cx: &mut Cycle<'_>, gang_id: GangId, given: Given) {
    cx.state.show(reservation::view_of(cx, gang_id));
    match admit::admit(cx, gang_id) {
        Ok(()) => {
            cx.claims.nominated.remove(&gang_id);
            reserved::cancel(cx, gang_id);
            cx.agenda.seated(gang_id);
            queue_or_wait(cx, gang_id);
        }
        Err(why) => {
            find_room_later(cx, gang_id, given, |_| why);
            let note = cx.agenda.note_mut(gang_id);
            note.not_admitted.clone_from(&note.why);
        }
    }
}

/// Notes what a gang is short of. What the nodes said is the same for all who want the same.
fn note_shortage(cx: &mut Cycle<'_>, gang_id: GangId, own: &Shortage, shared: &Arc<Shortage>) {
    let Shortage {
        member,
        placed,
        needed,
        ..
    } = *own;
    cx.agenda.note_mut(gang_id).tried.short = Some(Short {
        member,
        placed,
        needed,
        found: Arc::clone(shared),
    });
}

/// A gang found no room: others make some for it, or its place is reserved, or it just waits. Why it found none is
/// put into words where somebody is told.
fn find_room_later(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    mut given: Given,
    why: impl FnOnce(&ClusterState) -> Why,
) {
    let leaving = preempt::make_room(cx, gang_id, &mut given);
    let leaving = leaving.or_else(|| moves::make_room(cx, gang_id, &mut given));
    let leaving = match leaving.transpose() {
        Ok(leaving) => leaving,
        Err(blocked) => return hold_back(cx, gang_id, &blocked),
    };
    let by_node = cx.agenda.note(gang_id).search.by_node.clone();
    let found_none = |state: &ClusterState| {
        let why = why(state);
        match &by_node {
            Some(words) => Why::new(why.reason, &format!("{} preemption: {words}", why.message)),
            None => why,
        }
    };
    let why = if let Some(leaving) = leaving {
        await_leaving(cx, gang_id, given.charge);
        match by_node.is_some() {
            true => Why::new(leaving.reason, &found_none(cx.state).message),
            false => leaving,
        }
    } else {
        let mut why = found_none(cx.state);
        reservation::renew(cx, gang_id);
        let kept_for = reservation::kept_for(cx, gang_id);
        if let Some(words) = reservation::in_words(cx, gang_id, kept_for.as_ref()) {
            why = Why::new(why.reason, &format!("{} ({words})", why.message));
        }
        cx.agenda.note_mut(gang_id).tried.kept_for = kept_for.map(|(_, kept_for)| kept_for);
        if reservation::holds_its_queue(cx, gang_id) {
            return block(cx, gang_id, why, Awaited::Room, true, None);
        }
        why
    };
    // Who has room held for it wants what nobody else does.
    let want = want_of(cx, gang_id, reservation::view_of(cx, gang_id));
    park_without_room(cx, gang_id, want, why);
}

/// A place is held for a gang until others have left it.
fn await_leaving(cx: &mut Cycle<'_>, gang_id: GangId, charge: u128) {
    // What it is charged it is charged from then on.
    if cx.agenda.note(gang_id).admitted {
        cx.state.charge_budget(gang_id, charge);
        note_charged(cx, gang_id);
    }
    reserved::cancel(cx, gang_id);
}

/// Leaves a gang at the head of its queue, of which nobody is tried before the books change; one that
/// has begun and wants more, or that asks for more than the queue may ever give, stands in nobody's way.
fn hold_back(cx: &mut Cycle<'_>, gang_id: GangId, blocked: &Blocked) {
    let why = super::quota_words::why(cx.state, cx.state.queue_of(gang_id), blocked);
    let note = cx.agenda.note_mut(gang_id);
    note.tried.held_back = Some(blocked.clone());
    let admitted = note.admitted;
    if !admitted {
        note.not_admitted = Some(why.clone());
    }
    reserved::cancel(cx, gang_id);
    if cx.claims.nominated.contains(&gang_id) {
        nominated::give_up(cx, gang_id);
    }
    let gang = &cx.state[gang_id];
    let has_begun = gang.missing() == 0 || gang.has_to_be_completed();
    let apart = match blocked.by {
        Some(queue) if blocked.for_good => Some(Eased::Terms(queue)),
        by if admitted && has_begun => Some(Eased::Use(by)),
        _ => None,
    };
    if let Some(eased) = apart {
        cx.agenda.hold_apart(eased, gang_id);
        // What is remembered of its queue decays.
        if let Some(until) = blocked.until {
            cx.agenda.at(until, gang_id);
        }
        return park(cx, gang_id, why);
    }
    reservation::cancel_behind(cx, gang_id);
    let all = blocked.hold.holds_all() || cx.state[gang_id].lifetime.is_zero();
    let by = Awaited::Books(blocked.by);
    block(cx, gang_id, why, by, all, blocked.until);
}

/// Leaves a gang in the queue, and all behind it with it, until something changes.
fn block(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    why: Why,
    by: Awaited,
    all: bool,
    until: Option<Time>,
) {
    cx.agenda.note_mut(gang_id).why = Some(why);
    if let Stage::Queued(before) = cx.agenda.note(gang_id).stage() {
        let from = order_key(cx, gang_id);
        if from.lane != before.lane {
            // Room that was promised to it is so no more.
            cx.agenda.set_stage(cx.state, gang_id, Stage::Queued(from));
        }
        let block = Block {
            from,
            by,
            all,
            until,
        };
        let before = cx.agenda.block(from.queue, block);
        // What it was told is not what it waits for any more.
        let there = |gang: &GangId| cx.state.gang(*gang).is_some();
        cx.orders.seen.extend(before.filter(there));
    }
}

/// Places members of a gang, which together take no more than its queue gives it.
fn place(cx: &mut Cycle<'_>, gang_id: GangId, given: &Given) -> Result<(), Refusal> {
    let demand = if cx.state[gang_id].missing() > 0 {
        Demand::minimum(cx.state, gang_id)
    } else {
        Demand::surplus(cx.state, gang_id)
    };
    let profile = cx.profile_of(gang_id);
    let key = order_key(cx, gang_id);
    let room = match cx.claims.nominated.contains(&gang_id) {
        true => cx.state.nominations(gang_id),
        false => Vec::new(),
    };
    let mut statement = Statement::new(cx.state);
    let held = statement.lift_claims(gang_id);
    let start = statement.checkpoint();
    let shunned = &cx.agenda.note(gang_id).setbacks.shunned;
    let elsewhere = !shunned.is_empty()
        && cx
            .placer
            .place_without(&mut statement, profile, (gang_id, &demand), shunned);
    let elsewhere =
        elsewhere || take_the_node_it_is_meant_to_have(&mut statement, cx.placer, profile, gang_id);
    if !elsewhere {
        let found = cx.placer.place(&mut statement, profile, gang_id, &demand);
        found.map_err(Refusal::Shortage)?;
    }
    line_up(&mut statement, profile, gang_id);
    if given.amounts.is_some() {
        let placed = statement.assumed().map(|one| one.pod);
        let taken = taken_by(statement.state(), placed);
        if !given.covers(&taken) {
            return Err(Refusal::More(taken));
        }
    }
    if has_ghosts_to_send_away(&statement, start) {
        return Err(Refusal::Ghosts(Room::of(&statement, start)));
    }
    let committed = finish::reserve(statement, gang_id, profile).map_err(Refusal::Own)?;
    let placed = committed.assumed().count();
    if placed == 0 {
        let why = Why::new("NotEnoughPods", "no member is left to be placed");
        return Err(Refusal::Own(why));
    }
    let on: BTreeSet<NodeId> = committed.assumed().map(|one| one.node).collect();
    if let Some(held) = held {
        let came_to: Vec<NodeId> = on.iter().copied().collect();
        cx.state.hold_the_rest(gang_id, held, &came_to);
    }
    let onto_kept = reservation::onto_kept(cx, gang_id, key, &on);
    cx.orders.onto_kept.extend(onto_kept);
    if cx.claims.nominated.remove(&gang_id) {
        // It may have found another place than was held for it.
        cx.state.note_room(room.into_iter().map(|(_, node)| node));
    }
    reserved::cancel(cx, gang_id);
    returning::drop_hold(cx, gang_id);
    cx.orders.placed += placed as u64;
    finish::begin(cx, gang_id, committed).map_err(Refusal::Own)
}

/// Whether ghosts are on the slots of those who were placed since then.
fn has_ghosts_to_send_away(statement: &Statement<'_>, since: Checkpoint) -> bool {
    let state = statement.state();
    let mut placed = statement.assumed_since(since);
    placed.any(|step| {
        let slot = state.slot_of(step.pod).and_then(|slot| state.slot(slot));
        slot.is_some_and(|slot| slot.ghost().is_some())
    })
}

/// Puts a pod without a gang on the node that its `status.nominatedNodeName` names, if it fits there, whatever
/// others score (source: kube-scheduler's `evaluateNominatedNode`; an autoscaler may have made the node for
/// it).
fn take_the_node_it_is_meant_to_have(
    statement: &mut Statement<'_>,
    placer: &mut Placer,
    profile: &Profile,
    gang_id: GangId,
) -> bool {
    let state = statement.state();
    let gang = &state[gang_id];
    if profile.preemption != Preemption::ByNode || !gang.is_single() {
        return false;
    }
    let pod_id = gang.pending.different().next();
    let meant = pod_id.and_then(|id| {
        let pod = state.pod(id)?;
        let node = state.nodes().find(pod.facts.wishes.as_deref()?)?;
        (!pod.avoid.contains(&node)).then_some((id, node))
    });
    let Some((pod, node)) = meant else {
        return false;
    };
    let fits = placer.fits(state, profile, pod, node);
    if fits {
        statement.assume(pod, node);
    }
    fits
}

impl Known {
    /// The shortage of another gang of this shape, in its own words: its own member, and counts
    /// only while they are right.
    fn shortage_of(&self, cx: &mut Cycle<'_>, gang_id: GangId, want: Want) -> Shortage {
        let exact = self.as_of == cx.orders.placed;
        // The same as if it had been tried itself: its words hang on what is, not on who was first.
        let placed = exact.then_some(self.shortage.placed).flatten();
        let member = cx.state[gang_id].pending.after(placed.unwrap_or(0));
        let diagnosis = if exact {
            self.shortage.diagnosis.clone()
        } else {
            let profile = cx.profile_of(gang_id);
            member.and_then(|first| cx.placer.explain(cx.state, profile, first))
        };
        Shortage {
            member,
            placed,
            needed: want.size,
            diagnosis,
            confined: self.shortage.confined.clone(),
        }
    }
}

/// ` in one rack of Topology fabric, the most in rack=r7`.
fn in_words(confined: &Confined, some_run: bool) -> String {
    match &confined.closest {
        Some(closest) => format!(" {}, the most {closest}", confined.to),
        None if some_run => format!(" {}: no such place has all who run already", confined.to),
        None => format!(" {}: no node is in one", confined.to),
    }
}

/// In words why no place was found.
fn explain(state: &ClusterState, gang_id: GangId, shortage: &Shortage) -> Why {
    let nodes = state.nodes().present().len();
    let (placed, needed) = (shortage.placed, shortage.needed);
    let Some(pod) = shortage.member.and_then(|id| state.pod(id)) else {
        let placed = placed.unwrap_or(0);
        return Why::new(
            "NotEnoughPods",
            &format!("{placed} of {needed} pods could be placed, and there are no more"),
        );
    };
    let histogram = match &shortage.diagnosis {
        Some(diagnosis) => diagnosis.message(state.dimensions()),
        None => format!("0/{nodes} nodes are available."),
    };
    let closest = shortage
        .diagnosis
        .as_ref()
        .and_then(|one| one.closest_fit(state));
    let mut hints = closest.map_or_else(String::new, |words| format!(" ({words})"));
    let short = shortage.diagnosis.iter().flat_map(|one| one.reasons.keys());
    let short = short.filter_map(|reason| match reason {
        Reason::Insufficient(dimension) => Some(*dimension),
        _ => None,
    });
    hints.push_str(&admit::held_in_words(state, gang_id, short));
    let avoids = |one: &&Diagnosis| one.reasons.contains_key(&Reason::BindRefused);
    if shortage.diagnosis.as_ref().filter(avoids).is_some()
        && let Some(setback) = &pod.setback
    {
        let what = match setback.refused {
            true => "the last refusal",
            false => "the last bind failed",
        };
        hints.push_str(&format!(" ({what}: {})", setback.message));
    }
    let single = state.gang(gang_id).is_none_or(|gang| gang.is_single());
    if single {
        return Why::new("Unschedulable", &format!("{histogram}{hints}"));
    }
    let name = &pod.key.name;
    let gang = state.gang(gang_id);
    let some_run = gang.is_some_and(|gang| gang.counts().placed() > 0);
    let confined = shortage
        .confined
        .as_deref()
        .map(|confined| in_words(confined, some_run))
        .unwrap_or_default();
    let head = match placed {
        Some(placed) => format!("{placed} of {needed} members fit{confined}; pod {name}"),
        None => format!("not all of {needed} members fit{confined}; pod {name}"),
    };
    Why::new("Unschedulable", &format!("{head}: {histogram}{hints}"))
}
