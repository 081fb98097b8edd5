//! Gangs to be tried, queue by queue, each queue in its order; who is next is found out when it is
//! asked.

use super::OrderKey;
use crate::core::state::QueueId;
use std::collections::{BTreeMap, BTreeSet};

/// Those to be tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Queued {
    queues: BTreeMap<QueueId, BTreeSet<OrderKey>>,
    /// The first of each queue.
    heads: BTreeSet<OrderKey>,
    len: usize,
}

impl Queued {
    pub(super) fn insert(&mut self, key: OrderKey) {
        let queue = self.queues.entry(key.queue).or_default();
        let head = queue.first().copied();
        if !queue.insert(key) {
            return;
        }
        self.len += 1;
        if head.is_none_or(|head| key < head) {
            if let Some(head) = head {
                self.heads.remove(&head);
            }
            self.heads.insert(key);
        }
    }

    pub(super) fn remove(&mut self, key: &OrderKey) {
        let Some(queue) = self.queues.get_mut(&key.queue) else {
            return;
        };
        if !queue.remove(key) {
            return;
        }
        self.len -= 1;
        if self.heads.remove(key) {
            self.heads.extend(queue.first());
        }
        if queue.is_empty() {
            self.queues.remove(&key.queue);
        }
    }

    /// Whose turn it is: of the heads of all queues the one that comes first.
    pub(super) fn first(&self) -> Option<&OrderKey> {
        self.heads.first()
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::actions::agenda::MAX_RANKS;
    use crate::core::state::{GangId, Id};

    fn key(rank: i64, queue: usize, gang: usize) -> OrderKey {
        OrderKey {
            ranks: [rank; MAX_RANKS],
            arrival: 0,
            gang: GangId::from_index(gang),
            queue: QueueId::from_index(queue),
        }
    }

    #[test]
    fn the_heads_of_all_queues_are_compared_and_each_queue_keeps_its_order() {
        let keys = [key(3, 0, 1), key(1, 1, 2), key(2, 0, 3), key(4, 1, 4)];
        let mut queued = Queued::default();
        keys.into_iter().for_each(|key| queued.insert(key));
        queued.insert(keys[0]);
        assert_eq!(queued.len(), 4);
        let mut order = Vec::new();
        while let Some(first) = queued.first().copied() {
            order.push(first.ranks[0]);
            queued.remove(&first);
        }
        assert_eq!(order, [1, 2, 3, 4]);
        assert_eq!(queued, Queued::default());
    }

    #[test]
    fn one_that_is_taken_out_of_the_middle_leaves_the_head_where_it_is() {
        let mut queued = Queued::default();
        for key in [key(1, 0, 1), key(2, 0, 2), key(3, 0, 3)] {
            queued.insert(key);
        }
        queued.remove(&key(2, 0, 2));
        assert_eq!(queued.first(), Some(&key(1, 0, 1)));
        queued.remove(&key(1, 0, 1));
        assert_eq!(queued.first(), Some(&key(3, 0, 3)));
    }
}
