//! What lies between the scheduler and the simulated API server: delay, loss, refusals, crashes.
//!
//! Calm, everything arrives at once. Otherwise every fault is drawn from one seed, with rates that
//! are themselves drawn (swarm testing), until the faults stop; from then on it is calm. Or somebody chooses
//! what becomes of each request ([`Chooser`]).
//!
//! A request is carried out within [`REQUEST_TIMEOUT`] or never, as a deadline sent along with it
//! makes sure on a real API server; and a new scheduler starts only after the lease of the old
//! one has run out, which is longer. Without these two nobody could know the outcome of a write.

mod chosen;
mod controllers;
mod outage;

pub use chosen::{Chooser, Sent};
pub use controllers::ToControllers;
pub use outage::{Outage, OutageKind};

use super::random::Random;
use super::server::Stream;
use muster_api::kinds::Subject;
use muster_api::said::Said;
use muster_cluster::attempt::{Answer, PodRequest, Target};
use muster_cluster::lease::election;
use muster_model::units::{Millis, Time};
use muster_model::{PodKey, Question, Recalled};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long a client waits for an answer.
pub const REQUEST_TIMEOUT: Millis = Millis(2_000);

/// Of binds that somebody outside is asked to make, in thousandths: left to us.
const SKIPPED: u64 = 200;
/// Said to be made, and not.
const LIED: u64 = 200;

/// A request on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `POST pods/binding`.
    Bind(PodKey, Target),
    /// Somebody outside is asked to bind a pod.
    Ask(Arc<Question>),
    /// `DELETE` the pod.
    Delete(PodKey),
    /// `GET` the pod.
    Read(PodKey),
    /// `PATCH` the pod's condition `DisruptionTarget`.
    Tell(PodKey),
    /// `PATCH` what an object says, with what of it a process that comes later reads.
    Say(Subject, Said, Recalled),
}

impl Request {
    /// What an attempt wants to be sent about a pod.
    #[must_use]
    pub fn about(pod: PodKey, request: PodRequest) -> Self {
        match request {
            PodRequest::Bind(target) => Self::Bind(pod, target),
            PodRequest::Ask(question) => Self::Ask(question),
            PodRequest::Tell => Self::Tell(pod),
            PodRequest::Delete => Self::Delete(pod),
            PodRequest::Read => Self::Read(pod),
        }
    }
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// When the API server carries it out; `None`: never.
    pub lands_in: Option<Millis>,
    /// When the answer, or the loss of it, is noticed; a loss may be before it lands.
    pub answers_in: Millis,
    /// What comes back instead of the true answer.
    pub instead: Option<Answer>,
}

/// What becomes of a question to the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FateOfQuestion {
    /// When it is done; `None`: never.
    pub lands_in: Option<Millis>,
    /// When the answer comes, or would.
    pub answers_in: Millis,
    /// What comes back instead of the true answer.
    pub instead: Option<muster_model::Answer>,
}

/// Something bad that happens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mischief {
    /// A pod is deleted; its controller makes it again.
    DeletePod,
    /// A node is deleted and comes back later.
    DeleteNode,
    /// The scheduler dies.
    KillScheduler,
    /// It dies, and one starts in its pod after so long: its node is dead, or its container waits.
    LoseScheduler(Millis),
    /// The scheduler will die in the middle of a plan.
    KillInPlan,
    /// The scheduler stands still for so long.
    PauseScheduler(Millis),
    /// A watch of the scheduler breaks; what was on its way is lost, and a list follows.
    BreakWatch(Stream),
    /// Somebody writes something else where the scheduler says something.
    OverwriteWords,
}

/// When deletions are refused, whoever asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ban {
    /// From then ...
    pub from: Time,
    /// ... to then.
    pub to: Time,
    /// Not answered, rather than refused.
    pub hangs: bool,
}

