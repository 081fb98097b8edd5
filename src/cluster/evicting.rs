//! The protocol of one eviction: from telling the pod why, by its condition `DisruptionTarget`, over
//! `DELETE` with the uid as precondition, to an outcome that is known for sure.
//!
//! A delete may be sent again without harm, for it names the uid; so nothing is read unless the
//! API server speaks of a conflict. An attempt is short: whoever ordered it orders again what was
//! not taken, for as long as it takes. No I/O, no clock.

use super::attempt::{Answer, Backoff, PodRequest, Protocol, Step, is_transient};
use muster_model::EvictOutcome;
use muster_model::units::{Millis, Time};

/// For how long an attempt asks again after errors that may pass. After it nothing is sent.
pub const BUDGET: Millis = Millis(1_000);

/// One eviction on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    deadline: Time,
    backoff: Backoff,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Send { request: PodRequest, at: Time },
    Done(EvictOutcome),
}

impl Attempt {
    /// Starts to evict a pod; `told` is whether it was told why before.
    #[must_use]
    pub fn new(told: bool, now: Time) -> Self {
        let request = if told {
            PodRequest::Delete
        } else {
            PodRequest::Tell
        };
        Self {
            deadline: now + BUDGET,
            backoff: Backoff::default(),
            state: State::Send { request, at: now },
        }
    }

    fn again(&mut self, request: PodRequest, answer: &Answer, now: Time) -> State {
        let wait = self.backoff.step();
        let wait = answer.retry_after().map_or(wait, |asked| asked.max(wait));
        let at = now + wait;
        if at < self.deadline {
            State::Send { request, at }
        } else {
            let message = match answer {
                Answer::Pod { .. } => "the API server reports a conflict on every try".to_owned(),
                other => other.message(),
            };
            State::Done(EvictOutcome::Failed { message })
        }
    }
}

impl Protocol for Attempt {
    type Outcome = EvictOutcome;

    fn next(&self, now: Time) -> Step<PodRequest, EvictOutcome> {
        match &self.state {
            State::Done(outcome) => Step::Done(outcome.clone()),
            State::Send { at, .. } if now < *at => Step::WaitUntil(*at),
            State::Send { request, .. } => Step::Send(request.clone()),
        }
    }

