//! The core as whoever drives it has it: the scheduler, and before it what makes definitions of other news.
//!
//! Two calls change it, and both say when it is: [`Core::hear`] and [`Core::decide`]. The same calls in the same
//! order give the same plans, byte for byte, whoever makes them.

use crate::engine::{Policy, Scheduler};
use crate::implied::Implied;
use muster_model::explanation::Explained;
use muster_model::units::Time;
use muster_model::{Event, Plan};

/// A scheduler, and what news implies.
#[derive(Debug, Default)]
pub struct Core {
    implied: Implied,
    scheduler: Scheduler,
}

impl Core {
    /// One that knows nothing yet.
    ///
    /// # Panics
    /// As [`Scheduler::new`] does.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            implied: Implied::default(),
            scheduler: Scheduler::new(policy),
        }
    }

    /// Takes one piece of news that came at `now`. `each` is shown it as it counts, and then what it implies.
    pub fn hear(&mut self, mut event: Event, now: Time, mut each: impl FnMut(&Event)) {
        let scheduler = &self.scheduler;
        let has_one = |gang: &_| scheduler.has_podgroup(gang);
        let is_on_a_node = |label: &str| scheduler.state().nodes().any_has(label);
        let implied = self.implied.hear(&mut event, now, has_one, is_on_a_node);
        for event in [event].into_iter().chain(implied) {
            each(&event);
            self.scheduler.apply(now, event);
        }
    }

    /// Decides on all that is due at `now`. Who has waited for a PodGroup long enough goes on without one: `each` is
    /// shown the news of that.
    pub fn decide(&mut self, now: Time, mut each: impl FnMut(&Event)) -> Plan {
        let scheduler = &self.scheduler;
        let fired = self.implied.fire(now, |gang| scheduler.has_podgroup(gang));
        for event in fired {
            each(&event);
            self.scheduler.apply(now, event);
        }
        self.scheduler.cycle(now)
    }

    /// When there is something to decide on by time alone, beside what [`Plan::wake_at`] says.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.implied.due()
    }

    /// The scheduler.
    #[must_use]
    pub const fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Keeps explanations at hand from now on. Nothing is decided by them.
    pub fn keep_explaining(&mut self) {
        self.scheduler.keep_explaining();
    }

    /// Explains some of what is not what it was; and when there is more to explain.
    pub fn take_explained(&mut self, now: Time) -> (Vec<Explained>, Option<Time>) {
        self.scheduler.take_explained(now)
    }
}
