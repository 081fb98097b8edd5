//! The plan: who is moved where, so that the waiting gang has a place.

use super::who::Candidate;
use crate::actions::Cycle;
use crate::actions::preempt::{has_room_on, still_suit, who_asks};
use crate::fairness;
use crate::framework::{Profile, Profiles};
use crate::placement::Demand;
use crate::placement::Placer;
use crate::state::{GangId, NodeId, PodId};
use crate::transaction::{Checkpoint, Statement};
use muster_model::resources::Tally;
use std::cmp::Reverse;

/// So many sets of gangs to be moved are tried in which the waiting gang has a place.
const TRIES: usize = 8;

/// A gang that is moved.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) gang: GangId,
    /// All its members.
    pub(super) pods: Vec<PodId>,
    /// Where those find room who are made in their stead.
    pub(super) to: Vec<(PodId, NodeId)>,
}

/// Who goes where.
#[derive(Debug)]
pub(super) struct Plan {
    /// The members of the waiting gang.
    pub(super) places: Vec<(PodId, NodeId)>,
    pub(super) moved: Vec<Moved>,
}

/// Finds a plan that moves no more than so many pods: the smallest number of candidates, in their
/// order, without which the gang fits is tried first, then larger ones.
pub(super) fn find(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    candidates: &[Candidate],
    max_pods: u32,
) -> Option<Plan> {
    let demand = Demand::minimum(cx.state, gang_id);
    let mut statement = Statement::new(cx.state);
    statement.lift_nominations(gang_id);
    let start = statement.checkpoint();
    let mut search = Search {
        statement,
        start,
        placer: &mut *cx.placer,
        profiles: cx.profiles,
        gang_id,
        demand,
        candidates,
        max_pods: max_pods as usize,
    };
    let mut count = search.enough()?;
    for _ in 0..TRIES {
        if let Some(plan) = search.with(count) {
            return Some(plan);
        }
        if count == candidates.len() {
            return None;
        }
        let more = (candidates.len() - count).div_ceil(2);
        count += more.min(count.max(1));
    }
    None
}

struct Search<'s, 'a> {
    statement: Statement<'s>,
    start: Checkpoint,
    placer: &'a mut Placer,
    profiles: Profiles<'a>,
    gang_id: GangId,
    demand: Demand,
    candidates: &'a [Candidate],
    max_pods: usize,
}

impl<'a> Search<'_, 'a> {
    /// The smallest number of candidates without which the gang fits.
    fn enough(&mut self) -> Option<usize> {
        if !self.fits_without(self.candidates.len()) {
            return None;
        }
        let (mut few, mut enough) = (0, self.candidates.len());
        while few + 1 < enough {
            let middle = few + (enough - few) / 2;
            if self.fits_without(middle) {
                enough = middle;
            } else {
                few = middle;
            }
        }
        Some(enough)
    }

    /// That of the waiting gang.
    fn profile(&self) -> &'a Profile {
        let state = self.statement.state();
        self.profiles.of(state, &state[self.gang_id])
    }

    /// Places what a gang asks for, by default what the waiting one does, by its own profile.
    fn can_place(&mut self, gang: GangId, demand: Option<&Demand>) -> bool {
        let state = self.statement.state();
        let profile = self.profiles.of(state, &state[gang]);
        let demand = demand.unwrap_or(&self.demand);
        self.placer
            .can_place(&mut self.statement, profile, gang, demand)
    }

    fn displace_first(&mut self, count: usize) {
        self.statement.roll_back(self.start);
        for one in &self.candidates[..count] {
            one.pods
                .iter()
                .for_each(|(pod, _)| self.statement.displace(*pod));
        }
    }

    fn fits_without(&mut self, count: usize) -> bool {
        self.displace_first(count);
        self.can_place(self.gang_id, None)
    }

    /// The plan in which none but the first so many are moved, if there is one.
    fn with(&mut self, count: usize) -> Option<Plan> {
        self.displace_first(count);
        let mark = self.statement.checkpoint();
        if !self.can_place(self.gang_id, None) {
            return None;
        }
        let places = self.assumed_since(mark);
        let asking = who_asks(self.statement.state(), self.profile(), &places);
        let candidates = self.candidates;
        let mut leave: Vec<&Candidate> = Vec::new();
        for one in candidates[..count].iter().rev() {
            if !self.put_back_if_room(one, &asking) {
                leave.push(one);
            }
        }
        let pods: usize = leave.iter().map(|one| one.pods.len()).sum();
        if leave.is_empty() || pods > self.max_pods {
            return None;
        }
        // Who is hard to place chooses first.
        leave.sort_by_key(|one| (Reverse(one.pods.len()), one.gang));
        let moved = leave.into_iter().map(|one| self.place_anew(one));
        let moved = moved.collect::<Option<Vec<_>>>()?;
        Some(Plan { places, moved })
    }

    fn assumed_since(&self, mark: Checkpoint) -> Vec<(PodId, NodeId)> {
        let assumed = self.statement.assumed_since(mark);
        assumed.map(|step| (step.pod, step.node)).collect()
    }

    /// Leaves a gang where it is, if all of it has room there still, and makes no place of the waiting
    /// gang's unfit.
    fn put_back_if_room(&mut self, one: &Candidate, asking: &[(PodId, NodeId)]) -> bool {
        let before = self.statement.checkpoint();
        for (pod, node) in &one.pods {
            if !has_room_on(self.statement.state(), *pod, *node) {
                self.statement.roll_back(before);
                return false;
            }
            self.statement.put_home(*pod, *node);
        }
        let profile = self.profile();
        if !still_suit(&mut self.statement, self.placer, profile, asking) {
            self.statement.roll_back(before);
            return false;
        }
        true
    }

    /// Where all of a gang finds room elsewhere, if its queue would let it start again.
    fn place_anew(&mut self, one: &Candidate) -> Option<Moved> {
        let state = self.statement.state();
        let mut amounts = Tally::default();
        for (pod, _) in &one.pods {
            amounts.add(&state.shape_of(*pod)?.request);
        }
        fairness::check(state, one.gang, &amounts).ok()?;
        let demand = Demand::everybody(state, one.gang, u32::try_from(one.pods.len()).ok()?);
        let mark = self.statement.checkpoint();
        if !self.can_place(one.gang, Some(&demand)) {
            return None;
        }
        Some(Moved {
            gang: one.gang,
            pods: one.pods.iter().map(|(pod, _)| *pod).collect(),
            to: self.assumed_since(mark),
        })
    }
}
