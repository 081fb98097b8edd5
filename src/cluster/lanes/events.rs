//! Events that wait to be posted: first come, first served, bounded.

use super::about::About;
use crate::words::Word;
use muster_model::Source;
use std::collections::VecDeque;
use std::sync::Arc;

/// Events that may wait; what comes beyond is dropped and counted.
const BOUND: usize = 20_000;

/// Of so many it is looked at whether one may be posted.
const LOOKED_AT: usize = 1_000;

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

/// The events.
#[derive(Debug, Default)]
pub(super) struct Events(VecDeque<Event>);

impl Events {
    /// Puts an event in, unless too many wait.
    pub(super) fn put(&mut self, event: Event) -> bool {
        let fits = self.0.len() < BOUND;
        if fits {
            self.0.push_back(event);
        }
        fits
    }

    /// Takes the first one of a namespace that may begin another write. Those before it go to the end, so many at
    /// most as are looked at in one go.
    pub(super) fn take(&mut self, may_begin: impl Fn(&str) -> bool) -> Option<Event> {
        for _ in 0..self.0.len().min(LOOKED_AT) {
            let event = self.0.pop_front()?;
            if may_begin(&event.about.namespace) {
                return Some(event);
            }
            self.0.push_back(event);
        }
        None
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{Code, Condition, GangStatus};

    #[test]
    fn when_too_many_wait_the_latest_are_dropped() {
        let event = || Event {
            about: About::default(),
            kind: "Normal",
            reason: "Scheduled",
            action: "Binding",
            note: "".into(),
        };
        let mut events = Events::default();
        for _ in 0..BOUND {
            assert!(events.put(event()));
        }
        assert!(!events.put(event()));
        assert_eq!(events.len(), BOUND);
        events.take(|_| true);
        assert!(events.put(event()));
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
