//! The earliest time at which a gang has a place, and where.

use super::{Cycle, Reserved};
use crate::actions::asks::asks;
use crate::actions::leaving::leaving;
use crate::placement::{Beneficiary, Clearing, Removal, Room};
use crate::state::{ClusterState, GangId, Held, NodeId, PodId, Standing};
use crate::transaction::Statement;
use muster_model::resources::Tally;
use muster_model::units::Time;
use std::collections::BTreeMap;

/// How many pods are thought away in one search: who needs more than that to go gets no reservation.
const MAX_LIFTED: usize = 50_000;

/// A place, and from when it is free.
#[derive(Debug)]
pub(super) struct Found {
    /// `None`: nobody knows.
    pub(super) at: Option<Time>,
    pub(super) place: Room,
    /// What becomes free on its nodes until then.
    pub(super) freed: BTreeMap<NodeId, Tally>,
}

/// Pods that leave at one time, or one after the other at times that nobody knows.
#[derive(Debug, Default)]
struct Departure {
    at: Option<Time>,
    pods: Vec<PodId>,
    gangs: Vec<GangId>,
}

impl Removal for Departure {
    fn pods(&self) -> &[PodId] {
        &self.pods
    }

    fn whole(&self) -> &[GangId] {
        &self.gangs
    }
}

/// The earliest place that those leave whose end is known.
pub(super) fn by_known_ends(cx: &mut Cycle<'_>, gang_id: GangId) -> Option<Found> {
    search(cx, gang_id, false)
}

/// A place that those leave whose end is known, and as few others as can be: who has run longest
/// first.
pub(super) fn whenever(cx: &mut Cycle<'_>, gang_id: GangId) -> Option<Found> {
    search(cx, gang_id, true)
}

/// Finds the fewest departures after which the gang has a place ([`Clearing`]).
fn search(cx: &mut Cycle<'_>, gang_id: GangId, whenever: bool) -> Option<Found> {
    // Who was moved comes back to what is held for it.
    cx.state.show(cx.claims.moves.view(gang_id));
    let number = cx.claims.reserved.get(&gang_id).map(|own| own.number);
    let agenda = &*cx.agenda;
    let now = cx.now;
    let first = Departure {
        at: Some(now),
        pods: leaving(cx.state, agenda).into_iter().collect(),
        gangs: Vec::new(),
    };
    let (ends, endless) = (agenda.ends(), agenda.endless().filter(|_| whenever));
    let ends = ends.map(|(end, gang)| (Some(end.max(now)), gang));
    let later = ends.chain(endless.map(|gang| (None, gang)));
    let asks = asks(cx.state, agenda, gang_id);
    let profile = cx.profile_of(gang_id);
    let mut statement = Statement::new(cx.state);
    statement.lift_claims(gang_id);
    for (gang, one) in &cx.claims.reserved {
        if number.is_none_or(|own| one.number < own) {
            occupy(&mut statement, *gang, one);
        }
    }
    let who = Beneficiary {
        gang: gang_id,
        asks: &asks,
        profile,
        placer: &mut *cx.placer,
    };
    let departures = departures(gang_id, first, later);
    let mut future = Clearing::new(statement, who, departures).at_most(MAX_LIFTED);
    let enough = future.fewest_of_many();
    let removals = future.removals().iter();
    cx.orders.thought_away += removals.map(|one| one.pods.len()).sum::<usize>();
    let enough = enough?;
    future.has_room_after(enough)?.0.then_some(())?;
    let place = future.room();
    let departures = &future.removals()[..enough];
    Some(Found {
        at: departures.last()?.at,
        freed: freed(future.state(), departures, &place),
        place,
    })
}

/// Who leaves, in the order of time: those of one moment together.
fn departures(
    gang_id: GangId,
    first: Departure,
    later: impl Iterator<Item = (Option<Time>, GangId)>,
) -> impl FnMut(&ClusterState) -> Option<Departure> {
    let (mut first, mut later) = (Some(first), later.peekable());
    move |state| {
        if let Some(first) = first.take() {
            return Some(first);
        }
        let (at, gang) = later.next()?;
        let mut leaves = Departure {
            at,
            ..Departure::default()
        };
        leaves.add(state, gang_id, gang);
        while let Some((_, gang)) = later.next_if(|(one, _)| at.is_some() && *one == at) {
            leaves.add(state, gang_id, gang);
        }
        Some(leaves)
    }
}

impl Departure {
    /// Another gang leaves with them, with its members that hold a node, if it leaves in its time. Who is more
    /// important in the same queue goes when it likes.
    fn add(&mut self, state: &ClusterState, own_id: GangId, id: GangId) {
        let (own, other) = (&state[own_id], &state[id]);
        let stays = other.queue == own.queue && other.priority > own.priority;
        if id == own_id || stays {
            return;
        }
        let holds = |id: &&PodId| {
            let pod = state.pod(**id).filter(|pod| pod.room().is_some());
            pod.is_some_and(|pod| state.standing(pod) != Standing::Leaving)
        };
        self.pods.extend(other.members.iter().filter(holds));
        self.gangs.push(id);
    }
}

/// What becomes free on the nodes of a place by some departures.
fn freed(state: &ClusterState, departures: &[Departure], place: &Room) -> BTreeMap<NodeId, Tally> {
    let nodes = place.nodes().into_iter();
    let mut freed: BTreeMap<NodeId, Tally> = nodes.map(|node| (node, Tally::default())).collect();
    for pod in departures.iter().flat_map(|one| &one.pods) {
        let gone = state.pod(*pod).filter(|pod| pod.lifted);
        let node = gone.and_then(|pod| pod.place.node());
        let freed = node.and_then(|node| freed.get_mut(&node));
        if let Some((freed, shape)) = freed.zip(state.shape_of(*pod)) {
            freed.add(&shape.request);
        }
    }
    freed
}

/// Puts those on their nodes who have reserved them before, over those who are still there.
fn occupy(statement: &mut Statement<'_>, gang: GangId, earlier: &Reserved) {
    if !earlier.place.held.is_empty() {
        let on = earlier.place.held.clone();
        let held = Held {
            on,
            since: earlier.found_at,
            awaits: true,
        };
        statement.hold_room(gang, Some(held));
    }
    for (pod, node) in &earlier.place.members {
        let state = statement.state();
        let waits = state.pod(*pod).filter(|pod| pod.room().is_none());
        if waits.is_some() && state.nodes().present().contains(*node) {
            statement.assume(*pod, *node);
        }
    }
}
