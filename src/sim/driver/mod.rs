//! Plays a scenario: carries news to the scheduler and its orders to the simulated API server, on
//! virtual time.
//!
//! All that is due at one instant happens, in the order in which it was foreseen, before the
//! scheduler has its cycle. Nothing here decides where a pod goes.

mod mischief;
mod objects;
mod pods;

use crate::cluster::attempt::{Answer, Step};
use crate::cluster::words::Word;
use crate::core::engine::{Effect, Policy};
use crate::core::model::{NodeSpec, PodKey};
use crate::core::units::{Millis, Time};
use crate::sim::brain::Brain;
use crate::sim::heap::Heap;
use crate::sim::jobs::Jobs;
use crate::sim::ledger::Ledger;
use crate::sim::network::{Met, Mischief, Network, Request};
use crate::sim::scenario::{Entry, OnEviction, PodPlan, Scenario};
use crate::sim::server::{Server, Stream, Told};
use std::collections::BTreeMap;

/// How long a pod that was on a node takes to leave it.
pub const TERMINATION: Millis = Millis(100);

/// How long after its node a pod that was on it is collected.
pub const COLLECTION: Millis = Millis(1_000);

/// How many wake-ups in a row may come to nothing before a scenario with nothing more to come is
/// over: the scheduler's own sweeps would go on for ever.
const IDLE_WAKE_UPS: u32 = 16;

/// More cycles than this in one instant are put off to the next millisecond.
const CYCLES_PER_INSTANT: u32 = 10_000;

/// Something that is to happen.
#[derive(Debug)]
enum Happening {
    Create(usize),
    Delete(usize),
    StartScheduler,
    Deliver(u64, Stream, Told),
    Synced(u64, Stream),
    Proceed(u64, u64),
    Land(Flight),
    Answered(u64, u64, Answer),
    Finished(PodKey),
    Removed(PodKey),
    Recreate(usize),
    CollectPods(String),
    ReturnNode(NodeSpec),
    Mischief(Mischief),
}

/// A request on its way to the API server.
#[derive(Debug)]
struct Flight {
    epoch: u64,
    call: u64,
    request: Request,
    answers_at: Time,
    instead: Option<Answer>,
}

/// A scenario being played.
#[derive(Debug)]
pub struct Driver {
    now: Time,
    heap: Heap<Happening>,
    entries: Vec<Option<Entry>>,
    plans: Vec<PodPlan>,
    jobs: Jobs,
    server: Server,
    ledger: Ledger,
    network: Network,
    policy: Policy,
    brain: Option<Brain>,
    /// Which scheduler is meant: news and answers for a dead one go nowhere.
    epoch: u64,
    /// Until when news is on its way, by stream.
    streams: BTreeMap<Stream, (Time, usize)>,
    kill_in_plan: bool,
    /// Bind orders until the scheduler dies.
    binds_to_live: Option<u32>,
    last_change: Time,
    /// When something was last written on an object.
    last_word: Time,
    idle_wake_ups: u32,
    cycles_now: u32,
    trace: bool,
}

impl Driver {
    /// Begins to play a scenario.
    #[must_use]
    pub fn new(scenario: Scenario, policy: Policy, network: Network) -> Self {
        let mut driver = Self {
            now: Time::ZERO,
            heap: Heap::default(),
            entries: scenario.entries.into_iter().map(Some).collect(),
            plans: Vec::new(),
            jobs: Jobs::default(),
            server: Server::default(),
            ledger: Ledger::default(),
            network,
            policy,
            brain: None,
            epoch: 0,
            streams: BTreeMap::new(),
            kill_in_plan: false,
            binds_to_live: None,
            last_change: Time::ZERO,
            last_word: Time::ZERO,
            idle_wake_ups: 0,
            cycles_now: 0,
            trace: false,
        };
        for (index, entry) in driver.entries.iter().enumerate() {
            let at = entry.as_ref().map_or(Time::ZERO, |entry| entry.at);
            driver.heap.push(at, Happening::Create(index));
            if let Some(at) = entry.as_ref().and_then(|entry| entry.delete_at) {
                driver.heap.push(at, Happening::Delete(index));
            }
        }
        // What exists from the beginning is there before the scheduler looks.
        driver.heap.push(Time::ZERO, Happening::StartScheduler);
        driver.foresee_mischief();
        driver
    }

    /// Kills the scheduler once, right after so many of its bind orders were carried out.
    pub const fn kill_after_binds(&mut self, binds: u32) {
        self.binds_to_live = Some(binds);
    }

    /// Prints on stderr all that happens.
    pub const fn set_trace(&mut self, trace: bool) {
        self.trace = trace;
    }

    /// The present.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// When something last happened to an object of the scenario.
    #[must_use]
    pub const fn last_change(&self) -> Time {
        self.last_change
    }

    /// When something was last said of an object.
    #[must_use]
    pub const fn last_word(&self) -> Time {
        self.last_word
    }

    /// What the API server holds.
    #[must_use]
    pub const fn server(&self) -> &Server {
        &self.server
    }

    /// What happened.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What happened, to be counted up to a time.
    pub const fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// What went wrong by lot so far.
    #[must_use]
    pub const fn met(&self) -> &Met {
        self.network.met()
    }

