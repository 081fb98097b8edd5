//! Events that wait to be posted, bounded: of each namespace first come, first served, and one namespace after the
//! other, so that one with many is in nobody's way.

use super::about::About;
use crate::words::Word;
use muster_model::Source;
use muster_model::units::{Millis, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

/// Events that may wait; what comes beyond is dropped and counted.
const BOUND: usize = 20_000;

/// What has waited for so long is dropped and counted: it says what was so then, and by now something else is.
const TOO_OLD: Millis = Millis(120_000);

/// Of so many namespaces it is looked at whether one may be posted.
const LOOKED_AT: usize = 100;

/// What is to be said in an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) about: About,
    /// `Normal` or `Warning`.
    pub(super) kind: &'static str,
    pub(super) reason: &'static str,
    pub(super) action: &'static str,
    pub(super) note: Arc<str>,
}

/// What of a word that was written as news is said in an event as well: why a pod waits; and, on the PodGroups
/// of Volcano, whose clients look for it, and of coscheduling, which has no conditions, whether the gang is
/// scheduled.
pub(super) fn of_word(word: &Word) -> Option<Event> {
    match word {
        Word::Pod(order) => Some(Event {
            about: (&order.pod).into(),
            kind: "Warning",
            reason: "FailedScheduling",
            action: "Scheduling",
            note: Arc::clone(&order.message),
        }),
        Word::Gang(status) => {
            let said = matches!(status.source, Source::Volcano | Source::Coscheduling);
            let mut conditions = status.conditions.iter().filter(|_| said);
            let scheduled = conditions.find(|one| one.kind == "Scheduled")?;
            let (kind, reason) = if scheduled.status {
                ("Normal", "Scheduled")
            } else {
                ("Warning", "Unschedulable")
            };
            Some(Event {
                about: (&**status).into(),
                kind,
                reason,
                action: "Scheduling",
                note: scheduled.message.as_str().into(),
            })
        }
        Word::Queue(_) | Word::Topology(_) => None,
    }
}

/// An event, and since when it waits.
#[derive(Debug)]
struct Waits {
    since: Time,
    event: Event,
}

/// The events, by namespace: each has its turn, and as much room as the others.
#[derive(Debug, Default)]
pub(super) struct Events {
    waiting: BTreeMap<Arc<str>, VecDeque<Waits>>,
    /// How many wait of each namespace.
    sizes: BTreeSet<(usize, Arc<str>)>,
    /// How many wait of all.
    count: usize,
    /// Whose turn it was last.
    last: Option<Arc<str>>,
}

impl Events {
    /// Puts an event in. If too many wait, the latest of the namespace with the most is dropped for it, or it is itself.
    /// Says whether none was dropped.
    pub(super) fn put(&mut self, event: Event, now: Time) -> bool {
        let is_full = self.count >= BOUND;
        if is_full && !self.make_room_for(&event.about.namespace) {
            return false;
        }
        let namespace = match self.waiting.get_key_value(&*event.about.namespace) {
            Some((known, _)) => Arc::clone(known),
            None => event.about.namespace.as_str().into(),
        };
        self.change(&namespace, |line| {
            line.push_back(Waits { since: now, event });
        });
        !is_full
    }

    /// Drops one of the namespace with the most, unless this one has as many.
    fn make_room_for(&mut self, namespace: &str) -> bool {
        let own = self.waiting.get(namespace).map_or(0, VecDeque::len);
        let Some((most, largest)) = self.sizes.last().cloned() else {
            return true;
        };
        if own >= most {
            return false;
        }
        self.change(&largest, |line| drop(line.pop_back()));
        true
    }

    /// Takes the next one of a namespace that may begin another write: one namespace after the other, so many at most
    /// as are looked at in one go. Those whose turn it is and that have waited for too long are dropped; says how many.
    pub(super) fn take(
        &mut self,
        may_begin: impl Fn(&str) -> bool,
        now: Time,
    ) -> (Option<Event>, u64) {
        let mut dropped = 0;
        for _ in 0..self.waiting.len().min(LOOKED_AT) {
            let Some(namespace) = self.whose_turn() else {
                break;
            };
            self.last = Some(Arc::clone(&namespace));
            dropped += self.drop_the_old(&namespace, now);
            let has_any = self.waiting.contains_key(&namespace);
            if has_any && may_begin(&namespace) {
                let next = self.change(&namespace, VecDeque::pop_front);
                return (next.map(|waits| waits.event), dropped);
            }
        }
        (None, dropped)
    }

    /// Drops those of a namespace that have waited for too long; says how many.
    fn drop_the_old(&mut self, namespace: &Arc<str>, now: Time) -> u64 {
        let is_old = |waits: &Waits| now.since(waits.since) >= TOO_OLD;
        let mut dropped = 0;
        while let Some(line) = self.waiting.get(namespace)
            && line.front().is_some_and(is_old)
        {
            self.change(namespace, VecDeque::pop_front);
            dropped += 1;
        }
        dropped
    }

    fn whose_turn(&self) -> Option<Arc<str>> {
        let after = self.last.as_deref().and_then(|last| {
            let others = (Bound::Excluded(last), Bound::Unbounded);
            self.waiting.range::<str, _>(others).next()
        });
        let next = after.or_else(|| self.waiting.first_key_value());
        next.map(|(namespace, _)| Arc::clone(namespace))
    }

