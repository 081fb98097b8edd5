//! From a place to a bind: Reserve, Permit, PreBind, Bind.
//!
//! A decision passes these points as a whole. At each a plugin may have it wait: for an answer from
//! outside, or, at Permit, for a word of its own. Then the decision is held with its places, others go
//! on, and it goes on when nobody holds it any more; or it is undone as a whole, and tried again later.

use super::Cycle;
use super::back_off::back_off_from_refusal;
use super::claims::{Hold, on_node};
use super::next::{held_back, queue_or_wait};
use super::notes::Stage;
use super::terms::note_term;
use crate::framework::{
    BindVerdict, MAX_WAIT, PermitVerdict, PreBindVerdict, Profile, Refusal, Spot, Spots,
    WaitingGang,
};
use crate::placement::Lost;
use crate::placement::neighbours_made_by;
use crate::state::{ClusterState, GangId, NodeId, PodId, SlotId};
use crate::transaction::{Asked, Assumed, Committed, Statement};
use muster_model::LostSums;
use muster_model::{AskedPlace, Bind, Inquiry, Point, Why, places_in_words};
use muster_model::{HeldPlace, Outcome, SpanKind};
use std::sync::Arc;

/// Has the plugins reserve what a gang's places need, and commits.
pub(super) fn reserve(
    mut statement: Statement<'_>,
    gang_id: GangId,
    profile: &Profile,
) -> Result<Committed, Why> {
    if let Err(no) = statement.reserve(gang_id, profile) {
        let state = statement.state();
        return Err(refusal(state, &no.places, no.plugin, &no.refusal));
    }
    Ok(statement.commit())
}

/// Has a decision pass all points, as far as it gets now.
///
/// # Errors
/// Why it came to nothing: it is undone.
pub(super) fn begin(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    mut committed: Committed,
) -> Result<(), Why> {
    let asks = committed.take_asks();
    let mut hold = Hold::new(committed);
    ask(cx, gang_id, &mut hold, asks);
    go_through(cx, gang_id, hold)
}

/// Takes a decision from point to point, until it has to wait or is carried out.
fn go_through(cx: &mut Cycle<'_>, gang_id: GangId, mut hold: Hold) -> Result<(), Why> {
    loop {
        if hold.is_open() || cx.claims.waiting.get(gang_id).is_some() {
            keep(cx, gang_id, hold);
            return Ok(());
        }
        let passed = match hold.point {
            Point::Reserve => permit(cx, gang_id, &mut hold),
            Point::Permit => pre_bind(cx, gang_id, &mut hold),
            _ => match confirm(cx, &hold).and_then(|()| orders(cx, gang_id, &hold)) {
                Ok(orders) => {
                    carry_out(cx, gang_id, hold, orders);
                    return Ok(());
                }
                Err(why) => Err(why),
            },
        };
        if let Err(why) = passed {
            undo(cx, gang_id, hold);
            return Err(why);
        }
    }
}

/// Asks the permit plugins.
fn permit(cx: &mut Cycle<'_>, gang_id: GangId, hold: &mut Hold) -> Result<(), Why> {
    hold.point = Point::Permit;
    let profile = cx.profile_of(gang_id);
    if profile.permit.is_empty() {
        return Ok(());
    }
    let (places, mut asks) = (ids_of(hold), Vec::new());
    for plugin in &profile.permit {
        let spots = Spots::there(cx.state, gang_id, &places);
        let (waiting, plugin_name) = (&mut cx.claims.waiting, plugin.name());
        match plugin.permit(&spots, cx.now, waiting) {
            PermitVerdict::Allow => {}
            PermitVerdict::Wait(span) => {
                let until = cx.now + span.min(MAX_WAIT);
                let places = hold.places(cx.state);
                waiting.hold(gang_id, &places, plugin_name, until);
            }
            PermitVerdict::Ask(ask) => asks.push(Asked {
                plugin: plugin_name,
                ask,
            }),
            PermitVerdict::Deny(no) => {
                let places = hold.places(cx.state);
                return Err(refusal(cx.state, &places, plugin_name, &no));
            }
        }
    }
    if let Some(why) = rejection(cx, gang_id) {
        return Err(why);
    }
    ask(cx, gang_id, hold, asks);
    Ok(())
}

