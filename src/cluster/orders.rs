//! Orders that wait for their turn, one a pod: first come, first served, but those that complete what has
//! begun before those that begin, and others before those of a namespace in trouble (`shares`). Each can be asked back
//! while it waits. No I/O and no clock: the bind lane
//! and the simulator use the same ones.
//!
//! Where the API server takes long, most of a wave is given back unsent and ordered again. Did the rest of a
//! gang that is bound in part queue behind those who came with it the first time, its patience would end
//! before its turn came.

use crate::shares::{Ended, Shares};
use muster_model::units::{Millis, Time};
use muster_model::{Bind, PodKey};
use std::collections::{BTreeMap, BTreeSet};

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

/// What an order does for the gang of its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// Completes one that has members on nodes and not yet its minimum.
    Completes,
    /// Begins one, or adds to one that has what it needs.
    Begins,
}

impl Turn {
    const ALL: [Self; 2] = [Self::Completes, Self::Begins];

    /// The turn of a bind.
    #[must_use]
    pub const fn of(bind: &Bind) -> Self {
        if bind.completes {
            Self::Completes
        } else {
            Self::Begins
        }
    }
}

/// An order's place among the others: those of one turn in the order in which they came.
type Place = (Turn, u64);

/// Which namespace is next: the one whose first order is.
type Rank = (Place, String);

/// Orders by the uid of their pod.
#[derive(Debug)]
pub struct Orders<T> {
    waiting: BTreeMap<Place, (PodKey, Order<T>)>,
    by_uid: BTreeMap<String, Place>,
    /// The places of each namespace's orders.
    places: BTreeMap<String, BTreeSet<Place>>,
    /// The namespaces that have orders, in the order of their ranks.
    ranks: BTreeSet<Rank>,
    shares: Shares,
    /// Who may be in trouble lets others go first before these are known to do better.
    gives_way: bool,
    serial: u64,
    given_back: Vec<Order<T>>,
}

impl<T> Default for Orders<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            by_uid: BTreeMap::new(),
            places: BTreeMap::new(),
            ranks: BTreeSet::new(),
            shares: Shares::default(),
            gives_way: false,
            serial: 0,
            given_back: Vec::new(),
        }
    }
}

impl<T> Orders<T> {
    /// That wait for however long: so no namespace has more than so many on the wire, and one whose last came to nothing
    /// lets others go first. Where orders expire, room comes of that.
    #[must_use]
    pub fn that_never_expire(at_most_of_each: usize) -> Self {
        Self {
            shares: Shares::with_at_most(at_most_of_each),
            gives_way: true,
            ..Self::default()
        }
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Puts an order behind the others of its turn.
    pub fn put(&mut self, pod: &PodKey, turn: Turn, what: T, given: Time) {
        self.serial += 1;
        let place = (turn, self.serial);
        self.by_uid.insert(pod.uid.clone(), place);
        let order = Order { what, given };
        self.waiting.insert(place, (pod.clone(), order));
        self.ranked_anew(&pod.namespace, |orders| {
            let places = orders.places.entry(pod.namespace.clone()).or_default();
            places.insert(place);
        });
    }

    /// Asks the order about a pod back; one that has had its turn goes on.
    pub fn recall(&mut self, pod: &PodKey) {
        if let Some(place) = self.by_uid.get(&pod.uid) {
            let order = self.remove(*place);
            self.given_back.extend(order.map(|(_, order)| order));
        }
    }

    /// Gives back what has waited for [`LONGEST_WAIT`].
    pub fn expire(&mut self, now: Time) {
        for turn in Turn::ALL {
            while let Some((place, first)) = self.first_of(turn)
                && now.since(first.given) >= LONGEST_WAIT
            {
                let order = self.remove(place);
                self.given_back.extend(order.map(|(_, order)| order));
            }
        }
    }

    fn first_of(&self, turn: Turn) -> Option<(Place, &Order<T>)> {
        let (place, (_, order)) = self.waiting.range((turn, 0)..=(turn, u64::MAX)).next()?;
        Some((*place, order))
    }

    fn remove(&mut self, place: Place) -> Option<(PodKey, Order<T>)> {
        let (pod, order) = self.waiting.remove(&place)?;
        self.by_uid.remove(&pod.uid);
        self.ranked_anew(&pod.namespace, |orders| {
            if let Some(places) = orders.places.get_mut(&pod.namespace) {
                places.remove(&place);
            }
        });
        Some((pod, order))
    }

    /// Changes something by which the rank of a namespace may be another one.
    fn ranked_anew(&mut self, namespace: &str, change: impl FnOnce(&mut Self)) {
        if let Some(before) = self.rank_of(namespace) {
            self.ranks.remove(&before);
        }
        change(self);
        match self.rank_of(namespace) {
            Some(now) => _ = self.ranks.insert(now),
            None => _ = self.places.remove(namespace),
        }
    }

    fn rank_of(&self, namespace: &str) -> Option<Rank> {
        let first = self.places.get(namespace)?.first()?;
        Some((*first, namespace.to_owned()))
    }

    /// Gives everything back.
    pub fn give_up(&mut self) {
        self.by_uid.clear();
        self.places.clear();
        self.ranks.clear();
        let all = std::mem::take(&mut self.waiting).into_values();
        self.given_back.extend(all.map(|(_, order)| order));
    }

    /// Takes what was given back.
    pub fn take_given_back(&mut self) -> Vec<Order<T>> {
        std::mem::take(&mut self.given_back)
    }

    /// Takes the order whose turn it is: it is on the wire from now on, until it has [`ended`](Self::ended).
    pub fn take(&mut self, now: Time) -> Option<Order<T>> {
        // Those that are passed over have something on the wire, of which there are not many.
        let may = |(_, namespace): &&Rank| self.shares.may_begin(namespace, now);
        let preferred = |(_, namespace): &&Rank| !self.shares.gives_way(namespace, now);
        let mut all = self.ranks.iter().filter(may);
        let first = match self.gives_way {
            true => all.find(preferred).or_else(|| self.ranks.iter().find(may)),
            false => all.next(),
        };
        let (first, _) = first?;
        let (pod, order) = self.remove(*first)?;
        self.shares.begin(&pod.namespace);
        Some(order)
    }

    /// An order of this namespace that was taken has ended.
    pub fn ended(&mut self, namespace: &str, how: Ended, now: Time) {
        self.shares.end(namespace, how, now);
    }

    /// Whether what comes of the binds of a namespace says nothing of the API server.
    #[must_use]
    pub fn is_in_trouble(&self, namespace: &str, now: Time) -> bool {
        self.shares.is_in_trouble(namespace, now)
    }

    /// When an order will first have waited for too long.
    #[must_use]
    pub fn expires_at(&self) -> Option<Time> {
        let firsts = Turn::ALL.into_iter().filter_map(|turn| self.first_of(turn));
        let first = firsts.map(|(_, order)| order.given).min()?;
        Some(first + LONGEST_WAIT)
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
            orders.put(&pod(name), Turn::Begins, name, Time(0));
        }
        assert_eq!(orders.take(Time(0)).unwrap().what, "a");
        orders.recall(&pod("a"));
        orders.recall(&pod("b"));
        assert_eq!(names(orders.take_given_back()), ["b"]);
        assert_eq!(orders.take(Time(0)).unwrap().what, "c");
        assert!(orders.take(Time(0)).is_none());
    }

