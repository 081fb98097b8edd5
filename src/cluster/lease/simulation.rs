//! Several processes, one Lease, and everything that may go wrong between them: requests that are
//! lost, late, or answered to nobody; processes that are paused, killed, told to stop; a Lease
//! that somebody touches or deletes.
//!
//! What must hold: never two processes that may write at the same time, where everything sent may
//! happen up to 2.5 s later; and when faults stop, somebody leads soon.

use super::Identity;
use super::election::{
    ANSWER_WITHIN, Answer, DURATION, Election, End, LOOK_EVERY, Record, Request,
};
use super::served::Served;
use crate::attempt::Step;
use crate::ending::WRITE_ENDS_WITHIN;
use muster_model::units::Time;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;

/// The grain of time, in milliseconds.
const TICK: u64 = 5;
/// Faults happen until then; what they cause ends some time later.
const FAULTS_END: u64 = 30_000;
/// How soon somebody must lead when nothing is wrong any more: a lease runs out that was looked
/// at as late as may be, and a bit.
const LEADS_WITHIN: u64 = DURATION.0 + LOOK_EVERY.0 + 500;
const PODS: usize = 3;

/// What goes wrong.
#[derive(Clone, Debug)]
enum Fault {
    /// A process stands still.
    Pause { pod: usize, millis: u64 },
    /// A process dies; the next of its pod starts later.
    Kill { pod: usize, back_after: u64 },
    /// A process is told to stop, and does so in good order. `answered`: what it had sent is known
    /// to have ended at once.
    Stop {
        pod: usize,
        answered: bool,
        back_after: u64,
    },
    /// Somebody deletes the Lease.
    Delete,
    /// Somebody writes a label on it.
    Touch,
    /// For a while, of a thousand messages so many are lost, and all take up to so long.
    Network { lost: u32, millis: u64, until: u64 },
}

fn fault() -> impl Strategy<Value = (u64, Fault)> {
    let pod = 0..PODS;
    let what = prop_oneof![
        4 => (pod.clone(), 0..15_000_u64).prop_map(|(pod, millis)| Fault::Pause { pod, millis }),
        3 => (pod.clone(), 0..4_000_u64).prop_map(|(pod, back_after)| Fault::Kill { pod, back_after }),
        2 => (pod, any::<bool>(), 0..4_000_u64).prop_map(|(pod, answered, back_after)| {
            Fault::Stop { pod, answered, back_after }
        }),
        1 => Just(Fault::Delete),
        1 => Just(Fault::Touch),
        3 => (0..1_000_u32, prop_oneof![0..500_u64, 0..8_000_u64], 0..FAULTS_END)
            .prop_map(|(lost, millis, until)| Fault::Network { lost, millis, until }),
    ];
    (0..FAULTS_END / TICK, what).prop_map(|(tick, fault)| (tick * TICK, fault))
}

fn faults() -> impl Strategy<Value = Vec<(u64, Fault)>> {
    prop::collection::vec(fault(), 0..24)
}

#[derive(Clone, Debug)]
enum Payload {
    Request {
        process: usize,
        id: u64,
        request: Request,
    },
    Answer {
        process: usize,
        id: u64,
        answer: Answer,
    },
    News {
        process: usize,
        record: Option<Record>,
    },
}

/// A request that waits for its answer.
struct Asked {
    id: u64,
    sent: Time,
    gives_up: u64,
}

/// Told to stop: it sends no more, and gives the lease back when what it sent has ended.
struct Stop {
    at: u64,
    /// All is answered by then; otherwise it only waited.
    answered: bool,
    released: Option<u64>,
}

struct Process {
    pod: usize,
    name: String,
    election: Election,
    /// Its clock is so far from the world's.
    ahead: u64,
    alive: bool,
    paused_until: u64,
    asked: Option<Asked>,
    stop: Option<Stop>,
    /// When it could last have sent.
    sent: Option<u64>,
}

/// How often what happened, so that a test can say what was met.
type Met = BTreeMap<&'static str, u32>;

