//! How far each gang is, who is next, who waits for a change, and what is due when.

mod lines;
mod notes;
mod parked;
mod queued;

pub(super) use notes::RefusedRelease;
pub use notes::{MAX_RANKS, OrderKey, Progress, Release, Stage};
pub(super) use parked::Want;

use crate::core::state::{ClusterState, GangId, QueueId};
use crate::core::transaction::Committed;
use crate::core::units::Time;
use lines::Lines;
use notes::Notes;
use parked::Parked;
use queued::Queued;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// The order of work, and the notes on each gang. A gang's stage and the sets it is in change
/// together.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    notes: Notes,
    queued: Queued,
    parked: Parked,
    /// Gangs that were woken for all with their want, until it is known what came of that.
    woken: BTreeMap<GangId, (Want, OrderKey)>,
    /// Wants of which somebody else may fit as well: the first after this place.
    next: BTreeMap<Want, OrderKey>,
    lines: Lines,
    timers: BTreeSet<(Time, GangId)>,
    /// Gangs that back off after a release.
    backing_off: BTreeSet<GangId>,
    /// Decisions that a permit plugin holds, by gang.
    pub held: BTreeMap<GangId, Committed>,
    /// Gangs that are partly bound, and not under release.
    pub partial: BTreeSet<GangId>,
}

impl Agenda {
    /// The notes on a gang.
    #[must_use]
    pub fn progress(&self, gang: GangId) -> &Progress {
        self.notes.of(gang)
    }

    /// The notes on a gang, to change all but its stage.
    pub fn progress_mut(&mut self, gang: GangId) -> &mut Progress {
        self.notes.of_mut(gang)
    }

    /// Moves a gang to another stage, but for parking: that is `park`.
    pub fn set_stage(&mut self, state: &ClusterState, gang: GangId, stage: Stage) {
        let old = self.notes.set_stage(gang, stage);
        if let (Stage::Queued(old), Stage::Queued(new)) = (old, stage) {
            self.queued.remove(&old);
            self.queued.insert(new);
            return self.line_up(state, gang, stage);
        }
        self.drop_stage(gang, old);
        match stage {
            Stage::Queued(key) => self.queued.insert(key),
            Stage::Parked(key) => self.parked.insert(key, None),
            Stage::Held(until) => self.at(until, gang),
            Stage::BackingOff => _ = self.backing_off.insert(gang),
            _ => {}
        }
        self.line_up(state, gang, stage);
    }

    /// Puts a gang aside until a change could help it, or another with its want.
    pub(super) fn park(&mut self, state: &ClusterState, key: OrderKey, want: Option<Want>) {
        let stage = Stage::Parked(key);
        let old = self.notes.set_stage(key.gang, stage);
        self.drop_stage(key.gang, old);
        self.parked.insert(key, want);
        self.line_up(state, key.gang, stage);
    }

    /// Queues the first with a want, if `after` is given the first after that place, for all who want
    /// the same: if it gets a place, or fails for a reason of its own, the next is woken.
    pub(super) fn wake(&mut self, state: &ClusterState, want: Want, after: Option<OrderKey>) {
        let Some(key) = self.parked.first_with(want, after) else {
            return;
        };
        self.set_stage(state, key.gang, Stage::Queued(key));
        self.woken.insert(key.gang, (want, key));
    }

    /// A gang got a place, or was not tried for all with its want: the next may get one.
    pub fn seated(&mut self, gang: GangId) {
        if let Some((want, key)) = self.woken.remove(&gang) {
            self.wake_after(want, key);
        }
    }

    fn wake_after(&mut self, want: Want, key: OrderKey) {
        let after = self.next.entry(want).or_insert(key);
        *after = key.max(*after);
    }

    /// There is no room for a gang, so there is none for any other with its want. It may have
    /// another want by now than that for which it was woken.
    pub(super) fn found_no_room(&mut self, gang: GangId, want: Option<Want>) {
        if let Some((woken_for, key)) = self.woken.remove(&gang)
            && Some(woken_for) != want
        {
            self.wake_after(woken_for, key);
        }
    }

    /// The wants with which somebody else may fit, and after whom.
    pub(super) fn take_next(&mut self) -> BTreeMap<Want, OrderKey> {
        std::mem::take(&mut self.next)
    }

    /// Those of some parked gangs who would not have had their turn anyway: nobody with their want
    /// was woken.
    pub fn out_of_turn(&self, gangs: impl IntoIterator<Item = GangId>) -> BTreeSet<GangId> {
        let woken = self.woken.values().map(|(want, _)| *want);
        let turns: BTreeSet<Want> = woken.chain(self.next.keys().copied()).collect();
        let in_turn = |gang: &GangId| {
            self.parked
                .want(*gang)
                .is_some_and(|one| turns.contains(&one))
        };
        gangs.into_iter().filter(|gang| !in_turn(gang)).collect()
    }