    /// Changes what waits of a namespace.
    fn change<R>(
        &mut self,
        namespace: &Arc<str>,
        change: impl FnOnce(&mut VecDeque<Waits>) -> R,
    ) -> R {
        let line = self.waiting.entry(Arc::clone(namespace)).or_default();
        let before = line.len();
        let result = change(line);
        let now = line.len();
        self.count = self.count + now - before;
        self.sizes.remove(&(before, Arc::clone(namespace)));
        if now > 0 {
            self.sizes.insert((now, Arc::clone(namespace)));
        } else {
            self.waiting.remove(namespace);
        }
        result
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{Code, Condition, GangStatus};

    fn event_of(namespace: &str, note: &str) -> Event {
        Event {
            about: About {
                namespace: namespace.to_owned(),
                ..About::default()
            },
            kind: "Normal",
            reason: "Scheduled",
            action: "Binding",
            note: note.into(),
        }
    }

    fn counted(events: &Events) -> BTreeMap<&str, usize> {
        let count: usize = events.waiting.values().map(VecDeque::len).sum();
        assert_eq!(count, events.len());
        let lines = events.waiting.iter();
        let lines: BTreeMap<&str, usize> = lines.map(|(of, line)| (&**of, line.len())).collect();
        let sizes = events.sizes.iter();
        assert_eq!(lines, sizes.map(|(size, of)| (&**of, *size)).collect());
        lines
    }

    #[test]
    fn when_too_many_wait_the_latest_of_who_has_the_most_is_dropped() {
        let mut events = Events::default();
        for _ in 0..BOUND {
            assert!(events.put(event_of("loud", "a"), Time(0)));
        }
        assert!(!events.put(event_of("loud", "dropped"), Time(0)));
        for _ in 0..BOUND {
            assert!(
                !events.put(event_of("late", "b"), Time(0)),
                "one is dropped for it"
            );
        }
        let half = BOUND / 2;
        assert_eq!(counted(&events), [("late", half), ("loud", half)].into());
        assert!(!events.put(event_of("small", "c"), Time(0)));
        assert_eq!(counted(&events)["small"], 1);
        while events.take(|_| true, Time(0)).0.is_some() {}
        assert!(counted(&events).is_empty());
        assert!(events.put(event_of("loud", "again"), Time(0)));
    }

    #[test]
    fn each_namespace_has_its_turn_and_who_may_not_begin_is_passed_over() {
        let mut events = Events::default();
        for index in 0..1_000 {
            events.put(event_of("a-loud", &format!("loud-{index}")), Time(0));
        }
        for name in ["b", "c"] {
            events.put(event_of(name, "first"), Time(0));
            events.put(event_of(name, "second"), Time(0));
        }
        let mut next = |may: &dyn Fn(&str) -> bool| {
            let event = events.take(may, Time(0)).0?;
            Some(format!("{} {}", event.about.namespace, event.note))
        };
        let mut said = vec![
            next(&|_| true),
            next(&|of| of != "b"),
            next(&|of| of == "b"),
        ];
        said.extend([next(&|of| of != "a-loud"), next(&|_| true), next(&|_| true)]);
        let said: Vec<String> = said.into_iter().flatten().collect();
        let wanted = [
            "a-loud loud-0",
            "c first",
            "b first",
            "c second",
            "a-loud loud-1",
            "b second",
        ];
        assert_eq!(said, wanted);
        assert_eq!(next(&|of| of == "b"), None);
        assert_eq!(counted(&events), [("a-loud", 998)].into());
    }

    #[test]
    fn what_is_minutes_old_when_its_turn_comes_is_dropped_and_counted() {
        let mut events = Events::default();
        for at in [0, 1_000, 60_000] {
            events.put(event_of("slow", &format!("at {at}")), Time(at));
        }
        events.put(event_of("z", "young"), Time(TOO_OLD.0));
        let (event, dropped) = events.take(|_| true, Time(1_000) + TOO_OLD);
        assert_eq!(dropped, 2);
        assert_eq!(
            event.map(|one| one.note.to_string()),
            Some("at 60000".to_owned())
        );
        assert_eq!(counted(&events), [("z", 1)].into());
        // Also of a namespace that may not begin.
        events.put(event_of("deaf", "old"), Time(0));
        let (event, dropped) = events.take(|of| of != "deaf", Time(0) + TOO_OLD);
        assert_eq!(
            (event.map(|one| one.note.to_string()), dropped),
            (Some("young".to_owned()), 0)
        );
        assert_eq!(events.take(|of| of != "deaf", Time(0) + TOO_OLD), (None, 1));
        assert!(events.is_empty());
    }

    /// What is said in an event of a gang that waits, or is scheduled.
    fn of_gang(source: Source, scheduled: bool) -> Option<Event> {
        let condition = Condition {
            kind: Code::new("Scheduled"),
            status: scheduled,
            reason: Code::new("Unschedulable"),
            message: "1 of 2 members fit".into(),
        };
        of_word(&Word::Gang(Box::new(GangStatus {
            source,
            conditions: vec![condition],
            ..GangStatus::default()
        })))
    }

    #[test]
    fn clients_of_volcano_and_of_coscheduling_find_events_on_their_podgroups() {
        for source in [Source::Volcano, Source::Coscheduling] {
            let said = |scheduled| {
                let event = of_gang(source, scheduled)?;
                assert_eq!(&*event.note, "1 of 2 members fit");
                Some((event.kind, event.reason, event.about.kind))
            };
            let waits = ("Warning", "Unschedulable", "PodGroup");
            assert_eq!(said(false), Some(waits));
            assert_eq!(said(true), Some(("Normal", "Scheduled", "PodGroup")));
        }
    }

    #[test]
    fn other_podgroups_say_it_by_conditions_alone() {
        for source in [Source::Muster, Source::Upstream, Source::Implied] {
            assert_eq!(of_gang(source, false), None);
        }
    }
}
