//! The plan: who goes, and where the gang's members go then.
//!
//! Least harm first, until the gang's [`Demand`] fits; then whoever is not in the way after all is
//! put back, the most harm first ([`Clearing`]).

use super::unit::Unit;
use crate::actions::Cycle;
use crate::actions::asks::asks;
use crate::placement::{Asks, Beneficiary, Clearing, Demand, Room, fits};
use crate::state::{ClusterState, GangId, NodeId, PodId, QueryId, Standing};
use crate::transaction::Statement;
use std::collections::BTreeSet;

/// How many victims, the most harm first, are tried to be spared by placing the gang elsewhere: those
/// after them are only spared where they are not in the way.
const TRIES: usize = 32;

/// Who goes, and where the gang's members go then.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) victims: Vec<Unit>,
    /// Those for whom its room was held before.
    pub(super) displaced: Vec<GangId>,
    pub(super) room: Room,
}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlan {
    /// The gang would not fit if all went who may: that is a proof.
    Impossible,
    /// The search does not look at all there is: it may have missed one.
    CutShort,
}

/// The plan that was made for a gang before, as long as those leave who are to, and its members have room
/// where it is held for them then. Who made a new one whenever anything changes would have others, whose
/// place is reserved around this one, move theirs, and so on.
pub(super) fn that_stands(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    leaving: &BTreeSet<PodId>,
) -> Option<Plan> {
    if leaving.is_empty() {
        return None;
    }
    if !cx.agenda.note(gang_id).admitted {
        return held_room_stands(cx, gang_id, leaving);
    }
    let places = cx.state.nominations(gang_id);
    let seats = places.iter();
    let seats = seats.filter_map(|(pod, _)| Some((*pod, cx.state.slot_of(*pod)?)));
    let seats = seats.collect();
    let waits = |(pod, _): &(PodId, NodeId)| {
        let pod = cx.state.pod(*pod);
        pod.is_some_and(|pod| cx.state.standing(pod) == Standing::Pending)
    };
    let missing = cx.state[gang_id].missing() as usize;
    if places.len() != missing || !places.iter().all(waits) {
        return None;
    }
    let profile = cx.profile_of(gang_id);
    let mut statement = Statement::new(cx.state);
    statement.lift_claims(gang_id);
    leaving.iter().for_each(|pod| statement.lift(*pod));
    for (pod, node) in &places {
        let state = statement.state();
        if !cx.placer.fits(state, profile, *pod, *node) {
            return None;
        }
        statement.assume(*pod, *node);
    }
    Some(Plan {
        victims: Vec::new(),
        displaced: Vec::new(),
        room: Room {
            members: places,
            seats,
            ..Room::default()
        },
    })
}

/// The same for members that are not there yet.
fn held_room_stands(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    leaving: &BTreeSet<PodId>,
) -> Option<Plan> {
    let wanted = cx.state.room_wanted(gang_id);
    let mut statement = Statement::new(cx.state);
    let held = statement.lift_claims(gang_id)?;
    leaving.iter().for_each(|pod| statement.lift(*pod));
    let stands = held.sum() == wanted && fits(statement.state(), gang_id, &held.on);
    stands.then(|| Plan {
        victims: Vec::new(),
        displaced: Vec::new(),
        room: Room {
            held: held.on,
            ..Room::default()
        },
    })
}

/// Finds the least harm that makes room for the gang.
pub(super) fn find(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    leaving: &BTreeSet<PodId>,
    units: &[Unit],
) -> Result<Plan, NoPlan> {
    let asks = asks(cx.state, cx.agenda, gang_id);
    let demand = match &asks {
        Asks::Members(demand) => Some(demand),
        Asks::Room(..) => None,
    };
    let others = demand.and_then(|demand| without_company(cx.state, demand, units));
    let (all, units) = (units.len(), others.as_deref().unwrap_or(units));
    let mut shapes = demand
        .into_iter()
        .flat_map(Demand::shapes)
        .filter_map(|(shape, _)| cx.state.shapes().get(shape));
    let is_spread = shapes.any(|shape| !shape.spread.is_empty());
    let profile = cx.profile_of(gang_id);
    let mut statement = Statement::new(cx.state);
    statement.lift_claims(gang_id);
    leaving.iter().for_each(|pod| statement.lift(*pod));
    let who = Beneficiary {
        gang: gang_id,
        asks: &asks,
        profile,
        placer: &mut *cx.placer,
    };
    let mut rest = units.iter();
    let mut clearing = Clearing::new(statement, who, |_: &ClusterState| rest.next());
    if leaving.is_empty() {
        // It was tried before others are asked to go.
        clearing = clearing.without_room_yet();
    }
    // Who leaves already may be enough.
    let enough = match clearing.has_room_after(0) {
        Some((true, _)) => Some(0),
        _ => clearing.fewest(),
    };
    let Some(enough) = enough else {
        // Equal members are placed one by one without a choice that matters: what they do not find
        // is not there. Of different ones some other order might do; and where members are spread, some
        // who stay may be of use.
        let all_were_tried = units.len() == all && (!is_spread || all == 0);
        let uniform = demand.is_none_or(Demand::is_uniform);
        return Err(if uniform && all_were_tried {
            NoPlan::Impossible
        } else {
            NoPlan::CutShort
        });
    };
    let cleared = clearing.spare(enough, TRIES).ok_or(NoPlan::CutShort)?;
    let victims = cleared.gone.iter().map(|index| units[*index].clone());
    Ok(Plan {
        victims: victims.collect(),
        displaced: Vec::new(),
        room: cleared.room,
    })
}

/// Who may go of these, where some are those beside whom the gang wants to be: without them there would
/// be no place for it. `None` where that is nobody.
fn without_company(state: &ClusterState, demand: &Demand, units: &[Unit]) -> Option<Vec<Unit>> {
    let shapes = demand
        .shapes()
        .filter_map(|(shape, _)| state.shapes().get(shape));
    let rules = shapes.filter_map(|shape| shape.rules.as_deref());
    let near = rules.filter_map(|rules| rules.near.as_ref());
    let wanted: BTreeSet<QueryId> = near.map(|near| near.query).collect();
    if wanted.is_empty() {
        return None;
    }
    let is_wanted = |pod: &PodId| {
        let shape = state.shape_of(*pod);
        let rules = shape.and_then(|shape| shape.rules.as_deref());
        rules.is_some_and(|rules| wanted.iter().any(|query| rules.is_counted_in(*query)))
    };
    let others = units.iter().filter(|unit| !unit.pods.iter().any(is_wanted));
    Some(others.cloned().collect())
}
