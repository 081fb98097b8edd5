//! What plugins ask outside: a decision waits for it as a whole, and is undone as a whole.

use super::{Spy, binds, group, pod, scheduler, why};
use muster::core::engine::Scheduler;
use muster::model::Effect;
use muster::model::ObjectKey;
use muster::model::units::Time;
use muster::model::{
    Answer, BindOutcome, Counted, Event, GangRef, GangSpace, GangSpec, NamespaceChoice, NodeSpec,
    PodKey, PodPhase, PodQuery, PodSpec, Point, Question, QuestionId, ShapeSpec, Source,
    SpreadRule,
};
use std::sync::Arc;

/// What a cycle orders, in words.
fn effects(scheduler: &mut Scheduler, now: u64) -> Vec<String> {
    let effects = scheduler.cycle(Time(now)).effects.into_iter();
    let in_words = |effect| match effect {
        Effect::Bind(bind) => Some(format!("bind {} to {}", bind.pod.name, bind.node)),
        Effect::Ask(question) => Some(asked(&question)),
        Effect::GiveUp(id) => Some(format!("give up {}", id.0)),
        _ => None,
    };
    effects.filter_map(in_words).collect()
}

/// `1 PreBind p on n1`, or `2 undoes 1 for p`.
fn asked(question: &Question) -> String {
    let id = question.id.0;
    if let Some(undone) = question.undoes {
        let places = question.about.places().iter();
        let pods: Vec<&str> = places.map(|place| place.pod.name.as_str()).collect();
        return format!("{id} undoes {} for {}", undone.0, pods.join(" "));
    }
    let places = question.about.places().iter();
    let places = places.map(|place| format!("{} on {}", place.pod.name, place.node));
    let places: Vec<String> = places.collect();
    let point = question.body.point().as_str();
    format!("{id} {point} {}", places.join(", "))
}

fn answer(scheduler: &mut Scheduler, now: u64, id: u64, answer: Answer) {
    scheduler.apply(Time(now), Event::Answer(QuestionId(id), answer));
}

fn key(name: &str) -> PodKey {
    PodKey {
        namespace: "a".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
    }
}

fn yes() -> Answer {
    Answer::Yes(String::new())
}

fn no() -> Answer {
    Answer::No {
        message: "no cable".to_owned(),
    }
}

/// A scheduler with a gang of two, and what its first cycle ordered.
fn with_pair(spy: &Arc<Spy>) -> (Scheduler, Vec<String>) {
    let mut scheduler = scheduler(spy);
    group(&mut scheduler, "g", 2);
    pod(&mut scheduler, "p0", Some("g"));
    pod(&mut scheduler, "p1", Some("g"));
    let ordered = effects(&mut scheduler, 0);
    (scheduler, ordered)
}

fn asks(points: &'static [Point]) -> Arc<Spy> {
    Arc::new(Spy {
        ask_at: points,
        ..Spy::default()
    })
}

#[test]
fn a_decision_is_asked_about_once_with_all_places_and_held_until_that_was_answered_with_yes() {
    let (mut scheduler, ordered) = with_pair(&asks(&[Point::PreBind]));
    assert_eq!(ordered, ["1 PreBind p0 on n1, p1 on n1"]);
    pod(&mut scheduler, "other", None);
    assert_eq!(effects(&mut scheduler, 1), ["2 PreBind other on n0"]);
    assert!(!scheduler.wants_cycle(), "the answer is still missing");
    assert!(why(&scheduler, GangSpace::Named, "g").ends_with(
        "Held: places are found; they wait for what PreBind plugin Spy asked about pod p0 on node n1 and 1 other"
    ));
    scheduler.audit().unwrap();
    answer(&mut scheduler, 3, 1, yes());
    let ordered = effects(&mut scheduler, 3);
    assert_eq!(ordered, ["bind p0 to n1", "bind p1 to n1"]);
    scheduler.audit().unwrap();
}

