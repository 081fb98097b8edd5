//! Which gangs may be moved.

use super::MoveLimits;
use crate::actions::preempt::Judge;
use crate::actions::{Cycle, Stage};
use crate::placement::Removal;
use crate::state::{Gang, GangId, PodId, Standing};
use muster_model::Reservation;
use std::collections::BTreeSet;

/// Only so many gangs of a queue are looked at.
const LOOKS: usize = 256;
/// Only so many are thought off their nodes in one plan.
const MOST: usize = 64;

/// A gang that may be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) gang: GangId,
    /// Its members.
    pub(super) pods: Vec<PodId>,
}

impl Removal for Candidate {
    fn pods(&self) -> &[PodId] {
        &self.pods
    }
}

/// The gangs that may be moved for another: the smallest first, the less important before others.
pub(super) fn may_be_moved(cx: &Cycle<'_>, gang_id: GangId, limits: &MoveLimits) -> Vec<Candidate> {
    let Some(judge) = Judge::new(cx.sight(), gang_id) else {
        return Vec::new();
    };
    let mut asked: BTreeSet<GangId> = BTreeSet::new();
    for (queue, holders) in cx.agenda.holders() {
        let mut path = cx.state.queues().path(queue);
        let says = path.find_map(|(_, queue)| queue.spec.as_ref()?.movable);
        let spec = cx
            .state
            .queues()
            .get(queue)
            .and_then(|one| one.spec.as_ref());
        // Nobody could come back past a head that holds everybody up.
        let strict = spec.is_some_and(|spec| spec.reservation == Reservation::Strict);
        if strict || cx.agenda.held_in(queue).is_some() {
            continue;
        }
        match says {
            Some(true) => asked.extend(holders.all().take(LOOKS)),
            Some(false) => {}
            None => asked.extend(holders.ended(cx.now).take(LOOKS)),
        }
    }
    let of = |id: GangId| {
        let gang = cx.state.gang(id).filter(|_| id != gang_id)?;
        let pods = whole(cx, id, gang)?;
        let fits = pods.len() <= limits.max_pods as usize;
        let free = fits && judge.protects(id, gang).is_none();
        free.then_some((pods.len(), gang.priority, Candidate { gang: id, pods }))
    };
    let mut found: Vec<_> = asked.into_iter().filter_map(of).collect();
    found.sort_by_key(|(pods, priority, one)| (*pods, *priority, one.gang));
    found.truncate(MOST);
    found.into_iter().map(|(_, _, one)| one).collect()
}

/// The members of a gang that runs as a whole and can come back as it is: of a PodGroup, with nobody
/// on the way to a node or off it, none that waits or is still to come, no host ports,
/// and that is ours while its pods are gone.
fn whole(cx: &Cycle<'_>, id: GangId, gang: &Gang) -> Option<Vec<PodId>> {
    let note = cx.agenda.note(id);
    let rests = note.history.still_until.is_some_and(|until| until > cx.now);
    let often = note.history.taken.as_deref();
    let often = often.is_some_and(|taken| taken.too_often(true, cx.now).is_some());
    let counts = gang.counts();
    let whole = gang.definition().is_some()
        && !gang.is_single()
        && cx.state.is_ours_without_pods(gang)
        && *note.stage() == Stage::Settled
        && gang.unsecured() == 0
        && gang.retired.is_empty()
        && cx.state.room_for_others_of(id).is_empty()
        && counts.of(Standing::Running) + counts.of(Standing::Bound) == counts.all()
        && !cx.claims.nominated.contains(&id)
        && !cx.claims.moves.holds_for(id);
    if !whole || rests || often {
        return None;
    }
    let place = |pod: &PodId| {
        let known = cx.state.pod(*pod)?;
        let shape = cx.state.shape_of(*pod)?;
        let node = known.room().filter(|_| shape.ports.is_empty())?;
        let present = cx.state.nodes().present().contains(node);
        present.then_some(*pod)
    };
    gang.members.iter().map(place).collect()
}
