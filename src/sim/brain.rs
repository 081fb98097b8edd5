//! A scheduler that is running: the core, its writes on their way, and when its next cycle is due.
//!
//! It dies as a whole; only requests already on the wire outlive it.

use super::network::Request;
use super::server::Told;
use muster_api::convert::said_of_gang;
use muster_api::kinds::Subject;
use muster_api::status::Status;
use muster_cluster::attempt::{Answer, Protocol, Step};
use muster_cluster::clock::wall;
use muster_cluster::lease::election as lease;
use muster_cluster::shares::Ended;
use muster_cluster::stalls::Stalls;
use muster_cluster::words::{Word, Words, Write};
use muster_cluster::{binding, evicting};
use muster_core::engine::{Policy, Scheduler};
use muster_core::plugins::registry::exemptions;
use muster_lint::{Linter, Note};
use muster_model::units::{Millis, Time};
use muster_model::{Bind, Evict, Plan};
use muster_model::{BindOutcome, Event, PodKey};
use muster_record::{Tape, Taped};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A running scheduler.
#[derive(Debug)]
pub struct Brain {
    core: Taped,
    linter: Linter,
    words: Words,
    calls: BTreeMap<u64, Sent>,
    next_call: u64,
    /// Whether anything comes of what it writes.
    stalls: Stalls,
    /// Calls that are or were binds: in which namespace, and how they ended.
    binds: BTreeMap<u64, (String, Ended)>,
    /// Lists not delivered yet; nothing is decided before all are.
    unsynced: usize,
    cycle_at: Option<Time>,
    wake_at: Option<Time>,
}

/// A write on its way, and what was last sent for it.
#[derive(Debug)]
struct Sent {
    call: Call,
    at: Time,
    /// It was to read what came of it.
    reads: bool,
}

/// A write on its way.
#[derive(Debug)]
enum Call {
    Bind(PodKey, binding::Attempt),
    Evict(PodKey, evicting::Attempt),
    Say(Box<Write>),
}

impl Brain {
    /// A new scheduler that waits for so many lists; what reaches its core is taken down, if anybody does.
    #[must_use]
    pub fn new(policy: Policy, lists: usize, tape: Option<Box<dyn Tape>>) -> Self {
        Self {
            linter: Linter::of(exemptions(policy.profiles())),
            core: Taped::new(policy, tape),
            words: Words::default(),
            calls: BTreeMap::new(),
            next_call: 0,
            stalls: Stalls::default(),
            binds: BTreeMap::new(),
            unsynced: lists,
            cycle_at: None,
            wake_at: None,
        }
    }

    /// Takes what a watch told.
    pub fn take(&mut self, told: Told, now: Time) {
        self.hear(told.event, now);
        match told.says {
            Some((subject, Some(said))) => self.words.seen(&subject, said, now),
            Some((subject, None)) => self.words.forget(&subject),
            None => {}
        }
    }

    /// Takes news that no watch told.
    pub fn hear(&mut self, event: Event, now: Time) {
        let linter = &mut self.linter;
        self.core.hear(event, now, |event| linter.hear(event));
    }

    /// The decision core.
    #[must_use]
    pub const fn scheduler(&self) -> &Scheduler {
        self.core.scheduler()
    }

    /// The core wants something said of an object.
    pub fn want(&mut self, word: Word, now: Time) {
        self.words.want(word, now);
    }

    /// It says nothing of an object any more.
    pub fn silence(&mut self, subject: &Subject) {
        self.words.silence(subject);
    }

    /// When the next word is to be written.
    #[must_use]
    pub fn word_due(&self) -> Option<Time> {
        self.words.next_due()
    }

    /// Begins to write the next word that is due; returns the call's number.
    pub fn say(&mut self, now: Time) -> Option<u64> {
        let write = self.words.take(now, |_| true)?;
        Some(self.begin(Call::Say(Box::new(write))))
    }

    /// One of the lists has been delivered.
    pub fn synced(&mut self, now: Time) {
        self.unsynced = self.unsynced.saturating_sub(1);
        if self.unsynced == 0 {
            self.cycle_at = Some(now);
        }
    }

