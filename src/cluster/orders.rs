//! Orders that wait for their turn: first come, first served, one a pod, and each can be asked
//! back while it waits. No I/O and no clock: the bind lane and the simulator use the same ones.

use muster_model::PodKey;
use muster_model::units::{Millis, Time};
use std::collections::BTreeMap;

/// An order that has not been sent after so long is given back: what was decided then may not be
/// what would be decided now.
pub const LONGEST_WAIT: Millis = Millis(5_000);

/// An order and when it was given.
#[derive(Debug)]
pub struct Order<T> {
    /// What is to be done.
    pub what: T,
    /// When it was ordered.
    pub given: Time,
}

/// Orders by the uid of their pod.
#[derive(Debug)]
pub struct Orders<T> {
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
    pub fn put(&mut self, pod: &PodKey, what: T, given: Time) {
        self.serial += 1;
        let uid = pod.uid.clone();
        self.by_uid.insert(uid.clone(), self.serial);
        let order = Order { what, given };
        self.waiting.insert(self.serial, (uid, order));
    }

    /// Asks the order about a pod back; one that has had its turn goes on.
    pub fn recall(&mut self, pod: &PodKey) {
        if let Some(serial) = self.by_uid.remove(&pod.uid)
            && let Some((_, order)) = self.waiting.remove(&serial)
        {
            self.given_back.push(order);
        }
    }

    /// Gives back what has waited for [`LONGEST_WAIT`].
    pub fn expire(&mut self, now: Time) {
        while let Some(first) = self.waiting.first_entry()
            && now.since(first.get().1.given) >= LONGEST_WAIT
        {
            let (uid, order) = first.remove();
            self.by_uid.remove(&uid);
            self.given_back.push(order);
        }
    }

    /// Gives everything back.
    pub fn give_up(&mut self) {
        self.by_uid.clear();
        let all = std::mem::take(&mut self.waiting).into_values();
        self.given_back.extend(all.map(|(_, order)| order));
    }

    /// Takes what was given back.
    pub fn take_given_back(&mut self) -> Vec<Order<T>> {
        std::mem::take(&mut self.given_back)
    }

    /// Takes the first order.
    pub fn take(&mut self) -> Option<Order<T>> {
        let (_, (uid, order)) = self.waiting.pop_first()?;
        self.by_uid.remove(&uid);
        Some(order)
    }

    /// When the first order will have waited for too long.
    #[must_use]
    pub fn expires_at(&self) -> Option<Time> {
        let (_, order) = self.waiting.first_key_value()?.1;
        Some(order.given + LONGEST_WAIT)
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

    #[test]
    fn what_is_asked_back_is_not_carried_out() {
        let mut orders = Orders::default();
        for name in ["a", "b", "c"] {
            orders.put(&pod(name), name, Time(0));
        }
        assert_eq!(orders.take().unwrap().what, "a");
        orders.recall(&pod("a"));
        orders.recall(&pod("b"));
        assert_eq!(names(orders.take_given_back()), ["b"]);
        assert_eq!(orders.take().unwrap().what, "c");
        assert!(orders.take().is_none());
    }

    #[test]
    fn what_waited_too_long_is_given_back() {
        let mut orders = Orders::default();
        orders.put(&pod("a"), "a", Time(0));
        orders.put(&pod("b"), "b", Time(1_000));
        orders.expire(Time(LONGEST_WAIT.0 - 1));
        assert_eq!(names(orders.take_given_back()), [""; 0]);
        orders.expire(Time(LONGEST_WAIT.0));
        assert_eq!(names(orders.take_given_back()), ["a"]);
        assert_eq!(orders.expires_at(), Some(Time(1_000) + LONGEST_WAIT));
        orders.give_up();
        assert_eq!(names(orders.take_given_back()), ["b"]);
        assert_eq!(orders.expires_at(), None);
    }
}
