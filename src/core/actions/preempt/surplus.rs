//! Members of a gang that it can lose without being in part.

use crate::actions::notes::Note;
use crate::state::{ClusterState, Gang, Pod, PodId, ShapeId, Standing, Subgroup, Turn, take_turns};
use muster_model::resources::{Dimension, Tally};
use muster_model::units::Time;
use std::cmp::Reverse;

/// When a member was created that goes or stays in its turn, and its id.
type Created = (Time, PodId);

/// The members of a gang beyond its minimum and the room that it was let in on, the latest first; of equal
/// ones, the highest rank goes in the turn of the latest.
pub(crate) fn surplus(state: &ClusterState, note: &Note, gang: &Gang) -> Vec<(Created, PodId)> {
    // Who is still on the way to a node does not stand in for who leaves one.
    let mut spare = gang.secured().saturating_sub(gang.min_available()) as usize;
    let mut all = Vec::new();
    for (index, subgroup) in gang.subgroups.iter().enumerate() {
        let beyond = subgroup.secured().saturating_sub(subgroup.min) as usize;
        let of_subgroup = |id: &PodId| {
            let pod = state.pod(*id)?;
            let may = pod.subgroup == Some(index) && may_go(state, pod);
            may.then_some(((pod.created, *id), *id))
        };
        let mut pods: Vec<_> = gang.members.iter().filter_map(of_subgroup).collect();
        exchange_turns(state, subgroup, &mut pods);
        pods.sort_unstable_by_key(|(created, _)| Reverse(*created));
        pods.truncate(beyond.min(spare));
        spare -= pods.len();
        all.extend(pods);
    }
    match &note.let_in_on {
        Some(amounts) if !amounts.is_empty() => beyond(state, gang, amounts, all),
        _ => all,
    }
}

/// Whether there is anybody of those.
pub(super) fn has_surplus(state: &ClusterState, note: &Note, gang: &Gang) -> bool {
    let bound = note
        .let_in_on
        .as_ref()
        .filter(|amounts| !amounts.is_empty());
    gang.secured() > gang.min_available()
        && (bound.is_none() || !surplus(state, note, gang).is_empty())
}

/// Those of them whom it can lose and still have as much as it was let in on and asks for: that room was held
/// for members that were to come, and is theirs.
fn beyond(
    state: &ClusterState,
    gang: &Gang,
    amounts: &[(String, i64)],
    all: Vec<(Created, PodId)>,
) -> Vec<(Created, PodId)> {
    let stays = |id: &&PodId| state.pod(**id).is_some_and(|pod| may_go(state, pod));
    let mut have = Tally::default();
    for shape in gang
        .members
        .iter()
        .filter(stays)
        .filter_map(|id| state.shape_of(*id))
    {
        have.add(&shape.request);
    }
    let amounts = amounts.iter();
    // What no node has keeps nobody.
    let known = amounts.filter_map(|(name, amount)| Some((state.dimensions().get(name)?, *amount)));
    let amounts: Vec<(Dimension, i64)> = known.collect();
    let mut found = Vec::new();
    for (created, pod) in all {
        let Some(shape) = state.shape_of(pod) else {
            continue;
        };
        let is_short = |&(one, amount): &(Dimension, i64)| {
            let keeps = amount.min(gang.min_resources.get(one));
            shape.request.get(one) > 0 && have.get(one) - shape.request.get(one) < keeps
        };
        if !amounts.iter().any(is_short) {
            have.subtract(&shape.request);
            found.push((created, pod));
        }
    }
    found
}

/// Members of a subgroup that are equal go by rank, each in the turn of another.
fn exchange_turns(state: &ClusterState, subgroup: &Subgroup, pods: &mut [(Created, PodId)]) {
    if subgroup.line.is_empty() {
        return;
    }
    let ranked = |(_, id): &(Created, PodId)| {
        let pod = state.pod(*id)?;
        Some((pod.shape, (pod.facts.rank, pod.created, *id)))
    };
    let mut equals: Vec<(ShapeId, Turn)> = pods.iter().filter_map(ranked).collect();
    equals.sort_unstable();
    let classes = equals.chunk_by(|one, other| one.0 == other.0);
    let turns = classes.flat_map(|class| {
        let mut turns: Vec<(Turn, PodId)> = class.iter().map(|(_, turn)| (*turn, turn.2)).collect();
        take_turns(&mut turns);
        turns
    });
    for (slot, ((_, created, id), pod)) in pods.iter_mut().zip(turns) {
        *slot = ((created, id), pod);
    }
}

fn may_go(state: &ClusterState, pod: &Pod) -> bool {
    let standing = state.standing(pod);
    matches!(standing, Standing::Bound | Standing::Running) && !pod.eviction.is_under_way()
}