    /// Whether all lists have been delivered.
    #[must_use]
    pub const fn is_synced(&self) -> bool {
        self.unsynced == 0
    }

    /// Whether the core has something to decide on.
    #[must_use]
    pub fn wants_cycle(&self) -> bool {
        self.unsynced == 0 && self.core.scheduler().wants_cycle()
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
        let implied = self.core.due();
        let due = self.cycle_at.into_iter().chain(self.wake_at);
        due.chain(implied).min()
    }

    /// Runs one cycle; what the linter has against the plan comes with it.
    pub fn cycle(&mut self, now: Time) -> (Plan, Vec<Note>) {
        self.hear_of_writes(now);
        let linter = &mut self.linter;
        let plan = self.core.decide(now, |event| linter.hear(event));
        let notes = self.linter.look(&plan, now);
        self.cycle_at = plan.more.then_some(now);
        // A wake-up for the present would never let time pass.
        self.wake_at = plan.wake_at.map(|at| at.max(now + Millis(1)));
        (plan, notes)
    }

    /// Begins to bind; returns the call's number.
    pub fn bind(&mut self, bind: Bind, now: Time) -> u64 {
        let attempt = binding::Attempt::of(&bind, now);
        let namespace = bind.pod.namespace.clone();
        let call = self.begin(Call::Bind(bind.pod, attempt));
        self.binds.insert(call, (namespace, Ended::Unsent));
        call
    }

    /// Begins to evict; returns the call's number.
    pub fn evict(&mut self, evict: Evict, now: Time) -> u64 {
        let attempt = evicting::Attempt::new(evict.again, now);
        self.begin(Call::Evict(evict.pod, attempt))
    }

    /// A bind was given back before it was begun.
    pub fn give_back(&mut self, pod: &PodKey, now: Time) {
        self.hear(Event::BindResult(pod.clone(), BindOutcome::Unsent), now);
    }

    /// In which namespace a call that is over was a bind, and how that ended; asked once.
    pub fn was_bind(&mut self, number: u64) -> Option<(String, Ended)> {
        let is_over = !self.calls.contains_key(&number);
        is_over.then(|| self.binds.remove(&number)).flatten()
    }

    fn begin(&mut self, call: Call) -> u64 {
        self.next_call += 1;
        let sent = Sent {
            call,
            at: Time::ZERO,
            reads: false,
        };
        self.calls.insert(self.next_call, sent);
        self.next_call
    }

    /// What a call wants next; `None` once it is over, and then the core knows the outcome.
    pub fn proceed(&mut self, number: u64, now: Time) -> Option<Step<Request, ()>> {
        let sent = self.calls.get_mut(&number)?;
        let step = match &sent.call {
            Call::Bind(pod, attempt) => attempt.next(now).map(
                |request| Request::about(pod.clone(), request),
                |outcome| Event::BindResult(pod.clone(), outcome),
            ),
            Call::Evict(pod, attempt) => attempt.next(now).map(
                |request| Request::about(pod.clone(), request),
                |outcome| Event::EvictResult(pod.clone(), outcome),
            ),
            Call::Say(write) => {
                let said = write.outcome(wall(now));
                let recalled = write.status(wall(now)).as_ref().map(said_of_gang);
                let recalled = recalled.unwrap_or_default();
                Step::Send(Request::Say(write.subject.clone(), said, recalled))
            }
        };
        match step {
            Step::Send(request) => {
                sent.at = now;
                sent.reads = matches!(request, Request::Read(_));
                if !matches!(request, Request::Read(_) | Request::Ask(_)) {
                    self.stalls.sent(now);
                }
                Some(Step::Send(request))
            }
            Step::WaitUntil(at) => Some(Step::WaitUntil(at)),
            Step::Done(event) => {
                self.calls.remove(&number);
                if let Event::BindResult(_, outcome) = &event
                    && let Some((_, ended)) = self.binds.get_mut(&number)
                {
                    *ended = Ended::of(outcome, Millis(0));
                }
                self.hear(event, now);
                None
            }
        }
    }

