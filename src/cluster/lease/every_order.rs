//! Two processes and one Lease in every order: all states to which some number of faults leads, whenever they come.
//!
//! Time passes by half seconds, of which all times of the rules are multiples. Within one everybody who runs does what is
//! to be done, in either order. Faults come between: a request is lost, carried out unheard, answered late, or carried
//! out when nobody waits for it any more; a process stands still, or dies and one starts in its pod; one is told to stop
//! as it asks, and stops in good order; the Lease is deleted.
//!
//! States are compared as if each were now: times are counted from now on, versions and uids from the oldest that
//! anybody knows, and processes that are dead have one name per pod. So there are finitely many, and all of them are
//! visited, breadth first.
//!
//! What must hold in each: never two that may write, where what was sent may happen up to 2.5 s later; and when nothing
//! more goes wrong, somebody leads soon. What was given back nothing of who gave it back may take again.

use super::Identity;
use super::election::{
    ANSWER_WITHIN, Answer, DURATION, Election, End, LOOK_EVERY, Record, Request,
};
use super::served::Served;
use crate::attempt::Step;
use crate::ending::WRITE_ENDS_WITHIN;
use muster_model::units::{Millis, Time};
use std::collections::{BTreeMap, BTreeSet};

const TICK: Millis = Millis(500);
/// The present of every state.
const NOW: Time = Time(100_000);
/// What was so long ago was long ago.
const LONG_AGO: Time = Time(NOW.0 - 20_000);
/// So long after it was sent a request is carried out that is late.
const LATE: Millis = Millis(2_000);
/// And so long after it is answered that is slow.
const SLOW: Millis = Millis(1_000);
/// How long a process stands still: longer than it may send, and longer than its record keeps others away.
const PAUSES: [Millis; 2] = [Millis(2_000), Millis(8_000)];
/// When one starts in the pod of a process that died.
const BACK: [Millis; 2] = [Millis(0), Millis(9_000)];
/// How soon somebody leads when nothing more goes wrong: all that stands still has to go on, a lease runs out that was
/// looked at as late as may be, and an answer comes.
const LEADS_WITHIN: Millis =
    Millis(9_000 + DURATION.0 + LOOK_EVERY.0 + ANSWER_WITHIN.0 + WRITE_ENDS_WITHIN.0);
/// How many things go wrong, unless `MUSTER_FAULTS` says otherwise.
const FAULTS: u8 = 1;

/// What becomes of the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    #[default]
    Answered,
    Lost,
    Unheard,
    Slow,
    Late,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Request(usize, Fate),
    Pause(usize, Millis),
    Death(usize, Millis),
    /// It is told to stop when it sends its next request, of which this becomes.
    Stop(usize, Fate),
    /// A watch has nothing to say of what happens until a tick later.
    Deaf(usize),
    Deletion,
}

/// A request that nobody has forgotten.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Flight {
    lands: Time,
    name: String,
    request: Request,
}

/// What a process waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    sent: Time,
    /// When what came of it is heard; without an answer, that nobody answers.
    heard: Time,
    answer: Option<Answer>,
}

/// How far a process has come that is to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    #[default]
    NotTold,
    /// It will be told when it asks.
    WhenItAsks,
    /// It writes nothing more, waits until what it sent has ended, and for the answer to what it asked.
    Told,
    /// It gives the Lease back, until then.
    GivesBack(Time),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    name: String,
    election: Election,
    asked: Option<Asked>,
    fate: Fate,
    stop: Stop,
    deaf: bool,
    paused_until: Time,
    /// News that came while it stood still.
    news: Option<Option<Record>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    faults: u8,
    served: Served,
    processes: [Option<Process>; 2],
    /// When one starts where none is.
    starts: [Time; 2],
    flights: Vec<Flight>,
    /// When what this pod's processes have sent has happened, or never will.
    quiet: [Time; 2],
}

impl Process {
    /// Until when it may write, if it may now.
    fn may_send_until(&self) -> Option<Time> {
        let is_told = matches!(self.stop, Stop::Told | Stop::GivesBack(_));
        let until = self.election.may_send_until(NOW);
        until.filter(|_| !is_told)
    }
}

fn name_of(pod: usize, dead: bool) -> Identity {
    let serial = if dead { "dead" } else { "lives" };
    Identity::in_pod(&format!("muster-{pod}"), "uid", serial)
}