/// Lets every PreBind plugin agree.
fn pre_bind(cx: &mut Cycle<'_>, gang_id: GangId, hold: &mut Hold) -> Result<(), Why> {
    hold.point = Point::PreBind;
    let profile = cx.profile_of(gang_id);
    if profile.pre_bind.is_empty() {
        return Ok(());
    }
    confirm(cx, hold)?;
    let (places, mut asks) = (ids_of(hold), Vec::new());
    let spots = Spots::there(cx.state, gang_id, &places);
    for plugin in &profile.pre_bind {
        let plugin_name = plugin.name();
        match plugin.pre_bind(&spots) {
            PreBindVerdict::Agree => {}
            PreBindVerdict::Ask(ask) => asks.push(Asked {
                plugin: plugin_name,
                ask,
            }),
            PreBindVerdict::Refuse(no) => {
                let places = hold.places(cx.state);
                return Err(refusal(cx.state, &places, plugin_name, &no));
            }
        }
    }
    ask(cx, gang_id, hold, asks);
    Ok(())
}

/// The pods of a decision and their nodes, in its order.
fn ids_of(hold: &Hold) -> Vec<(PodId, NodeId)> {
    let steps = hold.committed.assumed();
    steps.map(|step| (step.pod, step.node)).collect()
}

/// Orders questions, and notes that the decision waits for their answers.
fn ask(cx: &mut Cycle<'_>, gang_id: GangId, hold: &mut Hold, asks: Vec<Asked>) {
    if asks.is_empty() {
        return;
    }
    let places = hold.places(cx.state);
    for asked in asks {
        let questions = &mut cx.claims.questions;
        let question = questions.word_about(&places, asked.ask.clone());
        questions.await_answer(question.id, gang_id);
        cx.orders.asks.push(Inquiry::Ask(question.clone()));
        hold.note(Arc::new(question), &asked, cx.now);
    }
}

/// Leaves a decision where it is, until somebody moves it.
fn keep(cx: &mut Cycle<'_>, gang_id: GangId, mut hold: Hold) {
    if !hold.has_waited() {
        hold.begin_to_wait(cx.state, gang_id);
        note_places(cx, &hold, true);
    }
    let waiting = cx.claims.waiting.get(gang_id).into_iter();
    let permits = waiting.flat_map(WaitingGang::held_by);
    let late_at = permits.map(|(_, until)| until).chain(hold.late_at());
    let until = late_at.min().unwrap_or(cx.now);
    let words = in_words(cx, gang_id, &hold);
    cx.agenda.note_mut(gang_id).why = Some(Why::new("Held", &words));
    cx.claims.held.insert(gang_id, hold);
    cx.agenda.set_stage(cx.state, gang_id, Stage::Held(until));
}

/// Notes for the plan that places are held, or let go.
fn note_places(cx: &mut Cycle<'_>, hold: &Hold, held: bool) {
    let after = cx.orders.binds.len();
    for step in hold.steps() {
        let Some(pod) = cx.state.pod(step.pod) else {
            continue;
        };
        let node = held.then(|| cx.state.nodes().name(step.node).to_owned());
        let pod = pod.key.clone();
        cx.orders.held.push(HeldPlace { pod, node, after });
    }
}

/// For whom a decision waits.
fn in_words(cx: &Cycle<'_>, gang_id: GangId, hold: &Hold) -> String {
    if let Some(words) = hold.in_words() {
        return words;
    }
    let Some(waiting) = cx.claims.waiting.get(gang_id) else {
        return "places are found".to_owned();
    };
    let plugin = waiting.held_by().next().map_or("", |(plugin, _)| plugin);
    let places = places_in_words(&waiting.places);
    format!("places are found, and Permit plugin {plugin} holds them: {places}")
}

/// Whether what is held of a gang is still right: every member is there, with them the gang is whole,
/// and nothing that the decision rests on has changed. Else its places are given back, and the gang is
/// judged anew.
pub(super) fn still_stands(cx: &mut Cycle<'_>, gang_id: GangId) -> bool {
    let stands = |hold: &Hold| hold.stands(cx.state, gang_id);
    if cx.claims.held.get(&gang_id).is_some_and(stands) {
        let gang = &cx.state[gang_id];
        let back = held_back(cx, gang, true).or_else(|| held_back(cx, gang, false));
        if back.is_none() {
            return true;
        }
    }
    give_up(cx, gang_id);
    false
}

/// Gives back what is held of a gang, which is judged anew.
pub(super) fn give_up(cx: &mut Cycle<'_>, gang_id: GangId) {
    if let Some(hold) = cx.claims.held.remove(&gang_id) {
        give_back(cx, gang_id, hold);
    }
    cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
}

