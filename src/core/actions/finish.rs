//! From a place to a bind: Reserve, Permit, PreBind, Bind.

use super::park::park;
use super::refresh::queue_or_wait;
use super::{Cycle, Outcome, SpanKind};
use crate::core::framework::{Context, PermitVerdict, Profile, Reason};
use crate::core::state::{ClusterState, GangId, Place, Stage, Why};
use crate::core::transaction::{Assumed, Statement};
use crate::core::units::Time;
use std::collections::BTreeSet;

/// Has the plugins reserve what each step needs, and commits. If one cannot, everything is given
/// back in reverse order and the statement is undone.
pub(super) fn reserve(statement: Statement<'_>, profile: &Profile) -> Result<Vec<Assumed>, Why> {
    let state = statement.state();
    for step in statement.steps() {
        for plugin in &profile.reserve {
            if let Err(reason) = plugin.reserve(state, step.pod, step.node) {
                let why = refusal(state, *step, plugin.name(), &reason);
                unreserve(state, profile, statement.steps());
                return Err(why);
            }
        }
    }
    Ok(statement.commit())
}

/// Asks the permit plugins, and goes on to the binds if all allow.
pub(super) fn permit(cx: &mut Cycle<'_>, gang_id: GangId, steps: Vec<Assumed>) -> Result<(), Why> {
    let mut until: Option<Time> = None;
    for step in &steps {
        for plugin in &cx.profile.permit {
            match plugin.permit(cx.state, step.pod, step.node, cx.now) {
                PermitVerdict::Allow => {}
                PermitVerdict::Wait(span) => {
                    let end = cx.now + span;
                    until = Some(until.map_or(end, |known| known.min(end)));
                }
                PermitVerdict::Deny(reason) => {
                    let why = refusal(cx.state, *step, plugin.name(), &reason);
                    take_back(cx, &steps);
                    return Err(why);
                }
            }
        }
    }
    if let Some(until) = until {
        let until = match cx.state.progress(gang_id).stage {
            Stage::Held(known) => known,
            _ => until,
        };
        cx.agenda.held.insert(gang_id, steps);
        cx.agenda.set_stage(cx.state, gang_id, Stage::Held(until));
        return Ok(());
    }
    bind(cx, gang_id, &steps)
}

/// Whether what a permit plugin holds of a gang is still right: every member is there, and with
/// them the gang is whole. Else its places are given back, and the gang is judged anew.
pub(super) fn still_stands(cx: &mut Cycle<'_>, gang_id: GangId) -> bool {
    let steps = cx.agenda.held.get(&gang_id).cloned().unwrap_or_default();
    let gang = cx.state.gang(gang_id);
    let whole = gang.is_some_and(|gang| gang.missing() == 0);
    if whole && !steps.is_empty() && steps.iter().all(|step| is_assumed(cx.state, *step)) {
        return true;
    }
    give_back(cx, gang_id, &steps);
    cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
    false
}

/// Asks the permit plugins once more about everything they hold.
pub fn ask_again(cx: &mut Cycle<'_>) {
    let held: Vec<GangId> = cx.agenda.held.keys().copied().collect();
    for gang_id in held {
        let Stage::Held(until) = cx.state.progress(gang_id).stage else {
            continue;
        };
        cx.orders.seen.insert(gang_id);
        if !still_stands(cx, gang_id) {
            queue_or_wait(cx, gang_id);
            continue;
        }
        let steps = cx.agenda.held.remove(&gang_id).unwrap_or_default();
        let nodes: Vec<_> = steps.iter().map(|step| step.node).collect();
        let answer = if until <= cx.now {
            take_back(cx, &steps);
            Err(Why::new(
                "PermitTimedOut",
                "the time to permit the placement ran out",
            ))
        } else {
            permit(cx, gang_id, steps)
        };
        if let Err(why) = answer {
            cx.state.note_room(nodes);
            park(cx, gang_id, why);
        }
    }
}

/// Gives back what was held of a gang.
fn give_back(cx: &mut Cycle<'_>, gang_id: GangId, steps: &[Assumed]) {
    cx.agenda.held.remove(&gang_id);
    take_back(cx, steps);
    cx.state.note_room(steps.iter().map(|step| step.node));
}

fn is_assumed(state: &ClusterState, step: Assumed) -> bool {
    state
        .pod(step.pod)
        .is_some_and(|pod| pod.place == Place::Assumed(step.node))
}

/// Lets every PreBind plugin agree, then orders the binds.
fn bind(cx: &mut Cycle<'_>, gang_id: GangId, steps: &[Assumed]) -> Result<(), Why> {
    for step in steps {
        for plugin in &cx.profile.pre_bind {
            if let Err(reason) = plugin.pre_bind(cx.state, step.pod, step.node) {
                let why = refusal(cx.state, *step, plugin.name(), &reason);
                take_back(cx, steps);
                return Err(why);
            }
        }
    }
    let mut orders = Vec::with_capacity(steps.len());
    for step in steps {
        let context = Context::new(cx.state, cx.placer.store(), step.pod);
        let order = context.and_then(|context| {
            cx.profile
                .bind
                .iter()
                .find_map(|plugin| plugin.bind(&context, step.node))
        });
        let Some(order) = order else {
            take_back(cx, steps);
            return Err(Why::new("NoBinder", "no bind plugin took the pod"));
        };
        orders.push(order);
    }
    cx.orders.binds.extend(orders);
    let (now, progress) = (cx.now, cx.state.progress_mut(gang_id));
    progress.why = None;
    if progress.scheduled_at.is_none() {
        progress.scheduled_at = Some(now);
        let submitted = cx.state.gang(gang_id).and_then(|gang| gang.submitted);
        cx.measure(gang_id, SpanKind::Waiting, submitted.unwrap_or(now));
    }
    let nodes: BTreeSet<_> = steps.iter().map(|step| step.node).collect();
    let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
    cx.decide(
        gang_id,
        Outcome::Placed {
            pods: count(steps.len()),
            nodes: count(nodes.len()),
        },
    );
    queue_or_wait(cx, gang_id);
    Ok(())
}

/// Undoes a decision that was committed but not carried out.
fn take_back(cx: &mut Cycle<'_>, steps: &[Assumed]) {
    unreserve(cx.state, cx.profile, steps);
    for step in steps.iter().rev() {
        cx.state.unassume(step.pod);
    }
}

fn unreserve(state: &ClusterState, profile: &Profile, steps: &[Assumed]) {
    for step in steps.iter().rev() {
        for plugin in profile.reserve.iter().rev() {
            plugin.unreserve(state, step.pod, step.node);
        }
    }
}

fn refusal(state: &ClusterState, step: Assumed, plugin: &str, reason: &Reason) -> Why {
    let pod = state.pod(step.pod).map_or("", |pod| &pod.key.name);
    let (node, words) = (
        state.nodes().name(step.node),
        reason.describe(state.dimensions()),
    );
    Why::new(
        "Rejected",
        &format!("pod {pod} on node {node}: {plugin}: {words}"),
    )
}
