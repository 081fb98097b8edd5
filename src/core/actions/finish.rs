//! From a place to a bind: Reserve, Permit, PreBind, Bind.
//!
//! A decision passes these points as a whole. At each a plugin may have it wait: for an answer from
//! outside, or, at Permit, for a word of its own. Then the decision is held with its places, others go
//! on, and it goes on when nobody holds it any more; or it is undone as a whole, and tried again later.

use super::agenda::Stage;
use super::back_off::back_off_from_refusal;
use super::hold::{Hold, and_more, on_node};
use super::refresh::{held_back, queue_or_wait};
use super::{Cycle, reservation};
use crate::framework::{
    BindVerdict, MAX_WAIT, PermitVerdict, PreBindVerdict, Profile, Reason, Spot, WaitingPod,
};
use crate::placement::Lost;
use crate::placement::neighbours_made_by;
use crate::state::{ClusterState, GangId, NodeId};
use crate::transaction::{Asked, Assumed, Committed, Statement};
use muster_model::LostSums;
use muster_model::units::Time;
use muster_model::{About, Bind, Inquiry, Point, Why};
use muster_model::{HeldPlace, Outcome, SpanKind};
use std::sync::Arc;

/// Has the plugins reserve what each step needs, and commits.
pub(super) fn reserve(mut statement: Statement<'_>, profile: &Profile) -> Result<Committed, Why> {
    if let Err(no) = statement.reserve(profile) {
        return Err(refusal(statement.state(), no.step, no.plugin, &no.reason));
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
        if hold.is_open() || cx.agenda.waiting.holds(gang_id) {
            keep(cx, gang_id, hold);
            return Ok(());
        }
        let passed = match hold.point {
            Point::Reserve => permit(cx, gang_id, &mut hold),
            Point::Permit => pre_bind(cx, gang_id, &mut hold),
            _ => match confirm(cx, &hold).and_then(|()| orders(cx, &hold)) {
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
    if cx.profiles.iter().all(|one| one.permit.is_empty()) {
        return Ok(());
    }
    let mut asks = Vec::new();
    for step in hold.steps() {
        let Some(pod) = cx.state.pod(step.pod) else {
            continue;
        };
        let (pod, node) = (pod.key.clone(), cx.state.nodes().name(step.node).to_owned());
        for plugin in &profile_of(cx, step).permit {
            let spot = Spot {
                state: cx.state,
                pod: &pod,
                node: &node,
            };
            let waiting = &mut cx.agenda.waiting;
            match plugin.permit(&spot, cx.now, waiting) {
                PermitVerdict::Allow => {}
                PermitVerdict::Wait(span) => {
                    let until = cx.now + span.min(MAX_WAIT);
                    let make = || WaitingPod::new(pod.clone(), node.clone(), gang_id);
                    waiting.hold(step.pod, make, plugin.name(), until);
                }
                PermitVerdict::Ask(ask) => asks.push(Asked {
                    step,
                    plugin: plugin.name(),
                    ask,
                }),
                PermitVerdict::Deny(reason) => {
                    let why = refusal(cx.state, step, plugin.name(), &reason);
                    return Err(why);
                }
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
    if cx.profiles.iter().all(|one| one.pre_bind.is_empty()) {
        return Ok(());
    }
    confirm(cx, hold)?;
    let mut asks = Vec::new();
    for step in hold.steps() {
        let Some(pod) = cx.state.pod(step.pod) else {
            continue;
        };
        let spot = Spot {
            state: cx.state,
            pod: &pod.key,
            node: cx.state.nodes().name(step.node),
        };
        for plugin in &profile_of(cx, step).pre_bind {
            let plugin_name = plugin.name();
            match plugin.pre_bind(&spot) {
                PreBindVerdict::Agree => {}
                PreBindVerdict::Ask(ask) => asks.push(Asked {
                    step,
                    plugin: plugin_name,
                    ask,
                }),
                PreBindVerdict::Refuse(reason) => {
                    let why = refusal(cx.state, step, plugin_name, &reason);
                    return Err(why);
                }
            }
        }
    }
    ask(cx, gang_id, hold, asks);
    Ok(())
}

/// Orders questions, and notes that the decision waits for their answers.
fn ask(cx: &mut Cycle<'_>, gang_id: GangId, hold: &mut Hold, asks: Vec<Asked>) {
    for asked in asks {
        let Some(pod) = cx.state.pod(asked.step.pod) else {
            continue;
        };
        let about = About::Pod {
            pod: pod.key.clone(),
            node: cx.state.nodes().name(asked.step.node).to_owned(),
        };
        let question = cx.agenda.questions.word(about, asked.ask.clone());
        cx.agenda.questions.await_answer(question.id, gang_id);
        cx.orders.asks.push(Inquiry::Ask(question.clone()));
        hold.note(question, &asked, cx.now);
    }
}

/// Leaves a decision where it is, until somebody moves it.
fn keep(cx: &mut Cycle<'_>, gang_id: GangId, mut hold: Hold) {
    if !hold.has_waited() {
        hold.begin_to_wait(cx.state, gang_id);
        note_places(cx, &hold, true);
    }
    let waiting = cx.agenda.waiting.of_gang(gang_id);
    let permits = waiting.flat_map(WaitingPod::held_by);
    let late_at = permits.map(|(_, until)| until).chain(hold.late_at());
    let until = late_at.min().unwrap_or(cx.now);
    let words = in_words(cx, gang_id, &hold);
    cx.agenda.progress_mut(gang_id).why = Some(Why::new("Held", &words));
    cx.agenda.held.insert(gang_id, hold);
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
    if let Some(words) = hold.in_words(cx.state) {
        return words;
    }
    let mut waiting = cx.agenda.waiting.of_gang(gang_id);
    let Some(first) = waiting.next() else {
        return "places are found".to_owned();
    };
    let plugin = first.held_by().next().map_or("", |(plugin, _)| plugin);
    let (pod, node, more) = (&first.pod.name, &first.node, and_more(waiting.count()));
    format!(
        "places are found, and Permit plugin {plugin} holds them: pod {pod} on node {node}{more}"
    )
}

/// Whether what is held of a gang is still right: every member is there, with them the gang is whole,
/// and nothing that the decision rests on has changed. Else its places are given back, and the gang is
/// judged anew.
pub(super) fn still_stands(cx: &mut Cycle<'_>, gang_id: GangId) -> bool {
    let stands = |hold: &Hold| hold.stands(cx.state, gang_id);
    if cx.agenda.held.get(&gang_id).is_some_and(stands) {
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
    if let Some(hold) = cx.agenda.held.remove(&gang_id) {
        give_back(cx, gang_id, hold);
    }
    cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
}

/// Looks at all decisions of which somebody said something, or whose time is over.
pub fn go_on(cx: &mut Cycle<'_>) {
    loop {
        let mut moved = cx.agenda.questions.take_settled();
        moved.extend(cx.agenda.waiting.take_news());
        if moved.is_empty() {
            return;
        }
        for gang_id in moved {
            if matches!(cx.agenda.progress(gang_id).stage(), Stage::Held(_)) {
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
    let Some(hold) = cx.agenda.held.remove(&gang_id) else {
        return;
    };
    let nodes: Vec<NodeId> = hold.committed.assumed().map(|step| step.node).collect();
    let late = hold.refusal(cx.state, cx.now);
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
            cx.agenda.progress_mut(gang_id).why = Some(why);
            back_off_from_refusal(cx, gang_id);
            cx.agenda.set_stage(cx.state, gang_id, Stage::BackingOff);
        }
    }
}

/// Who of a gang was rejected at Permit.
fn rejection(cx: &mut Cycle<'_>, gang_id: GangId) -> Option<Why> {
    if !cx.agenda.waiting.is_rejected(gang_id) {
        return None;
    }
    let one = cx.agenda.waiting.forget(gang_id)?;
    let (pod, node, plugin) = (&one.pod.name, &one.node, one.plugin);
    let words = one.reason.describe(cx.state.dimensions());
    let message = format!("pod {pod} on node {node}: {plugin}: {words}");
    Some(Why::new("Rejected", &message))
}

/// Who of a gang has waited for as long as it may.
fn permit_is_late(cx: &Cycle<'_>, gang_id: GangId) -> Option<Why> {
    let late = |one: &WaitingPod| {
        let mut holders = one.held_by();
        let (plugin, _) = holders.find(|(_, until)| *until <= cx.now)?;
        let (pod, node) = (&one.pod.name, &one.node);
        Some(format!(
            "the time to permit the placement ran out: {plugin} held pod {pod} on node {node}"
        ))
    };
    let words = cx.agenda.waiting.of_gang(gang_id).find_map(late)?;
    Some(Why::new("PermitTimedOut", &words))
}

/// Whether a decision that has waited is still right: nothing else is where its pods are to go.
fn confirm(cx: &mut Cycle<'_>, hold: &Hold) -> Result<(), Why> {
    if !hold.has_waited() {
        return Ok(());
    }
    let steps = hold.steps();
    for step in &steps {
        cx.state.unassume(step.pod);
    }
    let mut outdated = None;
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
    cx.agenda.waiting.forget(gang_id);
    for id in hold.without_yes() {
        cx.agenda.questions.forget(id);
        cx.orders.asks.push(Inquiry::GiveUp(id));
    }
    for question in hold.traces() {
        let undo = cx.agenda.questions.undo(question);
        cx.orders.asks.push(Inquiry::Ask(undo));
    }
    hold.committed.undo(cx.state);
}

/// The binds that carry out what was decided.
fn orders(cx: &mut Cycle<'_>, hold: &Hold) -> Result<Vec<Bind>, Why> {
    let order = |step: Assumed| order(cx, step);
    let orders: Option<Vec<Bind>> = hold.committed.assumed().map(order).collect();
    orders.ok_or_else(|| Why::new("NoBinder", "no bind plugin took the pod"))
}

/// The bind of one pod, by the first plugin that takes it.
fn order(cx: &mut Cycle<'_>, step: Assumed) -> Option<Bind> {
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
    let (pod, node) = (pod.clone(), node.to_owned());
    let word = |ask| {
        let (pod, node) = (pod.clone(), node.clone());
        let question = cx.agenda.questions.word(About::Pod { pod, node }, ask);
        Arc::new(question)
    };
    let asks = asks.map(word);
    Some(Bind { pod, node, asks })
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
    cx.agenda.questions.carried_out(hold);
    let (now, progress) = (cx.now, cx.agenda.progress_mut(gang_id));
    progress.why = None;
    progress.forget_try();
    progress.room = None;
    (progress.sent_away, progress.send_again) = (0, Time::ZERO);
    if progress.scheduled_at.is_none() {
        progress.scheduled_at = Some(now);
        progress.packed = at_least.map(|at_least| LostSums {
            lost: lost.opportunity,
            at_least,
        });
        let submitted = cx.state[gang_id].submitted;
        cx.measure(gang_id, SpanKind::Waiting, submitted.unwrap_or(now));
    }
    reservation::note_term(cx, gang_id);
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

fn refusal(state: &ClusterState, step: Assumed, plugin: &str, reason: &Reason) -> Why {
    let words = reason.describe(state.dimensions());
    let message = format!("{}: {plugin}: {words}", on_node(state, step));
    Why::new("Rejected", &message)
}

/// The time of a decision that is held is over, if it is.
pub(super) fn note_time(cx: &mut Cycle<'_>, gang_id: GangId) {
    if let Stage::Held(until) = cx.agenda.progress(gang_id).stage()
        && until <= cx.now
    {
        cx.agenda.questions.is_due(gang_id);
    }
}

/// The profile of a pod that has a place.
fn profile_of<'a>(cx: &Cycle<'a>, step: Assumed) -> &'a Profile {
    cx.profiles.get(cx.state.profile_of_pod(step.pod))
}