#[test]
fn the_points_that_ask_are_passed_one_after_the_other() {
    let spy = asks(&[Point::Reserve, Point::Permit, Point::PreBind]);
    let mut scheduler = scheduler(&spy);
    pod(&mut scheduler, "p", None);
    assert_eq!(effects(&mut scheduler, 0), ["1 Reserve p on n1"]);
    for (id, next) in [
        (1, "2 Permit p on n1"),
        (2, "3 PreBind p on n1"),
        (3, "bind p to n1"),
    ] {
        answer(&mut scheduler, id, id, yes());
        assert_eq!(effects(&mut scheduler, id), [next]);
    }
    let heard = spy.heard.lock().unwrap().clone();
    let points = ["reserve p", "permit p", "pre_bind p", "bind p to n1"];
    assert_eq!(heard[3..], points);
}

#[test]
fn a_no_undoes_the_whole_decision_in_reverse_order_and_it_is_tried_again_later() {
    let spy = asks(&[Point::Reserve, Point::PreBind]);
    let (mut scheduler, ordered) = with_pair(&spy);
    assert_eq!(ordered, ["1 Reserve p0 on n1, p1 on n1"]);
    answer(&mut scheduler, 1, 1, yes());
    let ordered = effects(&mut scheduler, 1);
    assert_eq!(ordered, ["2 PreBind p0 on n1, p1 on n1"]);
    spy.heard.lock().unwrap().clear();
    answer(&mut scheduler, 2, 2, no());
    let ordered = effects(&mut scheduler, 2);
    let undone = ["3 undoes 2 for p0 p1", "4 undoes 1 for p0 p1"];
    assert_eq!(ordered[0], "give up 2");
    assert_eq!(ordered[1..], undone);
    let heard = spy.heard.lock().unwrap().clone();
    assert_eq!(heard, ["unreserve p0 p1"]);
    assert_eq!(
        why(&scheduler, GangSpace::Named, "g"),
        "Rejected: pod p0 on node n1 and 1 other: Spy: no cable"
    );
    scheduler.audit().unwrap();
    effects(&mut scheduler, 3);
    assert!(!scheduler.wants_cycle(), "tried again and again");
    let again = ["5 Reserve p0 on n1, p1 on n1"];
    assert_eq!(effects(&mut scheduler, 1_002), again);
}

#[test]
fn an_answer_that_does_not_come_in_time_undoes_the_decision() {
    let spy = asks(&[Point::PreBind]);
    let mut scheduler = scheduler(&spy);
    pod(&mut scheduler, "p", None);
    scheduler.cycle(Time(0));
    let plan = scheduler.cycle(Time(1_000));
    assert_eq!(plan.wake_at, Some(Time(3_000)));
    let ordered = effects(&mut scheduler, 3_000);
    assert_eq!(ordered, ["give up 1", "2 undoes 1 for p"]);
    assert_eq!(
        why(&scheduler, GangSpace::Own, "uid-p"),
        "NoAnswer: pod p on node n1: Spy did not answer at PreBind within 3s"
    );
    effects(&mut scheduler, 3_001);
    for late in [yes(), no()] {
        answer(&mut scheduler, 3_002, 1, late);
        assert!(!scheduler.wants_cycle(), "nobody waits for it any more");
    }
    assert_eq!(effects(&mut scheduler, 4_000), ["3 PreBind p on n1"]);
    answer(&mut scheduler, 4_001, 1, yes());
    assert!(!scheduler.wants_cycle(), "it was another question");
    scheduler.audit().unwrap();
}

#[test]
fn a_failure_is_no_yes_and_what_was_not_asked_is_not_undone() {
    let failed = Answer::Failed {
        message: "the line is dead".to_owned(),
    };
    for (given, words, undone) in [
        (failed, "Spy gave no answer: the line is dead", true),
        (Answer::Unsent, "Spy was not asked", false),
    ] {
        let spy = asks(&[Point::PreBind]);
        let mut scheduler = scheduler(&spy);
        pod(&mut scheduler, "p", None);
        effects(&mut scheduler, 0);
        answer(&mut scheduler, 1, 1, given);
        let ordered = effects(&mut scheduler, 1);
        assert_eq!(ordered.contains(&"2 undoes 1 for p".to_owned()), undone);
        assert_eq!(
            why(&scheduler, GangSpace::Own, "uid-p"),
            format!("NoAnswer: pod p on node n1: {words}")
        );
    }
}

