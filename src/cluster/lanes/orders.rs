//! Orders that wait for their turn: first come, first served, one a pod, and each can be asked
//! back while it waits. No I/O.

use crate::core::model::PodKey;
use std::collections::BTreeMap;
use tokio::time::{Duration, Instant};

/// An order and when it was given.
#[derive(Debug)]
pub(super) struct Order<T> {
    pub(super) what: T,
    pub(super) given: Instant,
}

/// Orders by the uid of their pod.
#[derive(Debug)]
pub(super) struct Orders<T> {
    waiting: BTreeMap<u64, (String, Order<T>)>,
    by_uid: BTreeMap<String, u64>,
    serial: u64,
    given_back: Vec<Order<T>>,
}

impl<T> Default for Orders<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            by_uid: BTreeMap::new(),
            serial: 0,
            given_back: Vec::new(),
        }
    }
}

impl<T> Orders<T> {
    /// Puts an order behind the others.
    pub(super) fn put(&mut self, pod: &PodKey, what: T, given: Instant) {
        self.serial += 1;
        let uid = pod.uid.clone();
        self.by_uid.insert(uid.clone(), self.serial);
        let order = Order { what, given };
        self.waiting.insert(self.serial, (uid, order));
    }

    /// Asks the order about a pod back; one that has had its turn goes on.
    pub(super) fn recall(&mut self, pod: &PodKey) {
        if let Some(serial) = self.by_uid.remove(&pod.uid)
            && let Some((_, order)) = self.waiting.remove(&serial)
        {
            self.given_back.push(order);
        }
    }

    /// Gives back what has waited for longer than `longest`.
    pub(super) fn expire(&mut self, now: Instant, longest: Duration) {
        while let Some(first) = self.waiting.first_entry()
            && now.duration_since(first.get().1.given) >= longest
        {
            let (uid, order) = first.remove();
            self.by_uid.remove(&uid);
            self.given_back.push(order);
        }
    }

    /// Gives everything back.
    pub(super) fn give_up(&mut self) {
        self.by_uid.clear();
        let all = std::mem::take(&mut self.waiting).into_values();
        self.given_back.extend(all.map(|(_, order)| order));
    }

    /// Takes what was given back.
    pub(super) fn take_given_back(&mut self) -> Vec<Order<T>> {
        std::mem::take(&mut self.given_back)
    }

    /// Takes the first order.
    pub(super) fn take(&mut self) -> Option<Order<T>> {
        let (_, (uid, order)) = self.waiting.pop_first()?;
        self.by_uid.remove(&uid);
        Some(order)
    }

    /// When the first order was given.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let (_, order) = self.waiting.first_key_value()?.1;
        Some(order.given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(uid: &str) -> PodKey {
        PodKey {
            uid: uid.to_owned(),
            ..PodKey::default()
        }
    }

    fn names(given_back: Vec<Order<&'static str>>) -> Vec<&'static str> {
        given_back.into_iter().map(|order| order.what).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_back_is_not_carried_out() {
        let mut orders = Orders::default();
        for name in ["a", "b", "c"] {
            orders.put(&pod(name), name, Instant::now());
        }
        assert_eq!(orders.take().unwrap().what, "a");
        orders.recall(&pod("a"));
        orders.recall(&pod("b"));
        assert_eq!(names(orders.take_given_back()), ["b"]);
        assert_eq!(orders.take().unwrap().what, "c");
        assert!(orders.take().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_waited_too_long_is_given_back() {
        let mut orders = Orders::default();
        let start = Instant::now();
        orders.put(&pod("a"), "a", start);
        orders.put(&pod("b"), "b", start + Duration::from_secs(1));
        let longest = Duration::from_secs(5);
        orders.expire(start + Duration::from_secs(4), longest);
        assert_eq!(names(orders.take_given_back()), [""; 0]);
        orders.expire(start + longest, longest);
        assert_eq!(names(orders.take_given_back()), ["a"]);
        assert_eq!(orders.oldest(), Some(start + Duration::from_secs(1)));
        orders.give_up();
        assert_eq!(names(orders.take_given_back()), ["b"]);
        assert_eq!(orders.oldest(), None);
    }
}
