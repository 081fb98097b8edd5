//! Making room for a gang by taking others off their nodes (source: mission, "Preemption").
//!
//! Plan first, act only when the whole gang has a place: inside a `Statement` those who leave
//! already are thought away, then those who would have to go, least harm first, until the gang's
//! `Demand` fits; then whoever is not in the way after all is put back. The gang's place is held
//! for it (its pods are *nominated*) while they leave. If that comes to nothing, because one of
//! them may not be deleted or a node dies, the plan is made anew, and who leaves already counts.

mod budgets;
mod by_node;
mod ghosts;
mod judge;
mod plan;
mod shares;
mod spared;
mod surplus;
mod unit;
mod victims;

pub(super) use budgets::Spending;
pub use judge::{Asker, Claim, Judge, Verdict};
use muster_model::RoomNote;
use muster_model::explanation::{Asked, Lost};
use muster_model::units::Doubling;

pub use spared::SparedGangs;
pub(crate) use surplus::surplus;

use super::claims::nominated::{give_up, give_way, nominate};
use super::given::{Given, ask_for_room};
use super::leaving::leaving;
use super::partial::repairs_until;
use super::{Cycle, release};
use crate::fairness::Blocked;
use crate::framework::Preemption;
use crate::placement::Room;
use crate::state::{Eviction, GangId, PodId};
use muster_model::units::{Millis, Time};
use muster_model::{Evict, EvictCause, Why, counted};
use plan::{NoPlan, Plan};
use std::collections::BTreeSet;
use std::sync::Arc;
use unit::Unit;
use victims::{Candidates, count};

/// How many plans are made in one cycle; who finds none left is looked at in the next.
const MAX_PLANS: u64 = 8;
/// Only so many of each queue have plans made at a time: who is behind them waits until a place is held for
/// one of these.
pub(crate) const HEADS: u32 = 8;
/// So often others are sent away in vain for a gang; then it waits before that is done again,
const IN_VAIN: u32 = 3;
/// for so long, longer each time.
const PAUSES: Doubling = Doubling {
    first: Millis(1_000),
    longest: Millis(600_000),
};
/// So many of those who go are noted by name.
const MAX_NAMES: usize = 5;

/// A PodDisruptionBudget: its namespace and its name.
type Budget = (String, String);

/// Makes room for a gang that found none, if others may be taken off their nodes for it. Says so; or who does not
/// give it that room.
pub(super) fn make_room(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    given: &mut Given,
) -> Option<Result<Why, Blocked>> {
    let gang = &cx.state[gang_id];
    // Who is in part is whole again or gone in a moment; but for one that is repaired there is time.
    let in_time = !gang.is_partly_bound() || repairs_until(cx.state, cx.agenda, gang_id).is_some();
    let starts = gang.missing() > 0 || !cx.agenda.note(gang_id).admitted;
    if !starts || !in_time {
        return None;
    }
    let note = match look_for_room(cx, gang_id) {
        Ok(plan) => {
            if let Err(blocked) = ask_for_room(cx, gang_id, &plan.room, given) {
                give_up(cx, gang_id);
                return Some(Err(blocked));
            }
            cx.agenda.note_mut(gang_id).search.room = Some(RoomNote::Found);
            return Some(Ok(carry_out(cx, gang_id, &plan)));
        }
        Err(note) => note?,
    };
    cx.agenda.note_mut(gang_id).search.room = Some(note);
    cx.orders.room.note(note);
    None
}

/// Looks for room; `None` where what was found before still holds.
fn look_for_room(cx: &mut Cycle<'_>, gang_id: GangId) -> Result<Plan, Option<RoomNote>> {
    let held = cx.claims.nominated.contains(&gang_id);
    let queue = cx.state.queue_of(gang_id);
    if !held
        && !cx
            .agenda
            .askers(cx.claims, queue, HEADS)
            .any(|one| one == gang_id)
    {
        cx.agenda.note_mut(gang_id).search.by_node = None;
        return Err(Some(RoomNote::Behind));
    }
    let mark = cx.state.nodes().mark();
    let known = cx.agenda.note(gang_id).search.planned;
    let known = known.is_some_and(|(of, until)| of == mark && cx.now < until);
    if known && !held {
        return Err(None);
    }
    if cx.state.never_preempts(gang_id) {
        if preempts_by_node(cx, gang_id) {
            say(cx, gang_id, by_node::NEVER.to_owned());
        }
        return Err(Some(RoomNote::Never));
    }
    if cx.orders.room.plans >= MAX_PLANS {
        cx.agenda.at(cx.now, gang_id);
        return Err(Some(RoomNote::Postponed));
    }
    cx.orders.room.plans += 1;
    spare_who_may_not_go(cx, gang_id);
    let found = victims::candidates(cx, gang_id);
    cx.orders.room.spared_too_often += found.too_often;
    let leaving = leaving(cx.state, cx.agenda);
    let by_node = preempts_by_node(cx, gang_id);
    let plan = if let Some(plan) = plan::that_stands(cx, gang_id, &leaving) {
        if by_node {
            say(cx, gang_id, by_node::STANDS.to_owned());
        }
        Ok(plan)
    } else if cx.now < cx.agenda.note(gang_id).search.send_again {
        give_up(cx, gang_id);
        let again = cx.agenda.note(gang_id).search.send_again;
        cx.agenda.at(again, gang_id);
        return Err(Some(RoomNote::Postponed));
    } else if by_node {
        let found = by_node::find(cx, gang_id, &leaving, &found.units);
        found.map_or(Err(NoPlan::Impossible), |found| {
            say(cx, gang_id, found.words);
            found.plan
        })
    } else if found.units.is_empty() && found.beyond.is_empty() && leaving.is_empty() {
        Err(NoPlan::Impossible)
    } else {
        find_plan(cx, gang_id, &leaving, &found)
    };
    let chosen = plan.as_ref().map_or(&[][..], |plan| &plan.victims);
    let asked = asked(cx, chosen, leaving.len(), &found);
    if plan.is_err() {
        look_again(cx, gang_id, mark, found.next);
    }
    cx.agenda.note_mut(gang_id).search.asked = Some(Box::new(asked));
    plan.map_err(|why| {
        Some(match why {
            NoPlan::Impossible => RoomNote::Impossible,
            NoPlan::CutShort => RoomNote::CutShort,
        })
    })
}

