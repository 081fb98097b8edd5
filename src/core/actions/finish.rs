//! From a place to a bind: Reserve, Permit, PreBind, Bind.

use super::agenda::Stage;
use super::park::park;
use super::refresh::queue_or_wait;
use super::{Cycle, LostSums, Outcome, SpanKind, reservation};
use crate::core::framework::{Context, PermitVerdict, Profile, Reason};
use crate::core::model::{Bind, Why};
use crate::core::placement::{Lost, Neighbours};
use crate::core::state::{ClusterState, GangId, Place};
use crate::core::transaction::{Assumed, Committed, Statement};
use crate::core::units::Time;

/// Has the plugins reserve what each step needs, and commits.
pub(super) fn reserve(mut statement: Statement<'_>, profile: &Profile) -> Result<Committed, Why> {
    if let Err(no) = statement.reserve(profile) {
        return Err(refusal(statement.state(), no.step, no.plugin, &no.reason));
    }
    Ok(statement.commit())
}

/// Asks the permit plugins, and goes on to the binds if all allow.
pub(super) fn permit(cx: &mut Cycle<'_>, gang_id: GangId, committed: Committed) -> Result<(), Why> {
    match until_permitted(cx, &committed) {
        Ok(None) => bind(cx, gang_id, committed),
        Ok(Some(until)) => {
            let until = match cx.agenda.progress(gang_id).stage() {
                Stage::Held(known) => known,
                _ => until,
            };
            cx.agenda.held.insert(gang_id, committed);
            cx.agenda.set_stage(cx.state, gang_id, Stage::Held(until));
            Ok(())
        }
        Err(why) => {
            committed.undo(cx.state);
            Err(why)
        }
    }
}

/// Until when the plugins hold back what was decided; `None` where all allow it.
fn until_permitted(cx: &Cycle<'_>, committed: &Committed) -> Result<Option<Time>, Why> {
    let mut until: Option<Time> = None;
    for step in committed.assumed() {
        for plugin in &cx.profile.permit {
            match plugin.permit(cx.state, step.pod, step.node, cx.now) {
                PermitVerdict::Allow => {}
                PermitVerdict::Wait(span) => {
                    let end = cx.now + span;
                    until = Some(until.map_or(end, |known| known.min(end)));
                }
                PermitVerdict::Deny(reason) => {
                    return Err(refusal(cx.state, step, plugin.name(), &reason));
                }
            }
        }
    }
    Ok(until)
}

/// Whether what a permit plugin holds of a gang is still right: every member is there, and with
/// them the gang is whole. Else its places are given back, and the gang is judged anew.
pub(super) fn still_stands(cx: &mut Cycle<'_>, gang_id: GangId) -> bool {
    let intact = |held: &Committed| held.assumed().all(|step| is_assumed(cx.state, step));
    let intact = cx.agenda.held.get(&gang_id).is_some_and(intact);
    if intact && cx.state[gang_id].missing() == 0 {
        return true;
    }
    if let Some(held) = cx.agenda.held.remove(&gang_id) {
        give_back(cx, held);
    }
    cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
    false
}

/// Asks the permit plugins once more about everything they hold.
pub fn ask_again(cx: &mut Cycle<'_>) {
    let held: Vec<GangId> = cx.agenda.held.keys().copied().collect();
    for gang_id in held {
        let Stage::Held(until) = cx.agenda.progress(gang_id).stage() else {
            continue;
        };
        cx.orders.seen.insert(gang_id);
        if !still_stands(cx, gang_id) {
            queue_or_wait(cx, gang_id);
            continue;
        }
        let Some(held) = cx.agenda.held.remove(&gang_id) else {
            continue;
        };
        let nodes: Vec<_> = held.assumed().map(|step| step.node).collect();
        let answer = if until <= cx.now {
            held.undo(cx.state);
            Err(Why::new(
                "PermitTimedOut",
                "the time to permit the placement ran out",
            ))
        } else {
            permit(cx, gang_id, held)
        };
        if let Err(why) = answer {
            cx.state.note_room(nodes);
            park(cx, gang_id, why);
        }
    }
}

/// Gives back what was held of a gang, also of one that is gone.
pub fn give_back(cx: &mut Cycle<'_>, held: Committed) {
    let nodes: Vec<_> = held.assumed().map(|step| step.node).collect();
    held.undo(cx.state);
    cx.state.note_room(nodes);
}

fn is_assumed(state: &ClusterState, step: Assumed) -> bool {
    state
        .pod(step.pod)
        .is_some_and(|pod| pod.place == Place::Assumed(step.node))
}

/// Lets every PreBind plugin agree, then orders the binds.
fn bind(cx: &mut Cycle<'_>, gang_id: GangId, committed: Committed) -> Result<(), Why> {
    let orders = match orders(cx, &committed) {
        Ok(orders) => orders,
        Err(why) => {
            committed.undo(cx.state);
            return Err(why);
        }
    };
    let pods = u32::try_from(orders.len()).unwrap_or(u32::MAX);
    let lost = Lost::by(cx.state, committed.assumed());
    let at_least = committed
        .at_least()
        .map(|least| least.min(lost.opportunity));
    cx.orders.lost.note(lost.opportunity, at_least);
    let ranks = Neighbours::made_by(cx.state, gang_id, committed.assumed());
    cx.orders.binds.extend(orders);
    let (now, progress) = (cx.now, cx.agenda.progress_mut(gang_id));
    progress.why = None;
    progress.forget_try();
    progress.room = None;
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
    Ok(())
}

/// The binds that carry out what was decided.
fn orders(cx: &Cycle<'_>, committed: &Committed) -> Result<Vec<Bind>, Why> {
    for step in committed.assumed() {
        for plugin in &cx.profile.pre_bind {
            let answer = plugin.pre_bind(cx.state, step.pod, step.node);
            answer.map_err(|reason| refusal(cx.state, step, plugin.name(), &reason))?;
        }
    }
    let order = |step: Assumed| {
        let context = Context::new(cx.state, cx.placer.store(), step.pod)?;
        let mut plugins = cx.profile.bind.iter();
        plugins.find_map(|plugin| plugin.bind(&context, step.node))
    };
    let orders: Option<Vec<Bind>> = committed.assumed().map(order).collect();
    orders.ok_or_else(|| Why::new("NoBinder", "no bind plugin took the pod"))
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