    /// Forgets a gang that is gone. What was held of it is to be undone.
    pub fn forget(&mut self, gang: GangId) -> Option<Committed> {
        let stage = self.notes.forget(gang);
        self.drop_stage(gang, stage);
        self.lines.leave(gang);
        self.partial.remove(&gang);
        self.held.remove(&gang)
    }

    fn drop_stage(&mut self, gang: GangId, stage: Stage) {
        match stage {
            Stage::Queued(key) => {
                self.queued.remove(&key);
                // It was not tried, or in vain for a reason of its own.
                self.seated(gang);
            }
            Stage::Parked(key) => self.parked.remove(&key),
            Stage::BackingOff => _ = self.backing_off.remove(&gang),
            _ => {}
        }
    }

    /// Puts a gang where it belongs in its queue's line, or takes it out.
    fn line_up(&mut self, state: &ClusterState, gang: GangId, stage: Stage) {
        match stage {
            Stage::Queued(key) | Stage::Parked(key) if state[gang].missing() > 0 => {
                self.lines.enter(key);
            }
            _ => self.lines.leave(gang),
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
        self.parked.all().iter()
    }

    /// Those of them without a want.
    pub fn parked_others(&self) -> impl Iterator<Item = &OrderKey> {
        self.parked.others().iter()
    }

    /// The first with each want that was tried in vain.
    pub(super) fn heads(&self) -> impl Iterator<Item = (Want, GangId)> {
        self.parked.heads()
    }

    /// Gangs tried in vain that come after `key`, in order.
    pub fn parked_after(&self, key: Option<OrderKey>) -> impl Iterator<Item = &OrderKey> {
        let from = key.map_or(Bound::Unbounded, Bound::Excluded);
        self.parked.all().range((from, Bound::Unbounded))
    }

    /// A gang's place in its queue's line, from 1; `None` if it is in none, or behind `at_most`
    /// others or more.
    #[must_use]
    pub fn position(&self, gang: GangId, at_most: u32) -> Option<u32> {
        self.lines.position(gang, at_most)
    }

    /// The place of every gang that is in a line, from 1.
    #[must_use]
    pub fn positions(&self) -> BTreeMap<GangId, u32> {
        self.lines.positions()
    }

    /// The first gangs of a queue's line.
    pub fn line(&self, queue: QueueId) -> impl Iterator<Item = GangId> {
        self.lines.of(queue)
    }

    /// Whether a line changed since it was last asked.
    #[must_use]
    pub fn has_changed_lines(&self) -> bool {
        self.lines.have_changed()
    }

    /// The queues whose line changed since this was last asked.
    pub fn take_changed_lines(&mut self) -> BTreeSet<QueueId> {
        self.lines.take_changed()
    }

    /// How many gangs wait for a place, those that back off included.
    #[must_use]
    pub fn waiting_len(&self) -> usize {
        self.queued.len() + self.parked.all().len() + self.backing_off.len()
    }

    /// Whether a gang could be tried now.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.queued.is_empty() || !self.next.is_empty()
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

    /// Compares with the stages, from scratch.
    ///
    /// # Errors
    /// The first difference, in words.
    pub fn audit(&self, state: &ClusterState) -> Result<(), String> {
        let mut anew = Self::default();
        for (id, gang) in state.gangs() {
            let stage = self.progress(id).stage();
            match stage {
                Stage::Queued(key) => anew.queued.insert(key),
                Stage::Parked(key) => anew.parked.insert(key, None),
                Stage::BackingOff => _ = anew.backing_off.insert(id),
                Stage::Held(_) if !self.held.contains_key(&id) => {
                    return Err(format!("gang {}: held, and nobody holds it", gang.key));
                }
                _ => {}
            }
            if self.held.contains_key(&id) && !matches!(stage, Stage::Held(_)) {
                return Err(format!(
                    "gang {}: holds places in stage {stage:?}",
                    gang.key
                ));
            }
            if self.progress(id).partial_since.is_some() != self.partial.contains(&id) {
                return Err(format!("gang {}: partly bound or not", gang.key));
            }
        }
        let same = anew.queued == self.queued
            && anew.parked.all() == self.parked.all()
            && self.parked.is_consistent()
            && anew.backing_off == self.backing_off;
        if !same {
            return Err("the agenda has other gangs than the stages say".to_owned());
        }
        let gone = |gang: &GangId| state.gang(*gang).is_none();
        if self.lines.gangs().chain(&self.partial).any(gone) {
            return Err("the agenda knows a gang that is gone".to_owned());
        }
        if !self.lines.is_consistent() {
            return Err("a gang is in no line, or in two".to_owned());
        }
        Ok(())
    }
}
