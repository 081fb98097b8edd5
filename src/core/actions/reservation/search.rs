//! The earliest time at which a gang has a place, and where.

use super::{Cycle, Reserved};
use crate::actions::preempt::leaving;
use crate::framework::Profile;
use crate::placement::Demand;
use crate::placement::Placer;
use crate::state::{GangId, NodeId, PodId, Standing};
use crate::transaction::{Checkpoint, Statement};
use muster_model::resources::Tally;
use muster_model::units::Time;
use std::collections::BTreeMap;
use std::iter::Peekable;

/// How many pods are thought away in one search: who needs more than that to go gets no reservation.
const MAX_LIFTED: usize = 50_000;

/// A place, and from when it is free.
#[derive(Debug)]
pub(super) struct Found {
    /// `None`: nobody knows.
    pub(super) at: Option<Time>,
    pub(super) place: Vec<(PodId, NodeId)>,
    /// What becomes free on its nodes until then.
    pub(super) freed: BTreeMap<NodeId, Tally>,
}

/// Pods that leave at one time, or one after the other at times that nobody knows.
#[derive(Debug)]
struct Departure {
    at: Option<Time>,
    pods: Vec<PodId>,
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

/// Finds the smallest number of departures after which the gang has a place: more room is never
/// worse.
fn search(cx: &mut Cycle<'_>, gang_id: GangId, whenever: bool) -> Option<Found> {
    // Who was moved comes back to what is held for it.
    cx.state.show(cx.agenda.moves.view(gang_id));
    let number = cx.agenda.reserved.get(&gang_id).map(|own| own.number);
    let agenda = &*cx.agenda;
    let now = cx.now;
    let first = Departure {
        at: Some(now),
        pods: leaving(cx.state, agenda).into_iter().collect(),
    };
    let (ends, endless) = (agenda.ends(), agenda.endless().filter(|_| whenever));
    let ends = ends.map(|(end, gang)| (Some(end.max(now)), gang));
    let later = ends.chain(endless.map(|gang| (None, gang)));
    let demand = Demand::minimum(cx.state, gang_id);
    let profile = cx.profile_of(gang_id);
    let mut statement = Statement::new(cx.state);
    statement.lift_nominations(gang_id);
    for one in agenda.reserved.values() {
        if number.is_none_or(|own| one.number < own) {
            occupy(&mut statement, one);
        }
    }
    let mut future = Future {
        marks: vec![statement.checkpoint()],
        statement,
        placer: &mut *cx.placer,
        profile,
        gang: gang_id,
        demand,
        departures: vec![first],
        later: later.peekable(),
        lifted: 0,
    };
    let (mut few, mut enough) = (0, 1);
    loop {
        let (found, reached) = future.has_place(enough)?;
        match found {
            true => {
                enough = reached;
                break;
            }
            false if reached < enough => return None,
            false => (few, enough) = (enough, 2 * enough),
        }
    }
    while few + 1 < enough {
        let middle = few + (enough - few) / 2;
        if future.has_place(middle)?.0 {
            enough = middle;
        } else {
            few = middle;
        }
    }
    future.has_place(enough)?.0.then(|| future.found(enough))
}

/// Puts those on their nodes who have reserved them before, over those who are still there.
fn occupy(statement: &mut Statement<'_>, earlier: &Reserved) {
    for (pod, node) in &earlier.place {
        let state = statement.state();
        let waits = state.pod(*pod).filter(|pod| pod.room().is_none());
        if waits.is_some() && state.nodes().present().contains(*node) {
            statement.assume(*pod, *node);
        }
    }
}

/// The cluster after some departures.
struct Future<'a, 's, L: Iterator<Item = (Option<Time>, GangId)>> {
    statement: Statement<'s>,
    placer: &'a mut Placer,
    profile: &'a Profile,
    gang: GangId,
    demand: Demand,
    /// The first of them, as far as somebody asked for them.
    departures: Vec<Departure>,
    /// Who leaves after those, and when.
    later: Peekable<L>,
    /// Where each number of departures, from none on, ends in the statement.
    marks: Vec<Checkpoint>,
    /// How many pods were thought away, those put back included.
    lifted: usize,
}

impl<L: Iterator<Item = (Option<Time>, GangId)>> Future<'_, '_, L> {
    /// Whether the gang has a place after so many departures, or after all if there are fewer, and
    /// how many that were; `None` if that is too much to find out.
    fn has_place(&mut self, departures: usize) -> Option<(bool, usize)> {
        self.go_to(departures)?;
        let (statement, placer) = (&mut self.statement, &mut *self.placer);
        let found = placer.can_place(statement, self.profile, self.gang, &self.demand);
        Some((found, self.marks.len() - 1))
    }

    fn go_to(&mut self, departures: usize) -> Option<()> {
        self.marks.truncate(departures + 1);
        let last = self.marks.last()?;
        self.statement.roll_back(*last);
        while self.marks.len() <= departures {
            let index = self.marks.len() - 1;
            if index == self.departures.len() && !self.hear_of_next() {
                break;
            }
            let next = &self.departures[index];
            self.lifted += next.pods.len();
            if self.lifted > MAX_LIFTED {
                return None;
            }
            next.pods.iter().for_each(|pod| self.statement.lift(*pod));
            self.marks.push(self.statement.checkpoint());
        }
        Some(())
    }

    /// Finds out who leaves next; says whether there is somebody.
    fn hear_of_next(&mut self) -> bool {
        let Some((at, first)) = self.later.next() else {
            return false;
        };
        let mut pods = self.holders(first);
        while let Some((_, gang)) = self.later.next_if(|(one, _)| at.is_some() && *one == at) {
            pods.extend(self.holders(gang));
        }
        self.departures.push(Departure { at, pods });
        true
    }

    /// The members of a gang that hold a node, if it leaves in its time. Who is more important in the
    /// same queue goes when it likes.
    fn holders(&self, id: GangId) -> Vec<PodId> {
        let state = self.statement.state();
        let (own, other) = (&state[self.gang], &state[id]);
        let stays = other.queue == own.queue && other.priority > own.priority;
        if id == self.gang || stays {
            return Vec::new();
        }
        let holds = |id: &&PodId| {
            let pod = state.pod(**id).filter(|pod| pod.room().is_some());
            pod.is_some_and(|pod| state.standing(pod) != Standing::Leaving)
        };
        other.members.iter().filter(holds).copied().collect()
    }

    /// The place that was found after so many departures.
    fn found(&self, departures: usize) -> Found {
        let state = self.statement.state();
        let last = self.marks.last().into_iter();
        let steps = last.flat_map(|mark| self.statement.assumed_since(*mark));
        let place: Vec<_> = steps.map(|step| (step.pod, step.node)).collect();
        let mut freed: BTreeMap<NodeId, Tally> = BTreeMap::new();
        for (_, node) in &place {
            freed.entry(*node).or_default();
        }
        let gone = self.departures[..departures].iter();
        for pod in gone.flat_map(|one| &one.pods) {
            let pod_there = state.pod(*pod).filter(|pod| pod.lifted);
            let node = pod_there.and_then(|pod| pod.place.node());
            let freed = node.and_then(|node| freed.get_mut(&node));
            if let Some((freed, shape)) = freed.zip(state.shape_of(*pod)) {
                freed.add(&shape.request);
            }
        }
        let at = self.departures[departures - 1].at;
        Found { at, place, freed }
    }
}
