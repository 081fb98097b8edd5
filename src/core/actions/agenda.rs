//! Who is next, who waits for a change, and what is due when.

use super::parked::{Kind, Parked};
use crate::core::state::{ClusterState, GangId, OrderKey, QueueId, Stage};
use crate::core::transaction::Committed;
use crate::core::units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// The order of work. Follows [`Stage`]: change stages through [`Agenda::set_stage`] only.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    queued: BTreeSet<OrderKey>,
    parked: Parked,
    /// Gangs that were woken for all of their kind, until it is known what came of that.
    woken: BTreeMap<GangId, Kind>,
    /// Kinds of which the next may fit as well.
    next: BTreeSet<Kind>,
    /// Of each queue the gangs that wait for the place of their minimum, in order.
    lines: BTreeMap<QueueId, BTreeSet<OrderKey>>,
    /// In which line a gang is, and where.
    in_line: BTreeMap<GangId, (QueueId, OrderKey)>,
    /// Queues whose line changed.
    lines_changed: BTreeSet<QueueId>,
    timers: BTreeSet<(Time, GangId)>,
    /// Gangs that back off after a release.
    backing_off: BTreeSet<GangId>,
    /// Decisions that a permit plugin holds, by gang.
    pub held: BTreeMap<GangId, Committed>,
    /// Gangs that are partly bound, and not under release.
    pub partial: BTreeSet<GangId>,
}

impl Agenda {
    /// Moves a gang to another stage, but for parking: that is [`Agenda::park`].
    pub fn set_stage(&mut self, state: &mut ClusterState, gang: GangId, stage: Stage) {
        let old = std::mem::replace(&mut state.progress_mut(gang).stage, stage);
        if let (Stage::Queued(old), Stage::Queued(new)) = (old, stage) {
            self.queued.remove(&old);
            self.queued.insert(new);
            return self.line_up(state, gang, stage);
        }
        self.drop_stage(gang, old);
        match stage {
            Stage::Queued(key) => _ = self.queued.insert(key),
            Stage::Parked(key) => self.parked.insert(key, None),
            Stage::Held(until) => self.at(until, gang),
            Stage::BackingOff => _ = self.backing_off.insert(gang),
            _ => {}
        }
        self.line_up(state, gang, stage);
    }

    /// Puts a gang aside until a change could help it, or another of its kind.
    pub fn park(&mut self, state: &mut ClusterState, key: OrderKey, kind: Option<Kind>) {
        let stage = Stage::Parked(key);
        let old = std::mem::replace(&mut state.progress_mut(key.gang).stage, stage);
        self.drop_stage(key.gang, old);
        self.parked.insert(key, kind);
        self.line_up(state, key.gang, stage);
    }

    /// Queues a gang for all of its kind: if it gets a place, the next of them is woken.
    pub fn wake(&mut self, state: &mut ClusterState, key: OrderKey, kind: Kind) {
        self.set_stage(state, key.gang, Stage::Queued(key));
        self.woken.insert(key.gang, kind);
    }

    /// A gang got a place: the next of its kind may get one, too.
    pub fn seated(&mut self, gang: GangId) {
        self.next.extend(self.woken.remove(&gang));
    }

    /// There is no room for a gang, so there is none for any other of its kind. It may be of
    /// another kind by now than that for which it was woken.
    pub fn found_no_room(&mut self, gang: GangId, kind: Option<Kind>) {
        let woken_for = self.woken.remove(&gang);
        self.next
            .extend(woken_for.filter(|woken| Some(*woken) != kind));
    }

    /// The kinds of which the next may fit.
    pub fn take_next(&mut self) -> BTreeSet<Kind> {
        std::mem::take(&mut self.next)
    }

