//! The protocol of one bind: from `POST pods/binding`, or from asking somebody outside to bind the pod, to
//! an outcome that is known for sure.
//!
//! A bind answered by an error or not at all may have happened all the same. So an attempt says
//! `Bound` only where the API server said so, and anything else only where the API server refused
//! the first and only request or the pod was afterwards read as unbound: after the last bind that was
//! not answered could still happen, for a connection breaks before the API server has ended its work.
//! While the pod cannot be
//! read the attempt goes on reading and says nothing. Whatever somebody outside says of a bind, the pod is
//! read; only that it is not theirs is taken at its word, and then it is ours. No I/O, no clock.

use super::attempt::{Answer, Backoff, PodRequest, Protocol, Step, Target, is_transient};
use super::ending::WRITE_ENDS_WITHIN;
use muster_model::units::{Millis, Time};
use muster_model::{Bind, BindOutcome, Question};
use std::sync::Arc;

/// For how long an attempt asks again after errors that may pass. After it no bind is sent; what the last
/// one came to is known [`WRITE_ENDS_WITHIN`] later, and a gang's patience has a second left for another.
pub const BUDGET: Millis = Millis(1_500);

/// One bind on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    target: Target,
    /// Who is asked to bind the pod in our place.
    asks: Option<Arc<Question>>,
    deadline: Time,
    posts: Backoff,
    reads: Backoff,
    /// A bind was sent of which nobody knows whether it happened.
    doubtful: bool,
    /// From then on no bind that was sent can happen any more.
    ends: Time,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Post { at: Time },
    Read { at: Time, unbound: Unbound },
    Done(BindOutcome),
}

/// What to do when the pod is read as unbound.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Unbound {
    /// Bind again after a wait, or give up if that is past the deadline.
    Retry { wait: Millis, message: String },
    /// The bind was refused for good.
    Refuse { message: String },
}

impl Attempt {
    /// Starts to carry out an order.
    #[must_use]
    pub fn of(order: &Bind, now: Time) -> Self {
        Self {
            target: Target {
                node: order.node.clone(),
                slot: order.slot,
            },
            asks: order.asks.clone(),
            deadline: now + BUDGET,
            posts: Backoff::default(),
            reads: Backoff::default(),
            doubtful: false,
            ends: now,
            state: State::Post { at: now },
        }
    }

    fn write(&self) -> PodRequest {
        match &self.asks {
            Some(question) => PodRequest::Ask(Arc::clone(question)),
            None => PodRequest::Bind(self.target.clone()),
        }
    }

    fn posted(&mut self, answer: &Answer, sent: Time, now: Time) -> State {
        if may_yet_happen(answer) && self.asks.is_none() {
            self.ends = self.ends.max(sent + WRITE_ENDS_WITHIN);
        }
        match answer {
            Answer::Accepted => State::Done(BindOutcome::Bound {
                node: self.target.node.clone(),
            }),
            Answer::Outside(said) => self.heard(said, now),
            Answer::Status { code: 404, .. } => State::Done(BindOutcome::Gone),
            Answer::Status { code, .. } if is_transient(*code) => self.post_again(answer, now),
            Answer::Status { code, .. } if *code != 409 && (400..500).contains(code) => {
                self.refused(answer, now)
            }
            // A conflict, no answer, or one that means nothing: only the pod can tell.
            _ => {
                self.doubtful = true;
                self.read_first(answer, now)
            }
        }
    }

    /// Somebody outside was asked.
    fn heard(&mut self, said: &muster_model::Answer, now: Time) -> State {
        if *said == muster_model::Answer::Skip {
            self.asks = None;
            self.deadline = now + BUDGET;
            return State::Post { at: now };
        }
        self.doubtful = true;
        let who = self.asks.as_ref().map(|asks| asks.body.addressee());
        let who = who.unwrap_or_default();
        let unbound = match said {
            muster_model::Answer::Yes(_) => Unbound::Refuse {
                message: format!("{who} says that it has bound the pod, and the pod is not bound"),
            },
            muster_model::Answer::No { message } => Unbound::Refuse {
                message: format!("{who}: {message}"),
            },
            muster_model::Answer::Failed { message } => Unbound::Retry {
                message: format!("{who}: {message}"),
                wait: self.posts.step(),
            },
            muster_model::Answer::OfNodes(_)
            | muster_model::Answer::Unsent
            | muster_model::Answer::Skip => Unbound::Retry {
                message: format!("{who}: the answer made no sense"),
                wait: self.posts.step(),
            },
        };
        State::Read { at: now, unbound }
    }

