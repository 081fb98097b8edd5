//! A scheduler that is running: the core, its writes on their way, and when its next cycle is due.
//!
//! It dies as a whole; only requests already on the wire outlive it.

use super::network::Request;
use crate::cluster::attempt::{Answer, Step};
use crate::cluster::{binding, evicting};
use crate::core::engine::{Bind, Evict, Plan, Policy, Scheduler};
use crate::core::model::{Event, PodKey};
use crate::core::units::{Millis, Time};
use std::collections::BTreeMap;

/// A running scheduler.
#[derive(Debug)]
pub struct Brain {
    scheduler: Scheduler,
    calls: BTreeMap<u64, Call>,
    next_call: u64,
    /// Lists not delivered yet; nothing is decided before all are.
    unsynced: usize,
    cycle_at: Option<Time>,
    wake_at: Option<Time>,
}

/// A write on its way.
#[derive(Debug)]
enum Call {
    Bind(PodKey, String, binding::Attempt),
    Evict(PodKey, evicting::Attempt),
}

impl Brain {
    /// A new scheduler that waits for so many lists.
    #[must_use]
    pub fn new(policy: Policy, lists: usize) -> Self {
        Self {
            scheduler: Scheduler::new(policy),
            calls: BTreeMap::new(),
            next_call: 0,
            unsynced: lists,
            cycle_at: None,
            wake_at: None,
        }
    }

    /// Takes news.
    pub fn apply(&mut self, event: Event) {
        self.scheduler.apply(event);
    }

    /// One of the lists has been delivered.
    pub fn synced(&mut self, now: Time) {
        self.unsynced = self.unsynced.saturating_sub(1);
        if self.unsynced == 0 {
            self.cycle_at = Some(now);
        }
    }

    /// Whether the core has something to decide on.
    #[must_use]
    pub fn wants_cycle(&self) -> bool {
        self.unsynced == 0 && self.scheduler.wants_cycle()
    }

    /// Sets the time of the next cycle, unless one is due earlier.
    pub fn schedule_cycle(&mut self, at: Time) {
        self.cycle_at = Some(self.cycle_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Whether a cycle is planned because of news.
    #[must_use]
    pub const fn has_cycle_planned(&self) -> bool {
        self.cycle_at.is_some()
    }

    /// When it wants to be called next.
    #[must_use]
    pub fn due_at(&self) -> Option<Time> {
        if self.unsynced > 0 {
            return None;
        }
        self.cycle_at.into_iter().chain(self.wake_at).min()
    }

    /// Runs one cycle.
    pub fn cycle(&mut self, now: Time) -> Plan {
        let plan = self.scheduler.cycle(now);
        self.cycle_at = plan.more.then_some(now);
        // A wake-up for the present would never let time pass.
        self.wake_at = plan.wake_at.map(|at| at.max(now + Millis(1)));
        plan
    }

    /// Begins to bind; returns the call's number.
    pub fn bind(&mut self, bind: Bind, now: Time) -> u64 {
        let attempt = binding::Attempt::new(bind.node.clone(), now);
        self.begin(Call::Bind(bind.pod, bind.node, attempt))
    }

    /// Begins to evict; returns the call's number.
    pub fn evict(&mut self, evict: Evict, now: Time) -> u64 {
        self.begin(Call::Evict(evict.pod, evicting::Attempt::new(now)))
    }

    fn begin(&mut self, call: Call) -> u64 {
        self.next_call += 1;
        self.calls.insert(self.next_call, call);
        self.next_call
    }

    /// What a call wants next; `None` once it is over, and then the core knows the outcome.
    pub fn proceed(&mut self, number: u64, now: Time) -> Option<Step<Request, ()>> {
        match self.calls.get(&number)? {
            Call::Bind(pod, node, attempt) => match attempt.next(now) {
                Step::Send(binding::Request::Post) => {
                    Some(Step::Send(Request::Bind(pod.clone(), node.clone())))
                }
                Step::Send(binding::Request::Read) => Some(Step::Send(Request::Read(pod.clone()))),
                Step::WaitUntil(at) => Some(Step::WaitUntil(at)),
                Step::Done(outcome) => {
                    let event = Event::BindResult(pod.clone(), outcome);
                    self.end(number, event)
                }
            },
            Call::Evict(pod, attempt) => match attempt.next(now) {
                Step::Send(evicting::Request::Delete) => {
                    Some(Step::Send(Request::Delete(pod.clone())))
                }
                Step::Send(evicting::Request::Read) => Some(Step::Send(Request::Read(pod.clone()))),
                Step::WaitUntil(at) => Some(Step::WaitUntil(at)),
                Step::Done(outcome) => {
                    let event = Event::EvictResult(pod.clone(), outcome);
                    self.end(number, event)
                }
            },
        }
    }

    fn end(&mut self, number: u64, event: Event) -> Option<Step<Request, ()>> {
        self.calls.remove(&number);
        self.scheduler.apply(event);
        None
    }

    /// An answer for a call came back.
    pub fn answered(&mut self, number: u64, answer: &Answer, now: Time) {
        match self.calls.get_mut(&number) {
            Some(Call::Bind(_, _, attempt)) => attempt.answered(answer, now),
            Some(Call::Evict(_, attempt)) => attempt.answered(answer, now),
            None => {}
        }
    }

    /// The pods with a write on its way.
    pub fn pods_in_flight(&self) -> impl Iterator<Item = &PodKey> {
        self.calls.values().map(|call| match call {
            Call::Bind(pod, ..) | Call::Evict(pod, _) => pod,
        })
    }
}