    /// Forgets a gang that is gone; `stage` is where it was. What was held of it is to be undone.
    pub fn forget(&mut self, gang: GangId, stage: Stage) -> Option<Committed> {
        self.drop_stage(gang, stage);
        self.leave_line(gang);
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
        let (Stage::Queued(key) | Stage::Parked(key)) = stage else {
            return self.leave_line(gang);
        };
        let found = state.gang(gang).filter(|found| found.missing() > 0);
        let Some(queue) = found.and_then(|found| found.queue) else {
            return self.leave_line(gang);
        };
        if self.in_line.get(&gang) == Some(&(queue, key)) {
            return;
        }
        self.leave_line(gang);
        self.in_line.insert(gang, (queue, key));
        self.lines.entry(queue).or_default().insert(key);
        self.lines_changed.insert(queue);
    }

    fn leave_line(&mut self, gang: GangId) {
        let Some((queue, key)) = self.in_line.remove(&gang) else {
            return;
        };
        self.lines_changed.insert(queue);
        if let Some(line) = self.lines.get_mut(&queue) {
            line.remove(&key);
            if line.is_empty() {
                // Nobody is left whose position could have changed.
                self.lines.remove(&queue);
                self.lines_changed.remove(&queue);
            }
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

    /// Those of them that are of no kind.
    pub fn parked_others(&self) -> impl Iterator<Item = &OrderKey> {
        self.parked.others().iter()
    }

    /// The first of each kind that was tried in vain.
    pub fn heads(&self) -> impl Iterator<Item = (Kind, GangId)> {
        self.parked.heads()
    }

    /// The first of a kind that was tried in vain.
    #[must_use]
    pub fn head(&self, kind: Kind) -> Option<GangId> {
        self.parked.head(kind)
    }

    /// Gangs tried in vain that come after `key`, in order.
    pub fn parked_after(&self, key: Option<OrderKey>) -> impl Iterator<Item = &OrderKey> {
        let from = key.map_or(Bound::Unbounded, Bound::Excluded);
        self.parked.all().range((from, Bound::Unbounded))
    }

    /// A gang's place in its queue's line, from 1; `None` if it is in none, or behind more than
    /// `at_most` others.
    #[must_use]
    pub fn position(&self, gang: GangId, at_most: u32) -> Option<u32> {
        let (queue, key) = self.in_line.get(&gang)?;
        let line = self.lines.get(queue)?;
        let mut place = 1;
        for ahead in line {
            if ahead == key {
                return Some(place);
            }
            place += 1;
            if place > at_most {
                return None;
            }
        }
        None
    }

    /// The place of every gang that is in a line, from 1.
    #[must_use]
    pub fn positions(&self) -> BTreeMap<GangId, u32> {
        let lines = self.lines.values();
        let places = lines.flat_map(|line| line.iter().map(|key| key.gang).zip(1..));
        places.collect()
    }

    /// The first gangs of a queue's line.
    pub fn line(&self, queue: QueueId) -> impl Iterator<Item = GangId> {
        let line = self.lines.get(&queue).into_iter().flatten();
        line.map(|key| key.gang)
    }

    /// Whether a line changed since it was last asked.
    #[must_use]
    pub fn has_changed_lines(&self) -> bool {
        !self.lines_changed.is_empty()
    }

    /// The queues whose line changed since this was last asked.
    pub fn take_changed_lines(&mut self) -> BTreeSet<QueueId> {
        std::mem::take(&mut self.lines_changed)
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
            let stage = state.progress(id).stage;
            match stage {
                Stage::Queued(key) => _ = anew.queued.insert(key),
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
            if state.progress(id).partial_since.is_some() != self.partial.contains(&id) {
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
        if self.in_line.keys().chain(&self.partial).any(gone) {
            return Err("the agenda knows a gang that is gone".to_owned());
        }
        let in_lines: usize = self.lines.values().map(BTreeSet::len).sum();
        if in_lines != self.in_line.len() {
            return Err(format!(
                "{in_lines} gangs in lines, not {}",
                self.in_line.len()
            ));
        }
        Ok(())
    }
}