impl World {
    fn new(faults: u8) -> Self {
        Self {
            faults,
            served: Served::default(),
            processes: [None, None],
            starts: [NOW, NOW],
            flights: Vec::new(),
            quiet: [LONG_AGO, LONG_AGO],
        }
    }

    fn faults() -> Vec<Fault> {
        let mut faults = vec![Fault::Deletion];
        for pod in 0..2 {
            let fates = [Fate::Lost, Fate::Unheard, Fate::Slow, Fate::Late];
            faults.extend(fates.map(|fate| Fault::Request(pod, fate)));
            faults.extend(fates.map(|fate| Fault::Stop(pod, fate)));
            faults.push(Fault::Stop(pod, Fate::Answered));
            faults.extend(PAUSES.map(|span| Fault::Pause(pod, span)));
            faults.extend(BACK.map(|span| Fault::Death(pod, span)));
            faults.push(Fault::Deaf(pod));
        }
        faults
    }

    /// What it is after a fault, if there is a difference.
    fn struck(&self, fault: Fault) -> Option<Self> {
        let mut world = self.clone();
        world.faults = self.faults.checked_sub(1)?;
        match fault {
            Fault::Request(pod, fate) => world.processes[pod].as_mut()?.fate = fate,
            Fault::Pause(pod, span) => {
                let process = world.processes[pod].as_mut()?;
                process.paused_until = process.paused_until.max(NOW + span);
            }
            Fault::Death(pod, back_in) => {
                world.processes[pod].take()?;
                world.starts[pod] = NOW + back_in;
                world.bury(pod);
            }
            Fault::Stop(pod, fate) => {
                let process = world.processes[pod].as_mut()?;
                if process.stop != Stop::NotTold {
                    return None;
                }
                (process.stop, process.fate) = (Stop::WhenItAsks, fate);
            }
            Fault::Deaf(pod) => world.processes[pod].as_mut()?.deaf = true,
            Fault::Deletion => {
                world.served.lease.take()?;
                world.tell();
            }
        }
        (world != *self).then_some(world)
    }

    /// What the process of a pod had written is a dead one's from now on.
    fn bury(&mut self, pod: usize) {
        let (lives, dead) = (name_of(pod, false), name_of(pod, true));
        for record in self.records() {
            if record.holder.as_deref() == Some(lives.name()) {
                record.holder = Some(dead.name().to_owned());
            }
        }
        for flight in &mut self.flights {
            if flight.name == lives.name() {
                dead.name().clone_into(&mut flight.name);
            }
        }
    }

    /// All records that anybody knows.
    fn records(&mut self) -> Vec<&mut Record> {
        let mut records: Vec<&mut Record> = self.served.lease.iter_mut().collect();
        for process in self.processes.iter_mut().flatten() {
            records.extend(process.election.record_mut());
            records.extend(process.news.iter_mut().flatten());
            let answer = process
                .asked
                .as_mut()
                .and_then(|asked| asked.answer.as_mut());
            if let Some(Answer::Written(record) | Answer::Found(record)) = answer {
                records.push(record);
            }
        }
        records
    }

    /// Everybody who listens hears what the Lease is now.
    fn tell(&mut self) {
        for process in self.processes.iter_mut().flatten() {
            if NOW < process.paused_until {
                process.news = Some(self.served.lease.clone());
            } else if !process.deaf {
                process.election.heard(self.served.lease.clone(), NOW);
            }
        }
    }

    /// What the API server does.
    fn serve(&mut self, name: &str, request: &Request) -> Answer {
        let versions = self.served.versions;
        let answer = self.served.serve(name, request);
        if self.served.versions != versions {
            self.tell();
        }
        answer
    }

    /// Half a second passes, and everybody does what is to be done, in this order.
    fn tick(&self, order: [usize; 2]) -> Result<Self, String> {
        let mut world = self.clone();
        world.pass(TICK);
        let (land, fly) = world.flights.drain(..).partition(|one| one.lands <= NOW);
        world.flights = fly;
        let land: Vec<Flight> = land;
        for flight in land {
            world.serve(&flight.name, &flight.request);
        }
        for pod in order {
            if world.processes[pod].is_none() && world.starts[pod] <= NOW {
                let me = name_of(pod, false);
                world.processes[pod] = Some(Process {
                    name: me.name().to_owned(),
                    election: Election::new(me, NOW),
                    asked: None,
                    fate: Fate::Answered,
                    stop: Stop::NotTold,
                    deaf: false,
                    paused_until: LONG_AGO,
                    news: None,
                });
            }
            world.act(pod)?;
        }
        for pod in 0..2 {
            world.may_write(pod)?;
        }
        for process in world.processes.iter_mut().flatten() {
            process.deaf = false;
        }
        world.rename();
        Ok(world)
    }