struct World {
    now: u64,
    random: u64,
    served: Served,
    messages: Vec<(u64, Payload)>,
    processes: Vec<Process>,
    /// When the next process of a pod starts.
    starts: Vec<(u64, usize)>,
    lost: u32,
    slow: u64,
    slow_until: u64,
    met: Met,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            now: 0,
            random: seed,
            served: Served::default(),
            messages: Vec::new(),
            processes: Vec::new(),
            starts: (0..PODS).map(|pod| (TICK * pod as u64, pod)).collect(),
            lost: 0,
            slow: 0,
            slow_until: 0,
            met: Met::new(),
        }
    }

    /// splitmix64.
    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound.max(1)
    }

    fn meet(&mut self, what: &'static str) {
        *self.met.entry(what).or_default() += 1;
    }

    fn post(&mut self, payload: Payload) {
        let bad = self.now < self.slow_until;
        if bad && self.below(1_000) < u64::from(self.lost) {
            return;
        }
        let most = if bad { 20 + self.slow } else { 20 };
        let at = self.now + self.below(most);
        self.messages.push((at, payload));
    }

    fn running(&self, pod: usize) -> Option<usize> {
        self.processes
            .iter()
            .position(|one| one.alive && one.pod == pod)
    }

    fn strike(&mut self, fault: &Fault) {
        match *fault {
            Fault::Pause { pod, millis } => {
                if let Some(i) = self.running(pod) {
                    self.processes[i].paused_until = self.now + millis;
                }
            }
            Fault::Kill { pod, back_after } => {
                if let Some(i) = self.running(pod) {
                    self.processes[i].alive = false;
                    self.starts.push((self.now + back_after, pod));
                }
            }
            Fault::Stop {
                pod,
                answered,
                back_after,
            } => {
                if let Some(i) = self.running(pod) {
                    let wait = if answered { 40 } else { WRITE_ENDS_WITHIN.0 };
                    let process = &mut self.processes[i];
                    process.asked = None;
                    process.stop.get_or_insert(Stop {
                        at: self.now + wait,
                        answered,
                        released: None,
                    });
                    self.starts
                        .push((self.now + wait + ANSWER_WITHIN.0 + back_after, pod));
                }
            }
            Fault::Delete => {
                self.served.lease = None;
                self.tell();
            }
            Fault::Touch => {
                if let Some(lease) = self.served.lease.clone() {
                    self.served.store(lease.uid, lease.holder);
                    self.tell();
                }
            }
            Fault::Network {
                lost,
                millis,
                until,
            } => {
                (self.lost, self.slow, self.slow_until) = (lost, millis, until);
            }
        }
    }

    /// Everybody hears of a change, sooner or later, or not.
    fn tell(&mut self) {
        for process in 0..self.processes.len() {
            let record = self.served.lease.clone();
            self.post(Payload::News { process, record });
        }
    }

    /// What the API server does.
    fn serve(&mut self, name: &str, request: &Request) -> Answer {
        let versions = self.served.versions;
        let answer = self.served.serve(name, request);
        if self.served.versions != versions {
            self.tell();
        }
        if matches!(
            (request, &answer),
            (Request::Replace { .. }, Answer::Conflict)
        ) {
            self.meet("conflict");
        }
        answer
    }

    fn deliver(&mut self) {
        let now = self.now;
        let can_take = |process: usize, world: &Self| world.processes[process].paused_until <= now;
        let mut i = 0;
        while i < self.messages.len() {
            let (at, payload) = &self.messages[i];
            let ready = *at <= now
                && match payload {
                    Payload::Request { .. } => true,
                    Payload::Answer { process, .. } | Payload::News { process, .. } => {
                        can_take(*process, self)
                    }
                };
            if !ready {
                i += 1;
                continue;
            }
            match self.messages.swap_remove(i).1 {
                Payload::Request {
                    process,
                    id,
                    request,
                } => {
                    let name = self.processes[process].name.clone();
                    let answer = self.serve(&name, &request);
                    self.post(Payload::Answer {
                        process,
                        id,
                        answer,
                    });
                }
                Payload::Answer {
                    process,
                    id,
                    answer,
                } => {
                    let process = &mut self.processes[process];
                    if let Some(asked) = process.asked.take_if(|asked| asked.id == id) {
                        let local = Time(now + process.ahead);
                        process.election.answered(answer, asked.sent, local);
                    }
                }
                Payload::News { process, record } => {
                    let process = &mut self.processes[process];
                    process.election.heard(record, Time(now + process.ahead));
                }
            }
        }
    }

    fn start(&mut self) {
        let now = self.now;
        for (at, pod) in std::mem::take(&mut self.starts) {
            // A container starts when the one before it has ended.
            if now < at || self.running(pod).is_some() {
                self.starts.push((at, pod));
                continue;
            }
            let ahead = self.below(1_000_000);
            let serial = self.processes.len();
            let me = Identity::in_pod("pod", &pod.to_string(), &serial.to_string());
            self.processes.push(Process {
                pod,
                name: me.name().to_owned(),
                election: Election::new(me, Time(now + ahead)),
                ahead,
                alive: true,
                paused_until: now,
                asked: None,
                stop: None,
                sent: None,
            });
        }
    }

    /// One process does what is next, as the driver would.
    fn act(&mut self, i: usize) {
        let now = self.now;
        let process = &mut self.processes[i];
        let local = Time(now + process.ahead);
        if let Some(stop) = &mut process.stop {
            if now < stop.at {
                return;
            }
            let released = *stop.released.get_or_insert_with(|| {
                process.election.release(local);
                now
            });
            if stop.answered {
                process.sent = None;
            }
            if released + ANSWER_WITHIN.0 <= now {
                process.alive = false;
                return;
            }
        }
        if let Some(asked) = process.asked.take_if(|asked| asked.gives_up <= now) {
            process.election.answered(Answer::Failed, asked.sent, local);
        }
        if process.asked.is_some() {
            return;
        }
        match process.election.next(local) {
            Step::WaitUntil(time) => assert!(local < time, "waits for what has been"),
            Step::Send(request) => {
                let gives_up = now + ANSWER_WITHIN.0;
                let id = self.below(u64::MAX);
                let process = &mut self.processes[i];
                process.asked = Some(Asked {
                    id,
                    sent: local,
                    gives_up,
                });
                self.post(Payload::Request {
                    process: i,
                    id,
                    request,
                });
            }
            Step::Done(end) => {
                process.alive = false;
                let pod = process.pod;
                match end {
                    End::Lost { .. } => {
                        self.meet("lost");
                        self.starts.push((now + 100, pod));
                    }
                    End::Released => self.meet("released"),
                    End::NotOurs => self.meet("not ours to release"),
                    End::RunsOut => self.meet("left to run out"),
                }
            }
        }
    }

    /// Whether this process sends now; checks that nobody else's writes may still happen.
    fn send(&mut self, i: usize) -> bool {
        let now = self.now;
        let process = &self.processes[i];
        let local = Time(now + process.ahead);
        let may = process.election.may_send_until(local).is_some();
        if !may || process.stop.is_some() {
            return false;
        }
        if process.sent.is_none() {
            self.meet("led");
        } else if self.processes[i].sent < Some(now.saturating_sub(TICK)) {
            self.meet("went on");
        }
        for other in self
            .processes
            .iter()
            .filter(|one| one.name != self.processes[i].name)
        {
            if let Some(sent) = other.sent {
                assert!(
                    sent + WRITE_ENDS_WITHIN.0 <= now,
                    "{} sends at {now}, and {} sent at {sent}",
                    self.processes[i].name,
                    other.name
                );
            }
        }
        self.processes[i].sent = Some(now);
        true
    }

    /// One tick; says whether somebody leads.
    fn tick(&mut self) -> bool {
        self.start();
        self.deliver();
        let mut leads = false;
        for i in 0..self.processes.len() {
            let process = &self.processes[i];
            if process.alive && process.paused_until <= self.now {
                self.act(i);
                leads |= self.processes[i].alive && self.send(i);
            }
        }
        self.now += TICK;
        leads
    }

    /// When everything that faults caused is over.
    fn calm_from(&self) -> u64 {
        let paused = self.processes.iter().map(|one| one.paused_until);
        let messages = self.messages.iter().map(|(at, _)| *at);
        let starts = self.starts.iter().map(|(at, _)| *at);
        let stopping = self
            .processes
            .iter()
            .filter(|one| one.alive && one.stop.is_some());
        let stopping = stopping.map(|_| self.now + TICK);
        let all = paused.chain(messages).chain(starts).chain(stopping);
        all.max().unwrap_or(0).max(self.slow_until)
    }
}