/// How often things go wrong, in thousandths, and how long they take at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Binds refused for good, by pod.
    pub refused_pods: u64,
    /// Binds refused for good, by node.
    pub refused_nodes: u64,
    /// Requests answered 429.
    pub busy: u64,
    /// Requests answered 5xx, carried out or not.
    pub broken: u64,
    /// Requests without an answer, carried out or not.
    pub lost: u64,
    /// The longest way of a request or an answer.
    pub delay: Millis,
    /// The longest delay of each watch.
    pub lags: BTreeMap<Stream, Millis>,
    /// The longest time between news and cycle.
    pub debounce: Millis,
    /// The mean time between two pieces of mischief; zero: none.
    pub mischief_every: Millis,
    /// Questions to the outside answered with no.
    pub said_no: u64,
    /// Questions to the outside that come to nothing known, done or not.
    pub unanswered: u64,
    /// Answers from outside that come twice.
    pub said_twice: u64,
    /// Volumes that are not made when they should be.
    pub not_provisioned: u64,
    /// Among mischief: nodes deleted.
    pub nodes_deleted: u64,
    /// Among mischief: the scheduler killed.
    pub kills: u64,
    /// Among mischief: the scheduler stands still.
    pub pauses: u64,
    /// Among mischief: watches broken.
    pub relists: u64,
    /// Among mischief: words overwritten by somebody.
    pub overwrites: u64,
    /// Deletions refused, by pod.
    pub kept_pods: u64,
    /// When all deletions are refused.
    pub ban: Ban,
    /// Words refused for good, by object.
    pub refused_words: u64,
    /// Binds that may be under way at once; zero: any number.
    pub bind_slots: u64,
    /// When nothing comes of any request.
    pub outage: Outage,
    /// What befalls controllers besides.
    pub controllers: ToControllers,
}

impl Rates {
    /// Draws rates; each kind of fault is absent from about every second draw.
    #[must_use]
    pub fn draw(random: &mut Random) -> Self {
        let mut some = |most| random.rate(most);
        Self {
            refused_pods: some(150),
            refused_nodes: some(300),
            busy: some(400),
            broken: some(300),
            lost: some(300),
            delay: Millis(some(900)),
            lags: Stream::ALL
                .into_iter()
                .map(|stream| (stream, Millis(some(4_000))))
                .collect(),
            debounce: Millis(some(100)),
            mischief_every: Millis(some(4_000)),
            nodes_deleted: some(400),
            kills: some(600),
            pauses: some(400),
            relists: some(500),
            overwrites: some(300),
            kept_pods: some(800),
            ban: {
                let (from, span) = (some(15_000), some(30_000));
                Ban {
                    from: Time(from),
                    to: Time(from + span),
                    hangs: some(1) > 0,
                }
            },
            refused_words: some(200),
            bind_slots: some(4),
            said_no: some(200),
            unanswered: some(300),
            said_twice: some(300),
            not_provisioned: some(300),
            outage: {
                let (from, span) = (some(20_000), some(28_000));
                Outage::draw(Time(from), Millis(span), some(3))
            },
            controllers: ToControllers::default(),
        }
    }
}

/// What went wrong, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Binds refused for good.
    pub refused: u64,
    /// Requests answered 429.
    pub busy: u64,
    /// Requests answered 5xx.
    pub broken: u64,
    /// Requests without an answer.
    pub lost: u64,
    /// Among those answered 5xx or not at all: carried out.
    pub carried_out: u64,
    /// Of these: after the connection had broken.
    pub late: u64,
    /// Requests of which nothing came as nothing could.
    pub in_outage: u64,
    /// Pods deleted.
    pub pods_deleted: u64,
    /// Nodes deleted.
    pub nodes_deleted: u64,
    /// Schedulers killed.
    pub kills: u64,
    /// Binds given back before they were begun.
    pub given_back: u64,
    /// Deletions refused or not answered.
    pub kept: u64,
    /// Words refused.
    pub words_refused: u64,
    /// Words overwritten by somebody.
    pub overwritten: u64,
    /// Watches broken.
    pub relists: u64,
    /// Schedulers that stood still.
    pub paused: u64,
    /// Schedulers deposed while they lived.
    pub deposed: u64,
    /// Writes held back because they might not be sent.
    pub fenced: u64,
    /// PodGroups edited.
    pub edits: u64,
    /// Questions to the outside.
    pub asked: u64,
    /// Those answered with no by lot.
    pub said_no: u64,
    /// Binds that somebody outside left to us.
    pub skipped: u64,
    /// Binds that somebody outside said they had made, and had not.
    pub lied: u64,
    /// Those of whose answer nothing was heard, or that it failed.
    pub unanswered: u64,
    /// Answers that came twice.
    pub said_twice: u64,
    /// Volumes that were not made when they should have been.
    pub not_provisioned: u64,
    /// What was asked in vain, to be undone.
    pub undos: u64,
    /// Writes of controllers refused for good.
    pub writes_refused: u64,
    /// Writes of controllers answered with a conflict that there was not.
    pub conflicts: u64,
    /// Pods for which a quota left no room.
    pub over_quota: u64,
    /// Controllers that died between two writes.
    pub died_between_writes: u64,
    /// Watches of controllers broken.
    pub controllers_relists: u64,
    /// Pods of controllers that failed by themselves.
    pub pods_failed: u64,
}