/// Looks at all decisions of which somebody said something, or whose time is over.
pub fn go_on(cx: &mut Cycle<'_>) {
    loop {
        let mut moved = cx.claims.questions.take_settled();
        moved.extend(cx.claims.waiting.take_news());
        if moved.is_empty() {
            return;
        }
        for gang_id in moved {
            if matches!(cx.agenda.note(gang_id).stage(), Stage::Held(_)) {
                look_at(cx, gang_id);
            }
        }
    }
}

fn look_at(cx: &mut Cycle<'_>, gang_id: GangId) {
    cx.orders.seen.insert(gang_id);
    if !still_stands(cx, gang_id) {
        return queue_or_wait(cx, gang_id);
    }
    let Some(hold) = cx.claims.held.remove(&gang_id) else {
        return;
    };
    let nodes: Vec<NodeId> = hold.committed.assumed().map(|step| step.node).collect();
    let late = hold.refusal(cx.now);
    let late = late.or_else(|| permit_is_late(cx, gang_id));
    let came_of_it = match rejection(cx, gang_id).or(late) {
        Some(why) => {
            undo(cx, gang_id, hold);
            Err(why)
        }
        None => go_through(cx, gang_id, hold),
    };
    match came_of_it {
        Ok(()) => {}
        // What was in its way may be there when it is decided anew. And nothing here would tell that
        // somebody outside has changed their mind.
        Err(why) => {
            cx.state.note_room(nodes);
            cx.agenda.note_mut(gang_id).why = Some(why);
            back_off_from_refusal(cx, gang_id);
            cx.agenda.set_stage(cx.state, gang_id, Stage::BackingOff);
        }
    }
}

/// Who rejected a gang at Permit.
fn rejection(cx: &mut Cycle<'_>, gang_id: GangId) -> Option<Why> {
    if !cx.claims.waiting.is_rejected(gang_id) {
        return None;
    }
    let one = cx.claims.waiting.forget(gang_id)?;
    Some(refusal(cx.state, &one.places, one.plugin, &one.refusal))
}

/// Who has held a gang for as long as it may.
fn permit_is_late(cx: &Cycle<'_>, gang_id: GangId) -> Option<Why> {
    let waiting = cx.claims.waiting.get(gang_id)?;
    let mut holders = waiting.held_by();
    let (plugin, _) = holders.find(|(_, until)| *until <= cx.now)?;
    let places = places_in_words(&waiting.places);
    let words = format!("the time to permit the placement ran out: {plugin} held {places}");
    Some(Why::new("PermitTimedOut", &words))
}

/// Whether a decision that has waited is still right: nothing else is where its pods are to go.
fn confirm(cx: &mut Cycle<'_>, hold: &Hold) -> Result<(), Why> {
    if !hold.has_waited() {
        return Ok(());
    }
    let steps = hold.steps();
    let mut outdated = steps.iter().find_map(|step| ghost_is_back(cx.state, *step));
    for step in &steps {
        cx.state.unassume(step.pod);
    }
    for step in steps {
        let Assumed { pod, node } = step;
        let profile = cx.profiles.get(cx.state.profile_of_pod(pod));
        if outdated.is_none() && !cx.placer.still_fits(cx.state, profile, pod, node) {
            let reasons = cx.placer.reasons(cx.state, profile, pod, node);
            let reasons = reasons
                .iter()
                .map(|one| one.describe(cx.state.dimensions()));
            let reasons: Vec<String> = reasons.collect();
            let (on, reasons) = (on_node(cx.state, step), reasons.join(", "));
            outdated = Some(format!("{on} does not fit any more: {reasons}"));
        }
        cx.state.assume(pod, node);
    }
    outdated.map_or(Ok(()), |words| Err(Why::new("Rejected", &words)))
}

/// Whether the ghost of a slot on which a pod is to be is there: another process brought it back.
fn ghost_is_back(state: &ClusterState, step: Assumed) -> Option<String> {
    let slot = state.slot_of(step.pod)?;
    state.slot(slot)?.ghost()?;
    let (on, slot) = (on_node(state, step), slot.position());
    Some(format!(
        "{on} does not fit any more: the ghost of slot {slot} is there again"
    ))
}

/// Gives back what was held of a gang, also of one that is gone.
pub fn give_back(cx: &mut Cycle<'_>, gang_id: GangId, hold: Hold) {
    let nodes: Vec<NodeId> = hold.committed.assumed().map(|step| step.node).collect();
    undo(cx, gang_id, hold);
    cx.state.note_room(nodes);
}

