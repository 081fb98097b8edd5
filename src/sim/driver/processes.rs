//! The processes of the scheduler: they start, ask for the Lease, lead, stand still, die.
//!
//! Without a Lease there is one, which leads from the start. With one there are two pods, each with
//! a process; what keeps the one that does not lead from writing is the same
//! [`Election`] that keeps the live one.

use super::watches::Watches;
use super::{Driver, Errand, Happening};
use crate::brain::Brain;
use crate::server::Stream;
use muster_cluster::asking::Asking;
use muster_cluster::attempt::Step;
use muster_cluster::lease::Identity;
use muster_cluster::lease::election::{ANSWER_WITHIN, Answer, Election, End, Record, Request};
use muster_cluster::orders::Orders;
use muster_model::Bind;
use muster_model::units::{Millis, Time};

/// Questions to one addressee at once.
const QUESTIONS: usize = 8;

/// How long the container of a pod takes to start again.
const RESTART: Millis = Millis(200);

/// A request about the Lease on its way to the API server.
#[derive(Debug)]
pub(super) struct AskedLease {
    process: u64,
    identity: Identity,
    request: Request,
    sent: Time,
    /// When what came of it is heard, if it is.
    answers_at: Option<Time>,
}

/// A process of the scheduler.
#[derive(Debug)]
pub(super) struct Process {
    /// In which pod it runs.
    pub(super) pod: usize,
    /// Who it is, and whether it may write; `None` where there is no Lease.
    election: Option<(Identity, Election)>,
    /// A request about the Lease is on its way.
    asking: bool,
    /// When it next looks at the Lease by itself.
    elects_at: Option<Time>,
    pub(super) brain: Brain,
    pub(super) watches: Watches,
    /// It led at least once: it hears news.
    pub(super) leads: bool,
    /// Binds that wait for a slot, and how many have one.
    pub(super) orders: Orders<Bind>,
    pub(super) in_flight: usize,
    /// When it looks again whether more of those that wait may begin.
    pub(super) looks_at: Option<Time>,
    /// Questions that are not answered, and when the next may be due.
    pub(super) questions: Asking,
    pub(super) asks_at: Option<Time>,
    /// Until when it stands still.
    pub(super) paused_until: Option<Time>,
}

impl Process {
    /// The watch on the Lease tells what it is now.
    pub(super) fn hear_of_lease(&mut self, record: Option<Record>, now: Time) {
        if let Some((_, election)) = &mut self.election {
            election.heard(record, now);
        }
    }

    pub(super) fn election(&self) -> Option<&Election> {
        self.election.as_ref().map(|(_, election)| election)
    }

    pub(super) const fn is_asking(&self) -> bool {
        self.asking
    }

    /// Whether it may write now.
    pub(super) fn may_send(&self, now: Time) -> bool {
        let until = |(_, election): &(Identity, Election)| election.may_send_until(now);
        self.leads
            && self
                .election
                .as_ref()
                .is_none_or(|one| until(one).is_some())
    }
}

impl Driver {
    /// The process that leads, or did last.
    pub(super) fn leader(&self) -> Option<u64> {
        let leads = |(_, process): &(&u64, &Process)| process.leads;
        let leaders = self.processes.iter().filter(leads);
        // Of two, the one that may write; else the one that took over last.
        let rank = |(id, process): &(&u64, &Process)| (process.may_send(self.now), **id);
        leaders.max_by_key(rank).map(|(id, _)| *id)
    }

    pub(super) fn start_process(&mut self, pod: usize) {
        self.next_process += 1;
        let id = self.next_process;
        let election = self.lease.is_some().then(|| {
            let identity = Identity::in_pod(&format!("pod-{pod}"), "uid", &id.to_string());
            (identity.clone(), Election::new(identity, self.now))
        });
        let tape = self.tapes.as_mut().map(|tapes| tapes.of(id, self.now));
        let process = Process {
            pod,
            election,
            asking: false,
            elects_at: None,
            brain: Brain::new(self.policy.clone(), Stream::ALL.len(), tape),
            watches: Watches::default(),
            leads: false,
            orders: Orders::default(),
            looks_at: None,
            in_flight: 0,
            questions: Asking::new(QUESTIONS),
            asks_at: None,
            paused_until: None,
        };
        self.processes.insert(id, process);
        self.elect(id);
    }