    /// An answer for a call came back.
    pub fn answered(&mut self, number: u64, answer: &Answer, now: Time) {
        let Some(Sent { call, at, reads }) = self.calls.get_mut(&number) else {
            return;
        };
        if *reads {
            self.stalls.read(answer, *at, now);
        } else {
            self.stalls.written(answer, *at, now);
        }
        match call {
            Call::Bind(_, attempt) => attempt.answered(answer, *at, now),
            Call::Evict(_, attempt) => attempt.answered(answer, *at, now),
            Call::Say(write) => {
                let written = write.answered(answer, wall(now));
                self.words.written(&write.subject, written, now);
                self.calls.remove(&number);
            }
        }
        self.hear_of_writes(now);
    }

    /// Takes what came of a request about the Lease.
    pub fn hear_of_lease(&mut self, answer: &lease::Answer, sent: Time, now: Time) {
        match answer {
            lease::Answer::Failed => self.stalls.fails(sent, now),
            lease::Answer::Written(_) | lease::Answer::Conflict => self.stalls.judged(now),
            lease::Answer::Found(_) | lease::Answer::Absent => {}
        }
        self.hear_of_writes(now);
    }

    /// Until when it may write, by the Lease.
    pub fn may_write(&mut self, until: Option<Time>, now: Time) {
        self.stalls.may_write(until.unwrap_or(Time::ZERO), now);
        self.hear_of_writes(now);
    }

    /// The core is told whether anything comes of writes.
    fn hear_of_writes(&mut self, now: Time) {
        for writes in self.stalls.take_news(now) {
            self.hear(Event::Writes(writes), now);
        }
    }

    /// What a call writes on which object, while it is not over.
    #[must_use]
    pub fn writes(&self, number: u64, now: Time) -> Option<(Subject, Status)> {
        match &self.calls.get(&number)?.call {
            Call::Say(write) => Some((write.subject.clone(), write.status(wall(now))?)),
            Call::Bind(..) | Call::Evict(..) => None,
        }
    }

    /// How far a call about a pod is, while it is not over.
    #[must_use]
    pub fn call_text(&self, number: u64) -> Option<String> {
        match &self.calls.get(&number)?.call {
            Call::Bind(pod, attempt) => Some(format!("{pod:?} {attempt:?}")),
            Call::Evict(pod, attempt) => Some(format!("{pod:?} {attempt:?}")),
            Call::Say(_) => None,
        }
    }

    /// Adds what is so now to a text: how far its writes about pods are, when it is called next, and where it takes
    /// pods to be.
    pub fn sketch(&self, text: &mut String) {
        let (cycle, wake) = (self.cycle_at, self.wake_at);
        let _ = writeln!(text, "{} {cycle:?} {wake:?}", self.unsynced);
        for number in self.calls.keys() {
            if let Some(call) = self.call_text(*number) {
                let _ = writeln!(text, "{call}");
            }
        }
        let state = self.scheduler().state();
        for (_, pod) in state.pods() {
            let (place, held) = (pod.place, pod.nominated);
            let (leaves, eviction) = (pod.terminating, &pod.eviction);
            let (avoids, setbacks) = (&pod.avoid, pod.setbacks);
            let _ = writeln!(
                text,
                "{:?} {place:?} {held:?} {leaves} {eviction:?} {} {avoids:?} {setbacks}",
                pod.key, pod.recalled
            );
        }
        for (_, gang) in state.gangs() {
            let _ = writeln!(text, "{} {:?}", gang.key, gang.advanced_at);
        }
        let partial = self.scheduler().stats().partial_since;
        let _ = writeln!(text, "{partial:?} {:?}", self.stalls);
    }

    /// The pods with a write on its way.
    pub fn pods_in_flight(&self) -> impl Iterator<Item = &PodKey> {
        self.calls.values().filter_map(|sent| match &sent.call {
            Call::Bind(pod, _) | Call::Evict(pod, _) => Some(pod),
            Call::Say(_) => None,
        })
    }
}
