//! What a process sends: binds in their turn, evictions and words at once, each by its protocol,
//! and none while it may not.

use super::asks::heard;
use super::{Driver, Errand, Happening};
use crate::network::{Fate, Request};
use crate::scenario::OnEviction;
use muster_api::kinds::Subject;
use muster_cluster::attempt::{Answer, Step};
use muster_cluster::orders::Turn;
use muster_cluster::words::Word;
use muster_model::Effect;
use muster_model::units::{Millis, Time};
use muster_model::{AskedPlace, PodKey};

/// How often a process that may not write looks whether it may.
const LOOK: Millis = Millis(100);

/// A request on its way to the API server.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) process: u64,
    pub(super) call: u64,
    pub(super) request: Request,
    /// What comes back, if it is not what the API server answers; `None`: it came back already.
    pub(super) answers: Option<(Time, Option<Answer>)>,
}

impl Driver {
    /// Takes one effect of a plan.
    pub(super) fn carry_out(&mut self, id: u64, effect: Effect) {
        let now = self.now;
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        let brain = &mut process.brain;
        match effect {
            Effect::Bind(bind) => {
                let pod = bind.pod.clone();
                if let Some(story) = &mut self.ledger.story
                    && let Some(found) = self.server.pod(&pod)
                {
                    let state = brain.scheduler().state();
                    story.decided(found.line, &found.spec.gang_key(), state);
                }
                process.orders.put(&pod, Turn::of(&bind), bind, now);
                self.send_binds(id);
            }
            Effect::Recall(pod) => {
                process.orders.recall(&pod);
                self.send_binds(id);
            }
            Effect::Evict(evict) => {
                let clock = self.ledger.clock(now);
                if let Some(story) = &mut self.ledger.story
                    && let Some(found) = self.server.pod(&evict.pod)
                {
                    story.ordered(found.line, &evict, clock);
                }
                let call = brain.evict(evict, now);
                self.goes_on();
                self.proceed(id, call);
            }
            Effect::Ask(question) => {
                process.questions.put(question, now);
                self.ask_outside(id);
            }
            Effect::GiveUp(question) => {
                process.questions.give_up(question, now);
                self.ask_outside(id);
            }
            Effect::PodWaits(waits) => {
                self.ledger.waits(&waits, &self.server);
                brain.want(Word::Pod(waits), now);
            }
            Effect::GangStatus(status) => {
                self.ledger.gang_status(&status);
                brain.want(Word::Gang(Box::new(status)), now);
            }
            Effect::GangSilent(source, uid) => brain.silence(&Subject::Gang(source, uid)),
            Effect::QueueStatus(status) => brain.want(Word::Queue(status), now),
            Effect::TopologyStatus(status) => brain.want(Word::Topology(status), now),
            // On a cluster the log has it.
            Effect::TopologyDoubt(_) => {}
        }
    }

    /// Begins the binds whose turn it is, and gives back what waited too long or may not be sent.
    pub(super) fn send_binds(&mut self, id: u64) {
        let (now, slots) = (self.now, self.network.bind_slots(self.now));
        loop {
            let Some(process) = self.processes.get_mut(&id) else {
                return;
            };
            if process.may_send(now) {
                process.orders.expire(now);
            } else {
                process.orders.give_up();
            }
            for order in process.orders.take_given_back() {
                self.network.count(|met| met.given_back += 1);
                process.brain.give_back(&order.what.pod, now);
            }
            if process.in_flight >= slots {
                if let Some(at) = process.orders.expires_at() {
                    self.heap.push(at, Happening::For(id, Errand::SendBinds));
                }
                return;
            }
            let Some(order) = process.orders.take(now) else {
                // Those that wait are of namespaces that are not to have more for now.
                let waits = process.orders.expires_at().is_some();
                if waits && process.looks_at.is_none_or(|at| at <= now) {
                    process.looks_at = Some(now + LOOK);
                    let send = Happening::For(id, Errand::SendBinds);
                    self.heap.push(now + LOOK, send);
                }
                return;
            };
            process.in_flight += 1;
            let call = process.brain.bind(order.what, now);
            self.goes_on();
            self.proceed(id, call);
        }
    }

    /// Writes the words that are due.
    pub(super) fn say(&mut self, id: u64) {
        loop {
            let now = self.now;
            let process = self.processes.get_mut(&id);
            let Some(process) = process.filter(|process| process.may_send(now)) else {
                return;
            };
            let Some(call) = process.brain.say(now) else {
                return;
            };
            self.proceed(id, call);
        }
    }