    #[test]
    fn what_waited_too_long_is_given_back() {
        let mut orders = Orders::default();
        orders.put(&pod("a"), Turn::Begins, "a", Time(0));
        orders.put(&pod("b"), Turn::Completes, "b", Time(1_000));
        orders.expire(Time(LONGEST_WAIT.0 - 1));
        assert_eq!(names(orders.take_given_back()), [""; 0]);
        orders.expire(Time(LONGEST_WAIT.0));
        assert_eq!(names(orders.take_given_back()), ["a"]);
        assert_eq!(orders.expires_at(), Some(Time(1_000) + LONGEST_WAIT));
        orders.give_up();
        assert_eq!(names(orders.take_given_back()), ["b"]);
        assert_eq!(orders.expires_at(), None);
    }

    #[test]
    fn what_completes_goes_before_what_begins() {
        let mut orders = Orders::default();
        for (name, turn) in [
            ("a", Turn::Begins),
            ("b", Turn::Completes),
            ("c", Turn::Begins),
            ("d", Turn::Completes),
        ] {
            orders.put(&pod(name), turn, name, Time(0));
        }
        let order = std::iter::from_fn(|| orders.take(Time(0))).map(|order| order.what);
        assert_eq!(order.collect::<String>(), "bdac");
    }

    fn of(namespace: &str, uid: &str) -> PodKey {
        PodKey {
            namespace: namespace.to_owned(),
            ..pod(uid)
        }
    }

    #[test]
    fn where_nothing_expires_who_failed_lets_others_go_first() {
        let mut orders = Orders::that_never_expire(2);
        let taken = |orders: &mut Orders<&'static str>, now| orders.take(now).map(|one| one.what);
        for name in ["a1", "a2", "a3", "a4", "b1"] {
            orders.put(&of(&name[..1], name), Turn::Begins, name, Time(0));
        }
        assert_eq!(taken(&mut orders, Time(0)), Some("a1"));
        assert_eq!(taken(&mut orders, Time(0)), Some("a2"));
        assert_eq!(taken(&mut orders, Time(0)), Some("b1"), "it has two");
        assert_eq!(taken(&mut orders, Time(0)), None);
        orders.ended("a", Ended::Badly, Time(2_000));
        orders.put(&of("c", "c1"), Turn::Begins, "c1", Time(2_000));
        assert_eq!(taken(&mut orders, Time(2_000)), Some("c1"));
        assert_eq!(
            taken(&mut orders, Time(2_000)),
            Some("a3"),
            "nobody else waits"
        );
    }

    #[test]
    fn a_namespace_that_hangs_waits_behind_itself_alone() {
        let mut orders = Orders::default();
        let taken = |orders: &mut Orders<&'static str>, now| orders.take(now).map(|one| one.what);
        for name in ["a1", "a2", "a3", "b1", "b2", "b3"] {
            orders.put(&of(&name[..1], name), Turn::Begins, name, Time(0));
        }
        assert_eq!(taken(&mut orders, Time(0)), Some("a1"));
        orders.ended("a", Ended::Badly, Time(2_000));
        orders.ended("b", Ended::Judged, Time(2_000));
        assert!(orders.is_in_trouble("a", Time(2_000)));
        assert_eq!(taken(&mut orders, Time(2_000)), Some("a2"), "one of it");
        for name in ["b1", "b2", "b3"] {
            assert_eq!(taken(&mut orders, Time(2_000)), Some(name));
        }
        assert_eq!(taken(&mut orders, Time(2_000)), None);
        orders.ended("a", Ended::Judged, Time(2_100));
        assert_eq!(taken(&mut orders, Time(2_100)), Some("a3"));
        assert!(orders.places.is_empty() && orders.ranks.is_empty());
    }
}