/// The way between scheduler and API server.
#[derive(Debug)]
pub struct Network {
    met: Met,
    rates: Rates,
    random: Random,
    salt: u64,
    calm_from: Time,
    chooser: Option<Box<dyn Chooser>>,
}

impl Network {
    /// No delay, no loss, no faults: nothing is drawn from the seed so far.
    #[must_use]
    pub fn calm(seed: u64) -> Self {
        Self::faulty(Rates::default(), Random::new(seed), Time::ZERO)
    }

    /// Faults at these rates until `calm_from`.
    #[must_use]
    pub fn faulty(rates: Rates, mut random: Random, calm_from: Time) -> Self {
        let salt = random.bits();
        Self {
            met: Met::default(),
            rates,
            random,
            salt,
            calm_from,
            chooser: None,
        }
    }

    /// What went wrong so far.
    #[must_use]
    pub const fn met(&self) -> &Met {
        &self.met
    }

    /// Counts something that went wrong.
    pub fn count(&mut self, count: impl FnOnce(&mut Met)) {
        count(&mut self.met);
    }

    /// When faults stop.
    #[must_use]
    pub const fn calm_from(&self) -> Time {
        self.calm_from
    }

    fn is_calm(&self, now: Time) -> bool {
        now >= self.calm_from
    }

    /// What becomes of a request sent now.
    pub fn fate(&mut self, request: &Request, now: Time) -> Fate {
        if let Some(fate) = self.choice(Sent::Other(request), now) {
            return fate;
        }
        if self.is_calm(now) {
            return Fate {
                lands_in: Some(Millis(0)),
                answers_in: Millis(0),
                instead: None,
            };
        }
        if let Some(fate) = self.rates.outage.fate(now, &mut self.random) {
            self.met.in_outage += 1;
            return fate;
        }
        let there = self.some_of(self.rates.delay);
        let back = there.0 + self.some_of(self.rates.delay).0;
        let answered = |lands_in, instead| Fate {
            lands_in,
            answers_in: Millis(back),
            instead,
        };
        if self.refuses(request) {
            self.met.refused += 1;
            let message = "denied by policy \"refuse-some-binds\"";
            return answered(None, Some(status(422, message, None)));
        }
        if let Some(kept) = self.keeps(request, now) {
            self.met.kept += 1;
            return Fate {
                answers_in: if kept == Answer::Lost {
                    REQUEST_TIMEOUT
                } else {
                    Millis(back)
                },
                lands_in: None,
                instead: Some(kept),
            };
        }
        if self.refuses_words(request) {
            self.met.words_refused += 1;
            return answered(None, Some(status(403, "status may not be written", None)));
        }
        if self.random.per_mille(self.rates.busy) {
            self.met.busy += 1;
            let asked = self.random.per_mille(300).then_some(Millis(1_000));
            return answered(None, Some(status(429, "too many requests", asked)));
        }
        let carried_out = self.random.per_mille(500).then_some(there);
        if self.random.per_mille(self.rates.broken) {
            self.met.broken += 1;
            self.met.carried_out += u64::from(carried_out.is_some());
            let code = [500, 503, 504][self.random.below(3) as usize];
            return answered(carried_out, Some(status(code, "server error", None)));
        }
        if self.random.per_mille(self.rates.lost) {
            return self.loss(carried_out.is_some());
        }
        answered(Some(there), None)
    }

