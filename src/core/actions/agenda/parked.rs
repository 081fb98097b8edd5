//! Gangs that were tried in vain, in order, and by what they want.

use super::OrderKey;
use crate::core::actions::reservation::{Claimant, Stay, Views};
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

/// What a want comes from, which does not change with time and with what is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::core::actions) struct Kind {
    /// The shape of its members.
    pub(in crate::core::actions) shape: ShapeId,
    /// How many of them it wants at once.
    pub(in crate::core::actions) size: u32,
    /// The tier of its queue right below the cluster.
    pub(in crate::core::actions) tier: i32,
    /// For how long it would hold what it gets.
    pub(in crate::core::actions) stay: Stay,
}

impl Kind {
    /// What one of this kind wants now.
    pub(in crate::core::actions) fn want(&self, key: OrderKey, views: Views<'_>) -> Want {
        let Self { shape, size, .. } = *self;
        let (tier, stay) = (self.tier, self.stay);
        let view = views.of(Claimant { key, tier, stay });
        Want { shape, view, size }
    }
}

/// Those tried in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parked {
    all: BTreeSet<OrderKey>,
    alike: BTreeMap<Kind, BTreeMap<QueueId, BTreeSet<OrderKey>>>,
    kinds: BTreeMap<GangId, Kind>,
    /// Those of no kind.
    others: BTreeSet<OrderKey>,
}

impl Parked {
    pub(super) fn insert(&mut self, key: OrderKey, kind: Option<Kind>) {
        self.all.insert(key);
        match kind {
            Some(kind) => {
                self.kinds.insert(key.gang, kind);
                let queues = self.alike.entry(kind).or_default();
                queues.entry(key.queue).or_default().insert(key);
            }
            None => _ = self.others.insert(key),
        }
    }

    pub(super) fn remove(&mut self, key: &OrderKey) {
        self.all.remove(key);
        self.others.remove(key);
        let Some(kind) = self.kinds.remove(&key.gang) else {
            return;
        };
        let Some(queues) = self.alike.get_mut(&kind) else {
            return;
        };
        if let Some(alike) = queues.get_mut(&key.queue) {
            alike.remove(key);
            if alike.is_empty() {
                queues.remove(&key.queue);
            }
        }
        if queues.is_empty() {
            self.alike.remove(&kind);
        }
    }

    /// All, in order.
    pub(super) const fn all(&self) -> &BTreeSet<OrderKey> {
        &self.all
    }

    /// Those of no kind, in order.
    pub(super) const fn others(&self) -> &BTreeSet<OrderKey> {
        &self.others
    }

    /// Whether each has one kind or none.
    pub(super) fn is_consistent(&self) -> bool {
        let with_its_kind = |key: &OrderKey| {
            let kind = self.kinds.get(&key.gang);
            let queues = kind.and_then(|kind| self.alike.get(kind));
            let alike = queues.and_then(|queues| queues.get(&key.queue));
            alike.is_some_and(|alike| alike.contains(key))
        };
        let queues = self.alike.values().flat_map(BTreeMap::values);
        let alike: usize = queues.map(BTreeSet::len).sum();
        self.all.len() == alike + self.others.len()
            && self.kinds.len() == alike
            && self
                .all
                .iter()
                .all(|key| with_its_kind(key) != self.others.contains(key))
    }

    /// What a gang wants now, if it is simple.
    pub(super) fn want(&self, key: OrderKey, views: Views<'_>) -> Option<Want> {
        Some(self.kinds.get(&key.gang)?.want(key, views))
    }

    /// The shapes that are wanted, and somebody who wants each.
    pub(super) fn shapes(&self) -> BTreeMap<ShapeId, GangId> {
        let mut shapes = BTreeMap::new();
        for (kind, queues) in &self.alike {
            if let Some(first) = queues.values().next().and_then(BTreeSet::first) {
                shapes.entry(kind.shape).or_insert(first.gang);
            }
        }
        shapes
    }

    /// What those want now who want a shape.
    pub(super) fn wants(&self, shape: ShapeId, views: Views<'_>) -> BTreeSet<Want> {
        let of_shape = self.of_shape(shape).flat_map(|(kind, queues)| {
            let firsts = queues.values();
            let firsts = firsts.flat_map(move |alike| firsts_of(alike, None, views));
            firsts.map(move |key| kind.want(key, views))
        });
        of_shape.collect()
    }

    fn of_shape(
        &self,
        shape: ShapeId,
    ) -> impl Iterator<Item = (&Kind, &BTreeMap<QueueId, BTreeSet<OrderKey>>)> {
        let least = Kind {
            shape,
            size: 0,
            tier: i32::MIN,
            stay: Stay::Bound,
        };
        let from = self.alike.range(least..);
        from.take_while(move |(kind, _)| kind.shape == shape)
    }

    /// Of each queue the first with a want; where a place is given for the queue, the first after it.
    pub(super) fn first_with(&self, want: Want, after: &After, views: Views<'_>) -> Vec<OrderKey> {
        let mut firsts: BTreeMap<QueueId, OrderKey> = BTreeMap::new();
        for (kind, queues) in self.of_shape(want.shape) {
            if kind.size != want.size {
                continue;
            }
            for (queue, alike) in queues {
                let mut of_queue = firsts_of(alike, after.get(queue), views);
                if let Some(key) = of_queue.find(|key| kind.want(*key, views) == want) {
                    let first = firsts.entry(*queue).or_insert(key);
                    *first = key.min(*first);
                }
            }
        }
        firsts.into_values().collect()
    }
}

/// Of some of one kind and queue the first after a place, and the first who is not ahead of the one
/// that has reserved there: all the others want what one of these two does.
fn firsts_of(
    alike: &BTreeSet<OrderKey>,
    after: Option<&OrderKey>,
    views: Views<'_>,
) -> impl Iterator<Item = OrderKey> {
    let from = after.map_or(Bound::Unbounded, |key| Bound::Excluded(*key));
    let first = alike.range((from, Bound::Unbounded)).next().copied();
    let head = first.and_then(|first| views.head_of(first.queue).filter(|head| first < *head));
    let behind = head.and_then(|head| {
        let from = after.map_or(head, |after| head.max(*after));
        let behind = alike.range((Bound::Excluded(from), Bound::Unbounded));
        behind.into_iter().next().copied()
    });
    first.into_iter().chain(behind)
}

/// How far those with a want have had their turn, by queue.
pub(in crate::core::actions) type After = BTreeMap<QueueId, OrderKey>;
