//! Plays a scenario: carries news to the scheduler and its orders to the simulated API server, on
//! virtual time.
//!
//! All that is due at one instant happens, in the order in which it was foreseen, before the
//! scheduler has its cycle. Nothing here decides where a pod goes.

mod asks;
mod calls;
mod changes;
mod controllers;
mod hearing;
mod mischief;
mod objects;
mod pods;
mod processes;
mod sketch;
mod tapes;
mod volumes;
mod watches;
mod whole;
mod witness;
mod written;

use super::lease::Lease;
use crate::brain::Brain;
use crate::heap::Heap;
use crate::jobs::Jobs;
use crate::ledger::Ledger;
use crate::network::{Met, Mischief, Network};
use crate::outside::Outside;
use crate::scenario::{Entry, Played, PodPlan, Scenario};
use crate::server::{Server, Stream, Told};
use asks::Inquiry;
use calls::Flight;
pub use changes::Changes;
use controllers::{Controllers, Courier};
use muster_api::convert::Reading;
use muster_cluster::attempt::Answer;
use muster_cluster::lease::election::{self, Record};
use muster_controllers::Resource;
use muster_core::engine::Policy;
use muster_core::plugins::registry::overcommits;
use muster_model::units::{Millis, Time};
use muster_model::{Effect, Outcome};
use muster_model::{Event, NodeSpec, PodKey, Question};
use processes::{AskedLease, Process};
use std::collections::{BTreeMap, BTreeSet};
pub use tapes::Tapes;
pub use witness::Witness;

/// How long a pod that was on a node takes to leave it.
pub const TERMINATION: Millis = Millis(100);

/// How long the controllers of storage take to bind a claim or to make a volume.
pub const VOLUME_DELAY: Millis = Millis(50);

/// How long after its node a pod that was on it is collected.
pub const COLLECTION: Millis = Millis(1_000);

/// How many wake-ups in a row may come to nothing before a scenario with nothing more to come is
/// over: the scheduler's own sweeps would go on for ever.
const IDLE_WAKE_UPS: u32 = 16;
/// And it is not over before so much time has passed with nothing else: twice the longest back-off.
const IDLE_TIME: Millis = Millis(600_000);

/// More cycles than this in one instant are put off to the next millisecond.
const CYCLES_PER_INSTANT: u32 = 10_000;

/// Controllers that have written so often in one instant are put off.
const CONTROLS_PER_INSTANT: u32 = 10_000;

/// Something that is to happen.
#[derive(Debug)]
enum Happening {
    Create(usize),
    Delete(usize),
    StartProcess(usize),
    /// Something for one process; it waits while that stands still, and ends with it.
    For(u64, Errand),
    Land(Box<Flight>),
    Asked(Box<Inquiry>),
    AskLease(Box<AskedLease>),
    Finished(PodKey),
    Removed(PodKey),
    Recreate(usize),
    /// Somebody deletes a pod that is made again.
    DeleteMember(PodKey),
    /// A pod whose name was still taken.
    CreatePod(usize),
    CollectPods(String),
    ReturnNode(String),
    /// The controllers of our kinds look.
    Control,
    /// Something for them.
    ForControllers(Box<Courier>),
    /// They die, and start anew.
    RestartControllers,
    /// The watch that they have of this resource breaks.
    BreakWatchOfControllers(Resource),
    /// It is there again.
    ListForControllers(Resource),
    /// A pod that they made fails.
    FailPod,
    /// The controllers of storage look at what changed.
    SettleStorage,
    /// Claims that a scheduler has bound may be, or it has waited for too long.
    LookAtClaims,
    Mischief(Mischief),
}

/// Something that reaches a process.
#[derive(Debug)]
enum Errand {
    Deliver(Stream, u64, Box<Told>),
    Synced(Stream, u64),
    Relist(Stream),
    Proceed(u64),
    Answered(u64, Answer),
    SendBinds,
    /// Questions may be due.
    Ask,
    Replied(Box<(Question, muster_model::Answer)>),
    /// An answer that it has had.
    Again(Box<Event>),
    Elect,
    LeaseAnswered(Time, election::Answer),
    LeaseHeard(Option<Record>),
}

