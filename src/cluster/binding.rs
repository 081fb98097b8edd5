//! The protocol of one bind: from `POST pods/binding`, or from asking somebody outside to bind the pod, to
//! an outcome that is known for sure.
//!
//! A bind answered by an error or not at all may have happened all the same. So an attempt says
//! `Bound` only where the API server said so, and anything else only where the API server refused
//! the first and only request or the pod was afterwards read as unbound. While the pod cannot be
//! read the attempt goes on reading and says nothing. Whatever somebody outside says of a bind, the pod is
//! read; only that it is not theirs is taken at its word, and then it is ours. No I/O, no clock.

use super::attempt::{Answer, Backoff, PodRequest, Protocol, Step, is_transient};
use muster_model::units::{Millis, Time};
use muster_model::{Bind, BindOutcome, Question};
use std::sync::Arc;

/// For how long an attempt asks again after errors that may pass. After it no bind is sent.
pub const BUDGET: Millis = Millis(2_500);

/// One bind on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    node: String,
    /// Who is asked to bind the pod in our place.
    asks: Option<Arc<Question>>,
    deadline: Time,
    posts: Backoff,
    reads: Backoff,
    /// A bind was sent of which nobody knows whether it happened.
    doubtful: bool,
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
            node: order.node.clone(),
            asks: order.asks.clone(),
            deadline: now + BUDGET,
            posts: Backoff::default(),
            reads: Backoff::default(),
            doubtful: false,
            state: State::Post { at: now },
        }
    }

    fn write(&self) -> PodRequest {
        match &self.asks {
            Some(question) => PodRequest::Ask(Arc::clone(question)),
            None => PodRequest::Bind(self.node.clone()),
        }
    }

    fn posted(&mut self, answer: &Answer, now: Time) -> State {
        match answer {
            Answer::Accepted => State::Done(BindOutcome::Bound {
                node: self.node.clone(),
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

    fn read(&mut self, answer: &Answer, unbound: Unbound, now: Time) -> State {
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
                    None => self.unbound(unbound, now),
                }
            }
            _ => State::Read {
                at: now + self.reads.step(),
                unbound,
            },
        }
    }

    fn unbound(&self, unbound: Unbound, now: Time) -> State {
        match unbound {
            Unbound::Refuse { message } => State::Done(BindOutcome::Refused { message }),
            Unbound::Retry { wait, .. } if now + wait < self.deadline => {
                State::Post { at: now + wait }
            }
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

    fn answered(&mut self, answer: &Answer, now: Time) {
        self.state = match &self.state {
            State::Post { .. } => self.posted(answer, now),
            State::Read { unbound, .. } => {
                let unbound = unbound.clone();
                self.read(answer, unbound, now)
            }
            State::Done(_) => return,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{About, Body, GangKey, PodKey, Point, QuestionId};

    const NODE: &str = "n1";

    fn order(asks: Option<Arc<Question>>) -> Bind {
        Bind {
            pod: PodKey::default(),
            node: NODE.to_owned(),
            asks,
        }
    }

    fn begun(now: Time) -> Attempt {
        Attempt::of(&order(None), now)
    }

    /// One that somebody outside is asked to make.
    fn asked(now: Time) -> Attempt {
        Attempt::of(&order(Some(question())), now)
    }

    fn question() -> Arc<Question> {
        Arc::new(Question {
            id: QuestionId(1),
            about: About::Gang(GangKey::default()),
            body: Body::Plugin {
                plugin: "Binder".to_owned(),
                point: Point::Bind,
                payload: String::new(),
            },
            at_most: Millis(1_000),
            leaves_traces: false,
            undoes: None,
        })
    }

    fn ask() -> PodRequest {
        PodRequest::Ask(question())
    }

    fn post() -> PodRequest {
        PodRequest::Bind(NODE.to_owned())
    }

    fn status(code: u16) -> Answer {
        Answer::Status {
            code,
            message: format!("code {code}"),
            retry_after: None,
        }
    }

    fn pod(uid_matches: bool, node: Option<&str>, terminating: bool) -> Answer {
        Answer::Pod {
            uid_matches,
            node: node.map(str::to_owned),
            terminating,
        }
    }

    fn unbound_pod() -> Answer {
        pod(true, None, false)
    }

    fn bound(node: &str) -> BindOutcome {
        BindOutcome::Bound { node: node.into() }
    }

    /// Feeds answers one after the other, each 10 ms after its request; returns what was sent
    /// and the outcome, if there is one by then.
    fn play(answers: &[Answer]) -> (Vec<PodRequest>, Option<BindOutcome>) {
        play_from(begun(Time(7)), answers)
    }

    fn play_from(
        mut attempt: Attempt,
        answers: &[Answer],
    ) -> (Vec<PodRequest>, Option<BindOutcome>) {
        let mut now = Time(7);
        let mut sent = Vec::new();
        let mut answers = answers.iter();
        loop {
            match attempt.next(now) {
                Step::WaitUntil(at) => {
                    assert!(at > now, "waits for the past");
                    now = at;
                }
                Step::Done(outcome) => return (sent, Some(outcome)),
                Step::Send(request) => {
                    let Some(answer) = answers.next() else {
                        return (sent, None);
                    };
                    sent.push(request);
                    now = now + Millis(10);
                    attempt.answered(answer, now);
                }
            }
        }
    }

    fn outcome(answers: &[Answer]) -> Option<BindOutcome> {
        play(answers).1
    }

    #[test]
    fn an_accepted_bind_is_bound() {
        assert_eq!(outcome(&[Answer::Accepted]), Some(bound(NODE)));
    }

    #[test]
    fn not_found_is_gone() {
        assert_eq!(outcome(&[status(404)]), Some(BindOutcome::Gone));
    }

    #[test]
    fn other_client_errors_are_refused_with_their_message() {
        for code in [400, 401, 403, 405, 410, 413, 422] {
            let message = format!("code {code}");
            let refused = Some(BindOutcome::Refused { message });
            assert_eq!(outcome(&[status(code)]), refused);
        }
    }

    #[test]
    fn a_conflict_is_resolved_by_reading_the_pod() {
        let after = |read: Answer| outcome(&[status(409), read]);
        assert_eq!(after(pod(true, Some("n2"), false)), Some(bound("n2")));
        assert_eq!(after(pod(true, Some("n2"), true)), Some(bound("n2")));
        assert_eq!(
            after(pod(false, Some("n2"), false)),
            Some(BindOutcome::Gone)
        );
        assert_eq!(after(pod(true, None, true)), Some(BindOutcome::Gone));
        assert_eq!(after(status(404)), Some(BindOutcome::Gone));
        assert_eq!(after(unbound_pod()), None);
    }

    #[test]
    fn a_lost_answer_is_read_before_anything_is_sent_again() {
        let (sent, found) = play(&[Answer::Lost, pod(true, Some(NODE), false)]);
        assert_eq!(sent, [post(), PodRequest::Read]);
        assert_eq!(found, Some(bound(NODE)));
        let (sent, found) = play(&[Answer::Lost, unbound_pod(), Answer::Accepted]);
        assert_eq!(sent, [post(), PodRequest::Read, post()]);
        assert_eq!(found, Some(bound(NODE)));
    }

    #[test]
    fn a_refusal_after_a_doubtful_bind_is_read_first() {
        for doubt in [&[status(500)][..], &[Answer::Lost, unbound_pod()]] {
            let with = |read: Answer| {
                let mut answers = doubt.to_vec();
                answers.extend([status(422), read]);
                outcome(&answers)
            };
            assert_eq!(with(pod(true, Some(NODE), false)), Some(bound(NODE)));
            let message = "code 422".to_owned();
            assert_eq!(with(unbound_pod()), Some(BindOutcome::Refused { message }));
        }
        let message = "code 422".to_owned();
        let certain = outcome(&[status(429), status(422)]);
        assert_eq!(certain, Some(BindOutcome::Refused { message }));
    }

    #[test]
    fn errors_that_may_pass_are_tried_again_within_the_budget_then_read() {
        let (sent, found) = play(&vec![status(503); 20]);
        let posts = sent.iter().filter(|one| **one == post()).count();
        assert_eq!((posts, found), (6, None));
        let mut answers = vec![status(503); 6];
        answers.push(unbound_pod());
        let message = "code 503".to_owned();
        assert_eq!(outcome(&answers), Some(BindOutcome::Failed { message }));
    }

    #[test]
    fn retry_after_is_honoured() {
        let busy = |asked: u64| Answer::Status {
            code: 429,
            message: "busy".into(),
            retry_after: Some(Millis(asked)),
        };
        let mut attempt = begun(Time(0));
        attempt.answered(&busy(700), Time(0));
        assert_eq!(attempt.next(Time(0)), Step::WaitUntil(Time(700)));
        let mut attempt = begun(Time(0));
        attempt.answered(&busy(10_000), Time(0));
        assert_eq!(attempt.next(Time(0)), Step::Send(PodRequest::Read));
    }

    #[test]
    fn while_the_pod_cannot_be_read_nothing_is_said() {
        let mut attempt = begun(Time(0));
        attempt.answered(&Answer::Lost, Time(2_000));
        let mut now = Time(2_000);
        let mut reads = 0;
        while now < Time(62_000) {
            match attempt.next(now) {
                Step::Send(PodRequest::Read) => {
                    reads += 1;
                    attempt.answered(&status(if reads % 2 == 0 { 500 } else { 403 }), now);
                }
                Step::WaitUntil(at) => {
                    assert!(at.since(now) <= Millis(1_000));
                    now = at;
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(reads < 70, "{reads} reads in a minute");
        attempt.answered(&unbound_pod(), now);
        assert!(matches!(
            attempt.next(now),
            Step::Done(BindOutcome::Failed { .. })
        ));
    }

    fn all_answers() -> Vec<Answer> {
        let mut answers: Vec<Answer> = [200, 302, 404, 409, 422, 429, 500, 504]
            .into_iter()
            .map(status)
            .collect();
        answers.extend([
            Answer::Accepted,
            Answer::Lost,
            unbound_pod(),
            pod(true, None, true),
            pod(true, Some("n2"), false),
            pod(false, None, false),
        ]);
        answers
    }

    /// What may come back for a request.
    fn answers_to(request: &PodRequest) -> Vec<Answer> {
        if *request != ask() {
            return all_answers();
        }
        let failed = muster_model::Answer::Failed {
            message: String::new(),
        };
        let yes = muster_model::Answer::Yes(String::new());
        let mut all: Vec<Answer> = [yes, no("no"), failed, muster_model::Answer::Skip]
            .map(Answer::Outside)
            .into();
        all.push(Answer::Lost);
        all
    }

    /// Walks every sequence of `depth` answers and checks what must hold of each.
    fn walk(attempt: &Attempt, now: Time, depth: u32, path: &mut Vec<(PodRequest, Answer)>) {
        let (now, request) = match attempt.next(now) {
            Step::Done(outcome) => return judge(attempt, &outcome, now, path),
            Step::Send(request) => (now, request),
            Step::WaitUntil(at) => match attempt.next(at) {
                Step::Send(request) => (at, request),
                other => panic!("{other:?} after waiting, {path:?}"),
            },
        };
        assert!(
            request == PodRequest::Read || now < Time::ZERO + BUDGET + BUDGET,
            "{path:?}"
        );
        assert_eq!(
            attempt.next(now),
            Step::Send(request.clone()),
            "asked twice"
        );
        if depth == 0 {
            return;
        }
        for answer in answers_to(&request) {
            let mut after = attempt.clone();
            let then = now + Millis(100);
            after.answered(&answer, then);
            path.push((request.clone(), answer));
            walk(&after, then, depth - 1, path);
            path.pop();
        }
    }

    fn judge(attempt: &Attempt, outcome: &BindOutcome, now: Time, path: &[(PodRequest, Answer)]) {
        let (request, last) = path.last().expect("an outcome needs an answer");
        let read_unbound = *last == unbound_pod() && *request == PodRequest::Read;
        let doubtful = path.iter().any(|(request, answer)| {
            let is_ours = *request == post();
            let is_asked = *request == ask() && *answer != said(muster_model::Answer::Skip);
            is_asked
                || is_ours
                    && !matches!(
                        answer,
                        Answer::Accepted
                            | Answer::Status {
                                code: 404 | 422 | 429,
                                ..
                            }
                    )
        });
        match outcome {
            BindOutcome::Bound { node } => match last {
                Answer::Accepted => assert_eq!((request, node.as_str()), (&post(), NODE)),
                other => assert_eq!(*other, pod(true, Some(node), false)),
            },
            BindOutcome::Refused { .. } => assert!(read_unbound || !doubtful, "{path:?}"),
            BindOutcome::Failed { .. } => assert!(read_unbound, "{path:?}"),
            BindOutcome::Unsent => panic!("an attempt was begun"),
            BindOutcome::Gone => assert!(
                [status(404), pod(true, None, true), pod(false, None, false)].contains(last),
                "{path:?}"
            ),
        }
        for answer in all_answers() {
            let mut after = attempt.clone();
            after.answered(&answer, now + Millis(1));
            assert_eq!(after, *attempt, "a second outcome after {path:?}");
        }
    }

    #[test]
    fn all_answers_in_all_states_give_at_most_one_sure_outcome() {
        walk(&begun(Time::ZERO), Time::ZERO, 5, &mut vec![]);
        walk(&asked(Time::ZERO), Time::ZERO, 5, &mut vec![]);
    }

    fn said(said: muster_model::Answer) -> Answer {
        Answer::Outside(said)
    }

    fn no(message: &str) -> muster_model::Answer {
        let message = message.to_owned();
        muster_model::Answer::No { message }
    }

    #[test]
    fn whatever_somebody_outside_says_of_a_bind_the_pod_is_read() {
        let yes = || said(muster_model::Answer::Yes(String::new()));
        let failed = || {
            let message = "no answer".to_owned();
            said(muster_model::Answer::Failed { message })
        };
        let bound_there = || pod(true, Some(NODE), false);
        for first in [yes(), said(no("full")), failed(), Answer::Lost] {
            let (sent, found) = play_from(asked(Time(7)), &[first, bound_there()]);
            assert_eq!(sent, [ask(), PodRequest::Read]);
            assert_eq!(found, Some(bound(NODE)));
        }
        let refused = |message: &str| {
            let message = message.to_owned();
            Some(BindOutcome::Refused { message })
        };
        let lie = "Binder says that it has bound the pod, and the pod is not bound";
        for (first, words) in [(yes(), lie), (said(no("full")), "Binder: full")] {
            let found = play_from(asked(Time(7)), &[first, unbound_pod()]).1;
            assert_eq!(found, refused(words));
        }
        let answers = [failed(), unbound_pod(), yes(), bound_there()];
        let (sent, found) = play_from(asked(Time(7)), &answers);
        let again = [ask(), PodRequest::Read];
        assert_eq!(sent, [again.clone(), again].concat());
        assert_eq!(found, Some(bound(NODE)));
    }

    #[test]
    fn what_somebody_outside_says_is_not_theirs_is_bound_by_us() {
        let skip = || said(muster_model::Answer::Skip);
        let (sent, found) = play_from(asked(Time(7)), &[skip(), Answer::Accepted]);
        assert_eq!(sent, [ask(), post()]);
        assert_eq!(found, Some(bound(NODE)));
        // Who took long to say so leaves us the time that we would have had.
        let mut late = asked(Time(0));
        late.answered(&skip(), Time(60_000));
        late.answered(&status(503), Time(60_010));
        assert!(matches!(late.next(Time(60_010)), Step::WaitUntil(_)));
    }
}
