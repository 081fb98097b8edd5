//! Events that wait to be posted, bounded: of each namespace first come, first served, and one namespace after the
//! other, so that one with many is in nobody's way.

use super::about::About;
use crate::words::Word;
use muster_model::Source;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

/// Events that may wait; what comes beyond is dropped and counted.
const BOUND: usize = 20_000;

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

/// The events, by namespace: each has its turn, and as much room as the others.
#[derive(Debug, Default)]
pub(super) struct Events {
    waiting: BTreeMap<Arc<str>, VecDeque<Event>>,
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
    pub(super) fn put(&mut self, event: Event) -> bool {
        let is_full = self.count >= BOUND;
        if is_full && !self.make_room_for(&event.about.namespace) {
            return false;
        }
        let namespace = match self.waiting.get_key_value(&*event.about.namespace) {
            Some((known, _)) => Arc::clone(known),
            None => event.about.namespace.as_str().into(),
        };
        self.change(&namespace, |line| line.push_back(event));
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
    /// as are looked at in one go.
    pub(super) fn take(&mut self, may_begin: impl Fn(&str) -> bool) -> Option<Event> {
        for _ in 0..self.waiting.len().min(LOOKED_AT) {
            let namespace = self.whose_turn()?;
            self.last = Some(Arc::clone(&namespace));
            if may_begin(&namespace) {
                return self.change(&namespace, VecDeque::pop_front);
            }
        }
        None
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
        change: impl FnOnce(&mut VecDeque<Event>) -> R,
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
            assert!(events.put(event_of("loud", "a")));
        }
        assert!(!events.put(event_of("loud", "dropped")));
        for _ in 0..BOUND {
            assert!(!events.put(event_of("late", "b")), "one is dropped for it");
        }
        let half = BOUND / 2;
        assert_eq!(counted(&events), [("late", half), ("loud", half)].into());
        assert!(!events.put(event_of("small", "c")));
        assert_eq!(counted(&events)["small"], 1);
        while events.take(|_| true).is_some() {}
        assert!(counted(&events).is_empty());
        assert!(events.put(event_of("loud", "again")));
    }

    #[test]
    fn each_namespace_has_its_turn_and_who_may_not_begin_is_passed_over() {
        let mut events = Events::default();
        for index in 0..1_000 {
            events.put(event_of("a-loud", &format!("loud-{index}")));
        }
        for name in ["b", "c"] {
            events.put(event_of(name, "first"));
            events.put(event_of(name, "second"));
        }
        let mut next = |may: &dyn Fn(&str) -> bool| {
            let event = events.take(may)?;
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
