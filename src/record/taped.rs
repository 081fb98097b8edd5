//! A core of which is taken down what it hears and what it decides.

use crate::entry::EntryRef;
use muster_core::Core;
use muster_core::engine::{Policy, Scheduler};
use muster_model::explanation::Explained;
use muster_model::units::Time;
use muster_model::{Event, Plan};
use std::fmt::Debug;

/// Takes entries down. It never fails: what cannot be taken down is missing, and the record says so.
pub trait Tape: Debug + Send {
    /// An entry, in the order in which they come.
    fn take(&mut self, entry: EntryRef<'_>);
}

/// A core, and who takes down what reaches it: whoever drives one by this can forget nothing.
#[derive(Debug, Default)]
pub struct Taped {
    core: Core,
    tape: Option<Box<dyn Tape>>,
}

impl Taped {
    /// A core that knows nothing yet.
    #[must_use]
    pub fn new(policy: Policy, tape: Option<Box<dyn Tape>>) -> Self {
        Self {
            core: Core::new(policy),
            tape,
        }
    }

    /// As [`Core::hear`].
    pub fn hear(&mut self, event: Event, now: Time, each: impl FnMut(&Event)) {
        if let Some(tape) = &mut self.tape {
            tape.take(EntryRef::Heard(now, &event));
        }
        self.core.hear(event, now, each);
    }

    /// As [`Core::decide`].
    pub fn decide(&mut self, now: Time, each: impl FnMut(&Event)) -> Plan {
        let plan = self.core.decide(now, each);
        if let Some(tape) = &mut self.tape {
            tape.take(EntryRef::Decided(now, &plan));
        }
        plan
    }

    /// As [`Core::due`].
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.core.due()
    }

    /// The scheduler.
    #[must_use]
    pub const fn scheduler(&self) -> &Scheduler {
        self.core.scheduler()
    }

    /// As [`Core::keep_explaining`].
    pub fn keep_explaining(&mut self) {
        self.core.keep_explaining();
    }

    /// As [`Core::take_explained`].
    pub fn take_explained(&mut self, now: Time) -> (Vec<Explained>, Option<Time>) {
        self.core.take_explained(now)
    }
}
