//! Gangs to be tried, queue by queue, each queue in its order. Which queue is next is found out when
//! it is asked, and not here: see [`Contest`](crate::fairness::Contest).

use crate::actions::notes::{Lane, OrderKey};
use crate::state::{GangId, QueueId};
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Why nobody of a queue is tried from a place on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::actions) struct Block {
    /// Who waits for it. Who comes before may be tried.
    pub(in crate::actions) from: OrderKey,
    /// What it waits for.
    pub(in crate::actions) by: Awaited,
    /// Whether those in the lane [`Lane::Free`] wait for it, too.
    pub(in crate::actions) all: bool,
    /// When it ends by itself.
    pub(in crate::actions) until: Option<Time>,
}

/// What the one waits for behind whom all others of its queue wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaited {
    /// A change in the books of a queue; of `None`: in those of the cluster as a whole.
    Books(Option<QueueId>),
    /// Room.
    Room,
}

/// The gangs of one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lanes {
    promised: BTreeSet<OrderKey>,
    charged: BTreeSet<OrderKey>,
    free: BTreeSet<OrderKey>,
}

impl Lanes {
    fn head(&self, block: Option<&Block>) -> Option<&OrderKey> {
        let open = |key: &&OrderKey| block.is_none_or(|block| !block.holds(key));
        let lanes = [&self.promised, &self.charged, &self.free].into_iter();
        lanes.filter_map(|lane| lane.first().filter(open)).min()
    }

    /// The lane in which a place is; `None`: it is before all queues.
    const fn of(&mut self, lane: Lane) -> Option<&mut BTreeSet<OrderKey>> {
        match lane {
            Lane::Urgent => None,
            Lane::Promised => Some(&mut self.promised),
            Lane::Charged => Some(&mut self.charged),
            Lane::Free => Some(&mut self.free),
        }
    }

    fn has(&self, key: &OrderKey) -> bool {
        let mut lanes = [&self.promised, &self.charged, &self.free].into_iter();
        lanes.any(|lane| lane.contains(key))
    }

    fn is_empty(&self) -> bool {
        self.promised.is_empty() && self.charged.is_empty() && self.free.is_empty()
    }
}

impl Block {
    fn holds(&self, key: &OrderKey) -> bool {
        let behind = *key >= self.from;
        match key.lane {
            Lane::Urgent | Lane::Promised => false,
            Lane::Charged => behind,
            Lane::Free => behind && self.all,
        }
    }
}

/// Those to be tried.
#[derive(Clone, Debug, Default)]
pub(super) struct Queued {
    urgent: BTreeSet<OrderKey>,
    queues: BTreeMap<QueueId, Lanes>,
    len: usize,
    /// Queues whose head may be tried.
    ready: BTreeSet<QueueId>,
    /// Queues that may have another head since it was last asked.
    moved: BTreeSet<QueueId>,
    blocked: BTreeMap<QueueId, Block>,
    /// Who was the last of each queue to be told that it is held; since then somebody else may have
    /// been.
    told: BTreeMap<QueueId, GangId>,
    /// Queues that are not blocked any more.
    unblocked: BTreeSet<QueueId>,
    /// Queues that were blocked, since this was last asked.
    newly_blocked: BTreeSet<QueueId>,
    /// The queues that are blocked, by what their heads wait for.
    waiting_for: BTreeMap<Awaited, BTreeSet<QueueId>>,
    timers: BTreeSet<(Time, QueueId)>,
}

/// Only who is in it counts.
impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        (&self.urgent, &self.queues, self.len) == (&other.urgent, &other.queues, other.len)
    }
}

impl Queued {
    pub(super) fn insert(&mut self, key: OrderKey) {
        let new = match self.queues.entry(key.queue).or_default().of(key.lane) {
            Some(lane) => lane.insert(key),
            None => self.urgent.insert(key),
        };
        self.len += usize::from(new);
        self.look_at(key.queue);
    }

    pub(super) fn remove(&mut self, key: &OrderKey) {
        let lanes = self.queues.get_mut(&key.queue);
        let found = match lanes.and_then(|lanes| lanes.of(key.lane)) {
            Some(lane) => lane.remove(key),
            None => self.urgent.remove(key),
        };
        self.len -= usize::from(found);
        self.look_at(key.queue);
    }