#[test]
fn a_member_that_goes_meanwhile_takes_the_decision_with_it() {
    let (mut scheduler, _) = with_pair(&asks(&[Point::PreBind]));
    let gone = PodKey {
        namespace: "a".into(),
        name: "p1".into(),
        uid: "uid-p1".into(),
    };
    scheduler.apply(Time(1), Event::Gone(ObjectKey::Pod(gone)));
    let ordered = effects(&mut scheduler, 1);
    assert_eq!(ordered, ["give up 1", "2 undoes 1 for p0 p1"]);
    scheduler.audit().unwrap();
    pod(&mut scheduler, "p1", Some("g"));
    let ordered = effects(&mut scheduler, 2);
    assert_eq!(ordered, ["3 PreBind p0 on n1, p1 on n1"]);
}

#[test]
fn what_a_decision_rests_on_is_looked_at_again_before_it_is_carried_out() {
    let spec = |name: &str, cpu: i64, rack: &str| NodeSpec {
        name: name.into(),
        allocatable: vec![("cpu".to_owned(), cpu), ("pods".to_owned(), 10)],
        labels: [("rack".to_owned(), rack.to_owned())].into(),
        ..NodeSpec::default()
    };
    // Its node gets smaller, gets another label, or is gone: it goes elsewhere.
    let changes: [fn(NodeSpec) -> Event; 3] = [
        |node| {
            Event::is(NodeSpec {
                allocatable: vec![("pods".to_owned(), 10)],
                ..node
            })
        },
        |node| {
            Event::is(NodeSpec {
                labels: [("rack".to_owned(), "other".to_owned())].into(),
                ..node
            })
        },
        |node| Event::Gone(ObjectKey::Node(node.name)),
    ];
    for change in changes {
        let mut scheduler = scheduler(&asks(&[Point::PreBind]));
        scheduler.apply(Time(0), Event::is(spec("n1", 2_000, "a")));
        pod(&mut scheduler, "p", None);
        assert_eq!(effects(&mut scheduler, 0), ["1 PreBind p on n1"]);
        scheduler.apply(Time(1), change(spec("n1", 2_000, "a")));
        answer(&mut scheduler, 2, 1, yes());
        let ordered = effects(&mut scheduler, 2);
        assert!(
            ordered.contains(&"2 undoes 1 for p".to_owned()),
            "{ordered:?}"
        );
        let bound = ordered.iter().any(|one| one.starts_with("bind"));
        assert!(!bound, "{ordered:?}");
        scheduler.audit().unwrap();
    }
}

#[test]
fn who_came_after_is_no_reason_against_a_decision_that_waited() {
    let mut scheduler = scheduler(&asks(&[Point::PreBind]));
    for name in ["n0", "n1", "n2"] {
        let node = NodeSpec {
            name: name.into(),
            allocatable: vec![("cpu".to_owned(), 2_000), ("pods".to_owned(), 10)],
            labels: [("host".to_owned(), name.to_owned())].into(),
            ..NodeSpec::default()
        };
        scheduler.apply(Time(0), Event::is(node));
    }
    // One more on its node than on any other, of all pods.
    let evenly = SpreadRule {
        key: "host".into(),
        max_skew: 1,
        min_domains: 1,
        pods: Some(PodQuery {
            namespaces: vec![NamespaceChoice::only("a")],
            counted: Counted::Staying,
            ..PodQuery::default()
        }),
        counts_itself: true,
        ..SpreadRule::default()
    };
    let first = PodSpec {
        key: PodKey {
            namespace: "a".into(),
            name: "first".into(),
            uid: "uid-first".into(),
        },
        ours: true,
        shape: ShapeSpec {
            requests: vec![("cpu".into(), 1_000)],
            spread: vec![evenly],
            ..ShapeSpec::default()
        },
        ..PodSpec::default()
    };
    scheduler.apply(Time(0), Event::is(first));
    assert_eq!(effects(&mut scheduler, 0), ["1 PreBind first on n1"]);
    pod(&mut scheduler, "second", None);
    assert_eq!(effects(&mut scheduler, 1), ["2 PreBind second on n1"]);
    answer(&mut scheduler, 2, 1, yes());
    assert_eq!(effects(&mut scheduler, 2), ["bind first to n1"]);
    scheduler.audit().unwrap();
}

