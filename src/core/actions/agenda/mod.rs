//! How far each gang is, who is next, who waits for a change, and what is due when.

mod holders;
mod lines;
mod parked;
mod queued;
mod running;

pub(super) use holders::Holders;
use parked::After;
pub(super) use parked::{Likeness, Want};
pub use queued::Awaited;
pub(super) use queued::Block;
pub(super) use running::Term;

use super::claims::{Claims, Views};
use super::notes::{ChargedBy, Note, Notes, OrderKey, Stage};
use crate::fairness::Contest;
use crate::placement::Demand;
use crate::state::{ClusterState, Eased, GangId, QueueId, ShapeId};
use lines::Lines;
use muster_model::units::Time;
use parked::Parked;
use queued::Queued;
use running::Running;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// The numbers with which shapes were refused, by the serial numbers of the shapes; `None` where there are
/// several.
pub(super) type Hopes = BTreeMap<u64, Option<u64>>;

/// A gang that is tried on behalf of all with its want.
#[derive(Clone, Debug)]
struct Woken {
    want: Want,
    key: OrderKey,
    /// Who had their turn before it.
    after: After,
}

/// Which of the firsts of some queues, who want the same, is next.
fn next_of(state: &ClusterState, firsts: &[OrderKey]) -> Option<OrderKey> {
    let [first, _, ..] = firsts else {
        return firsts.first().copied();
    };
    let amounts = Demand::amounts(state, first.gang);
    let mut contest = Contest::default();
    for key in firsts {
        contest.update(state, key.queue, Some(amounts.clone()));
    }
    let queue = contest.first()?;
    firsts.iter().find(|key| key.queue == queue).copied()
}

/// The order of work, and the notes on each gang. A gang's stage and the sets it is in change
/// together; who has a claim to room is in [`Claims`].
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    notes: Notes,
    queued: Queued,
    parked: Parked,
    /// What the shapes hope for of other pods that are wanted by those who were tried in vain.
    pub(super) hopes: Hopes,
    /// Gangs that were woken for all with their want, until it is known what came of that.
    woken: BTreeMap<GangId, Woken>,
    /// Wants with which somebody else may fit as well, and who had their turn.
    next: BTreeMap<Want, After>,
    /// Wants that were not woken in a queue, because it was blocked.
    skipped: BTreeMap<QueueId, BTreeSet<Want>>,
    /// Gangs that were parked and are to be tried again: they may have to wait for others now.
    requeued: BTreeSet<GangId>,
    lines: Lines,
    timers: BTreeSet<(Time, GangId)>,
    /// Gangs that are not tried, others of their queue are, by what would have to change.
    held_apart: BTreeMap<Eased, BTreeSet<GangId>>,
    /// Those that may be tried again.
    eased: BTreeSet<GangId>,
    /// Gangs that back off after a release.
    backing_off: BTreeSet<GangId>,
    /// Gangs that are being taken off their nodes as a whole.
    releasing: BTreeSet<GangId>,
    running: Running,
    /// Somebody leaves at another time than was known.
    terms_changed: bool,
    /// Gangs that are partly bound, and not under release.
    pub partial: BTreeSet<GangId>,
}

impl Agenda {
    /// The notes on a gang.
    #[must_use]
    pub fn note(&self, gang: GangId) -> &Note {
        self.notes.of(gang)
    }

    /// The notes on a gang, to change all but its stage.
    pub fn note_mut(&mut self, gang: GangId) -> &mut Note {
        self.notes.of_mut(gang)
    }

    /// Moves a gang to another stage, but for parking: that is `park`.
    pub fn set_stage(&mut self, state: &ClusterState, gang: GangId, stage: Stage) {
        let old = self.notes.take_stage(gang);
        if let (Stage::Queued(old), Stage::Queued(new)) = (&old, &stage) {
            self.queued.remove(old);
            self.queued.insert(*new);
        } else {
            if let (Stage::Parked(_), Stage::Queued(_)) = (&old, &stage) {
                self.requeued.insert(gang);
            }
            self.drop_stage(gang, &old);
            self.enter_stage(gang, &stage);
        }
        self.line_up(state, gang, &stage);
        self.notes.put_stage(gang, stage);
    }

    fn enter_stage(&mut self, gang: GangId, stage: &Stage) {
        match stage {
            Stage::Queued(key) => self.queued.insert(*key),
            Stage::Parked(key) => self.parked.insert(*key, None),
            Stage::Held(until) => self.at(*until, gang),
            Stage::BackingOff => _ = self.backing_off.insert(gang),
            Stage::Releasing(_) => _ = self.releasing.insert(gang),
            Stage::Settled | Stage::Waiting | Stage::Asking(_) => {}
        }
    }