    /// Brings what is known of a queue up to date.
    fn look_at(&mut self, queue: QueueId) {
        let Some(lanes) = self.queues.get(&queue) else {
            return;
        };
        self.moved.insert(queue);
        if lanes.head(self.blocked.get(&queue)).is_some() {
            self.ready.insert(queue);
        } else {
            self.ready.remove(&queue);
        }
        if lanes.is_empty() {
            self.queues.remove(&queue);
            self.told.remove(&queue);
        }
        // Who was held is gone or has moved: the next may be told something else.
        let gone = |block: &Block| !self.holds(&block.from);
        if self.blocked.get(&queue).is_some_and(gone) {
            self.unblock(queue);
            self.look_at(queue);
        }
    }

    fn holds(&self, key: &OrderKey) -> bool {
        let lanes = self.queues.get(&key.queue);
        lanes.is_some_and(|lanes| lanes.has(key))
    }

    /// Who goes before everybody else.
    pub(super) fn first_urgent(&self) -> Option<&OrderKey> {
        self.urgent.first()
    }

    /// The first of a queue that may be tried.
    pub(super) fn head(&self, queue: QueueId) -> Option<&OrderKey> {
        self.queues.get(&queue)?.head(self.blocked.get(&queue))
    }

    /// The queue of whose gangs one may be tried, if there is only one such queue.
    pub(super) fn only_ready(&self) -> Option<QueueId> {
        let first = self.ready.first().copied();
        first.filter(|_| self.ready.len() == 1)
    }

    /// Queues that may have another head than when this was last asked.
    pub(super) fn take_moved(&mut self) -> BTreeSet<QueueId> {
        std::mem::take(&mut self.moved)
    }

    /// Has every queue looked at again: what they hold, or the time, is another one.
    pub(super) fn move_all(&mut self) {
        self.moved.extend(&self.ready);
    }

    /// Nobody of this queue is tried from a place on until something changes. Returns who was held
    /// before, if that is somebody else: it may wait behind this one now.
    pub(super) fn block(&mut self, queue: QueueId, block: Block) -> Option<GangId> {
        self.unblock(queue);
        let before = self.told.insert(queue, block.from.gang);
        self.blocked.insert(queue, block);
        self.newly_blocked.insert(queue);
        self.waiting_for.entry(block.by).or_default().insert(queue);
        if let Some(until) = block.until {
            self.timers.insert((until, queue));
        }
        self.look_at(queue);
        before.filter(|gang| *gang != block.from.gang)
    }

    fn unblock(&mut self, queue: QueueId) {
        let Some(block) = self.blocked.remove(&queue) else {
            return;
        };
        self.unblocked.insert(queue);
        if let Some(waiting) = self.waiting_for.get_mut(&block.by) {
            waiting.remove(&queue);
            if waiting.is_empty() {
                self.waiting_for.remove(&block.by);
            }
        }
        if let Some(until) = block.until {
            self.timers.remove(&(until, queue));
        }
    }

    /// Something has changed: who waited for that may be tried again.
    pub(super) fn ease(&mut self, by: Awaited) {
        for queue in self.waiting_for.get(&by).cloned().unwrap_or_default() {
            self.unblock(queue);
            self.look_at(queue);
        }
    }

    /// Time has come for some.
    pub(super) fn ease_due(&mut self, now: Time) {
        while let Some((at, queue)) = self.timers.first().copied()
            && at <= now
        {
            self.unblock(queue);
            self.look_at(queue);
        }
    }

    /// The queues that are not blocked any more, since this was last asked.
    pub(super) fn take_unblocked(&mut self) -> BTreeSet<QueueId> {
        std::mem::take(&mut self.unblocked)
    }

    /// The queues that were blocked, or otherwise than before, since this was last asked.
    pub(super) fn take_blocked(&mut self) -> BTreeSet<QueueId> {
        std::mem::take(&mut self.newly_blocked)
    }

    /// When time comes for the next.
    pub(super) fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Whether the gang at this place is one whose queue is not tried.
    pub(super) fn is_blocked(&self, key: &OrderKey) -> bool {
        let block = self.blocked.get(&key.queue);
        block.is_some_and(|block| block.holds(key))
    }

    /// What somebody waits for behind whom the gang at this place has to wait.
    pub(super) fn is_behind(&self, key: &OrderKey) -> Option<Awaited> {
        let block = self.blocked.get(&key.queue)?;
        (block.holds(key) && *key != block.from).then_some(block.by)
    }