#[test]
fn what_was_reserved_and_asked_for_a_bind_that_fails_is_given_back() {
    let refused = BindOutcome::Refused {
        message: "denied".to_owned(),
    };
    for (outcome, back) in [
        (refused, true),
        (BindOutcome::Gone, true),
        (BindOutcome::Bound { node: "n1".into() }, false),
        (BindOutcome::Bound { node: "n0".into() }, true),
    ] {
        let spy = asks(&[Point::PreBind]);
        let mut scheduler = scheduler(&spy);
        pod(&mut scheduler, "p", None);
        effects(&mut scheduler, 0);
        answer(&mut scheduler, 1, 1, yes());
        assert_eq!(effects(&mut scheduler, 1), ["bind p to n1"]);
        let key = PodKey {
            namespace: "a".into(),
            name: "p".into(),
            uid: "uid-p".into(),
        };
        scheduler.apply(Time(2), Event::BindResult(key, outcome));
        let heard = spy.heard.lock().unwrap().clone();
        assert_eq!(heard.contains(&"unreserve p".to_owned()), back);
        let ordered = effects(&mut scheduler, 2);
        assert_eq!(ordered.contains(&"2 undoes 1 for p".to_owned()), back);
    }
}

#[test]
fn a_gang_that_is_partly_bound_is_not_held_up_for_longer_than_it_may_be() {
    let spy = asks(&[Point::PreBind]);
    let (mut scheduler, _) = with_pair(&spy);
    answer(&mut scheduler, 1, 1, yes());
    effects(&mut scheduler, 1);
    let node = "n1".to_owned();
    scheduler.apply(
        Time(2),
        Event::BindResult(key("p0"), BindOutcome::Bound { node }),
    );
    scheduler.apply(Time(2), Event::BindResult(key("p1"), BindOutcome::Unsent));
    let ordered = effects(&mut scheduler, 2);
    assert_eq!(ordered, ["2 undoes 1 for p1", "3 PreBind p1 on n1"]);
    let mut evicted = false;
    for now in [3_002, 5_002, 7_002, 8_002, 9_002] {
        let plan = scheduler.cycle(Time(now));
        evicted |= plan
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Evict(_)));
        scheduler.audit().unwrap();
    }
    assert!(evicted, "it is still bound in part");
}

#[test]
fn what_is_asked_after_a_bind_is_not_waited_for() {
    let spy = asks(&[Point::PostBind]);
    let mut scheduler = scheduler(&spy);
    pod(&mut scheduler, "p", None);
    let (name, node) = binds(&mut scheduler, 0).remove(0);
    let key = PodKey {
        namespace: "a".into(),
        uid: format!("uid-{name}"),
        name,
    };
    scheduler.apply(Time(1), Event::BindResult(key, BindOutcome::Bound { node }));
    assert!(scheduler.wants_cycle());
    assert_eq!(effects(&mut scheduler, 1), ["1 PostBind p on n1"]);
    effects(&mut scheduler, 2);
    assert!(!scheduler.wants_cycle());
}

#[test]
fn of_a_decision_those_who_want_to_know_hear_once_who_is_bound() {
    let spy = asks(&[Point::PostBind]);
    let (mut scheduler, _) = with_pair(&spy);
    let bound = |node: &str| BindOutcome::Bound { node: node.into() };
    scheduler.apply(Time(1), Event::BindResult(key("p1"), bound("n1")));
    assert_eq!(effects(&mut scheduler, 1), [""; 0]);
    scheduler.apply(Time(2), Event::BindResult(key("p0"), bound("n1")));
    let asked = ["1 PostBind p1 on n1, p0 on n1"];
    assert_eq!(effects(&mut scheduler, 2), asked);
}