/// Whether room is made for it as kube-scheduler does.
fn preempts_by_node(cx: &Cycle<'_>, gang_id: GangId) -> bool {
    cx.state[gang_id].is_single() && cx.profile_of(gang_id).preemption == Preemption::ByNode
}

/// Notes what kube-scheduler would say of it.
fn say(cx: &mut Cycle<'_>, gang_id: GangId, words: String) {
    cx.agenda.note_mut(gang_id).search.by_node = Some(words.into());
}

/// Who goes, who else might have had to, and why the others keep their places.
fn asked(cx: &Cycle<'_>, chosen: &[Unit], leaving: usize, found: &Candidates) -> Asked {
    let pods = |units: &[Unit]| units.iter().map(|unit| unit.pods.len()).sum::<usize>();
    let gangs: BTreeSet<GangId> = chosen.iter().map(|unit| unit.gang).collect();
    let gangs = gangs.into_iter().take(MAX_NAMES);
    let first = found.units.first().or(found.beyond.first());
    Asked {
        at: Some(cx.now),
        go: count(pods(chosen)),
        go_of: gangs.map(|gang| cx.state.gang_title(gang)).collect(),
        may_go: count(pods(&found.units) + pods(&found.beyond)),
        example: first.map(|unit| cx.state.gang_title(unit.gang)),
        leaving: count(leaving),
        spared: found.spared.told(),
        foreign: cx.state.foreign_pods(),
        ..Asked::default()
    }
}

/// A plan with those first who leave their queues over their shares, else with any of them, as long
/// as that comes to the same.
fn find_plan(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    leaving: &BTreeSet<PodId>,
    found: &Candidates,
) -> Result<Plan, NoPlan> {
    let first = plan::find(cx, gang_id, leaving, &found.units);
    if first.is_ok() || found.beyond.is_empty() {
        return first;
    }
    let all = plan::find(cx, gang_id, leaving, &found.all())?;
    if found.shares.allow(cx.state, &all.victims) {
        Ok(all)
    } else {
        Err(NoPlan::CutShort)
    }
}

/// Orders the evictions, and holds the place.
fn carry_out(cx: &mut Cycle<'_>, gang_id: GangId, plan: &Plan) -> Why {
    let queue = cx.state.queue_name(gang_id).to_owned();
    let violated = violations(cx, &plan.victims);
    let whole: BTreeSet<GangId> = plan
        .victims
        .iter()
        .filter(|one| one.whole)
        .map(|one| one.gang)
        .collect();
    if !plan.victims.is_empty() {
        note_sent_away(cx, gang_id);
    }
    for (unit, violated) in plan.victims.iter().zip(&violated) {
        if unit.whole || !whole.contains(&unit.gang) {
            let title = cx.state.gang_title_for(unit.gang, gang_id);
            let violated = in_violation_of(violated, &cx.state[unit.gang].key.namespace);
            let message = format!("preempted for {title} of queue {queue}{violated}");
            let message: Arc<str> = message.into();
            send_away(cx, gang_id, unit, &message);
        }
    }
    for displaced in &plan.displaced {
        give_way(cx, *displaced);
    }
    let why = take_place(cx, gang_id, &plan.room);
    cx.orders.room.found += u64::from(!plan.victims.is_empty());
    let all: BTreeSet<Budget> = violated.into_iter().flatten().collect();
    cx.orders.room.violations += u64::from(!all.is_empty());
    let violated = in_violation_of(&all, &cx.state[gang_id].key.namespace);
    Why::new(why.reason, &format!("{}{violated}", why.message))
}

