//! Gangs that were tried in vain, in order, and by what they want.

use crate::actions::claims::{Claimant, Stay, Views};
use crate::actions::notes::OrderKey;
use crate::state::{GangId, Limit, QueueId, ShapeId, View};
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// What a gang wants whose members are all equal and may go anywhere. Where one does not fit, no
/// other with the same want does; and who goes first among them is a matter of order alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::actions) struct Want {
    /// The shape of its members.
    pub(in crate::actions) shape: ShapeId,
    /// What it may take of the room that is free.
    pub(in crate::actions) view: View,
    /// How many of them it wants at once.
    pub(in crate::actions) size: u32,
    /// How close together they have to be.
    pub(in crate::actions) limit: Option<Limit>,
}

/// What a want comes from, which does not change with time and with what is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::actions) struct Likeness {
    /// The shape of its members.
    pub(in crate::actions) shape: ShapeId,
    /// How many of them it wants at once.
    pub(in crate::actions) size: u32,
    /// The tier of its queue right below the cluster.
    pub(in crate::actions) tier: i32,
    /// For how long it would hold what it gets.
    pub(in crate::actions) stay: Stay,
    /// How close together they have to be.
    pub(in crate::actions) limit: Option<Limit>,
}

impl Likeness {
    /// Before all who want so many of a shape.
    const fn first_of(shape: ShapeId, size: u32) -> Self {
        Self {
            shape,
            size,
            tier: i32::MIN,
            stay: Stay::GivesWay,
            limit: None,
        }
    }

    /// After all who want a shape.
    const fn last_of(shape: ShapeId) -> Self {
        Self {
            shape,
            size: u32::MAX,
            tier: i32::MAX,
            stay: Stay::Grows(Some(Time(u64::MAX))),
            limit: Some(Limit::LAST),
        }
    }

    /// What one like that wants now.
    pub(in crate::actions) fn want(&self, key: OrderKey, views: Views<'_>) -> Want {
        let (tier, stay) = (self.tier, self.stay);
        self.with(views.of(Claimant { key, tier, stay }))
    }

    /// What one like that wants if it may take so much of the room.
    pub(in crate::actions) const fn with(&self, view: View) -> Want {
        let Self {
            shape, size, limit, ..
        } = *self;
        Want {
            shape,
            view,
            size,
            limit,
        }
    }
}

/// Those tried in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parked {
    all: BTreeSet<OrderKey>,
    alike: BTreeMap<Likeness, BTreeMap<QueueId, BTreeSet<OrderKey>>>,
    likenesses: BTreeMap<GangId, Likeness>,
    /// Those like no other.
    others: BTreeSet<OrderKey>,
}

impl Parked {
    pub(super) fn insert(&mut self, key: OrderKey, likeness: Option<Likeness>) {
        self.all.insert(key);
        match likeness {
            Some(likeness) => {
                self.likenesses.insert(key.gang, likeness);
                let queues = self.alike.entry(likeness).or_default();
                queues.entry(key.queue).or_default().insert(key);
            }
            None => _ = self.others.insert(key),
        }
    }

    pub(super) fn remove(&mut self, key: &OrderKey) {
        self.all.remove(key);
        self.others.remove(key);
        let Some(likeness) = self.likenesses.remove(&key.gang) else {
            return;
        };
        let Some(queues) = self.alike.get_mut(&likeness) else {
            return;
        };
        if let Some(alike) = queues.get_mut(&key.queue) {
            alike.remove(key);
            if alike.is_empty() {
                queues.remove(&key.queue);
            }
        }
        if queues.is_empty() {
            self.alike.remove(&likeness);
        }
    }

    /// All, in order.
    pub(super) const fn all(&self) -> &BTreeSet<OrderKey> {
        &self.all
    }

    /// Those like no other, in order.
    pub(super) const fn others(&self) -> &BTreeSet<OrderKey> {
        &self.others
    }

    /// Whether each has a likeness or is like no other.
    pub(super) fn is_consistent(&self) -> bool {
        let among_those_alike = |key: &OrderKey| {
            let likeness = self.likenesses.get(&key.gang);
            let queues = likeness.and_then(|likeness| self.alike.get(likeness));
            let alike = queues.and_then(|queues| queues.get(&key.queue));
            alike.is_some_and(|alike| alike.contains(key))
        };
        let queues = self.alike.values().flat_map(BTreeMap::values);
        let alike: usize = queues.map(BTreeSet::len).sum();
        self.all.len() == alike + self.others.len()
            && self.likenesses.len() == alike
            && self
                .all
                .iter()
                .all(|key| among_those_alike(key) != self.others.contains(key))
    }

    /// What a gang wants now, if it is simple.
    pub(super) fn want(&self, key: OrderKey, views: Views<'_>) -> Option<Want> {
        Some(self.likenesses.get(&key.gang)?.want(key, views))
    }

    /// The shapes that are wanted, and somebody who wants each.
    pub(super) fn shapes(&self) -> BTreeMap<ShapeId, GangId> {
        let (mut shapes, mut from) = (BTreeMap::new(), Bound::Unbounded);
        while let Some((likeness, queues)) = self.alike.range((from, Bound::Unbounded)).next() {
            let mut firsts = queues.values().filter_map(BTreeSet::first);
            shapes.extend(firsts.next().map(|first| (likeness.shape, first.gang)));
            from = Bound::Excluded(Likeness::last_of(likeness.shape));
        }
        shapes
    }

    /// Whether somebody wants a shape.
    pub(super) fn has_shape(&self, shape: ShapeId) -> bool {
        self.of_shape(shape, 0).next().is_some()
    }

    /// What those want now who want a shape.
    pub(super) fn wants(&self, shape: ShapeId, views: Views<'_>) -> BTreeSet<Want> {
        let of_shape = self.of_shape(shape, 0).flat_map(|(likeness, queues)| {
            let firsts = queues.values();
            let firsts = firsts.flat_map(move |alike| firsts_of(alike, None, views));
            firsts.map(move |key| likeness.want(key, views))
        });
        of_shape.collect()
    }

    /// Those who want a shape, so many of it at least, in the order of how many.
    fn of_shape(
        &self,
        shape: ShapeId,
        size: u32,
    ) -> impl Iterator<Item = (&Likeness, &BTreeMap<QueueId, BTreeSet<OrderKey>>)> {
        let from = self.alike.range(Likeness::first_of(shape, size)..);
        from.take_while(move |(likeness, _)| likeness.shape == shape)
    }

    /// Of each queue the first with a want; where a place is given for the queue, the first after it.
    pub(super) fn first_with(&self, want: Want, after: &After, views: Views<'_>) -> Vec<OrderKey> {
        let mut firsts: BTreeMap<QueueId, OrderKey> = BTreeMap::new();
        let so_many = self.of_shape(want.shape, want.size);
        for (likeness, queues) in so_many.take_while(|(one, _)| one.size == want.size) {
            for (queue, alike) in queues {
                let mut of_queue = firsts_of(alike, after.get(queue), views);
                if let Some(key) = of_queue.find(|key| likeness.want(*key, views) == want) {
                    let first = firsts.entry(*queue).or_insert(key);
                    *first = key.min(*first);
                }
            }
        }
        firsts.into_values().collect()
    }
}

/// Of some in one queue who are alike the first after a place, and the first who is not ahead of the one
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
pub(in crate::actions) type After = BTreeMap<QueueId, OrderKey>;