    /// Nothing comes back: nobody answers, or the connection breaks, long before the API server has
    /// ended its work on what it got.
    fn loss(&mut self, carried_out: bool) -> Fate {
        let lands_in = carried_out.then(|| self.some_of(REQUEST_TIMEOUT));
        let answers_in = if self.random.per_mille(500) {
            self.some_of(REQUEST_TIMEOUT)
        } else {
            REQUEST_TIMEOUT
        };
        self.met.lost += 1;
        self.met.carried_out += u64::from(carried_out);
        self.met.late += u64::from(lands_in.is_some_and(|at| at > answers_in));
        Fate {
            lands_in,
            answers_in,
            instead: Some(Answer::Lost),
        }
    }

    /// What becomes of a question to the outside that is asked now.
    pub fn fate_of_question(&mut self, question: &Question, now: Time) -> FateOfQuestion {
        self.met.asked += 1;
        self.met.undos += u64::from(question.undoes.is_some());
        if self.is_calm(now) {
            return FateOfQuestion {
                lands_in: Some(Millis(0)),
                answers_in: Millis(0),
                instead: None,
            };
        }
        let there = self.some_of(self.rates.delay);
        let back = Millis(there.0 + self.some_of(self.rates.delay).0);
        let asks = question.undoes.is_none();
        if asks && self.random.per_mille(self.rates.said_no) {
            self.met.said_no += 1;
            let message = "not now".to_owned();
            return FateOfQuestion {
                lands_in: None,
                answers_in: back,
                instead: Some(muster_model::Answer::No { message }),
            };
        }
        if self.random.per_mille(self.rates.unanswered) {
            self.met.unanswered += 1;
            let is_heard = self.random.per_mille(500);
            let message = "the connection broke".to_owned();
            return FateOfQuestion {
                lands_in: self.random.per_mille(500).then_some(there),
                answers_in: if is_heard {
                    back
                } else {
                    Millis(question.at_most.0 + 1)
                },
                instead: Some(muster_model::Answer::Failed { message }),
            };
        }
        FateOfQuestion {
            lands_in: Some(there),
            answers_in: back,
            instead: None,
        }
    }

    /// What becomes of a question to bind a pod that is asked now.
    pub fn fate_of_asked_bind(&mut self, question: &Question, now: Time) -> FateOfQuestion {
        let fate = self.fate_of_question(question, now);
        if self.is_calm(now) {
            return fate;
        }
        let says = |instead| FateOfQuestion {
            lands_in: None,
            instead: Some(instead),
            ..fate.clone()
        };
        if self.random.per_mille(SKIPPED) {
            self.met.skipped += 1;
            return says(muster_model::Answer::Skip);
        }
        if self.random.per_mille(LIED) {
            self.met.lied += 1;
            return says(muster_model::Answer::Yes(String::new()));
        }
        fate
    }

    /// Whether making a volume fails now.
    pub fn provisioning_fails(&mut self, now: Time) -> bool {
        let fails = !self.is_calm(now) && self.random.per_mille(self.rates.not_provisioned);
        self.met.not_provisioned += u64::from(fails);
        fails
    }

    /// After how long an answer comes once more, if it does.
    pub fn comes_again(&mut self, now: Time) -> Option<Millis> {
        if self.is_calm(now) || !self.random.per_mille(self.rates.said_twice) {
            return None;
        }
        self.met.said_twice += 1;
        Some(self.some_of(Millis(5_000)))
    }

    /// Whether a policy refuses this bind now; the same pod or node always, while there are
    /// faults.
    fn refuses(&self, request: &Request) -> bool {
        let Request::Bind(pod, target) = request else {
            return false;
        };
        let hit = |text: &str, rate| Random::new(self.salt ^ hash(text)).per_mille(rate);
        hit(&pod.name, self.rates.refused_pods) || hit(&target.node, self.rates.refused_nodes)
    }