/// A scenario being played.
#[derive(Debug)]
pub struct Driver {
    begin: Time,
    now: Time,
    heap: Heap<Happening>,
    entries: Vec<Option<Entry>>,
    /// How many of those that were there before the beginning are not there yet: controllers wait for all.
    still_to_keep: usize,
    plans: Vec<PodPlan>,
    jobs: Jobs,
    /// Those of our kinds, once there is something for them.
    controllers: Option<Box<Controllers>>,
    reading: Reading,
    /// The uids of nodes that were there before the beginning.
    node_uids: BTreeMap<String, String>,
    /// The lines of pods that controllers make, by namespace and name.
    made: BTreeMap<(String, String), usize>,
    server: Server,
    outside: Outside,
    ledger: Ledger,
    network: Network,
    policy: Policy,
    /// By number, in the order of their starts; news and answers for a dead one go nowhere.
    processes: BTreeMap<u64, Process>,
    next_process: u64,
    /// By what it is decided who leads; without it, whoever runs does.
    lease: Option<Lease>,
    /// Who wrote last, and who wrote before and must not any more.
    last_writer: Option<u64>,
    deposed: BTreeSet<u64>,
    kill_in_plan: bool,
    /// Nodes that were deleted, as they were last.
    deleted_nodes: BTreeMap<String, NodeSpec>,
    /// Bind orders until the scheduler dies.
    binds_to_live: Option<u32>,
    last_change: Time,
    /// When something was last written on an object.
    last_word: Time,
    idle_wake_ups: u32,
    /// When there was last anything but the scheduler's own wake-ups.
    busy_until: Time,
    cycles_now: u32,
    /// The controllers of storage are to look.
    storage_is_looked_at: bool,
    /// Questions whose claims are not bound yet.
    claims_to_bind: Vec<asks::Inquiry>,
    /// Who looks on while controllers write.
    witness: Option<Box<dyn Witness>>,
    /// Who takes down what reaches the cores.
    tapes: Option<Box<dyn Tapes>>,
    /// What changed, where somebody asks.
    changes: Option<Box<Changes>>,
    trace: bool,
}

impl Driver {
    /// Begins to play a scenario.
    #[must_use]
    pub fn new(scenario: Scenario, policy: Policy, network: Network) -> Self {
        let allows_overcommit = policy.profiles().iter().any(overcommits);
        let begin = scenario.begin;
        let kept = scenario.entries.iter().filter(|entry| entry.kept);
        let still_to_keep = kept.count();
        let mut driver = Self {
            begin,
            now: begin,
            still_to_keep,
            heap: Heap::default(),
            entries: scenario.entries.into_iter().map(Some).collect(),
            plans: Vec::new(),
            jobs: Jobs::default(),
            controllers: None,
            reading: controllers::complete(scenario.reading),
            node_uids: scenario.node_uids,
            made: BTreeMap::new(),
            server: Server::default(),
            outside: Outside::default(),
            ledger: Ledger::new(begin, allows_overcommit),
            network,
            policy,
            processes: BTreeMap::new(),
            next_process: 0,
            lease: None,
            last_writer: None,
            deposed: BTreeSet::new(),
            kill_in_plan: false,
            deleted_nodes: BTreeMap::new(),
            binds_to_live: None,
            last_change: begin,
            last_word: begin,
            idle_wake_ups: 0,
            busy_until: begin,
            cycles_now: 0,
            storage_is_looked_at: false,
            claims_to_bind: Vec::new(),
            witness: None,
            tapes: None,
            changes: None,
            trace: false,
        };
        driver.server.set_sizes(driver.reading.sizes);
        for (index, entry) in driver.entries.iter().enumerate() {
            let at = entry.as_ref().map_or(begin, |entry| entry.at);
            driver.heap.push(at, Happening::Create(index));
            if let Some(at) = entry.as_ref().and_then(|entry| entry.delete_at) {
                driver.heap.push(at, Happening::Delete(index));
            }
        }
        // What exists from the beginning is there before the scheduler looks.
        driver.heap.push(begin, Happening::StartProcess(0));
        driver.foresee_mischief();
        driver
    }

    /// Has a Lease decide who leads, and a second instance stand by.
    #[must_use]
    pub fn with_standby(mut self) -> Self {
        self.lease = Some(Lease::default());
        let start = self.now + Millis(100);
        self.heap.push(start, Happening::StartProcess(1));
        self
    }

    /// Takes down what a picture is made from.
    #[must_use]
    pub fn with_story(mut self) -> Self {
        self.ledger.story = Some(Box::default());
        self
    }

    /// Completes that from what the scheduler knows at the end.
    pub fn end_story(&mut self) {
        let leader = self.leader().and_then(|id| self.processes.get(&id));
        if let (Some(story), Some(process)) = (&mut self.ledger.story, leader) {
            story.finish(process.brain.scheduler().state());
        }
    }

