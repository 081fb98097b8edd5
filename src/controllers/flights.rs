//! Which writes are on their way, and when the next of each object may be tried.

use super::Ticket;
use muster_model::units::{Doubling, Millis, Time};
use std::collections::BTreeMap;

/// Between the tries to write one object.
const WAITS: Doubling = Doubling {
    first: Millis(100),
    longest: Millis(30_000),
};

/// The writes of one machine, at most one an object. Of each is noted which object it is of, and what was sent.
#[derive(Debug)]
pub(crate) struct Flights<K, W> {
    next: u64,
    in_flight: BTreeMap<Ticket, (K, W)>,
    objects: BTreeMap<K, Object>,
}

/// What is noted of an object of which a write is in flight, or has failed.
#[derive(Debug, Default)]
struct Object {
    in_flight: bool,
    failures: u32,
    not_before: Time,
}

/// Whether an object may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum May {
    /// It may.
    Now,
    /// When what is in flight is answered.
    OnceAnswered,
    /// From this time on.
    From(Time),
}

impl<K, W> Default for Flights<K, W> {
    fn default() -> Self {
        Self {
            next: 0,
            in_flight: BTreeMap::new(),
            objects: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone, W> Flights<K, W> {
    pub(crate) fn may(&self, object: &K, now: Time) -> May {
        match self.objects.get(object) {
            Some(one) if one.in_flight => May::OnceAnswered,
            Some(one) if now < one.not_before => May::From(one.not_before),
            _ => May::Now,
        }
    }

    /// A write of it is sent.
    pub(crate) fn begin(&mut self, object: K, what: W) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.objects.entry(object.clone()).or_default().in_flight = true;
        self.in_flight.insert(ticket, (object, what));
        ticket
    }

    /// A write is answered; of which object, and what was sent, if it was in flight.
    pub(crate) fn land(&mut self, ticket: Ticket) -> Option<(K, W)> {
        let (object, what) = self.in_flight.remove(&ticket)?;
        if let Some(one) = self.objects.get_mut(&object) {
            one.in_flight = false;
        }
        Some((object, what))
    }

    /// What was to be done is done, or not wanted any more.
    pub(crate) fn settle(&mut self, object: &K) {
        if self.objects.get(object).is_some_and(|one| !one.in_flight) {
            self.objects.remove(object);
        }
    }

    /// A write came to nothing; when it may be tried again.
    pub(crate) fn failed(&mut self, object: &K, now: Time) -> Time {
        let one = self.objects.entry(object.clone()).or_default();
        one.not_before = now + WAITS.after(one.failures);
        one.failures = one.failures.saturating_add(1);
        one.not_before
    }

    /// It is not to be tried before this time.
    pub(crate) fn wait_until(&mut self, object: &K, time: Time) {
        self.objects.entry(object.clone()).or_default().not_before = time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_one_write_in_flight_and_waits_longer_after_each_failure() {
        let mut flights = Flights::default();
        let now = Time(1_000);
        let ticket = flights.begin("a", 7);
        assert_eq!(flights.may(&"a", now), May::OnceAnswered);
        assert_eq!(flights.may(&"b", now), May::Now);
        flights.settle(&"a");
        assert_eq!(flights.may(&"a", now), May::OnceAnswered);
        assert_eq!(flights.land(ticket), Some(("a", 7)));
        assert_eq!(flights.land(ticket), None, "a second answer");
        assert_eq!(flights.failed(&"a", now), Time(1_100));
        assert_eq!(flights.may(&"a", now), May::From(Time(1_100)));
        assert_eq!(flights.failed(&"a", now), Time(1_200));
        for _ in 0..20 {
            flights.failed(&"a", now);
        }
        assert_eq!(flights.failed(&"a", now), Time(31_000));
        flights.settle(&"a");
        assert_eq!(flights.may(&"a", now), May::Now);
        assert!(flights.objects.is_empty());
    }
}