    /// The gang that its queue's books hold back, and with it those behind it.
    pub(super) fn held_in(&self, queue: QueueId) -> Option<GangId> {
        self.blocked.get(&queue).map(|block| block.from.gang)
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Whether nobody may be tried.
    pub(super) fn is_idle(&self) -> bool {
        self.urgent.is_empty() && self.ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::notes::MAX_RANKS;
    use crate::state::Id;

    fn key(rank: i64, queue: usize, lane: Lane) -> OrderKey {
        OrderKey {
            ranks: [rank; MAX_RANKS],
            arrival: 0,
            gang: GangId::from_index(usize::try_from(rank).unwrap()),
            queue: QueueId::from_index(queue),
            lane,
        }
    }

    fn queue(index: usize) -> QueueId {
        QueueId::from_index(index)
    }

    #[test]
    fn each_queue_keeps_its_order_over_both_lanes() {
        let mut queued = Queued::default();
        let keys = [
            key(3, 0, Lane::Charged),
            key(1, 1, Lane::Charged),
            key(2, 0, Lane::Free),
            key(4, 0, Lane::Charged),
        ];
        keys.into_iter().for_each(|key| queued.insert(key));
        queued.insert(keys[0]);
        assert_eq!((queued.len(), queued.only_ready()), (4, None));
        assert_eq!(queued.take_moved(), BTreeSet::from([queue(0), queue(1)]));
        let mut order = Vec::new();
        while let Some(first) = queued.head(queue(0)).copied() {
            order.push(first.ranks[0]);
            queued.remove(&first);
        }
        assert_eq!(order, [2, 3, 4]);
        assert_eq!(queued.only_ready(), Some(queue(1)));
        queued.remove(&keys[1]);
        assert!(queued.is_idle());
        assert_eq!(queued, Queued::default());
    }

    #[test]
    fn who_is_partly_bound_goes_before_all_and_is_never_blocked() {
        let mut queued = Queued::default();
        let urgent = key(9, 0, Lane::Urgent);
        queued.insert(urgent);
        queued.insert(key(1, 0, Lane::Charged));
        queued.block(queue(0), block(Awaited::Room, true));
        assert_eq!(queued.first_urgent(), Some(&urgent));
        assert!(!queued.is_blocked(&urgent));
    }

    /// From the place of rank 1 on.
    fn block(by: Awaited, all: bool) -> Block {
        Block {
            from: key(1, 0, Lane::Charged),
            by,
            all,
            until: None,
        }
    }

    #[test]
    fn who_comes_before_the_one_that_is_held_is_tried() {
        let mut queued = Queued::default();
        let (held, first) = (key(1, 0, Lane::Charged), key(0, 0, Lane::Charged));
        queued.insert(held);
        queued.block(queue(0), block(Awaited::Room, true));
        assert!(queued.is_idle());
        queued.insert(first);
        assert_eq!(queued.head(queue(0)), Some(&first));
        assert!(queued.is_blocked(&held) && !queued.is_blocked(&first));
        queued.remove(&held);
        assert_eq!(queued.take_unblocked(), BTreeSet::from([queue(0)]));
    }

    #[test]
    fn a_blocked_queue_is_tried_again_when_the_books_that_block_it_change() {
        let mut queued = Queued::default();
        let (charged, free) = (key(1, 0, Lane::Charged), key(2, 0, Lane::Free));
        queued.insert(charged);
        queued.insert(free);
        queued.block(queue(0), block(Awaited::Books(Some(queue(7))), false));
        assert_eq!(queued.head(queue(0)), Some(&free), "what is free goes on");
        queued.block(queue(0), block(Awaited::Books(Some(queue(7))), true));
        assert!(queued.is_idle() && queued.is_blocked(&free));
        queued.ease(Awaited::Books(Some(queue(0))));
        assert!(queued.is_idle());
        queued.ease(Awaited::Books(Some(queue(7))));
        assert_eq!(queued.head(queue(0)), Some(&charged));
    }

    #[test]
    fn a_block_may_end_by_time() {
        let mut queued = Queued::default();
        queued.insert(key(1, 0, Lane::Charged));
        let until = Some(Time(50));
        queued.block(
            queue(0),
            Block {
                until,
                ..block(Awaited::Room, true)
            },
        );
        assert_eq!(queued.next_timer(), until);
        queued.ease_due(Time(49));
        assert!(queued.is_idle());
        queued.ease_due(Time(50));
        assert!(!queued.is_idle());
        assert_eq!(queued.next_timer(), None);
    }
}
