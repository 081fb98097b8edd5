//! Who is next, who waits for a change, and what is due when.

use crate::core::state::{ClusterState, GangId, OrderKey, Stage};
use crate::core::transaction::Assumed;
use crate::core::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The order of work. Follows [`Stage`]: change stages through [`Agenda::set_stage`] only.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    queued: BTreeSet<OrderKey>,
    parked: BTreeSet<OrderKey>,
    timers: BTreeSet<(Time, GangId)>,
    /// Decisions that a permit plugin holds, by gang.
    pub held: BTreeMap<GangId, Vec<Assumed>>,
    /// Gangs for which room is set aside by `minResources`.
    pub admitted: BTreeSet<GangId>,
}

impl Agenda {
    /// Moves a gang to another stage.
    pub fn set_stage(&mut self, state: &mut ClusterState, gang: GangId, stage: Stage) {
        let old = std::mem::replace(&mut state.progress_mut(gang).stage, stage);
        self.drop_stage(old);
        match stage {
            Stage::Queued(key) => _ = self.queued.insert(key),
            Stage::Parked(key) => _ = self.parked.insert(key),
            Stage::Held(until) => self.at(until, gang),
            _ => {}
        }
    }

    /// Forgets a gang that is gone; `stage` is where it was.
    pub fn forget(&mut self, gang: GangId, stage: Stage) {
        self.drop_stage(stage);
        self.held.remove(&gang);
        self.admitted.remove(&gang);
    }

    fn drop_stage(&mut self, stage: Stage) {
        match stage {
            Stage::Queued(key) => _ = self.queued.remove(&key),
            Stage::Parked(key) => _ = self.parked.remove(&key),
            _ => {}
        }
    }

    /// Has a gang looked at again at a time.
    pub fn at(&mut self, time: Time, gang: GangId) {
        self.timers.insert((time, gang));
    }

    /// The gang whose turn it is.
    #[must_use]
    pub fn first_queued(&self) -> Option<GangId> {
        self.queued.first().map(|key| key.gang)
    }

    /// Gangs tried in vain, in order.
    pub fn parked(&self) -> impl Iterator<Item = &OrderKey> {
        self.parked.iter()
    }

    /// Gangs that wait for a place, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &OrderKey> {
        let mut queued = self.queued.iter().peekable();
        let mut parked = self.parked.iter().peekable();
        std::iter::from_fn(move || match (queued.peek(), parked.peek()) {
            (Some(first), Some(second)) if first > second => parked.next(),
            (Some(_), _) => queued.next(),
            (None, _) => parked.next(),
        })
    }

    /// How many gangs wait for a place.
    #[must_use]
    pub fn waiting_len(&self) -> usize {
        self.queued.len() + self.parked.len()
    }

    /// Whether a gang could be tried now.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.queued.is_empty()
    }

    /// When the next timer is due.
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// Takes the gangs whose time has come.
    pub fn take_due(&mut self, now: Time) -> BTreeSet<GangId> {
        let mut due = BTreeSet::new();
        while let Some((time, gang)) = self.timers.first().copied()
            && time <= now
        {
            self.timers.pop_first();
            due.insert(gang);
        }
        due
    }
}