/// Holds the place for a gang, and has the ghosts on its slots go.
pub(super) fn take_place(cx: &mut Cycle<'_>, gang_id: GangId, room: &Room) -> Why {
    ghosts::send_away(cx, gang_id, room);
    nominate(cx, gang_id, room);
    if preempts_by_node(cx, gang_id) {
        cx.agenda.note_mut(gang_id).history.nominates = true;
    }
    let nodes = room.nodes();
    let leave = cx.state.leaving_from(&nodes);
    let message = format!(
        "its place on {} is held for it until {} left",
        counted(nodes.len(), "node"),
        have_left(leave),
    );
    Why::new("Preempting", &message)
}

/// Others go for a gang. If it has not come to its place although others went for it before, something that
/// no plan sees takes that place, and those who go may be the same again and again: the next time is later,
/// and ever later.
fn note_sent_away(cx: &mut Cycle<'_>, gang_id: GangId) {
    let now = cx.now;
    let note = cx.agenda.note_mut(gang_id);
    note.search.sent_away = note.search.sent_away.saturating_add(1);
    if let Some(more) = note.search.sent_away.checked_sub(IN_VAIN) {
        note.search.send_again = now + PAUSES.after(more);
    }
}

fn have_left(pods: usize) -> String {
    match pods {
        1 => "1 pod has".to_owned(),
        _ => format!("{pods} pods have"),
    }
}

/// Takes one off its node.
fn send_away(cx: &mut Cycle<'_>, gang_id: GangId, unit: &Unit, message: &Arc<str>) {
    let (arrival, beneficiary) = (cx.state[gang_id].arrival, cx.state[gang_id].key.clone());
    let taken = &mut cx.agenda.note_mut(unit.gang).history.taken;
    let taken = taken.get_or_insert_default();
    if unit.whole {
        taken.note_whole(cx.now, arrival);
        let lost = unit.claim.map_or(Lost::Surplus, Lost::from);
        return release::preempt(cx, unit.gang, gang_id, lost, message);
    }
    taken.note_part(cx.now);
    for id in &unit.pods {
        if let Some(pod) = cx.state.pod(*id) {
            cx.orders.evictions.push(Evict {
                pod: pod.key.clone(),
                cause: EvictCause::Preemption,
                beneficiary: Some(beneficiary.clone()),
                message: Arc::clone(message),
                again: false,
            });
        }
        cx.state.set_eviction(*id, Eviction::Ordered);
    }
    let before = cx.agenda.note(unit.gang).history.disruption.as_ref();
    let same = before.filter(|one| one.at == cx.now && one.why == Lost::Surplus);
    let pods = same.map_or(0, |one| one.pods) + 1;
    release::note_disruption(cx, unit.gang, Some(gang_id), Lost::Surplus, pods);
    cx.orders.seen.insert(unit.gang);
}

/// Which PodDisruptionBudgets each of these takes too much of.
fn violations(cx: &Cycle<'_>, victims: &[Unit]) -> Vec<BTreeSet<Budget>> {
    let mut spending = Spending::new(cx.state);
    let owned = |(namespace, name): (&str, &str)| (namespace.to_owned(), name.to_owned());
    let spend = |unit: &Unit| spending.spend(&unit.pods).into_iter().map(owned).collect();
    victims.iter().map(spend).collect()
}

/// In words on an object of this namespace, which do not say what others have.
fn in_violation_of(budgets: &BTreeSet<Budget>, namespace: &str) -> String {
    let (own, others): (Vec<_>, Vec<_>) = budgets.iter().partition(|(of, _)| of == namespace);
    let own = own.iter().map(|(of, name)| format!("{of}/{name}"));
    let others = (!others.is_empty()).then(|| format!("{} of other namespaces", others.len()));
    let all: Vec<String> = own.chain(others).collect();
    let all = all.join(", ");
    match budgets.len() {
        0 => String::new(),
        1 => format!("; this violates PodDisruptionBudget {all}, and nothing else helps"),
        _ => format!("; this violates PodDisruptionBudgets {all}, and nothing else helps"),
    }
}

/// Lets those stay who were to make room for a gang and whom the API server does not let go.
fn spare_who_may_not_go(cx: &mut Cycle<'_>, gang_id: GangId) {
    let key = &cx.state[gang_id].key;
    let stuck = |id: &GangId| {
        let release = cx.agenda.note(*id).release();
        release.is_some_and(|one| one.beneficiary.as_ref() == Some(key) && one.stuck.is_some())
    };
    for id in cx.agenda.releasing().filter(stuck).collect::<Vec<_>>() {
        release::call_off(cx, id);
        cx.agenda.at(cx.now, id);
    }
}

/// Nobody can make room for the gang now: it is looked at again when the nodes change, or when the
/// next protection of somebody ends.
fn look_again(cx: &mut Cycle<'_>, gang_id: GangId, mark: u64, next: Option<Time>) {
    give_up(cx, gang_id);
    let next = next.filter(|at| *at > cx.now);
    if let Some(at) = next {
        cx.agenda.at(at, gang_id);
    }
    let until = next.unwrap_or(Time(u64::MAX));
    cx.agenda.note_mut(gang_id).search.planned = Some((mark, until));
}