    /// The scheduler, unless it is dead.
    #[must_use]
    pub const fn brain(&self) -> Option<&Brain> {
        self.brain.as_ref()
    }

    /// Plays what is due next; false if there is nothing more to come by `until`.
    pub fn step(&mut self, until: Time) -> bool {
        let due = self.brain.as_ref().and_then(Brain::due_at);
        let word = self.brain.as_ref().and_then(Brain::word_due);
        let foreseen = self.heap.next_at().into_iter().chain(word).min();
        let Some(next) = foreseen.into_iter().chain(due).min() else {
            return false;
        };
        if next > until {
            return false;
        }
        if next > self.now {
            self.now = next;
            self.cycles_now = 0;
        }
        if foreseen.is_none() {
            self.idle_wake_ups += 1;
            if self.idle_wake_ups > IDLE_WAKE_UPS {
                return false;
            }
        } else {
            self.idle_wake_ups = 0;
        }
        while let Some(happening) = self.heap.pop_due(self.now) {
            if self.trace {
                eprintln!("{:>9} {happening:?}", self.now.0);
            }
            self.happen(happening);
            self.spread_news();
        }
        self.say();
        self.think();
        true
    }

    /// Plays on until nothing more is to come, or until a time; returns when it ended: the time
    /// of the last thing that happened, or `until` if there was more to come.
    pub fn run(&mut self, until: Time, mut progress: impl FnMut(&Self)) -> Time {
        while self.step(until) {
            progress(self);
        }
        if self.heap.next_at().is_some() {
            until
        } else {
            self.last_change
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Create(index) => self.create(index),
            Happening::Delete(index) => self.delete(index),
            Happening::StartScheduler => self.start_scheduler(),
            Happening::Deliver(epoch, stream, told) => {
                self.arrived(epoch, stream);
                let now = self.now;
                if let Some(brain) = self.brain_of(epoch) {
                    brain.take(told, now);
                }
            }
            Happening::Synced(epoch, stream) => {
                self.arrived(epoch, stream);
                let now = self.now;
                if let Some(brain) = self.brain_of(epoch) {
                    brain.synced(now);
                }
            }
            Happening::Proceed(epoch, call) => {
                if epoch == self.epoch {
                    self.proceed(call);
                }
            }
            Happening::Land(flight) => {
                let answer = self.land(&flight.request);
                let answer = flight.instead.unwrap_or(answer);
                let answered = Happening::Answered(flight.epoch, flight.call, answer);
                self.heap.push(flight.answers_at, answered);
            }
            Happening::Answered(epoch, call, answer) => {
                let now = self.now;
                if let Some(brain) = self.brain_of(epoch) {
                    brain.answered(call, &answer, now);
                    self.proceed(call);
                }
            }
            Happening::Finished(key) => self.finish(&key),
            Happening::Removed(key) => self.remove(&key),
            Happening::Recreate(line) => {
                self.ledger.reopen(line);
                self.create_pod(line);
            }
            Happening::CollectPods(node) => self.collect_pods(&node),
            Happening::ReturnNode(node) => self.put_node(node),
            Happening::Mischief(what) => self.mischief(what),
        }
    }

    // The scheduler.

    fn brain_of(&mut self, epoch: u64) -> Option<&mut Brain> {
        self.brain.as_mut().filter(|_| epoch == self.epoch)
    }

    /// A new scheduler lists every kind; what happens from now on comes after the lists.
    fn start_scheduler(&mut self) {
        self.epoch += 1;
        self.streams.clear();
        self.brain = Some(Brain::new(self.policy.clone(), Stream::ALL.len()));
        for stream in Stream::ALL {
            let at = self.now + self.network.lag(stream, self.now);
            for told in self.server.list(stream) {
                self.foresee_news(stream, at, Happening::Deliver(self.epoch, stream, told));
            }
            self.foresee_news(stream, at, Happening::Synced(self.epoch, stream));
        }
        self.server.take_news();
    }

    fn kill_scheduler(&mut self) {
        if self.brain.take().is_some() {
            self.network.count(|met| met.kills += 1);
            self.epoch += 1;
            let at = self.now + self.network.pause();
            self.heap.push(at, Happening::StartScheduler);
        }
    }

    fn foresee_news(&mut self, stream: Stream, at: Time, news: Happening) {
        let (until, count) = self.streams.entry(stream).or_default();
        *until = at.max(*until);
        *count += 1;
        self.heap.push(*until, news);
    }

    fn arrived(&mut self, epoch: u64, stream: Stream) {
        if epoch == self.epoch
            && let Some((_, count)) = self.streams.get_mut(&stream)
        {
            *count = count.saturating_sub(1);
        }
    }

