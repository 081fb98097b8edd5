//! The scheduler: events in, plans out.

mod plan;

pub use crate::core::model::{Bind, Evict, PodWaits};
pub use plan::{Condition, Decision, Effect, GangPhase, GangStatus, MAX_MESSAGE, Plan, Verdict};

use crate::core::model::Event;
use crate::core::units::Time;

/// How the scheduler decides; the configuration file becomes one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {}

/// The whole decision core.
///
/// `apply` takes what happened; `cycle` says what to do. Same events, policy and times: the same
/// plans, byte for byte.
#[derive(Debug)]
pub struct Scheduler {
    _policy: Policy,
}

impl Scheduler {
    /// An empty scheduler.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self { _policy: policy }
    }

    /// Takes one piece of news.
    pub fn apply(&mut self, _event: Event) {}

    /// Decides on all that is due at `now`.
    pub fn cycle(&mut self, _now: Time) -> Plan {
        Plan::default()
    }

    /// Whether an event since the last cycle could make a difference.
    #[must_use]
    pub fn wants_cycle(&self) -> bool {
        false
    }
}
