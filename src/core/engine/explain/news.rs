//! Which explanations are not what they were, for whoever keeps them at hand for readers: some at a
//! time, so that to explain never takes long. Nobody who does not ask pays for it.

use super::{Eyes, gang, not_ours, queue, slots};
use crate::actions::Sight;
use crate::engine::Scheduler;
use crate::state::{GangId, QueueId};
use muster_model::GangKey;
use muster_model::SHOWN_POSITIONS;
use muster_model::explanation::Explained;
use muster_model::units::{Millis, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Gangs explained at once.
const GANGS: usize = 256;
/// Members these may have together.
const MEMBERS: usize = 4_000;
/// Gangs that are looked at for queues at once.
const LOOKS: usize = 20_000;
/// A queue is explained anew after so long at the earliest ...
const EVERY: Millis = Millis(1_000);
/// ... and this for each gang that names it, so that explaining a long queue stays a small part of
/// the time.
const MICROS_PER_GANG: u64 = 50;
/// Testbeds are explained anew after so long for each thing that is looked at for that.
const MICROS_PER_LOOK: u64 = 10;

/// What is to be explained anew.
#[derive(Debug, Default)]
pub(in crate::engine) struct News {
    gangs: BTreeSet<GangId>,
    queues: BTreeSet<QueueId>,
    /// Gangs that are gone.
    gone: Vec<GangKey>,
    /// Groups that may not be ours.
    others: BTreeSet<GangKey>,
    /// Those of them that were explained.
    others_told: BTreeSet<GangKey>,
    /// Who was explained, under which name and in which queue.
    gangs_told: BTreeMap<GangId, (GangKey, Option<QueueId>)>,
    queues_told: BTreeMap<QueueId, (Arc<str>, Time)>,
    testbeds: Testbeds,
}

/// Testbeds: explained together, for who waits for slots is looked up for all of them.
#[derive(Debug, Default)]
struct Testbeds {
    /// Something may be other than it was told.
    stale: bool,
    told: BTreeSet<String>,
    /// Not before this.
    due: Time,
}

impl News {
    /// How much is explained.
    pub(in crate::engine) fn told(&self) -> usize {
        let gangs = self.gangs_told.len() + self.others_told.len();
        gangs + self.queues_told.len() + self.testbeds.told.len()
    }

    /// Something happened to a gang.
    pub(in crate::engine) fn note_gang(&mut self, id: GangId, queue: Option<QueueId>) {
        self.gangs.insert(id);
        self.queues.extend(queue);
    }

    /// Something changed in the books of a queue.
    pub(in crate::engine) fn note_queue(&mut self, id: QueueId) {
        self.queues.insert(id);
    }

    /// Something happened, which may concern slots.
    pub(in crate::engine) fn note_slots(&mut self, has_testbeds: bool) {
        self.testbeds.stale |= has_testbeds || !self.testbeds.told.is_empty();
    }

    /// A gang is gone, and its number may be given to another.
    pub(in crate::engine) fn forget(&mut self, id: GangId) {
        self.gangs.remove(&id);
        if let Some((key, queue)) = self.gangs_told.remove(&id) {
            // It may be somebody else's now.
            self.others.insert(key.clone());
            self.gone.push(key);
            self.queues.extend(queue);
        }
    }

    /// Something changed about groups that may not be ours.
    pub(in crate::engine) fn note_others(&mut self, keys: impl IntoIterator<Item = GangKey>) {
        self.others.extend(keys);
    }

    fn take(&mut self, sight: Sight<'_>) -> Vec<Explained> {
        let gone = std::mem::take(&mut self.gone).into_iter();
        let mut news: Vec<Explained> = gone.map(Explained::GangGone).collect();
        let mut eyes = Eyes::new(sight);
        self.take_others(sight, &mut news);
        self.take_gangs(&mut eyes, &mut news);
        self.take_queues(&mut eyes, &mut news);
        self.testbeds.take(sight, &mut news);
        news
    }

    /// Says whose groups are that are not ours, so many at once.
    fn take_others(&mut self, sight: Sight<'_>, news: &mut Vec<Explained>) {
        for _ in 0..GANGS {
            let Some(key) = self.others.pop_first() else {
                break;
            };
            let told = self.others_told.remove(&key);
            if sight.state.find_gang(&key).is_some() {
                continue;
            }
            match not_ours::explain(sight.state, &key, sight.now) {
                Some(explained) => {
                    self.others_told.insert(key.clone());
                    news.push(Explained::Gang(key, Box::new(explained)));
                }
                None if told => news.push(Explained::GangGone(key)),
                None => {}
            }
        }
    }

    fn take_gangs(&mut self, eyes: &mut Eyes<'_>, news: &mut Vec<Explained>) {
        let sight = eyes.sight;
        let mut members = 0;
        for _ in 0..GANGS {
            if members >= MEMBERS {
                break;
            }
            let Some(id) = self.gangs.pop_first() else {
                break;
            };
            let Some(known) = sight.state.gang(id) else {
                continue;
            };
            // Readers ask by the name of a PodGroup; who asks about a pod has it explained then.
            if known.is_single() {
                continue;
            }
            members += known.members.len();
            let explained = gang::explain(eyes, id, SHOWN_POSITIONS);
            let told = (known.key.clone(), known.queue);
            let before = self.gangs_told.insert(id, told);
            // What it held in another queue it does not hold there any more.
            let moved = before.and_then(|(_, queue)| queue);
            self.queues
                .extend(moved.filter(|one| Some(*one) != known.queue));
            news.push(Explained::Gang(known.key.clone(), Box::new(explained)));
        }
    }

    fn take_queues(&mut self, eyes: &mut Eyes<'_>, news: &mut Vec<Explained>) {
        let sight = eyes.sight;
        let due = |id: &QueueId| self.due_at(sight, *id) <= sight.now;
        let due: Vec<QueueId> = self.queues.iter().copied().filter(due).collect();
        let mut looks = 0;
        for id in due {
            if looks >= LOOKS {
                break;
            }
            self.queues.remove(&id);
            let before = self.queues_told.remove(&id).map(|(name, _)| name);
            let known = sight.state.queues().get(id);
            let renamed = |name: &Arc<str>| known.is_none_or(|queue| queue.name != *name);
            news.extend(before.filter(renamed).map(Explained::QueueGone));
            if let Some(known) = known {
                looks += known.gangs.len();
                let told = (Arc::clone(&known.name), sight.now);
                self.queues_told.insert(id, told);
                let explained = queue::explain(eyes, id, known);
                news.push(Explained::Queue(Box::new(explained)));
            }
        }
    }

    /// When a queue may be explained anew.
    fn due_at(&self, sight: Sight<'_>, id: QueueId) -> Time {
        let Some((_, told)) = self.queues_told.get(&id) else {
            return Time::ZERO;
        };
        let gangs = sight
            .state
            .queues()
            .get(id)
            .map_or(0, |one| one.gangs.len());
        let rest = (gangs as u64).saturating_mul(MICROS_PER_GANG) / 1_000;
        *told + Millis(rest.max(EVERY.0))
    }

    fn next_due(&self, sight: Sight<'_>) -> Option<Time> {
        if !self.gangs.is_empty() || !self.gone.is_empty() || !self.others.is_empty() {
            return Some(sight.now);
        }
        let queues = self.queues.iter();
        let testbeds = self.testbeds.stale.then_some(self.testbeds.due);
        queues
            .map(|id| self.due_at(sight, *id))
            .chain(testbeds)
            .min()
    }
}

impl Testbeds {
    fn take(&mut self, sight: Sight<'_>, news: &mut Vec<Explained>) {
        if !self.stale || self.due > sight.now {
            return;
        }
        self.stale = false;
        let there: BTreeSet<String> = sight.state.testbeds().map(str::to_owned).collect();
        let gone = self.told.difference(&there);
        news.extend(gone.cloned().map(Explained::TestbedGone));
        let mut looks = 0;
        if !there.is_empty() {
            let waiters = slots::Waiters::find(sight.state);
            looks += waiters.looks();
            for name in &there {
                let explained = slots::testbed(sight, name, &waiters);
                looks += explained.slot_count;
                news.push(Explained::Testbed(Box::new(explained)));
            }
        }
        self.told = there;
        let rest = (looks as u64).saturating_mul(MICROS_PER_LOOK) / 1_000;
        self.due = sight.now + Millis(rest.max(EVERY.0));
    }
}

impl Scheduler {
    /// From now on notes which explanations are not what they were.
    pub fn keep_explaining(&mut self) {
        let mut news = News::default();
        for (id, gang) in self.state.gangs() {
            news.note_gang(id, gang.queue);
        }
        news.note_others(self.state.groups_of_others().cloned());
        for (id, _) in self.state.queues().iter() {
            news.note_queue(id);
        }
        news.note_slots(self.state.has_testbeds());
        self.explained = Some(news);
    }

    /// Explains some of what is not what it was; and when there is more to explain.
    pub fn take_explained(&mut self, now: Time) -> (Vec<Explained>, Option<Time>) {
        let Some(mut news) = self.explained.take() else {
            return (Vec::new(), None);
        };
        let sight = self.sight(now);
        let taken = news.take(sight);
        let due = news.next_due(sight);
        self.explained = Some(news);
        (taken, due)
    }
}