/// Each bind that fails is given back by itself: what was asked for several of them is undone at once.
#[test]
fn of_several_binds_that_fail_what_was_asked_is_undone_at_once_and_for_no_other() {
    let spy = asks(&[Point::PreBind, Point::PostBind]);
    let mut scheduler = scheduler(&spy);
    // So that there is room for a third.
    let spec = NodeSpec {
        name: "n1".into(),
        allocatable: vec![("cpu".to_owned(), 3_000), ("pods".to_owned(), 10)],
        ..NodeSpec::default()
    };
    scheduler.apply(Time(0), Event::is(spec));
    group(&mut scheduler, "g", 3);
    for name in ["p0", "p1", "p2"] {
        pod(&mut scheduler, name, Some("g"));
    }
    let ordered = effects(&mut scheduler, 0);
    assert_eq!(ordered, ["1 PreBind p0 on n1, p1 on n1, p2 on n1"]);
    answer(&mut scheduler, 1, 1, yes());
    effects(&mut scheduler, 1);
    spy.heard.lock().unwrap().clear();
    let node = "n1".to_owned();
    for (name, outcome) in [
        ("p0", BindOutcome::Gone),
        ("p1", BindOutcome::Bound { node }),
        ("p2", BindOutcome::Gone),
    ] {
        scheduler.apply(Time(2), Event::BindResult(key(name), outcome));
    }
    let heard = spy.heard.lock().unwrap().clone();
    assert_eq!(heard, ["unreserve p0", "unreserve p2", "bound p1 to n1"]);
    let ordered = effects(&mut scheduler, 2);
    assert_eq!(
        ordered[..2],
        ["2 undoes 1 for p0 p2", "3 PostBind p1 on n1"]
    );
}

/// A member ends, a PodGroup is edited or deleted, another scheduler takes a member: whichever way a decision
/// that is held comes to nothing, it is given back once, with all its places.
#[test]
fn on_every_way_out_what_was_asked_and_reserved_is_given_back_once() {
    let member = |change: fn(&mut PodSpec)| {
        let named = GangRef::Named {
            space: GangSpace::Named,
            name: "g".to_owned(),
        };
        let mut spec = PodSpec {
            key: key("p1"),
            ours: true,
            gang: named,
            shape: ShapeSpec {
                requests: vec![("cpu".into(), 1_000)],
                ..ShapeSpec::default()
            },
            ..PodSpec::default()
        };
        change(&mut spec);
        Event::is(spec)
    };
    let group = |min: u32, queue: &str| {
        Event::is(GangSpec {
            key: super::key(GangSpace::Named, "g"),
            min_available: min,
            queue: Some(queue.to_owned()),
            ..GangSpec::default()
        })
    };
    let gang = super::key(GangSpace::Named, "g");
    let ways: [(&str, Event); 8] = [
        ("failed", member(|pod| pod.phase = PodPhase::Failed)),
        ("deleted", Event::Gone(ObjectKey::Pod(key("p1")))),
        ("on its way off", member(|pod| pod.terminating = true)),
        ("elsewhere", member(|pod| pod.node = Some("n2".to_owned()))),
        ("not ours", member(|pod| pod.ours = false)),
        ("edited", group(3, "default")),
        ("moved", group(2, "nowhere")),
        (
            "without its group",
            Event::Gone(ObjectKey::Gang(gang, Source::default())),
        ),
    ];
    for (way, event) in ways {
        let spy = asks(&[Point::Reserve]);
        let (mut scheduler, ordered) = with_pair(&spy);
        assert_eq!(ordered, ["1 Reserve p0 on n1, p1 on n1"], "{way}");
        spy.heard.lock().unwrap().clear();
        scheduler.apply(Time(1), event);
        let ordered = effects(&mut scheduler, 1);
        scheduler.audit().unwrap();
        // Who is left may be decided anew at once.
        let undone = ["give up 1", "2 undoes 1 for p0 p1"];
        assert_eq!(ordered[..2], undone, "{way}");
        let heard = spy.heard.lock().unwrap().clone();
        assert_eq!(heard[0], "unreserve p0 p1", "{way}");
        let again = heard.iter().filter(|one| one.starts_with("unreserve"));
        assert_eq!(again.count(), 1, "{way}");
        // And an answer that comes late is nobody's.
        answer(&mut scheduler, 2, 1, yes());
        assert!(
            !effects(&mut scheduler, 2)
                .iter()
                .any(|one| one.starts_with("bind"))
        );
        scheduler.audit().unwrap();
    }
}
