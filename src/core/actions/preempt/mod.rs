//! Making room for a gang by taking others off their nodes (source: mission, "Preemption").
//!
//! Plan first, act only when the whole gang has a place: inside a [`Statement`] those who leave
//! already are thought away, then those who would have to go, least harm first, until the gang's
//! [`Demand`] fits; then whoever is not in the way after all is put back. The gang's place is held
//! for it (its pods are *nominated*) while they leave. If that comes to nothing, because one of
//! them may not be deleted or a node dies, the plan is made anew, and who leaves already counts.

mod victims;

use super::{Cycle, Stage, release};
use crate::core::model::{Evict, EvictCause, Lifetime, Why};
use crate::core::placement::Demand;
use crate::core::state::{ClusterState, Eviction, GangId, NodeId, PodId};
use crate::core::transaction::Statement;
use crate::core::units::Time;
use std::collections::BTreeSet;
use std::sync::Arc;
use victims::Unit;

/// How many plans are made in one cycle.
const MAX_PLANS: u32 = 8;
/// Only so many of each queue have plans made: who is behind them waits for these.
const HEADS: u32 = 8;

/// Who goes, and where the gang's members go then.
struct Plan {
    victims: Vec<Unit>,
    places: Vec<(PodId, NodeId)>,
}

/// Makes room for a gang that found none, if others may be taken off their nodes for it. Says so.
pub(super) fn make_room(cx: &mut Cycle<'_>, gang_id: GangId) -> Option<Why> {
    let gang = &cx.state[gang_id];
    let may = gang.missing() > 0 && !gang.is_partly_bound() && cx.plans < MAX_PLANS;
    if !may || cx.agenda.position(gang_id, HEADS).is_none() {
        return None;
    }
    let held = cx.agenda.nominated.contains(&gang_id);
    let mark = cx.state.nodes().mark();
    let known = cx.agenda.progress(gang_id).planned;
    let known = known.is_some_and(|(of, until)| of == mark && cx.now < until);
    if known && !held {
        return None;
    }
    cx.plans += 1;
    spare_who_may_not_go(cx, gang_id);
    let units = victims::units(cx, gang_id);
    let leaving = leaving(cx);
    if units.is_empty() && leaving.is_empty() {
        look_again(cx, gang_id, mark);
        return None;
    }
    let Some(plan) = plan(cx, gang_id, &leaving, &units) else {
        look_again(cx, gang_id, mark);
        return None;
    };
    Some(carry_out(cx, gang_id, &plan))
}

/// The pods that hold a node and are on their way off it.
fn leaving(cx: &Cycle<'_>) -> Vec<PodId> {
    let goes = |id: &PodId| {
        let Some(pod) = cx.state.pod(*id).filter(|pod| pod.room().is_some()) else {
            return false;
        };
        let released = |gang| cx.agenda.progress(gang).stage() == Stage::Releasing;
        let refused = matches!(pod.eviction, Eviction::Refused(_));
        let goes = pod.eviction.is_under_way() || pod.gang.is_some_and(released);
        pod.terminating || (goes && !refused)
    };
    let pods = cx.state.pods().map(|(id, _)| id);
    pods.filter(goes).collect()
}

/// Finds the least harm that makes room for the gang.
fn plan(cx: &mut Cycle<'_>, gang_id: GangId, leaving: &[PodId], units: &[Unit]) -> Option<Plan> {
    let demand = Demand::minimum(cx.state, gang_id);
    let mut statement = Statement::new(cx.state);
    statement.lift_nominations(gang_id);
    leaving.iter().for_each(|pod| statement.lift(*pod));
    let base = statement.checkpoint();
    let (placer, profile) = (&mut *cx.placer, cx.profile);
    let mut fits = |statement: &mut Statement<'_>, count: usize| {
        statement.roll_back(base);
        let pods = units.iter().take(count).flat_map(|unit| &unit.pods);
        pods.for_each(|pod| statement.lift(*pod));
        placer.place(statement, profile, gang_id, &demand).is_ok()
    };
    let enough = if fits(&mut statement, 0) {
        0
    } else if fits(&mut statement, units.len()) {
        // More room is never worse: the smallest number that is enough is found by halving.
        let (mut few, mut enough) = (0, units.len());
        while few + 1 < enough {
            let middle = few + (enough - few) / 2;
            if fits(&mut statement, middle) {
                enough = middle;
            } else {
                few = middle;
            }
        }
        if !fits(&mut statement, enough) {
            return None;
        }
        enough
    } else {
        return None;
    };
    let victims = reprieve(&mut statement, &units[..enough]);
    let places = statement
        .assumed()
        .map(|step| (step.pod, step.node))
        .collect();
    Some(Plan { victims, places })
}

/// Puts back who is not in the way, the most harm first; who is left has to go.
fn reprieve(statement: &mut Statement<'_>, units: &[Unit]) -> Vec<Unit> {
    let mut victims = Vec::new();
    for unit in units.iter().rev() {
        let back = statement.checkpoint();
        let stays = unit.pods.iter().all(|pod| {
            let fits = has_room_for(statement.state(), *pod);
            if fits {
                statement.put_back(*pod);
            }
            fits
        });
        if !stays {
            statement.roll_back(back);
            victims.push(unit.clone());
        }
    }
    victims.reverse();
    victims
}

