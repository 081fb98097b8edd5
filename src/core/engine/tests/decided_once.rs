//! A decision asks once: a plugin in another process has one question at each point, with all places; what it
//! reserved is given back once, and of binds that fail with their places only.

use super::remote::{remote, told_of};
use super::*;
use crate::framework::{Plugin, Reason, Refusal, Reserve, ReserveVerdict, Spots};
use crate::plugins::join;
use muster_model::{Answer, BindOutcome, Body, Question, RemotePoint};
use std::sync::{Arc, Mutex};

const SIZE: usize = 100;
const POINTS: [RemotePoint; 5] = [
    RemotePoint::Reserve,
    RemotePoint::Unreserve,
    RemotePoint::Permit,
    RemotePoint::PreBind,
    RemotePoint::PostBind,
];

impl Story {
    /// A gang of a hundred on ten nodes, before a scheduler with a plugin at every point of a decision.
    fn of_a_hundred(policy: impl FnOnce(&mut Policy)) -> Self {
        let mut story = Self::new();
        let mut chosen = Policy::default();
        join(&mut chosen.profile, remote("door", &POINTS));
        policy(&mut chosen);
        story.scheduler = Scheduler::new(chosen);
        for node in 0..10 {
            story.node(&format!("n{node}"), 10);
        }
        story.group("g", 100);
        for pod in 0..SIZE {
            story.pod(&format!("g-{pod:03}"), Some("g"));
        }
        story
    }

    /// One cycle, which binds nobody and asks one question, about the whole gang, at a point.
    fn asks_once(&mut self, point: RemotePoint) -> Question {
        let (binds, mut questions) = self.turn();
        assert!(binds.is_empty(), "{binds:?}");
        assert_eq!(questions.len(), 1, "at {}", point.as_str());
        let question = questions.remove(0);
        is_about_all(&question, point);
        question
    }

    fn says_yes(&mut self, question: &Question) {
        self.answer(question, Answer::Yes(String::new()));
    }
}

/// A question has every pod of the gang, each with its node.
fn is_about_all(question: &Question, point: RemotePoint) {
    let (asked_at, pods, nodes) = told_of(question);
    assert_eq!((asked_at, pods.len(), nodes.len()), (point, SIZE, 0));
    let Body::Remote(asked) = &question.body else {
        panic!("{question:?}");
    };
    assert_eq!(asked.pod_count as usize, SIZE);
    let of_pods = asked.pods.iter().map(|pod| (&pod.key, pod.node.as_ref()));
    let places = question.about.places().iter();
    assert!(of_pods.eq(places.map(|place| (&place.pod, Some(&place.node)))));
}

#[test]
fn a_plugin_is_asked_once_at_each_point_about_a_gang_of_a_hundred() {
    let mut story = Story::of_a_hundred(|_| ());
    for point in [
        RemotePoint::Reserve,
        RemotePoint::Permit,
        RemotePoint::PreBind,
    ] {
        let question = story.asks_once(point);
        story.says_yes(&question);
    }
    let (binds, questions) = story.turn();
    assert_eq!((binds.len(), questions.len()), (SIZE, 0));
    for bind in binds {
        assert!(story.turn().1.is_empty(), "before the last is bound");
        let outcome = BindOutcome::Bound { node: bind.node };
        story.tell(Event::BindResult(bind.pod, outcome));
    }
    story.asks_once(RemotePoint::PostBind);
    assert!(story.turn().1.is_empty());
}

#[test]
fn what_was_reserved_for_a_decision_that_is_refused_is_given_back_once_with_all_places() {
    let mut story = Story::of_a_hundred(|_| ());
    let reserve = story.asks_once(RemotePoint::Reserve);
    story.says_yes(&reserve);
    let permit = story.asks_once(RemotePoint::Permit);
    let message = "not today".to_owned();
    story.answer(&permit, Answer::No { message });
    let undo = story.asks_once(RemotePoint::Reserve);
    assert_eq!(undo.undoes, Some(reserve.id));
    assert_eq!(
        story.why("g"),
        "Rejected: pod g-000 on node n0 and 99 others: door: not today"
    );
}

#[test]
fn of_binds_that_fail_what_was_reserved_is_given_back_with_their_places_only() {
    let mut story = Story::of_a_hundred(|_| ());
    let reserve = story.asks_once(RemotePoint::Reserve);
    story.says_yes(&reserve);
    for point in [RemotePoint::Permit, RemotePoint::PreBind] {
        let question = story.asks_once(point);
        story.says_yes(&question);
    }
    let binds = story.turn().0;
    for (index, bind) in binds.into_iter().enumerate() {
        let outcome = match index {
            20 | 70 => BindOutcome::Gone,
            _ => BindOutcome::Bound { node: bind.node },
        };
        story.tell(Event::BindResult(bind.pod, outcome));
    }
    let questions = story.turn().1;
    let undo = questions.iter().find(|one| one.undoes.is_some()).unwrap();
    assert_eq!(undo.undoes, Some(reserve.id));
    assert_eq!(told_of(undo).1, ["g-020", "g-070"]);
    let others: Vec<_> = questions
        .iter()
        .filter(|one| one.undoes.is_none())
        .collect();
    let post_bind = others.iter().map(|one| told_of(one));
    let post_bind = post_bind.filter(|(point, ..)| *point == RemotePoint::PostBind);
    let told: Vec<usize> = post_bind.map(|(_, pods, _)| pods.len()).collect();
    assert_eq!(told, [SIZE - 2]);
}

/// Reserves for all, or refuses because of one.
#[derive(Debug, Default)]
struct Shelf {
    refuses: bool,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Plugin for Shelf {
    fn name(&self) -> &'static str {
        if self.refuses { "Full" } else { "Shelf" }
    }
}

impl Reserve for Shelf {
    fn reserve(&self, spots: &Spots<'_>) -> ReserveVerdict {
        let words = format!("{} takes {}", self.name(), spots.iter().count());
        self.heard.lock().unwrap().push(words);
        let is_it = |spot: &crate::framework::Spot<'_>| self.refuses && spot.pod.name == "g-042";
        let full = || Reason::Other("no shelf left".to_owned());
        let refused = spots.iter().find(is_it);
        refused.map_or(ReserveVerdict::Done, |spot| {
            ReserveVerdict::Refuse(Refusal::of(&spot, full()))
        })
    }

    fn unreserve(&self, spots: &Spots<'_>) {
        let words = format!("{} gets back {}", self.name(), spots.iter().count());
        self.heard.lock().unwrap().push(words);
    }
}

#[test]
fn a_refusal_of_one_place_gives_back_what_plugins_before_it_reserved_once_with_all_places() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let shelf = |refuses| {
        let heard = Arc::clone(&heard);
        Arc::new(Shelf { refuses, heard })
    };
    let mut story = Story::of_a_hundred(|policy| {
        policy.profile.reserve.insert(0, shelf(false));
        policy.profile.reserve.push(shelf(true));
    });
    let (binds, questions) = story.turn();
    assert_eq!((binds.len(), questions.len()), (0, 0), "nobody is asked");
    let heard = heard.lock().unwrap().clone();
    let wanted = [
        "Shelf takes 100",
        "Full takes 100",
        "Full gets back 100",
        "Shelf gets back 100",
    ];
    assert_eq!(heard, wanted);
    assert_eq!(
        story.why("g"),
        "Rejected: pod g-042 on node n4: Full: no shelf left"
    );
}