    /// Lets a call go on until it waits for something.
    pub(super) fn proceed(&mut self, id: u64, call: u64) {
        loop {
            let now = self.now;
            let Some(process) = self.processes.get_mut(&id) else {
                return;
            };
            let may_send = process.may_send(now);
            let request = match process.brain.proceed(call, now) {
                Some(Step::Send(request)) => request,
                Some(Step::WaitUntil(at)) => {
                    return self
                        .heap
                        .push(at, Happening::For(id, Errand::Proceed(call)));
                }
                Some(Step::Done(())) => return,
                None => return self.call_ended(id, call),
            };
            let writes = !matches!(request, Request::Read(_));
            if writes && !may_send {
                self.network.count(|met| met.fenced += 1);
                let later = Happening::For(id, Errand::Proceed(call));
                return self.heap.push(now + LOOK, later);
            }
            let fate = self.fate(&request);
            if let Some(again) = self.network.again() {
                let twice = Flight {
                    process: id,
                    call,
                    request: request.clone(),
                    answers: None,
                };
                self.heap
                    .push(now + again, Happening::Land(Box::new(twice)));
            }
            let answers_at = now + fate.answers_in;
            let Some(lands_in) = fate.lands_in else {
                let answer = fate.instead.unwrap_or(Answer::Lost);
                let answered = Happening::For(id, Errand::Answered(call, answer));
                return self.heap.push(answers_at, answered);
            };
            if (lands_in, answers_at) != (Millis(0), now) {
                let lands_at = now + lands_in;
                let mut flight = Flight {
                    process: id,
                    call,
                    request,
                    answers: None,
                };
                if answers_at < lands_at {
                    // The connection broke, and the API server works on.
                    let lost = Errand::Answered(call, Answer::Lost);
                    self.heap.push(answers_at, Happening::For(id, lost));
                } else {
                    flight.answers = Some((answers_at, fate.instead));
                }
                return self.heap.push(lands_at, Happening::Land(Box::new(flight)));
            }
            let answer = self.land(id, &request);
            self.note_word(id, call, &answer);
            self.spread_news();
            if let Some(process) = self.processes.get_mut(&id) {
                let answer = fate.instead.unwrap_or(answer);
                process.brain.answered(call, &answer, now);
            }
        }
    }

    /// A call is over: the next bind may have its slot.
    fn call_ended(&mut self, id: u64, call: u64) {
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        if let Some((namespace, how)) = process.brain.was_bind(call) {
            process.orders.ended(&namespace, how, self.now);
            process.in_flight = process.in_flight.saturating_sub(1);
            if process.orders.expires_at().is_some() {
                self.heap
                    .push(self.now, Happening::For(id, Errand::SendBinds));
            }
        }
    }

    /// What becomes of a request that is sent now. Who is asked to bind a pod and says yes binds it when the
    /// question comes, and says so after as long as they take to answer.
    fn fate(&mut self, request: &Request) -> Fate {
        let Request::Ask(question) = request else {
            return self.network.fate(request, self.now);
        };
        let reply = self.outside.reply(question);
        let fate = self.network.fate_of_asked_bind(question, self.now);
        let answers_in = Millis(reply.after.0 + fate.answers_in.0);
        let says_yes = matches!(reply.answer, Some(muster_model::Answer::Yes(_)));
        let (answer, answers_in) = heard(question, fate.instead.or(reply.answer), answers_in);
        // Who binds says what came of it.
        let is_true = matches!(answer, muster_model::Answer::Yes(_)) && fate.lands_in.is_some();
        Fate {
            lands_in: fate.lands_in.filter(|_| says_yes),
            answers_in,
            instead: (!is_true).then_some(Answer::Outside(answer)),
        }
    }

    /// The API server carries out a request.
    pub(super) fn land(&mut self, process: u64, request: &Request) -> Answer {
        // What others write for us is not ours to hold back.
        if !matches!(request, Request::Read(_) | Request::Ask(_)) {
            self.must_not_be_deposed(process, request);
        }
        match request {
            Request::Read(pod) => self.server.read(pod),
            Request::Tell(pod) => match self.server.read(pod) {
                Answer::Pod { .. } => {
                    self.tell_to_go(pod);
                    Answer::Accepted
                }
                other => other,
            },
            Request::Say(subject, said, recalled) => {
                self.last_word = self.now;
                self.server.say(subject, said.clone(), recalled.clone())
            }
            Request::Bind(pod, target) => self.bind(pod, &target.node, target.slot),
            Request::Ask(question) => Answer::Outside(match question.about.places() {
                [AskedPlace { pod, node }] => match self.bind(pod, node, None) {
                    Answer::Accepted => muster_model::Answer::Yes(String::new()),
                    Answer::Status { message, .. } => muster_model::Answer::No { message },
                    other => {
                        let message = format!("{other:?}");
                        muster_model::Answer::Failed { message }
                    }
                },
                _ => muster_model::Answer::Skip,
            }),
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

    fn bind(&mut self, pod: &PodKey, node: &str, slot: Option<u32>) -> Answer {
        let answer = self.server.bind(pod, (node, slot), self.now);
        if answer == Answer::Accepted {
            self.start(pod);
            self.ledger.bound_by_us(pod, &self.server, self.now);
        }
        answer
    }

    /// What a process sent must not happen after another one's first write.
    fn must_not_be_deposed(&mut self, process: u64, request: &Request) {
        if self.last_writer == Some(process) {
            return;
        }
        if self.deposed.contains(&process) {
            let (now, by) = (self.now.since(self.begin), self.last_writer);
            self.ledger.violated(format!(
                "at {now}: {request:?} of process {process} happened after a write of {by:?}"
            ));
            return;
        }
        self.deposed.extend(self.last_writer.replace(process));
    }
}