    /// Has a process do what the rules of election say next.
    pub(super) fn elect(&mut self, id: u64) {
        let now = self.now;
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        let Some((identity, election)) = &mut process.election else {
            return self.lead(id);
        };
        if process.asking {
            return;
        }
        let step = election.next(now);
        let may_send_until = election.may_send_until(now);
        let may_send = may_send_until.is_some();
        process.brain.may_write(may_send_until, now);
        let identity = identity.clone();
        match step {
            Step::Send(request) => {
                process.asking = true;
                self.ask(id, identity, request);
            }
            Step::WaitUntil(at) => {
                if process
                    .elects_at
                    .is_none_or(|known| at < known || known <= now)
                {
                    process.elects_at = Some(at);
                    self.heap.push(at, Happening::For(id, Errand::Elect));
                }
            }
            Step::Done(End::Lost { .. }) => {
                self.network.count(|met| met.deposed += 1);
                self.end_process(id, RESTART);
            }
            Step::Done(End::Released | End::NotOurs | End::RunsOut) => {
                self.end_process(id, RESTART);
            }
        }
        if may_send {
            self.lead(id);
        }
    }

    /// Sends a request about the Lease; it is lost and late like any other.
    fn ask(&mut self, id: u64, identity: Identity, request: Request) {
        let sent = self.now;
        let fate = self.network.fate_of_lease(&request, sent);
        let in_time = |lands_in| lands_in <= fate.answers_in && fate.answers_in < ANSWER_WITHIN;
        let is_answered = fate.instead.is_none() && fate.lands_in.is_some_and(in_time);
        let answers_at = sent + fate.answers_in.min(ANSWER_WITHIN);
        if !is_answered {
            let failed = Errand::LeaseAnswered(sent, Answer::Failed);
            self.heap.push(answers_at, Happening::For(id, failed));
        }
        let Some(lands_in) = fate.lands_in else {
            return;
        };
        let asked = AskedLease {
            process: id,
            identity,
            request,
            sent,
            answers_at: is_answered.then_some(answers_at),
        };
        self.heap
            .push(sent + lands_in, Happening::AskLease(Box::new(asked)));
    }

    /// A request about the Lease arrives at the API server.
    pub(super) fn serve_lease(&mut self, asked: &AskedLease) {
        let Some(lease) = &mut self.lease else { return };
        let before = lease.record().cloned();
        let answer = lease.serve(&asked.identity, &asked.request);
        let after = lease.record().cloned();
        if let Some(at) = asked.answers_at {
            let answered = Errand::LeaseAnswered(asked.sent, answer);
            self.heap.push(at, Happening::For(asked.process, answered));
        }
        if before != after {
            let ids: Vec<u64> = self.processes.keys().copied().collect();
            for id in ids {
                let lag = self.network.lag(Stream::Others, self.now);
                let heard = Happening::For(id, Errand::LeaseHeard(after.clone()));
                self.heap.push(self.now + lag, heard);
            }
        }
    }

    pub(super) fn lease_answered(&mut self, id: u64, sent: Time, answer: Answer) {
        let now = self.now;
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        process.asking = false;
        process.brain.hear_of_lease(&answer, sent, now);
        if let Some((_, election)) = &mut process.election {
            election.answered(answer, sent, now);
        }
        self.elect(id);
    }

    /// Begins to lead, or goes on: what was put off may be done now.
    fn lead(&mut self, id: u64) {
        let now = self.now;
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        if !std::mem::replace(&mut process.leads, true) {
            self.list_everything(id);
        }
        self.send_binds(id);
        self.ask_outside(id);
        if let Some(process) = self.processes.get_mut(&id)
            && process.brain.wants_cycle()
            && !process.brain.has_cycle_planned()
        {
            process.brain.schedule_cycle(now);
        }
    }

    /// Ends a process at once; one starts in its pod after `back_in`, if it is not the only one.
    pub(super) fn end_process(&mut self, id: u64, back_in: Millis) {
        if let Some(process) = self.processes.remove(&id) {
            let start = Happening::StartProcess(process.pod);
            self.heap.push(self.now + back_in, start);
        }
    }

    pub(super) fn kill_scheduler(&mut self) {
        // Without a Lease only time makes sure that what it sent has ended.
        let back_in = if self.lease.is_some() {
            RESTART
        } else {
            self.network.pause()
        };
        self.lose_scheduler(back_in);
    }

    /// The process that leads dies, and one starts in its pod after so long.
    pub(super) fn lose_scheduler(&mut self, back_in: Millis) {
        let Some(id) = self.leader() else { return };
        self.network.count(|met| met.kills += 1);
        self.end_process(id, back_in);
    }

    /// The process that leads stands still for a while.
    pub(super) fn pause_scheduler(&mut self, span: Millis) {
        let until = (self.now + span).min(self.network.calm_from());
        let leader = self.leader().and_then(|id| self.processes.get_mut(&id));
        if let Some(process) = leader.filter(|process| process.paused_until.is_none()) {
            process.paused_until = Some(until);
            self.network.count(|met| met.paused += 1);
        }
    }
}
