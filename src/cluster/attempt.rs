//! What the protocols of all writes share: requests, steps, answers, back-off.
//!
//! No I/O and no clock: whoever drives an attempt sends, waits, and says what came back.

use muster_model::Question;
use muster_model::units::Doubling;
use muster_model::units::{Millis, Time};
use std::sync::Arc;

/// A write on its way to an outcome that is known for sure: a [bind](super::binding), an
/// [eviction](super::evicting).
pub trait Protocol {
    /// How it may end.
    type Outcome;

    /// What to do now. Asked again before [`answered`](Self::answered), it says the same.
    fn next(&self, now: Time) -> Step<PodRequest, Self::Outcome>;

    /// Takes what came back now for the request that was sent last, then. After the outcome nothing
    /// matters.
    fn answered(&mut self, answer: &Answer, sent: Time, now: Time);
}

/// What is sent about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodRequest {
    /// `POST pods/binding`, with the pod's uid.
    Bind(Target),
    /// Somebody outside is asked to bind the pod.
    Ask(Arc<Question>),
    /// `PATCH` the pod's status: its condition `DisruptionTarget`.
    Tell,
    /// `DELETE` the pod, with its uid as precondition.
    Delete,
    /// `GET` the pod.
    Read,
}

/// Where a pod is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The node's name.
    pub node: String,
    /// The number of the slot that it claims: for its annotation.
    pub slot: Option<u32>,
}

/// What an attempt wants next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<Request, Outcome> {
    /// Send this now, and say what came back.
    Send(Request),
    /// Ask again at this time.
    WaitUntil(Time),
    /// It is over; the outcome is known for sure.
    Done(Outcome),
}

impl<Request, Outcome> Step<Request, Outcome> {
    /// The same for somebody who sends other things, or calls the end otherwise.
    pub fn map<R, O>(
        self,
        send: impl FnOnce(Request) -> R,
        done: impl FnOnce(Outcome) -> O,
    ) -> Step<R, O> {
        match self {
            Self::Send(request) => Step::Send(send(request)),
            Self::WaitUntil(time) => Step::WaitUntil(time),
            Self::Done(outcome) => Step::Done(done(outcome)),
        }
    }
}

/// What came back for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A write was answered 2xx.
    Accepted,
    /// The API server answered with an error.
    Status {
        /// The HTTP status code.
        code: u16,
        /// The `message` of the status.
        message: String,
        /// The header `Retry-After`, if there was one.
        retry_after: Option<Millis>,
    },
    /// Nothing came back: time-out, broken connection. The write may or may not have happened.
    Lost,
    /// What somebody outside says of what they were asked to do.
    Outside(muster_model::Answer),
    /// A read found a pod of this namespace and name.
    Pod {
        /// Whether it is the one that was meant.
        uid_matches: bool,
        /// `spec.nodeName`, once bound.
        node: Option<String>,
        /// Whether `metadata.deletionTimestamp` is set.
        terminating: bool,
    },
}

impl Answer {
    /// The message of an answer that says nothing certain, for the log and the outcome.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Status { code, message, .. } if message.is_empty() => {
                format!("the API server answered {code}")
            }
            Self::Status { message, .. } => message.clone(),
            Self::Lost => "the API server did not answer in time".to_owned(),
            Self::Accepted | Self::Pod { .. } | Self::Outside(_) => {
                "the API server's answer made no sense".to_owned()
            }
        }
    }

    /// How long the API server asked to be left alone.
    pub(super) const fn retry_after(&self) -> Option<Millis> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// Whether a status says that the same request may succeed later.
pub(super) const fn is_transient(code: u16) -> bool {
    matches!(code, 408 | 425 | 429 | 500..=599)
}

/// Between the tries of one request.
const WAITS: Doubling = Doubling {
    first: Millis(50),
    longest: Millis(1_000),
};

/// The waits of one request that is tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    waits: u32,
}

impl Backoff {
    /// The next wait.
    pub(super) const fn step(&mut self) -> Millis {
        let wait = WAITS.after(self.waits);
        self.waits = self.waits.saturating_add(1);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_second() {
        let mut backoff = Backoff::default();
        let waits: Vec<u64> = (0..7).map(|_| backoff.step().0).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1000, 1000]);
    }
}
