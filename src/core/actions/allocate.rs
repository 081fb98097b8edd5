//! Giving places: gang by gang in order, each as a whole or not at all.

use super::park::park;
use super::refresh::queue_or_wait;
use super::{Cycle, admit, finish};
use crate::core::placement::Shortage;
use crate::core::state::{ClusterState, GangId, ShapeId, Why};
use crate::core::transaction::Statement;
use std::collections::BTreeMap;

/// A cycle ends after this many placements, so that orders leave and news come in.
const MAX_PLACEMENTS: u64 = 2_000;
/// A cycle ends after this many gangs were tried in vain.
const MAX_ATTEMPTS: u32 = 20_000;

/// What this cycle already knows not to fit: by shape, the smallest gang that was refused. Within
/// a cycle room is only taken, so what did not fit will not.
type Refused = BTreeMap<ShapeId, (u32, Why)>;

/// Tries all queued gangs in order. Says whether it stopped at its bound with work left.
pub fn allocate(cx: &mut Cycle<'_>) -> bool {
    let mut refused = Refused::new();
    let mut attempts = 0;
    while let Some(gang) = cx.agenda.first_queued() {
        if cx.orders.placed >= MAX_PLACEMENTS || attempts >= MAX_ATTEMPTS {
            return true;
        }
        attempts += 1;
        try_gang(cx, gang, &mut refused);
    }
    false
}

/// Tries one gang. Leaves it anywhere but in the queue, unless it got something and may grow.
fn try_gang(cx: &mut Cycle<'_>, gang_id: GangId, refused: &mut Refused) {
    cx.orders.seen.insert(gang_id);
    if !cx.state.progress(gang_id).admitted {
        if let Err(why) = admit::admit(cx, gang_id) {
            cx.state.progress_mut(gang_id).not_admitted = Some(why.clone());
            return park(cx, gang_id, why);
        }
        return queue_or_wait(cx, gang_id);
    }
    let anywhere = cx.profile.gang_domains.is_empty();
    let known = uniform_shape(cx.state, gang_id).filter(|_| anywhere);
    if let Some((shape, size)) = known
        && let Some((smallest, why)) = refused.get(&shape)
        && size >= *smallest
    {
        let why = why.clone();
        return park(cx, gang_id, why);
    }
    if let Err(why) = place(cx, gang_id) {
        if let Some((shape, size)) = known {
            refused.insert(shape, (size, why.clone()));
        }
        park(cx, gang_id, why);
    }
}

fn place(cx: &mut Cycle<'_>, gang_id: GangId) -> Result<(), Why> {
    let minimum = cx
        .state
        .gang(gang_id)
        .is_some_and(|gang| gang.missing() > 0);
    let mut statement = Statement::new(cx.state);
    let found = if minimum {
        cx.placer.place_minimum(&mut statement, cx.profile, gang_id)
    } else {
        cx.placer.place_surplus(&mut statement, cx.profile, gang_id)
    };
    if let Err(shortage) = found {
        let state = statement.state();
        return Err(explain(state, gang_id, &shortage));
    }
    let steps = finish::reserve(statement, cx.profile)?;
    if steps.is_empty() {
        return Err(Why::new("NotEnoughPods", "no member is left to be placed"));
    }
    cx.orders.placed += steps.len() as u64;
    finish::permit(cx, gang_id, steps)
}

/// In words why no place was found.
fn explain(state: &ClusterState, gang_id: GangId, shortage: &Shortage) -> Why {
    let nodes = state.nodes().present().len();
    let histogram = match &shortage.diagnosis {
        Some(diagnosis) => diagnosis.message(state.dimensions()),
        None => format!("0/{nodes} nodes are available."),
    };
    if shortage.member.is_none() {
        let (placed, needed) = (shortage.placed, shortage.needed);
        return Why::new("NotEnoughPods", format!("{placed} of {needed} pods exist"));
    }
    let single = state.gang(gang_id).is_none_or(|gang| gang.is_single());
    if single {
        return Why::new("Unschedulable", histogram);
    }
    let pod = shortage.member.and_then(|id| state.pod(id));
    let pod = pod.map_or("", |pod| &pod.key.name);
    let (placed, needed) = (shortage.placed, shortage.needed);
    let closest = shortage
        .diagnosis
        .as_ref()
        .and_then(|one| one.closest_fit(state));
    let closest = closest.map_or_else(String::new, |words| format!(" ({words})"));
    Why::new(
        "Unschedulable",
        format!("{placed} of {needed} members fit; pod {pod}: {histogram}{closest}"),
    )
}

/// The shape and the number of members to place, where those are all equal and nothing else
/// narrows their nodes.
fn uniform_shape(state: &ClusterState, gang_id: GangId) -> Option<(ShapeId, u32)> {
    let gang = state.gang(gang_id)?;
    let [_] = gang.subgroups.as_slice() else {
        return None;
    };
    if gang.node_selector().is_some() {
        return None;
    }
    let mut pods = gang.pending.iter().filter_map(|id| state.pod(*id));
    let first = pods.next()?;
    let alike =
        first.avoid.is_empty() && pods.all(|pod| pod.shape == first.shape && pod.avoid.is_empty());
    alike.then(|| (first.shape, gang.missing().max(1)))
}