    /// All that was is longer ago.
    fn pass(&mut self, span: Millis) {
        let mut times: Vec<&mut Time> = self.starts.iter_mut().chain(&mut self.quiet).collect();
        times.extend(self.flights.iter_mut().map(|flight| &mut flight.lands));
        for process in self.processes.iter_mut().flatten() {
            times.push(&mut process.paused_until);
            times.extend(process.election.times_mut());
            if let Stop::GivesBack(until) = &mut process.stop {
                times.push(until);
            }
            if let Some(asked) = &mut process.asked {
                times.extend([&mut asked.sent, &mut asked.heard]);
            }
        }
        for time in times {
            *time = Time(time.0.saturating_sub(span.0)).max(LONG_AGO);
        }
    }

    /// One process does all that is to be done now.
    fn act(&mut self, pod: usize) -> Result<(), String> {
        for _ in 0..20 {
            let Some(process) = &mut self.processes[pod] else {
                return Ok(());
            };
            if NOW < process.paused_until {
                return Ok(());
            }
            if let Some(news) = process.news.take() {
                process.election.heard(news, NOW);
            }
            if let Some(asked) = process.asked.take_if(|asked| asked.heard <= NOW) {
                let answer = asked.answer.unwrap_or(Answer::Failed);
                process.election.answered(answer, asked.sent, NOW);
            }
            if process.asked.is_some() {
                return Ok(());
            }
            if process.stop == Stop::Told && self.quiet[pod] <= NOW {
                process.election.release(NOW);
                process.stop = Stop::GivesBack(NOW + ANSWER_WITHIN);
            }
            if let Stop::GivesBack(until) = process.stop
                && until <= NOW
            {
                self.end(pod);
                return Ok(());
            }
            match process.election.next(NOW) {
                Step::WaitUntil(time) if time <= NOW => {
                    return Err("waits for what has been".to_owned());
                }
                Step::WaitUntil(_) => return Ok(()),
                Step::Send(request) => self.send(pod, request),
                Step::Done(end) => {
                    if matches!(end, End::Released | End::NotOurs) {
                        self.is_given_back(pod)?;
                    }
                    self.end(pod);
                    return Ok(());
                }
            }
        }
        Err("does not come to an end".to_owned())
    }

    /// A process ends, and one starts in its pod.
    fn end(&mut self, pod: usize) {
        self.processes[pod] = None;
        self.starts[pod] = NOW + TICK;
        self.bury(pod);
    }

    /// Nothing that the process of this pod has sent takes the Lease, now that it says that it has not got it.
    fn is_given_back(&self, pod: usize) -> Result<(), String> {
        let Some(lease) = &self.served.lease else {
            return Ok(());
        };
        let me = name_of(pod, false);
        let takes_it = |flight: &Flight| {
            let hold = true;
            let version = lease.version.clone();
            flight.name == me.name() && flight.request == Request::Replace { version, hold }
        };
        if lease.holder.as_deref() == Some(me.name()) || self.flights.iter().any(takes_it) {
            return Err(format!(
                "{pod} says the Lease is not its own, and has it or will take it"
            ));
        }
        Ok(())
    }

    fn send(&mut self, pod: usize, request: Request) {
        let Some(process) = &mut self.processes[pod] else {
            return;
        };
        let (name, fate) = (process.name.clone(), std::mem::take(&mut process.fate));
        if process.stop == Stop::WhenItAsks {
            process.stop = Stop::Told;
        }
        let answer = match fate {
            Fate::Lost => None,
            Fate::Late => {
                let lands = NOW + LATE;
                self.flights.push(Flight {
                    lands,
                    name,
                    request,
                });
                None
            }
            Fate::Answered | Fate::Unheard | Fate::Slow => Some(self.serve(&name, &request)),
        };
        let (heard, answer) = match fate {
            Fate::Answered => (NOW, answer),
            Fate::Slow => (NOW + SLOW, answer),
            Fate::Lost | Fate::Unheard | Fate::Late => (NOW + ANSWER_WITHIN, None),
        };
        if let Some(process) = &mut self.processes[pod] {
            process.asked = Some(Asked {
                sent: NOW,
                heard,
                answer,
            });
        }
    }