    /// Puts a gang aside until a change could help it, or another with its want.
    pub(super) fn park(&mut self, state: &ClusterState, key: OrderKey, likeness: Option<Likeness>) {
        let stage = Stage::Parked(key);
        let old = self.notes.take_stage(key.gang);
        self.drop_stage(key.gang, &old);
        self.parked.insert(key, likeness);
        self.line_up(state, key.gang, &stage);
        self.notes.put_stage(key.gang, stage);
    }

    /// Queues somebody with a want, on behalf of all who want the same: of each queue it is the first
    /// (after a place, where one is given), and of the queues the one that is next. If it gets a
    /// place, or fails for a reason of its own, the next is woken.
    pub(super) fn wake(
        &mut self,
        state: &ClusterState,
        views: Views<'_>,
        want: Want,
        after: After,
    ) {
        let firsts = self.parked.first_with(want, &after, views);
        let (stuck, firsts): (Vec<_>, Vec<_>) = firsts
            .into_iter()
            .partition(|key| self.queued.is_blocked(key));
        for key in stuck {
            self.skipped.entry(key.queue).or_default().insert(want);
        }
        let Some(key) = next_of(state, &firsts) else {
            return;
        };
        self.set_stage(state, key.gang, Stage::Queued(key));
        self.woken.insert(key.gang, Woken { want, key, after });
    }

    /// A gang got a place, or was not tried for all with its want: the next may get one.
    pub fn seated(&mut self, gang: GangId) {
        if let Some(woken) = self.woken.remove(&gang) {
            self.wake_after(woken);
        }
    }

    fn wake_after(&mut self, woken: Woken) {
        let after = self.next.entry(woken.want).or_default();
        for key in woken.after.into_values().chain([woken.key]) {
            let place = after.entry(key.queue).or_insert(key);
            *place = key.max(*place);
        }
    }

    /// There is no room for a gang, so there is none for any other with its want. It may have
    /// another want by now than that for which it was woken.
    pub(super) fn found_no_room(&mut self, gang: GangId, want: Option<Want>) {
        if let Some(woken) = self.woken.remove(&gang)
            && Some(woken.want) != want
        {
            self.wake_after(woken);
        }
    }

    /// The wants with which somebody else may fit, and who had their turn.
    pub(super) fn take_next(&mut self) -> BTreeMap<Want, After> {
        for queue in self.queued.take_unblocked() {
            for want in self.skipped.remove(&queue).unwrap_or_default() {
                self.next.entry(want).or_default();
            }
        }
        std::mem::take(&mut self.next)
    }

    /// Those of some parked gangs who would not have had their turn anyway: nobody with their want
    /// was woken.
    pub fn out_of_turn(
        &self,
        claims: &Claims,
        now: Time,
        gangs: impl IntoIterator<Item = OrderKey>,
    ) -> BTreeSet<GangId> {
        let woken = self.woken.values().map(|woken| woken.want);
        let turns: BTreeSet<Want> = woken.chain(self.next.keys().copied()).collect();
        let renewed = claims.to_renew.values().map(|(gang, _)| *gang);
        let renewed: BTreeSet<GangId> = renewed.collect();
        let views = claims.views(now);
        let in_turn = |key: &OrderKey| {
            let want = self.parked.want(*key, views);
            want.is_some_and(|one| turns.contains(&one)) || renewed.contains(&key.gang)
        };
        let gangs = gangs.into_iter().filter(|key| !in_turn(key));
        gangs.map(|key| key.gang).collect()
    }

    /// A gang's PodGroup is another object than before: it has nothing of the former one's history.
    pub fn forget_history(&mut self, gang: GangId) {
        self.notes.forget_history(gang);
    }

    /// Forgets a gang that is gone.
    pub fn forget(&mut self, gang: GangId) {
        let stage = self.notes.forget(gang);
        self.drop_stage(gang, &stage);
        self.lines.leave(gang);
        self.running.note(gang, None);
        self.partial.remove(&gang);
        self.eased.remove(&gang);
        self.requeued.remove(&gang);
        self.held_apart.retain(|_, gangs| {
            gangs.remove(&gang);
            !gangs.is_empty()
        });
    }

