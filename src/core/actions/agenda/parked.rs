//! Gangs that were tried in vain, in order, and by what they want.

use super::OrderKey;
use crate::core::state::{GangId, QueueId, ShapeId, View};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// What a gang wants whose members are all equal and may go anywhere. Where one does not fit, no
/// other with the same want does; and who goes first among them is a matter of order alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::core::actions) struct Want {
    /// The shape of its members.
    pub(in crate::core::actions) shape: ShapeId,
    /// What it may take of the room that is free.
    pub(in crate::core::actions) view: View,
    /// How many of them it wants at once.
    pub(in crate::core::actions) size: u32,
}

/// Those tried in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parked {
    all: BTreeSet<OrderKey>,
    alike: BTreeMap<Want, BTreeMap<QueueId, BTreeSet<OrderKey>>>,
    wants: BTreeMap<GangId, Want>,
    /// Those without one.
    others: BTreeSet<OrderKey>,
}

impl Parked {
    pub(super) fn insert(&mut self, key: OrderKey, want: Option<Want>) {
        self.all.insert(key);
        match want {
            Some(want) => {
                self.wants.insert(key.gang, want);
                let queues = self.alike.entry(want).or_default();
                queues.entry(key.queue).or_default().insert(key);
            }
            None => _ = self.others.insert(key),
        }
    }

    pub(super) fn remove(&mut self, key: &OrderKey) {
        self.all.remove(key);
        self.others.remove(key);
        let Some(want) = self.wants.remove(&key.gang) else {
            return;
        };
        let Some(queues) = self.alike.get_mut(&want) else {
            return;
        };
        if let Some(alike) = queues.get_mut(&key.queue) {
            alike.remove(key);
            if alike.is_empty() {
                queues.remove(&key.queue);
            }
        }
        if queues.is_empty() {
            self.alike.remove(&want);
        }
    }

    /// All, in order.
    pub(super) const fn all(&self) -> &BTreeSet<OrderKey> {
        &self.all
    }

    /// Those without one, in order.
    pub(super) const fn others(&self) -> &BTreeSet<OrderKey> {
        &self.others
    }

    /// Whether each has one want or none.
    pub(super) fn is_consistent(&self) -> bool {
        let with_its_want = |key: &OrderKey| {
            let want = self.wants.get(&key.gang);
            let queues = want.and_then(|want| self.alike.get(want));
            let alike = queues.and_then(|queues| queues.get(&key.queue));
            alike.is_some_and(|alike| alike.contains(key))
        };
        let queues = self.alike.values().flat_map(BTreeMap::values);
        let alike: usize = queues.map(BTreeSet::len).sum();
        self.all.len() == alike + self.others.len()
            && self.wants.len() == alike
            && self
                .all
                .iter()
                .all(|key| with_its_want(key) != self.others.contains(key))
    }

    /// What a gang wants, if it is simple.
    pub(super) fn want(&self, gang: GangId) -> Option<Want> {
        self.wants.get(&gang).copied()
    }

    /// The wants, and somebody with each.
    pub(super) fn heads(&self) -> impl Iterator<Item = (Want, GangId)> {
        let heads = self.alike.iter();
        heads.filter_map(|(want, queues)| {
            let first = queues.values().next()?.first()?;
            Some((*want, first.gang))
        })
    }

    /// Of each queue the first with a want; where a place is given for the queue, the first after it.
    pub(super) fn first_with(&self, want: Want, after: &After) -> Vec<OrderKey> {
        let queues = self.alike.get(&want).into_iter().flatten();
        let first = |(queue, alike): (&QueueId, &BTreeSet<OrderKey>)| {
            let from = after
                .get(queue)
                .map_or(Bound::Unbounded, |key| Bound::Excluded(*key));
            alike.range((from, Bound::Unbounded)).next().copied()
        };
        queues.filter_map(first).collect()
    }
}

/// How far those with a want have had their turn, by queue.
pub(in crate::core::actions) type After = BTreeMap<QueueId, OrderKey>;