    /// After an error that may pass: again later, as long as the budget lasts.
    fn post_again(&mut self, answer: &Answer, now: Time) -> State {
        // Too Many Requests is said before anything is done; other errors may come after.
        self.doubtful |= !matches!(answer, Answer::Status { code: 429, .. });
        let wait = self.wait_after(answer);
        if now + wait < self.deadline {
            return State::Post { at: now + wait };
        }
        let message = answer.message();
        let unbound = Unbound::Retry { wait, message };
        State::Read { at: now, unbound }
    }

    fn refused(&self, answer: &Answer, now: Time) -> State {
        let message = answer.message();
        if self.doubtful {
            let unbound = Unbound::Refuse { message };
            State::Read { at: now, unbound }
        } else {
            State::Done(BindOutcome::Refused { message })
        }
    }

    fn read_first(&mut self, answer: &Answer, now: Time) -> State {
        let unbound = Unbound::Retry {
            wait: self.wait_after(answer),
            message: answer.message(),
        };
        State::Read { at: now, unbound }
    }

    fn read(&mut self, answer: &Answer, unbound: Unbound, sent: Time, now: Time) -> State {
        match answer {
            Answer::Status { code: 404, .. } => State::Done(BindOutcome::Gone),
            Answer::Pod {
                uid_matches,
                node,
                terminating,
            } => {
                self.reads = Backoff::default();
                match node {
                    _ if !uid_matches => State::Done(BindOutcome::Gone),
                    Some(node) => State::Done(BindOutcome::Bound { node: node.clone() }),
                    None if *terminating => State::Done(BindOutcome::Gone),
                    None => self.unbound(unbound, sent, now),
                }
            }
            _ => State::Read {
                at: now + self.reads.step(),
                unbound,
            },
        }
    }

    /// The pod was unbound when it was read by a request that was sent then.
    fn unbound(&self, unbound: Unbound, sent: Time, now: Time) -> State {
        match unbound {
            Unbound::Retry { wait, .. } if now + wait < self.deadline => {
                State::Post { at: now + wait }
            }
            // It may be bound yet.
            _ if sent < self.ends => State::Read {
                at: self.ends.max(now),
                unbound,
            },
            Unbound::Refuse { message } => State::Done(BindOutcome::Refused { message }),
            Unbound::Retry { message, .. } => State::Done(BindOutcome::Failed { message }),
        }
    }

    fn wait_after(&mut self, answer: &Answer) -> Millis {
        let wait = self.posts.step();
        answer.retry_after().map_or(wait, |asked| asked.max(wait))
    }
}

impl Protocol for Attempt {
    type Outcome = BindOutcome;

    fn next(&self, now: Time) -> Step<PodRequest, BindOutcome> {
        let (at, request) = match &self.state {
            State::Post { at } => (*at, self.write()),
            State::Read { at, .. } => (*at, PodRequest::Read),
            State::Done(outcome) => return Step::Done(outcome.clone()),
        };
        if now < at {
            Step::WaitUntil(at)
        } else {
            Step::Send(request)
        }
    }

    fn answered(&mut self, answer: &Answer, sent: Time, now: Time) {
        self.state = match &self.state {
            State::Post { .. } => self.posted(answer, sent, now),
            State::Read { unbound, .. } => {
                let unbound = unbound.clone();
                self.read(answer, unbound, sent, now)
            }
            State::Done(_) => return,
        };
    }
}

/// Whether a bind that was answered so may be carried out later: nothing came back, or an error from
/// before the one who does it.
const fn may_yet_happen(answer: &Answer) -> bool {
    match answer {
        Answer::Lost => true,
        Answer::Status { code, .. } => *code >= 500 || *code == 408,
        Answer::Accepted | Answer::Outside(_) | Answer::Pod { .. } => false,
    }
}

#[cfg(test)]
mod tests;