    /// Kills the scheduler once, right after so many of its bind orders were carried out.
    pub const fn kill_after_binds(&mut self, binds: u32) {
        self.binds_to_live = Some(binds);
    }

    /// Kills the scheduler that leads at a time.
    pub fn kill_at(&mut self, at: Time) {
        let kill = Happening::Mischief(Mischief::KillScheduler);
        self.heap.push(at, kill);
    }

    /// Has something bad happen now.
    pub fn befall(&mut self, what: Mischief) {
        self.heap.push(self.now, Happening::Mischief(what));
    }

    /// Has an object come, or be edited, now; or it is there already, and goes.
    pub fn add(&mut self, object: Played, goes: bool) {
        let index = self.entries.len();
        let happening = if goes {
            Happening::Delete(index)
        } else {
            Happening::Create(index)
        };
        self.heap.push(self.now, happening);
        self.entries.push(Some(Entry {
            at: self.now,
            delete_at: None,
            kept: false,
            object,
        }));
    }

    /// Has a pod be told to go now; its controller makes another.
    pub fn delete_member(&mut self, key: PodKey) {
        self.heap.push(self.now, Happening::DeleteMember(key));
    }

    /// Whether nothing is on its way about any pod, in any process or on the wire, and no process stands still.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let is_idle = |process: &Process| {
            process.paused_until.is_none()
                && process.orders.expires_at().is_none()
                && process.brain.pods_in_flight().next().is_none()
        };
        let lands = |(_, what): &(Time, &Happening)| matches!(what, Happening::Land(_));
        self.processes.values().all(is_idle) && !self.heap.to_come().iter().any(lands)
    }

    /// How many processes may write now, as each of them takes it.
    #[must_use]
    pub fn writers(&self) -> usize {
        let writes = |process: &&Process| process.may_send(self.now);
        self.processes.values().filter(writes).count()
    }

    /// Prints on stderr all that happens.
    pub const fn set_trace(&mut self, trace: bool) {
        self.trace = trace;
    }

    /// When it began: what is printed is counted from here.
    #[must_use]
    pub const fn begin(&self) -> Time {
        self.begin
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

    /// Whether nothing more of the scenario is to come: only the scheduler's own timers are left.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.heap.next_at().is_none()
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

    /// What plugins asked about.
    #[must_use]
    pub const fn outside(&self) -> &Outside {
        &self.outside
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

    /// The scheduler that leads, unless it is dead.
    #[must_use]
    pub fn brain(&self) -> Option<&Brain> {
        let process = self.processes.get(&self.leader()?)?;
        Some(&process.brain)
    }

    /// The controllers of our kinds, once there was something for them, to be looked at from outside.
    #[must_use]
    pub fn controllers(&self) -> Option<&(dyn std::fmt::Debug + '_)> {
        let controllers = self.controllers.as_deref();
        controllers.map(|one| one as &dyn std::fmt::Debug)
    }

    /// Plays what is due next; false if there is nothing more to come by `until`.
    pub fn step(&mut self, until: Time) -> bool {
        let (mut due, mut word) = (None, None);
        for process in self.processes.values() {
            // What a process that stands still wants is looked at when it goes on.
            let not_before = process.paused_until.unwrap_or(Time::ZERO);
            let at = |time: Option<Time>| time.map(|time| time.max(not_before).max(self.now));
            if process.leads && (process.may_send(self.now) || process.paused_until.is_some()) {
                due = earliest(due, at(process.brain.due_at()));
                word = earliest(word, at(process.brain.word_due()));
            }
        }
        let foreseen = earliest(self.heap.next_at(), word);
        let Some(next) = earliest(foreseen, due) else {
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
            let idle = self.now.since(self.busy_until);
            if self.idle_wake_ups > IDLE_WAKE_UPS && idle > IDLE_TIME {
                return false;
            }
        } else {
            self.goes_on();
        }
        self.wake_processes();
        while let Some(happening) = self.heap.pop_due(self.now) {
            if self.trace {
                eprintln!("{:>9} {happening:?}", self.now.0);
            }
            self.happen(happening);
            self.spread_news();
        }
        for id in self.awake() {
            self.say(id);
            self.think(id);
        }
        true
    }

    /// Notes that the scenario is not over.
    const fn goes_on(&mut self) {
        self.idle_wake_ups = 0;
        self.busy_until = self.now;
    }

    /// Ends the standing still of processes whose time it is.
    fn wake_processes(&mut self) {
        let now = self.now;
        for process in self.processes.values_mut() {
            process.paused_until = process.paused_until.filter(|until| *until > now);
        }
    }

    /// The processes that lead and do not stand still.
    fn awake(&self) -> Vec<u64> {
        let awake = |process: &Process| process.leads && process.paused_until.is_none();
        let processes = self.processes.iter();
        let awake = processes.filter(|(_, process)| awake(process));
        awake.map(|(id, _)| *id).collect()
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
            Happening::StartProcess(pod) => self.start_process(pod),
            Happening::For(id, errand) => self.run_errand(id, errand),
            Happening::Land(flight) => {
                let answer = self.land(flight.process, &flight.request);
                self.note_word(flight.process, flight.call, &answer);
                if let Some((at, instead)) = flight.answers {
                    let answer = instead.unwrap_or(answer);
                    let answered = Errand::Answered(flight.call, answer);
                    self.heap.push(at, Happening::For(flight.process, answered));
                }
            }
            Happening::Asked(inquiry) => self.land_question(*inquiry),
            Happening::AskLease(asked) => self.serve_lease(&asked),
            Happening::Finished(key) => self.finish(&key),
            Happening::Removed(key) => self.remove(&key),
            Happening::Recreate(line) => {
                self.ledger.reopen(line);
                self.create_pod(line);
            }
            Happening::CreatePod(line) => self.create_pod(line),
            Happening::DeleteMember(key) => self.terminate(&key, true),
            Happening::CollectPods(node) => self.collect_pods(&node),
            Happening::ReturnNode(name) => self.return_node(&name),
            Happening::LookAtClaims => self.look_at_claims(),
            // They are asked whenever something happened.
            Happening::Control => {}
            Happening::ForControllers(courier) => self.run_for_controllers(*courier),
            Happening::RestartControllers => self.restart_controllers(),
            Happening::BreakWatchOfControllers(resource) => {
                self.break_watch_of_controllers(resource);
            }
            Happening::ListForControllers(resource) => self.list_anew_for_controllers(resource),
            Happening::FailPod => self.fail_pod(),
            Happening::SettleStorage => {
                self.storage_is_looked_at = false;
                let (network, now) = (&mut self.network, self.now);
                self.server
                    .settle_storage(|| network.provisioning_fails(now));
                self.look_at_claims();
            }
            Happening::Mischief(what) => self.mischief(what),
        }
    }

    /// Brings a process what is for it; one that stands still gets it when it goes on.
    fn run_errand(&mut self, id: u64, errand: Errand) {
        let now = self.now;
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        if let Some(until) = process.paused_until {
            // In its order: a watch never turns its news round.
            return self.heap.put_back(until, Happening::For(id, errand));
        }
        match errand {
            Errand::Deliver(stream, generation, told) => {
                if process.watches.arrives(stream, generation) {
                    process.watches.note(stream, &told);
                    process.brain.take(*told, now);
                }
            }
            Errand::Synced(stream, generation) => {
                if process.watches.arrives(stream, generation) {
                    process.brain.synced(now);
                }
            }
            Errand::Relist(stream) => {
                let list = self.server.list(stream);
                let gone = process.watches.mend(stream, &list);
                for told in gone.into_iter().chain(list) {
                    process.watches.note(stream, &told);
                    process.brain.take(told, now);
                }
            }
            Errand::Proceed(call) => self.proceed(id, call),
            Errand::Answered(call, answer) => {
                process.brain.answered(call, &answer, now);
                self.proceed(id, call);
            }
            Errand::SendBinds => self.send_binds(id),
            Errand::Ask => self.ask_outside(id),
            Errand::Replied(replied) => {
                let (question, answer) = *replied;
                process.questions.ended(&question, answer, now);
                self.ask_outside(id);
            }
            Errand::Again(event) => process.brain.hear(*event, now),
            Errand::Elect => self.elect(id),
            Errand::LeaseAnswered(sent, answer) => self.lease_answered(id, sent, answer),
            Errand::LeaseHeard(record) => {
                process.hear_of_lease(record, now);
                self.elect(id);
            }
        }
    }

    /// A process that begins to lead lists every kind; what happens from now on comes after that.
    fn list_everything(&mut self, id: u64) {
        self.spread_news();
        for stream in Stream::ALL {
            let at = self.now + self.network.lag(stream, self.now);
            for told in self.server.list(stream) {
                self.send_news(id, stream, at, |generation| {
                    Errand::Deliver(stream, generation, Box::new(told))
                });
            }
            self.send_news(id, stream, at, |generation| {
                Errand::Synced(stream, generation)
            });
        }
    }

    fn send_news(&mut self, id: u64, stream: Stream, at: Time, errand: impl FnOnce(u64) -> Errand) {
        if let Some(process) = self.processes.get_mut(&id) {
            let (at, generation) = process.watches.send(stream, at);
            self.heap.push(at, Happening::For(id, errand(generation)));
        }
    }

    /// A watch of the process that leads breaks; what was on its way is lost, and a list follows.
    fn break_watch(&mut self, stream: Stream) {
        let Some(id) = self.leader() else { return };
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        // The first list is not complete: there is nothing to break.
        if !process.brain.is_synced() || process.watches.is_broken(stream) {
            return;
        }
        process.watches.cut(stream);
        self.network.count(|met| met.relists += 1);
        let at = self.now + self.network.pause();
        self.heap
            .push(at, Happening::For(id, Errand::Relist(stream)));
    }

    /// Sends what the API server has to tell to those who listen, each watch at its own pace.
    fn spread_news(&mut self) {
        if self.server.storage().is_unsettled() && !self.storage_is_looked_at {
            self.storage_is_looked_at = true;
            let at = self.now + VOLUME_DELAY;
            self.heap.push(at, Happening::SettleStorage);
        }
        for round in 0.. {
            for (stream, told) in self.server.take_news() {
                self.note_change(&told.event);
                self.tell_controllers(&told.event);
                let listening: Vec<u64> = self.processes.keys().copied().collect();
                for id in listening {
                    self.tell(id, stream, &told);
                }
            }
            for news in self.server.wholes_mut().take_news() {
                self.tell_controllers_of(news);
            }
            if !self.control() {
                break;
            }
            if round == CONTROLS_PER_INSTANT {
                let now = self.now.since(self.begin);
                let what = format!("at {now}: the controllers come to no rest");
                self.ledger.violated(what);
                self.heap.push(self.now + Millis(1_000), Happening::Control);
                break;
            }
        }
        for id in self.awake() {
            self.plan_cycle(id);
        }
    }

    fn tell(&mut self, id: u64, stream: Stream, told: &Told) {
        let now = self.now;
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        if !process.leads || process.watches.is_broken(stream) {
            return;
        }
        let lag = self.network.lag(stream, now);
        let at_once = lag == Millis(0) && process.paused_until.is_none();
        if at_once && process.watches.is_idle(stream) {
            process.watches.note(stream, told);
            return process.brain.take(told.clone(), now);
        }
        let told = Box::new(told.clone());
        self.send_news(id, stream, now + lag, |generation| {
            Errand::Deliver(stream, generation, told)
        });
    }

    fn plan_cycle(&mut self, id: u64) {
        let now = self.now;
        if let Some(process) = self.processes.get_mut(&id)
            && process.brain.wants_cycle()
            && !process.brain.has_cycle_planned()
        {
            let at = now + self.network.debounce(now);
            process.brain.schedule_cycle(at);
        }
    }

    fn think(&mut self, id: u64) {
        let now = self.now;
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        let is_due = process.brain.due_at().is_some_and(|at| at <= now);
        if !is_due || !process.may_send(now) {
            return;
        }
        self.cycles_now += 1;
        let (plan, notes) = process.brain.cycle(now);
        if self.cycles_now > CYCLES_PER_INSTANT {
            process.brain.schedule_cycle(now + Millis(1));
        }
        for note in notes {
            self.ledger.violated(note);
        }
        if let Some(story) = &mut self.ledger.story {
            let names = plan.effects.iter().filter_map(|effect| match effect {
                Effect::QueueStatus(status) => Some(status.queue.clone()),
                _ => None,
            });
            let names: Vec<String> = names.collect();
            story
                .books
                .note(&names, process.brain.scheduler().state(), self.begin, now);
        }
        for decision in &plan.decisions {
            if let (Some(gang), Outcome::Placed { lost, ranks, .. }) =
                (&decision.group, &decision.outcome)
            {
                self.ledger.placed(gang, *lost, *ranks);
            }
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
                eprintln!("{:>9} {id}: {effect:?}", now.0);
            }
            let is_bind = matches!(effect, Effect::Bind(_));
            self.carry_out(id, effect);
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
}

fn earliest(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    one.into_iter().chain(other).min()
}