    /// Sends what the API server has to tell to the scheduler, each watch at its own pace.
    fn spread_news(&mut self) {
        for (stream, told) in self.server.take_news() {
            let lag = self.network.lag(stream, self.now);
            let waiting = self.streams.get(&stream).map_or(0, |(_, count)| *count);
            match &mut self.brain {
                None => {}
                Some(brain) if lag == Millis(0) && waiting == 0 => brain.take(told, self.now),
                Some(_) => {
                    let news = Happening::Deliver(self.epoch, stream, told);
                    self.foresee_news(stream, self.now + lag, news);
                }
            }
        }
        let now = self.now;
        if let Some(brain) = &mut self.brain
            && brain.wants_cycle()
            && !brain.has_cycle_planned()
        {
            brain.schedule_cycle(now + self.network.debounce(now));
        }
    }

    /// Writes the words that are due.
    fn say(&mut self) {
        while let Some(call) = self.brain.as_mut().and_then(|brain| brain.say(self.now)) {
            self.proceed(call);
        }
    }

    fn think(&mut self) {
        let now = self.now;
        let Some(brain) = &mut self.brain else { return };
        if brain.due_at().is_none_or(|at| at > now) {
            return;
        }
        self.cycles_now += 1;
        let plan = brain.cycle(now);
        if self.cycles_now > CYCLES_PER_INSTANT {
            brain.schedule_cycle(now + Millis(1));
        }
        let effects = plan.effects.len();
        let dies = effects > 0 && std::mem::take(&mut self.kill_in_plan);
        let dies_at = dies.then(|| self.network.pick(effects));
        for (index, effect) in plan.effects.into_iter().enumerate() {
            if dies_at == Some(index) {
                self.kill_scheduler();
                return;
            }
            if self.trace {
                eprintln!("{:>9} {effect:?}", now.0);
            }
            let is_bind = matches!(effect, Effect::Bind(_));
            self.carry_out(effect);
            if is_bind && self.is_last_bind() {
                self.kill_scheduler();
                return;
            }
        }
        self.spread_news();
    }

    /// Counts a bind order; whether it was the one after which the scheduler is to die.
    fn is_last_bind(&mut self) -> bool {
        let left = self.binds_to_live.map(|left| left.saturating_sub(1));
        self.binds_to_live = left.filter(|left| *left > 0);
        left == Some(0)
    }

    fn carry_out(&mut self, effect: Effect) {
        let now = self.now;
        let Some(brain) = &mut self.brain else { return };
        let call = match effect {
            Effect::Bind(bind) => brain.bind(bind, now),
            Effect::Evict(evict) => brain.evict(evict, now),
            Effect::Recall(pod) => {
                if brain.recall(&pod, now) {
                    self.network.count(|met| met.recalled += 1);
                }
                return;
            }
            Effect::PodWaits(waits) => {
                self.ledger.waits(&waits, &self.server);
                return brain.want(Word::Pod(waits), now);
            }
            Effect::GangStatus(status) => {
                self.ledger.gang_status(&status);
                return brain.want(Word::Gang(Box::new(status)), now);
            }
            Effect::QueueStatus(status) => return brain.want(Word::Queue(status), now),
        };
        self.idle_wake_ups = 0;
        self.proceed(call);
    }

    /// Lets a call go on until it waits for something.
    fn proceed(&mut self, call: u64) {
        let epoch = self.epoch;
        loop {
            let now = self.now;
            let Some(brain) = &mut self.brain else { return };
            let request = match brain.proceed(call, now) {
                Some(Step::Send(request)) => request,
                Some(Step::WaitUntil(at)) => {
                    return self.heap.push(at, Happening::Proceed(epoch, call));
                }
                Some(Step::Done(())) | None => return,
            };
            let fate = self.network.fate(&request, now);
            let answers_at = now + fate.answers_in;
            let Some(lands_in) = fate.lands_in else {
                let answer = fate.instead.unwrap_or(Answer::Lost);
                let answered = Happening::Answered(epoch, call, answer);
                return self.heap.push(answers_at, answered);
            };
            if (lands_in, answers_at) != (Millis(0), now) {
                let flight = Flight {
                    epoch,
                    call,
                    request,
                    answers_at,
                    instead: fate.instead,
                };
                return self.heap.push(now + lands_in, Happening::Land(flight));
            }
            let answer = self.land(&request);
            self.spread_news();
            if let Some(brain) = &mut self.brain {
                brain.answered(call, &fate.instead.unwrap_or(answer), now);
            }
        }
    }

    /// The API server carries out a request.
    fn land(&mut self, request: &Request) -> Answer {
        match request {
            Request::Read(pod) => self.server.read(pod),
            Request::Tell(pod) => match self.server.read(pod) {
                Answer::Pod { .. } => Answer::Accepted,
                other => other,
            },
            Request::Say(subject, said) => {
                self.last_word = self.now;
                self.server.say(subject, said.clone())
            }
            Request::Bind(pod, node) => {
                let answer = self.server.bind(pod, node);
                if answer == Answer::Accepted {
                    self.ledger.bound_by_us(pod, &self.server, self.now);
                    self.start(pod);
                }
                answer
            }
            Request::Delete(pod) => {
                let Some(found) = self.server.pod(pod) else {
                    return self.server.delete_pod(pod, false);
                };
                let comes_back = found.run.on_eviction == OnEviction::Requeue;
                self.ledger.evicted(found, self.now);
                self.terminate(pod, comes_back);
                Answer::Accepted
            }
        }
    }
}