    fn drop_stage(&mut self, gang: GangId, stage: &Stage) {
        match stage {
            Stage::Queued(key) => {
                self.queued.remove(key);
                // It was not tried, or in vain for a reason of its own.
                self.seated(gang);
            }
            Stage::Parked(key) => self.parked.remove(key),
            Stage::BackingOff => _ = self.backing_off.remove(&gang),
            Stage::Releasing(_) => _ = self.releasing.remove(&gang),
            _ => {}
        }
    }

    /// Puts a gang where it belongs in its queue's line, or takes it out.
    fn line_up(&mut self, state: &ClusterState, gang: GangId, stage: &Stage) {
        match stage {
            Stage::Queued(key) | Stage::Parked(key) | Stage::Asking(key)
                if state[gang].missing() > 0 =>
            {
                self.lines.enter(*key);
            }
            _ => self.lines.leave(gang),
        }
    }

    /// Has a gang looked at again at a time.
    pub fn at(&mut self, time: Time, gang: GangId) {
        self.timers.insert((time, gang));
    }

    /// The gang that goes before all others.
    #[must_use]
    pub fn first_urgent(&self) -> Option<GangId> {
        self.queued.first_urgent().map(|key| key.gang)
    }

    /// The first of a queue that may be tried.
    #[must_use]
    pub fn head_of(&self, queue: QueueId) -> Option<GangId> {
        self.queued.head(queue).map(|key| key.gang)
    }

    /// The only queue of whose gangs one may be tried.
    #[must_use]
    pub fn only_ready(&self) -> Option<QueueId> {
        self.queued.only_ready()
    }

    /// The queues that may have another head than when this was last asked.
    pub fn take_moved(&mut self) -> BTreeSet<QueueId> {
        self.queued.take_moved()
    }

    /// Prepares for choosing among queues: time went on, and what they hold is another.
    pub fn begin_choosing(&mut self, now: Time) {
        self.queued.ease_due(now);
        self.queued.move_all();
    }

    /// Has nobody of a queue tried for now. Who was woken there on behalf of others makes way. Returns
    /// who was held before, if somebody else was.
    pub(super) fn block(&mut self, queue: QueueId, block: Block) -> Option<GangId> {
        let before = self.queued.block(queue, block);
        let stuck = |woken: &&Woken| woken.key.queue == queue && self.queued.is_blocked(&woken.key);
        let stuck: Vec<GangId> = self
            .woken
            .values()
            .filter(stuck)
            .map(|one| one.key.gang)
            .collect();
        stuck.into_iter().for_each(|gang| self.seated(gang));
        before
    }

    /// Something changed in the books of a queue, or of the cluster.
    pub fn ease(&mut self, what: Eased) {
        let by = match what {
            Eased::Use(by) => by,
            Eased::Terms(queue) => Some(queue),
        };
        self.queued.ease(Awaited::Books(by));
        for what in BTreeSet::from([what, Eased::Use(by)]) {
            let held_back = self.held_apart.remove(&what);
            self.eased.extend(held_back.into_iter().flatten());
        }
    }

    /// Notes a gang that may not start, or grow, before this changes; others of its queue may.
    pub fn hold_apart(&mut self, until: Eased, gang: GangId) {
        self.held_apart.entry(until).or_default().insert(gang);
    }

    /// Room may be there that was not: who holds back all of its queue until then is tried again.
    pub(super) fn ease_room(&mut self) {
        self.queued.ease(Awaited::Room);
    }

    /// Notes since when a gang holds nodes and when it leaves them, or that it holds none.
    pub(super) fn note_term(&mut self, gang: GangId, term: Option<Term>) {
        self.terms_changed |= self.running.note(gang, term);
    }

    /// Whether somebody leaves at another time than was known when this was last asked.
    pub(super) fn take_terms_changed(&mut self) -> bool {
        std::mem::take(&mut self.terms_changed)
    }

    /// Since when a gang holds nodes, and when it leaves them.
    pub(super) fn term(&self, gang: GangId) -> Option<Term> {
        self.running.term(gang)
    }

    /// Gangs that hold nodes and whose lifetime ends, the next first.
    pub(super) fn ends(&self) -> impl Iterator<Item = (Time, GangId)> {
        self.running.ends()
    }

    /// Gangs that hold nodes, by queue.
    pub(super) fn holders(&self) -> impl Iterator<Item = (QueueId, &Holders)> {
        self.running.by_queue()
    }

    /// The others that hold nodes, who has run longest first.
    pub(super) fn endless(&self) -> impl Iterator<Item = GangId> {
        self.running.endless()
    }