/// Plays these faults; panics when a promise is broken.
fn play(faults: &[(u64, Fault)], seed: u64) -> Met {
    let mut world = World::new(seed);
    let mut faults = faults.to_vec();
    faults.sort_by_key(|(at, _)| *at);
    let mut faults = faults.into_iter().peekable();
    while world.now < FAULTS_END {
        while let Some((_, fault)) = faults.next_if(|(at, _)| *at <= world.now) {
            world.strike(&fault);
        }
        world.tick();
    }
    while world.now < world.calm_from() {
        world.tick();
    }
    let leads_from = world.now + LEADS_WITHIN;
    while world.now < leads_from {
        world.tick();
    }
    for _ in 0..20_000 / TICK {
        assert!(world.tick(), "nobody leads at {}", world.now);
    }
    world.met
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn never_two_may_write_and_soon_one_may(faults in faults(), seed in any::<u64>()) {
        play(&faults, seed);
    }
}

#[test]
fn without_faults_the_first_leads_and_stays() {
    let met = play(&[], 1);
    assert_eq!(met.get("led"), Some(&1), "{met:?}");
    assert_eq!(met.get("lost"), None, "{met:?}");
}

#[test]
fn the_faults_meet_what_they_are_for() {
    let mut runner = TestRunner::deterministic();
    let mut met = Met::new();
    for seed in 0..200 {
        let faults = faults().new_tree(&mut runner).unwrap().current();
        for (what, count) in play(&faults, seed) {
            *met.entry(what).or_default() += count;
        }
    }
    println!("{met:?}");
    let wanted = [
        "conflict",
        "led",
        "lost",
        "not ours to release",
        "released",
        "went on",
    ];
    assert!(wanted.iter().all(|what| met.contains_key(what)), "{met:?}");
}
