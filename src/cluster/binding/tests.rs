//! What a bind comes to, whatever is answered and in whatever order.

use super::*;
use muster_model::{About, Body, GangKey, PodKey, Point, QuestionId};

const NODE: &str = "n1";

fn order(asks: Option<Arc<Question>>) -> Bind {
    Bind {
        pod: PodKey::default(),
        node: NODE.to_owned(),
        slot: None,
        completes: false,
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
    PodRequest::Bind(Target {
        node: NODE.to_owned(),
        slot: None,
    })
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

fn play_from(mut attempt: Attempt, answers: &[Answer]) -> (Vec<PodRequest>, Option<BindOutcome>) {
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
                let sent_at = now;
                now = now + Millis(10);
                attempt.answered(answer, sent_at, now);
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

/// The connection breaks long before the API server has ended its work.
#[test]
fn a_bind_is_judged_when_it_can_no_longer_happen() {
    let lost_late = || {
        let mut attempt = begun(Time(0));
        attempt.answered(&Answer::Lost, Time(1_400), Time(1_450));
        assert_eq!(attempt.next(Time(1_450)), Step::Send(PodRequest::Read));
        attempt.answered(&unbound_pod(), Time(1_450), Time(1_460));
        assert_eq!(attempt.next(Time(1_460)), Step::WaitUntil(Time(3_900)));
        assert_eq!(attempt.next(Time(3_900)), Step::Send(PodRequest::Read));
        attempt
    };
    let mut attempt = lost_late();
    attempt.answered(&pod(true, Some(NODE), false), Time(3_900), Time(3_910));
    assert_eq!(attempt.next(Time(3_910)), Step::Done(bound(NODE)));
    let mut attempt = lost_late();
    attempt.answered(&unbound_pod(), Time(3_900), Time(3_910));
    let found = attempt.next(Time(3_910));
    assert!(
        matches!(found, Step::Done(BindOutcome::Failed { .. })),
        "{found:?}"
    );
    // So is a refusal of one that follows it.
    let mut attempt = begun(Time(0));
    attempt.answered(&Answer::Lost, Time(0), Time(400));
    attempt.answered(&unbound_pod(), Time(400), Time(410));
    attempt.answered(&status(422), Time(500), Time(510));
    attempt.answered(&unbound_pod(), Time(510), Time(520));
    assert_eq!(attempt.next(Time(520)), Step::WaitUntil(Time(2_500)));
}

#[test]
fn a_refusal_after_a_doubtful_bind_is_read_first() {
    for doubt in [&[status(500)][..], &[Answer::Lost, unbound_pod()]] {
        let with = |read: Answer| {
            let mut answers = doubt.to_vec();
            answers.extend([status(422), read.clone(), read]);
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
    assert_eq!((posts, found), (5, None));
    let mut answers = vec![status(503); 5];
    answers.extend([unbound_pod(), unbound_pod()]);
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
    attempt.answered(&busy(700), Time(0), Time(0));
    assert_eq!(attempt.next(Time(0)), Step::WaitUntil(Time(700)));
    let mut attempt = begun(Time(0));
    attempt.answered(&busy(10_000), Time(0), Time(0));
    assert_eq!(attempt.next(Time(0)), Step::Send(PodRequest::Read));
}

#[test]
fn while_the_pod_cannot_be_read_nothing_is_said() {
    let mut attempt = begun(Time(0));
    attempt.answered(&Answer::Lost, Time(2_000), Time(2_000));
    let mut now = Time(2_000);
    let mut reads = 0;
    while now < Time(62_000) {
        match attempt.next(now) {
            Step::Send(PodRequest::Read) => {
                reads += 1;
                attempt.answered(&status(if reads % 2 == 0 { 500 } else { 403 }), now, now);
            }
            Step::WaitUntil(at) => {
                assert!(at.since(now) <= Millis(1_000));
                now = at;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(reads < 70, "{reads} reads in a minute");
    attempt.answered(&unbound_pod(), now, now);
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

/// A request, when it was sent, and what came back.
type Sent = (Time, PodRequest, Answer);

/// Walks every sequence of `depth` answers and checks what must hold of each.
fn walk(attempt: &Attempt, now: Time, depth: u32, path: &mut Vec<Sent>) {
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
        after.answered(&answer, now, then);
        path.push((now, request.clone(), answer));
        walk(&after, then, depth - 1, path);
        path.pop();
    }
}

fn judge(attempt: &Attempt, outcome: &BindOutcome, now: Time, path: &[Sent]) {
    let (read_at, request, last) = path.last().expect("an outcome needs an answer");
    let lost = |(_, request, answer): &&Sent| {
        let nothing = [Answer::Lost, status(500), status(504)].contains(answer);
        *request == post() && nothing
    };
    let ended = path
        .iter()
        .filter(lost)
        .all(|(sent, ..)| *sent + WRITE_ENDS_WITHIN <= *read_at);
    let read_unbound = *last == unbound_pod() && *request == PodRequest::Read && ended;
    let doubtful = path.iter().any(|(_, request, answer)| {
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
        after.answered(&answer, now, now + Millis(1));
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
    late.answered(&skip(), Time(60_000), Time(60_000));
    late.answered(&status(503), Time(60_010), Time(60_010));
    assert!(matches!(late.next(Time(60_010)), Step::WaitUntil(_)));
}