/// Undoes a decision: what was asked, then what was reserved and taken, the last first.
fn undo(cx: &mut Cycle<'_>, gang_id: GangId, hold: Hold) {
    if hold.has_waited() {
        note_places(cx, &hold, false);
    }
    cx.claims.waiting.forget(gang_id);
    for id in hold.without_yes() {
        cx.claims.questions.forget(id);
        cx.orders.asks.push(Inquiry::GiveUp(id));
    }
    for question in hold.traces() {
        let undo = cx.claims.questions.undo(question);
        cx.orders.asks.push(Inquiry::Ask(undo));
    }
    hold.committed.undo(cx.state);
}

/// The binds that carry out what was decided.
fn orders(cx: &mut Cycle<'_>, gang_id: GangId, hold: &Hold) -> Result<Vec<Bind>, Why> {
    let completes = cx.state[gang_id].is_partly_bound();
    let order = |step: Assumed| order(cx, step, completes);
    let orders: Option<Vec<Bind>> = hold.committed.assumed().map(order).collect();
    orders.ok_or_else(|| Why::new("NoBinder", "no bind plugin took the pod"))
}

/// The bind of one pod, by the first plugin that takes it.
fn order(cx: &mut Cycle<'_>, step: Assumed, completes: bool) -> Option<Bind> {
    let (pod, node) = (
        &cx.state.pod(step.pod)?.key,
        cx.state.nodes().name(step.node),
    );
    let spot = Spot {
        state: cx.state,
        pod,
        node,
    };
    let mut plugins = profile_of(cx, step).bind.iter();
    let asks = plugins.find_map(|plugin| match plugin.bind(&spot) {
        BindVerdict::Skip => None,
        BindVerdict::Bind => Some(None),
        BindVerdict::Ask(ask) => Some(Some(ask)),
    })?;
    let place = step.named(cx.state)?;
    let mut word = |ask| {
        let place = std::slice::from_ref(&place);
        Arc::new(cx.claims.questions.word_about(place, ask))
    };
    let slot = cx.state.slot_of(step.pod).map(SlotId::position);
    // Which slot it gets is written with the bind, which nobody else would.
    let asks = asks.filter(|_| slot.is_none()).map(&mut word);
    let AskedPlace { pod, node } = place;
    Some(Bind {
        pod,
        node,
        slot,
        completes,
        asks,
    })
}

/// Orders the binds: the decision is made.
fn carry_out(cx: &mut Cycle<'_>, gang_id: GangId, hold: Hold, orders: Vec<Bind>) {
    let committed = &hold.committed;
    let pods = u32::try_from(orders.len()).unwrap_or(u32::MAX);
    let lost = Lost::by(cx.state, committed.assumed());
    let at_least = committed
        .at_least()
        .map(|least| least.min(lost.opportunity));
    cx.orders.lost.note(lost.opportunity, at_least);
    let ranks = neighbours_made_by(cx.state, gang_id, committed.assumed());
    cx.orders.binds.extend(orders);
    let is_told = !cx.profile_of(gang_id).post_bind.is_empty();
    let questions = &mut cx.claims.questions;
    questions.carried_out(cx.state, gang_id, hold, is_told);
    let (now, note) = (cx.now, cx.agenda.note_mut(gang_id));
    note.why = None;
    note.has_a_place();
    if note.run.scheduled_at.is_none() {
        note.run.scheduled_at = Some(now);
        note.run.packed = at_least.map(|at_least| LostSums {
            lost: lost.opportunity,
            at_least,
        });
        let submitted = cx.state[gang_id].submitted;
        cx.measure(gang_id, SpanKind::Waiting, submitted.unwrap_or(now));
    }
    note_term(cx, gang_id);
    let placed = Outcome::Placed {
        pods,
        nodes: u32::try_from(lost.nodes).unwrap_or(u32::MAX),
        lost: lost.opportunity,
        at_least,
        ranks,
    };
    cx.decide(gang_id, placed);
    queue_or_wait(cx, gang_id);
}

fn refusal(state: &ClusterState, places: &[AskedPlace], plugin: &str, no: &Refusal) -> Why {
    let words = no.reason.describe(state.dimensions());
    let on = places_in_words(no.places(places));
    Why::new("Rejected", &format!("{on}: {plugin}: {words}"))
}

/// The time of a decision that is held is over, if it is.
pub(super) fn note_time(cx: &mut Cycle<'_>, gang_id: GangId) {
    if let Stage::Held(until) = cx.agenda.note(gang_id).stage()
        && *until <= cx.now
    {
        cx.claims.questions.is_due(gang_id);
    }
}

/// The profile of a pod that has a place.
fn profile_of<'a>(cx: &Cycle<'a>, step: Assumed) -> &'a Profile {
    cx.profiles.get(cx.state.profile_of_pod(step.pod))
}