/// Whether a pod that was thought away still has room on its node.
fn has_room_for(state: &ClusterState, id: PodId) -> bool {
    let (Some(pod), Some(shape)) = (state.pod(id), state.shape_of(id)) else {
        return false;
    };
    let Some(node) = pod.place.node() else {
        return false;
    };
    let nodes = state.nodes();
    let taken = nodes.ports(node);
    let conflict = |wanted| taken.iter().any(|(port, _)| port.conflicts(wanted));
    let mut amounts = shape.request.iter();
    amounts.all(|(dimension, amount)| nodes.free(node, dimension) >= amount)
        && !shape.ports.iter().any(conflict)
}

/// Orders the evictions, and holds the place.
fn carry_out(cx: &mut Cycle<'_>, gang_id: GangId, plan: &Plan) -> Why {
    let title = cx.state.gang_title(gang_id);
    let queue = cx.state.queue_name(gang_id).to_owned();
    let message: Arc<str> = format!("preempted for {title} of queue {queue}").into();
    let beneficiary = cx.state[gang_id].key.clone();
    for unit in &plan.victims {
        if unit.whole {
            release::preempt(cx, unit.gang, gang_id, &message);
            continue;
        }
        for id in &unit.pods {
            if let Some(pod) = cx.state.pod(*id) {
                cx.orders.evictions.push(Evict {
                    pod: pod.key.clone(),
                    cause: EvictCause::Preemption,
                    beneficiary: Some(beneficiary.clone()),
                    message: Arc::clone(&message),
                    again: false,
                });
            }
            cx.state.set_eviction(*id, Eviction::Ordered);
        }
        cx.orders.seen.insert(unit.gang);
    }
    cx.state.drop_nominations(gang_id);
    let nodes: BTreeSet<NodeId> = plan.places.iter().map(|(_, node)| *node).collect();
    for (pod, node) in &plan.places {
        cx.state.nominate(*pod, *node);
    }
    cx.agenda.nominated.insert(gang_id);
    let leave = cx.state.leaving_from(&nodes);
    let message = format!(
        "its place on {} nodes is held for it until {leave} pods have left",
        nodes.len()
    );
    Why::new("Preempting", &message)
}

/// Lets those stay who were to make room for a gang and whom the API server does not let go.
fn spare_who_may_not_go(cx: &mut Cycle<'_>, gang_id: GangId) {
    let stuck = |id: &GangId| {
        let release = cx.agenda.progress(*id).release.as_ref();
        release.is_some_and(|one| one.beneficiary == Some(gang_id) && one.refused.is_some())
    };
    let gangs = cx.state.gangs().map(|(id, _)| id);
    for id in gangs.filter(stuck).collect::<Vec<_>>() {
        release::call_off(cx, id);
        cx.agenda.at(cx.now, id);
    }
}

/// A member of a running gang that was to make room may not be deleted: who waits for its room
/// looks for another.
pub(super) fn note_refusals(cx: &mut Cycle<'_>, gang_id: GangId) {
    if cx.agenda.nominated.is_empty() {
        return;
    }
    let refused = |id: &PodId| {
        let pod = cx.state.pod(*id);
        pod.is_some_and(|pod| matches!(pod.eviction, Eviction::Refused(_)))
    };
    if cx.state[gang_id].members.iter().any(refused) {
        for gang in cx.agenda.nominated.clone() {
            cx.agenda.at(cx.now, gang);
        }
    }
}

/// Holds nothing for a gang any more.
pub(super) fn give_up(cx: &mut Cycle<'_>, gang_id: GangId) {
    if cx.agenda.nominated.remove(&gang_id) {
        let nodes = cx.state.drop_nominations(gang_id);
        cx.state.note_room(nodes);
    }
}

/// Nobody can make room for the gang now: it is looked at again when the nodes change, or when the
/// next lifetime of somebody in another queue ends.
fn look_again(cx: &mut Cycle<'_>, gang_id: GangId, mark: u64) {
    give_up(cx, gang_id);
    let own = cx.state.queue_of(gang_id);
    let others = cx.state.gangs().filter(|(_, gang)| gang.queue != Some(own));
    let ends = others.filter_map(|(id, _)| cx.expires_at(id));
    let next = ends.filter(|at| *at > cx.now).min();
    if let Some(at) = next {
        cx.agenda.at(at, gang_id);
    }
    let until = next.unwrap_or(Time(u64::MAX));
    cx.agenda.progress_mut(gang_id).planned = Some((mark, until));
}

impl Cycle<'_> {
    /// When a gang that has started is not protected any more; `None`: never.
    pub(super) fn expires_at(&self, gang_id: GangId) -> Option<Time> {
        let started = self.agenda.progress(gang_id).scheduled_at?;
        match self.state[gang_id].lifetime {
            Lifetime::Unlimited => None,
            Lifetime::Limited(span) => Some(started + span),
        }
    }

    /// Whether it is not protected any more.
    pub(super) fn is_expired(&self, gang_id: GangId) -> bool {
        self.expires_at(gang_id).is_some_and(|at| at <= self.now)
    }
}