    /// What is answered to a deletion that is refused: for a while all of them, or those of some
    /// pods, in a way that depends on the pod.
    fn keeps(&self, request: &Request, now: Time) -> Option<Answer> {
        let Request::Delete(pod) = request else {
            return None;
        };
        let ban = &self.rates.ban;
        if ban.from <= now && now < ban.to {
            let denied = status(422, "denied by policy \"keep-pods\"", None);
            return Some(if ban.hangs { Answer::Lost } else { denied });
        }
        let mut lot = Random::new(self.salt ^ hash(&pod.name) ^ 1);
        lot.per_mille(self.rates.kept_pods)
            .then(|| match lot.below(4) {
                0 => status(403, "pods may not be deleted", None),
                1 => status(429, "not now", Some(Millis(10_000))),
                2 => status(500, "a webhook failed", None),
                _ => Answer::Lost,
            })
    }

    fn refuses_words(&self, request: &Request) -> bool {
        let Request::Say(subject, ..) = request else {
            return false;
        };
        let lot = self.salt ^ hash(&format!("{subject:?}"));
        Random::new(lot).per_mille(self.rates.refused_words)
    }

    /// What becomes of a request about the Lease: it is lost and late like any other.
    pub fn fate_of_lease(&mut self, request: &election::Request, now: Time) -> Fate {
        if let Some(fate) = self.choice(Sent::Lease(request), now) {
            return fate;
        }
        self.fate(&Request::Read(PodKey::default()), now)
    }

    /// When the controllers die, to start anew: a few times while there are faults.
    pub fn deaths_of_controllers(&mut self, now: Time) -> Vec<Time> {
        let left = self.calm_from.since(now);
        if left == Millis(0) {
            return Vec::new();
        }
        let count = self.random.below(4);
        (0..count).map(|_| now + self.some_of(left)).collect()
    }

    /// How many binds may be under way at once.
    #[must_use]
    pub fn bind_slots(&self, now: Time) -> usize {
        match self.rates.bind_slots {
            slots if slots > 0 && !self.is_calm(now) => usize::try_from(slots).unwrap_or(1),
            _ => usize::MAX,
        }
    }

    /// How late a piece of news arrives.
    pub fn lag(&mut self, stream: Stream, now: Time) -> Millis {
        if self.is_calm(now) {
            return Millis(0);
        }
        if let Some(chooser) = &mut self.chooser {
            return chooser.lag(stream, now);
        }
        let most = self.rates.lags.get(&stream).copied().unwrap_or_default();
        self.some_of(most)
    }

    /// How long after news the scheduler begins a cycle.
    pub fn debounce(&mut self, now: Time) -> Millis {
        if self.is_calm(now) {
            return Millis(0);
        }
        self.some_of(self.rates.debounce)
    }

    /// The next mischief and when it comes.
    pub fn mischief(&mut self, now: Time) -> Option<(Time, Mischief)> {
        let every = self.rates.mischief_every;
        if every == Millis(0) {
            return None;
        }
        let at = now + Millis(1) + self.some_of(Millis(every.0 * 2));
        let what = if self.random.per_mille(self.rates.kills) {
            if self.random.per_mille(700) {
                Mischief::KillInPlan
            } else {
                Mischief::KillScheduler
            }
        } else if self.random.per_mille(self.rates.pauses) {
            Mischief::PauseScheduler(self.some_of(Millis(20_000)))
        } else if self.random.per_mille(self.rates.relists) {
            Mischief::BreakWatch(Stream::ALL[self.pick(Stream::ALL.len())])
        } else if self.random.per_mille(self.rates.overwrites) {
            Mischief::OverwriteWords
        } else if self.random.per_mille(self.rates.nodes_deleted) {
            Mischief::DeleteNode
        } else {
            Mischief::DeletePod
        };
        (at < self.calm_from).then_some((at, what))
    }

    /// How long a new scheduler waits for the lease of one that died, and other long delays.
    pub fn pause(&mut self) -> Millis {
        Millis(REQUEST_TIMEOUT.0 + self.some_of(Millis(3_000)).0)
    }

    /// One of so many; zero if there are none.
    pub fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(count as u64)).unwrap_or(0)
    }

    fn some_of(&mut self, most: Millis) -> Millis {
        Millis(self.random.below(most.0 + 1))
    }
}

fn status(code: u16, message: &str, retry_after: Option<Millis>) -> Answer {
    Answer::Status {
        code,
        message: message.to_owned(),
        retry_after,
    }
}

/// FNV-1a: a hash that is the same everywhere and always.
fn hash(text: &str) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