    /// Notes that a process may write, from now to the next tick; what others wrote must have ended. One that stands
    /// still may go on at any moment.
    fn may_write(&mut self, pod: usize) -> Result<(), String> {
        let Some(process) = &self.processes[pod] else {
            return Ok(());
        };
        let Some(until) = process.may_send_until() else {
            return Ok(());
        };
        let other = 1 - pod;
        if NOW < self.quiet[other] {
            let span = self.quiet[other].since(NOW);
            return Err(format!(
                "{pod} may write, and what {other} wrote may happen for {span}"
            ));
        }
        self.quiet[pod] = until.min(NOW + TICK) + WRITE_ENDS_WITHIN;
        Ok(())
    }

    fn leads(&self) -> bool {
        let mut processes = self.processes.iter().flatten();
        processes.any(|one| one.paused_until <= NOW && one.may_send_until().is_some())
    }

    /// Versions and uids from the oldest on that anybody knows.
    fn rename(&mut self) {
        let mut known: BTreeSet<u64> = self
            .flights
            .iter()
            .filter_map(|flight| version_of(&flight.request))
            .collect();
        known.extend(
            self.records()
                .iter()
                .filter_map(|one| one.version.parse::<u64>().ok()),
        );
        let renamed: BTreeMap<String, String> = (1_u64..)
            .zip(&known)
            .map(|(new, old)| (old.to_string(), new.to_string()))
            .collect();
        let uids: BTreeSet<String> = self.records().iter().map(|one| one.uid.clone()).collect();
        let uids: Vec<String> = uids.into_iter().collect();
        for record in self.records() {
            let place = uids.iter().position(|uid| *uid == record.uid);
            // Other than those that are to come, which are numbers.
            record.uid = format!("uid-{}", place.unwrap_or_default());
            if let Some(new) = renamed.get(&record.version) {
                record.version.clone_from(new);
            }
        }
        for flight in &mut self.flights {
            if let Request::Replace { version, .. } = &mut flight.request
                && let Some(new) = renamed.get(version)
            {
                version.clone_from(new);
            }
        }
        self.served.versions = known.len() as u64;
    }
}

fn version_of(request: &Request) -> Option<u64> {
    match request {
        Request::Replace { version, .. } => version.parse().ok(),
        Request::Read | Request::Create => None,
    }
}

/// All states, each with the number of the one that follows when nothing more goes wrong.
fn all_states(faults: u8) -> Result<(Vec<World>, Vec<usize>), String> {
    let mut numbers: BTreeMap<World, usize> = BTreeMap::new();
    let mut states: Vec<World> = Vec::new();
    let mut follows: Vec<usize> = Vec::new();
    let mut add = |world: World, states: &mut Vec<World>| {
        *numbers.entry(world).or_insert_with_key(|world| {
            states.push(world.clone());
            states.len() - 1
        })
    };
    add(World::new(faults), &mut states);
    while let Some(world) = states.get(follows.len()).cloned() {
        let failed = |what| format!("{what}: after {world:#?}");
        let next = world.tick([0, 1]).map_err(failed)?;
        follows.push(add(next, &mut states));
        let other = world.tick([1, 0]).map_err(failed)?;
        add(other, &mut states);
        for fault in World::faults() {
            if let Some(struck) = world.struck(fault) {
                add(struck, &mut states);
            }
        }
    }
    Ok((states, follows))
}

#[test]
fn in_every_order_at_most_one_may_write_and_soon_one_may() {
    let faults = std::env::var("MUSTER_FAULTS").ok();
    let faults = faults.and_then(|text| text.parse().ok());
    let faults = faults.unwrap_or(FAULTS);
    let (states, follows) = all_states(faults).unwrap_or_else(|what| panic!("{what}"));
    println!("{} states with {faults} faults", states.len());
    let ticks = LEADS_WITHIN.0 / TICK.0;
    for (number, world) in states.iter().enumerate() {
        let mut at = number;
        let soon = (0..=ticks).any(|_| {
            at = follows[at];
            states[at].leads()
        });
        assert!(soon, "nobody leads soon after {world:#?}");
    }
    assert!(states.len() > 1_000, "{}", states.len());
}
