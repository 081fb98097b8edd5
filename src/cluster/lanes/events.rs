//! Events that wait to be posted: first come, first served, bounded.

use muster_model::PodKey;
use std::collections::VecDeque;
use std::sync::Arc;

/// Events that may wait; what comes beyond is dropped and counted.
const BOUND: usize = 20_000;

/// What is to be said in an event about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PodEvent {
    pub(super) pod: PodKey,
    /// `Normal` or `Warning`.
    pub(super) kind: &'static str,
    pub(super) reason: &'static str,
    pub(super) action: &'static str,
    pub(super) note: Arc<str>,
}

/// The events.
#[derive(Debug, Default)]
pub(super) struct Events(VecDeque<PodEvent>);

impl Events {
    /// Puts an event in, unless too many wait.
    pub(super) fn put(&mut self, event: PodEvent) -> bool {
        let fits = self.0.len() < BOUND;
        if fits {
            self.0.push_back(event);
        }
        fits
    }

    /// Takes the first one.
    pub(super) fn take(&mut self) -> Option<PodEvent> {
        self.0.pop_front()
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

    #[test]
    fn when_too_many_wait_the_latest_are_dropped() {
        let event = || PodEvent {
            pod: PodKey::default(),
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
        events.take();
        assert!(events.put(event()));
    }
}