    fn answered(&mut self, answer: &Answer, _: Time, now: Time) {
        let State::Send { request, .. } = &self.state else {
            return;
        };
        let request = request.clone();
        self.state = match (&request, answer) {
            (_, Answer::Status { code: 404, .. }) => State::Done(EvictOutcome::Gone),
            // An eviction does not depend on what the pod is told.
            (PodRequest::Tell, _) => {
                self.deadline = now + BUDGET;
                State::Send {
                    request: PodRequest::Delete,
                    at: now,
                }
            }
            (PodRequest::Delete, Answer::Accepted) => State::Done(EvictOutcome::Accepted),
            // Another uid under this name, or a write in between: the pod can tell.
            (PodRequest::Delete, Answer::Status { code: 409, .. }) => State::Send {
                request: PodRequest::Read,
                at: now,
            },
            (PodRequest::Delete, Answer::Status { code, .. })
                if !is_transient(*code) && (400..500).contains(code) =>
            {
                let message = answer.message();
                State::Done(EvictOutcome::Refused { message })
            }
            (
                PodRequest::Read,
                Answer::Pod {
                    uid_matches,
                    terminating,
                    ..
                },
            ) => match (uid_matches, terminating) {
                (false, _) => State::Done(EvictOutcome::Gone),
                (true, true) => State::Done(EvictOutcome::Accepted),
                (true, false) => self.again(PodRequest::Delete, answer, now),
            },
            _ => self.again(request, answer, now),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16) -> Answer {
        Answer::Status {
            code,
            message: format!("code {code}"),
            retry_after: None,
        }
    }

    fn pod(uid_matches: bool, terminating: bool) -> Answer {
        Answer::Pod {
            uid_matches,
            node: None,
            terminating,
        }
    }

    fn outcome(answers: &[Answer]) -> Option<EvictOutcome> {
        let mut now = Time(3);
        let mut attempt = Attempt::new(true, now);
        let mut answers = answers.iter();
        loop {
            match attempt.next(now) {
                Step::WaitUntil(at) => now = at,
                Step::Done(outcome) => return Some(outcome),
                Step::Send(_) => attempt.answered(answers.next()?, now, now),
            }
        }
    }

    fn refused(message: &str) -> Option<EvictOutcome> {
        let message = message.to_owned();
        Some(EvictOutcome::Refused { message })
    }

    #[test]
    fn an_accepted_delete_is_accepted_and_not_found_is_gone() {
        assert_eq!(outcome(&[Answer::Accepted]), Some(EvictOutcome::Accepted));
        assert_eq!(outcome(&[status(404)]), Some(EvictOutcome::Gone));
    }

    #[test]
    fn a_conflict_is_resolved_by_reading_the_pod() {
        let after = |read: Answer| outcome(&[status(409), read]);
        assert_eq!(after(pod(false, false)), Some(EvictOutcome::Gone));
        assert_eq!(after(pod(true, true)), Some(EvictOutcome::Accepted));
        assert_eq!(after(status(404)), Some(EvictOutcome::Gone));
        let again = [status(409), pod(true, false), Answer::Accepted];
        assert_eq!(outcome(&again), Some(EvictOutcome::Accepted));
    }

    #[test]
    fn a_lost_answer_is_asked_again() {
        let answers = [Answer::Lost, status(404)];
        assert_eq!(outcome(&answers), Some(EvictOutcome::Gone));
    }

    #[test]
    fn a_refusal_is_known_at_once_and_the_rest_after_a_second() {
        assert_eq!(outcome(&[status(403)]), refused("code 403"));
        assert_eq!(outcome(&vec![status(503); 4]), None);
        let message = "code 503".to_owned();
        let failed = Some(EvictOutcome::Failed { message });
        assert_eq!(outcome(&vec![status(503); 5]), failed);
    }

    #[test]
    fn a_pod_is_told_why_first_and_goes_whatever_comes_of_that() {
        for answer in [Answer::Accepted, Answer::Lost, status(403), status(409)] {
            let mut attempt = Attempt::new(false, Time(0));
            assert_eq!(attempt.next(Time(0)), Step::Send(PodRequest::Tell));
            attempt.answered(&answer, Time(9), Time(9));
            assert_eq!(attempt.next(Time(9)), Step::Send(PodRequest::Delete));
        }
        let mut attempt = Attempt::new(false, Time(0));
        attempt.answered(&status(404), Time(9), Time(9));
        assert_eq!(attempt.next(Time(9)), Step::Done(EvictOutcome::Gone));
    }

    #[test]
    fn retry_after_is_honoured() {
        let mut attempt = Attempt::new(true, Time(0));
        let busy = Answer::Status {
            code: 429,
            message: "disruption budget".into(),
            retry_after: Some(Millis(700)),
        };
        attempt.answered(&busy, Time(0), Time(0));
        assert_eq!(attempt.next(Time(0)), Step::WaitUntil(Time(700)));
    }

    fn all_answers() -> Vec<Answer> {
        let mut answers: Vec<Answer> = [200, 404, 409, 422, 429, 503].map(status).into();
        answers.extend([Answer::Accepted, Answer::Lost]);
        answers.extend([pod(true, false), pod(true, true), pod(false, false)]);
        answers
    }

    fn walk(attempt: &Attempt, now: Time, depth: u32, last: Option<(&PodRequest, &Answer)>) {
        let (now, request) = match attempt.next(now) {
            Step::Done(outcome) => {
                let (request, last) = last.expect("an outcome needs an answer");
                match outcome {
                    EvictOutcome::Accepted => assert!(
                        (*request == PodRequest::Delete && *last == Answer::Accepted)
                            || (*request == PodRequest::Read && *last == pod(true, true))
                    ),
                    EvictOutcome::Gone => {
                        assert!([status(404), pod(false, false)].contains(last));
                    }
                    EvictOutcome::Refused { .. } => assert_eq!(*last, status(422)),
                    EvictOutcome::Failed { .. } => {
                        assert_ne!(*last, status(404));
                    }
                    EvictOutcome::Unsent => panic!("an attempt was begun"),
                }
                for answer in all_answers() {
                    let mut after = attempt.clone();
                    after.answered(&answer, now, now);
                    assert_eq!(after, *attempt, "a second outcome");
                }
                return;
            }
            Step::Send(request) => (now, request),
            Step::WaitUntil(at) => match attempt.next(at) {
                Step::Send(request) => (at, request),
                other => panic!("{other:?} after waiting"),
            },
        };
        assert!(now < Time::ZERO + BUDGET + Millis(400), "sent at {now:?}");
        if depth == 0 {
            return;
        }
        for answer in all_answers() {
            let mut after = attempt.clone();
            after.answered(&answer, now, now + Millis(100));
            walk(
                &after,
                now + Millis(100),
                depth - 1,
                Some((&request, &answer)),
            );
        }
    }

    #[test]
    fn all_answers_in_all_states_give_at_most_one_sure_outcome() {
        for told in [true, false] {
            walk(&Attempt::new(told, Time::ZERO), Time::ZERO, 5, None);
        }
    }
}