    /// Gangs that were parked and are to be tried again, since this was last asked.
    pub(super) fn take_requeued(&mut self) -> BTreeSet<GangId> {
        std::mem::take(&mut self.requeued)
    }

    /// Gangs that were held apart and may be tried again.
    pub fn take_eased(&mut self) -> BTreeSet<GangId> {
        std::mem::take(&mut self.eased)
    }

    /// The queues that were blocked, or otherwise than before, since this was last asked.
    pub fn take_blocked(&mut self) -> BTreeSet<QueueId> {
        self.queued.take_blocked()
    }

    /// What somebody waits for behind whom a gang that is to be tried has to wait.
    #[must_use]
    pub fn is_behind(&self, gang: GangId) -> Option<Awaited> {
        match self.notes.of(gang).stage() {
            Stage::Queued(key) => self.queued.is_behind(key),
            _ => None,
        }
    }

    /// The gang of a queue that its books hold back, and with it those behind it.
    #[must_use]
    pub fn held_in(&self, queue: QueueId) -> Option<GangId> {
        self.queued.held_in(queue)
    }

    /// The gangs that are being taken off their nodes as a whole.
    pub fn releasing(&self) -> impl Iterator<Item = GangId> {
        self.releasing.iter().copied()
    }

    /// Gangs tried in vain, in order.
    pub fn parked(&self) -> impl Iterator<Item = &OrderKey> {
        self.parked.all().iter()
    }

    /// Those of them without a want.
    pub fn parked_others(&self) -> impl Iterator<Item = &OrderKey> {
        self.parked.others().iter()
    }

    /// The shapes that parked gangs want, and somebody who wants each.
    pub(super) fn wanted_shapes(&self) -> BTreeMap<ShapeId, GangId> {
        self.parked.shapes()
    }

    /// Whether a parked gang wants a shape.
    pub(super) fn is_wanted(&self, shape: ShapeId) -> bool {
        self.parked.has_shape(shape)
    }

    /// What those want now who want a shape.
    pub(super) fn wants(&self, views: Views<'_>, shape: ShapeId) -> BTreeSet<Want> {
        self.parked.wants(shape, views)
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

    /// How many gangs a queue's line has.
    #[must_use]
    pub fn line_len(&self, queue: QueueId) -> usize {
        self.lines.len_of(queue)
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

    /// The first of a queue's line for whom others may have to go: for who is before them and has a
    /// place held for it already, nobody more does.
    pub(super) fn askers(
        &self,
        claims: &Claims,
        queue: QueueId,
        at_most: u32,
    ) -> impl Iterator<Item = GangId> {
        let waits = |gang: &GangId| !claims.nominated.contains(gang);
        self.line(queue).filter(waits).take(at_most as usize)
    }

    /// Somebody of a queue has no part in what those behind it wait for any more: they move up.
    pub(super) fn move_up(&mut self, queue: QueueId) {
        self.lines.move_up(queue);
    }

    /// The queues whose line somebody left since this was last asked.
    pub fn take_left_lines(&mut self) -> BTreeSet<QueueId> {
        self.lines.take_left()
    }

    /// How many gangs wait for a place, those that back off included.
    #[must_use]
    pub fn waiting_len(&self) -> usize {
        self.queued.len() + self.parked.all().len() + self.backing_off.len()
    }

    /// Whether a gang could be tried now.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.queued.is_idle() || !self.next.is_empty() || self.lines.moved_up()
    }

    /// When the next timer is due.
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        let gangs = self.timers.first().map(|(time, _)| *time);
        gangs.into_iter().chain(self.queued.next_timer()).min()
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
            match self.note(id).stage() {
                Stage::Queued(key) => anew.queued.insert(*key),
                Stage::Parked(key) => anew.parked.insert(*key, None),
                Stage::BackingOff => _ = anew.backing_off.insert(id),
                Stage::Releasing(_) => _ = anew.releasing.insert(id),
                _ => {}
            }
            let charged = self.note(id).charged;
            let known = !state.changes().gangs.contains(&id);
            if known && gang.holding > 0 && charged != Some(ChargedBy::of(gang)) {
                return Err(format!("gang {}: is charged as {charged:?}", gang.key));
            }
            if self.note(id).partial.is_some() != self.partial.contains(&id) {
                return Err(format!("gang {}: partly bound or not", gang.key));
            }
        }
        let same = anew.queued == self.queued
            && anew.parked.all() == self.parked.all()
            && self.parked.is_consistent()
            && anew.backing_off == self.backing_off
            && anew.releasing == self.releasing;
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
