//! Plugins in other processes that have a say about nodes: who is asked when, what is believed for how
//! long, and that one that does not answer stops nobody else.

use super::*;
use crate::framework::Remote;
use crate::plugins::join;
use muster_model::{Answer, Body, NodeVerdicts, Question, RemoteAnswer, RemotePoint};

pub(super) fn remote(name: &str, points: &[RemotePoint]) -> Remote {
    Remote {
        name: name.into(),
        points: points.to_vec(),
        weight: 5,
        ignorable: false,
        at_most: Millis(1_000),
        permit_at_most: Millis(60_000),
        holds: Millis(10_000),
        depends_on_pods: false,
        node_labels: Vec::new(),
        resources: Vec::new(),
        unchecked: Vec::new(),
    }
}

impl Story {
    /// A scheduler that asks these.
    fn asking(remotes: Vec<Remote>) -> Self {
        let mut policy = Policy::default();
        let profile = &mut policy.profile;
        for remote in remotes {
            join(profile, remote);
        }
        Self {
            scheduler: Scheduler::new(policy),
            now: Time::ZERO,
        }
    }

    /// One cycle: what it binds, and what it asks.
    pub(super) fn turn(&mut self) -> (Vec<Bind>, Vec<Question>) {
        let plan = self.scheduler.cycle(self.now);
        self.scheduler.audit().unwrap();
        let (mut binds, mut questions) = (Vec::new(), Vec::new());
        for effect in plan.effects {
            match effect {
                Effect::Bind(bind) => binds.push(bind),
                Effect::Ask(question) => questions.push(question),
                _ => {}
            }
        }
        (binds, questions)
    }

    fn questions(&mut self) -> Vec<Question> {
        let (binds, questions) = self.turn();
        assert!(binds.is_empty(), "{binds:?}");
        questions
    }

    pub(super) fn answer(&mut self, question: &Question, answer: Answer) {
        self.tell(Event::Answer(question.id, answer));
    }

    /// All but these suit.
    fn refuse(&mut self, question: &Question, nodes: &[&str]) {
        let refused = nodes.iter();
        let refused = refused.map(|node| ((*node).to_owned(), "node(s) had no licence".to_owned()));
        let verdicts = NodeVerdicts {
            refused: refused.collect(),
            ..NodeVerdicts::default()
        };
        self.answer(question, Answer::OfNodes(RemoteAnswer::Nodes(verdicts)));
    }

    fn fail(&mut self, question: &Question) {
        let message = "it hangs".to_owned();
        self.answer(question, Answer::Failed { message });
    }
}

/// The point, the pods and the nodes of a question.
pub(super) fn told_of(question: &Question) -> (RemotePoint, Vec<&str>, Vec<&str>) {
    let Body::Remote(asked) = &question.body else {
        panic!("{question:?}");
    };
    let pods = asked.pods.iter().map(|pod| pod.key.name.as_str());
    let nodes = asked.nodes.iter().map(|node| node.name.as_str());
    (asked.point, pods.collect(), nodes.collect())
}

fn places(binds: &[Bind]) -> Vec<(&str, &str)> {
    let places = binds
        .iter()
        .map(|bind| (bind.pod.name.as_str(), bind.node.as_str()));
    places.collect()
}

#[test]
fn a_gang_is_asked_about_once_with_all_nodes_and_waits_while_others_go_on() {
    let mut story = Story::asking(vec![remote("licences", &[RemotePoint::Filter])]);
    for node in ["n1", "n2", "n3"] {
        story.node(node, 2);
    }
    story.group("g", 2);
    story.pod("g-0", Some("g"));
    story.pod("g-1", Some("g"));
    let [question] = &story.questions()[..] else {
        panic!("one question");
    };
    let asked = (
        RemotePoint::Filter,
        vec!["g-0", "g-1"],
        vec!["n1", "n2", "n3"],
    );
    assert_eq!(told_of(question), asked);
    // That is said if it lasts; meanwhile the gang stays where it is in its queue's line.
    assert_eq!(story.why("g"), "");
    story.pass(1_999);
    assert!(story.questions().is_empty());
    assert_eq!(story.why("g"), "");
    story.pass(1);
    assert!(story.questions().is_empty());
    assert_eq!(
        story.why("g"),
        "AskingPlugins: waits for what plugins say: licences"
    );
    assert_eq!(story.status("g").position, Some(1));
    // Somebody else comes, is asked about, and goes on.
    story.pod("alone", None);
    let [other] = &story.questions()[..] else {
        panic!("one question more");
    };
    story.refuse(other, &[]);
    assert_eq!(names(&story.turn().0), ["alone"]);
    story.refuse(question, &["n1", "n2"]);
    let (binds, more) = story.turn();
    assert_eq!(places(&binds), [("g-0", "n3"), ("g-1", "n3")]);
    assert!(more.is_empty());
}

#[test]
fn all_points_are_asked_at_once_and_a_score_chooses_among_those_that_suit() {
    let points = [
        RemotePoint::PreFilter,
        RemotePoint::Filter,
        RemotePoint::Score,
    ];
    let mut story = Story::asking(vec![remote("licences", &points)]);
    for node in ["n1", "n2", "n3"] {
        story.node(node, 2);
    }
    story.pod("p", None);
    let questions = story.questions();
    let asked: Vec<RemotePoint> = questions.iter().map(|one| told_of(one).0).collect();
    assert_eq!(asked, points);
    let only = NodeVerdicts {
        only: Some((vec!["n2".to_owned(), "n3".to_owned()], String::new())),
        ..NodeVerdicts::default()
    };
    let scores = ["n1", "n2", "n3"].into_iter().zip([100, 10, 90]);
    let scores = scores
        .map(|(node, score)| (node.to_owned(), score))
        .collect();
    story.answer(&questions[2], Answer::OfNodes(RemoteAnswer::Scores(scores)));
    story.answer(&questions[0], Answer::OfNodes(RemoteAnswer::Nodes(only)));
    assert!(story.questions().is_empty(), "one answer is missing");
    story.refuse(&questions[1], &[]);
    assert_eq!(places(&story.turn().0), [("p", "n3")]);
}

#[test]
fn a_gang_whose_plugin_fails_waits_says_so_and_is_asked_about_again_ever_more_rarely() {
    let mut story = Story::asking(vec![remote("licences", &[RemotePoint::Filter])]);
    story.node("n1", 2);
    story.group("g", 1);
    story.pod("g-0", Some("g"));
    for rest in [1_000, 2_000, 4_000] {
        let question = story.questions().remove(0);
        story.fail(&question);
        assert!(story.questions().is_empty());
        assert_eq!(
            story.why("g"),
            "PluginFailed: plugin licences: it hangs; it is asked again"
        );
        story.pass(rest - 1);
        assert!(story.questions().is_empty());
        story.pass(1);
    }
    let question = story.questions().remove(0);
    story.refuse(&question, &[]);
    assert_eq!(names(&story.turn().0), ["g-0"]);
}

#[test]
fn one_that_may_be_left_out_is_when_it_fails() {
    let extra = Remote {
        ignorable: true,
        ..remote("extra", &[RemotePoint::Filter])
    };
    let licences = remote("licences", &[RemotePoint::Filter]);
    let mut story = Story::asking(vec![extra, licences]);
    story.node("n1", 2);
    story.node("n2", 2);
    story.pod("p", None);
    let questions = story.questions();
    story.fail(&questions[0]);
    story.refuse(&questions[1], &["n1"]);
    assert_eq!(places(&story.turn().0), [("p", "n2")]);
}

#[test]
fn a_question_that_is_never_answered_is_given_up() {
    let mut story = Story::asking(vec![remote("licences", &[RemotePoint::Filter])]);
    story.node("n1", 2);
    story.group("g", 1);
    story.pod("g-0", Some("g"));
    let lost = story.questions().remove(0);
    story.pass(20_000);
    assert!(story.questions().is_empty());
    assert!(
        story.why("g").contains("no answer came in time"),
        "{}",
        story.why("g")
    );
    // A late answer makes no difference.
    story.refuse(&lost, &[]);
    assert!(story.questions().is_empty());
    story.pass(1_000);
    let again = story.questions().remove(0);
    story.refuse(&again, &[]);
    assert_eq!(names(&story.turn().0), ["g-0"]);
}

#[test]
fn a_gang_that_is_asked_about_anew_keeps_its_words_for_a_moment() {
    let mut extra = remote("licences", &[RemotePoint::Filter]);
    extra.holds = Millis(5_000);
    let mut story = Story::asking(vec![extra]);
    story.node("n1", 2);
    story.group("g", 1);
    story.pod("g-0", Some("g"));
    let question = story.questions().remove(0);
    story.refuse(&question, &["n1"]);
    assert!(story.questions().is_empty());
    let before = story.status("g");
    assert_eq!(before.conditions[1].reason, "Unschedulable");
    story.pass(5_000);
    let again = story.scheduler.cycle(story.now).effects;
    assert!(matches!(&again[0], Effect::Ask(_)), "{again:?}");
    let says = |one: &Effect| matches!(one, Effect::GangStatus(_) | Effect::QueueStatus(_));
    assert!(!again.iter().any(says), "{again:?}");
    assert_eq!(story.status("g"), before);
}

#[test]
fn what_a_plugin_that_may_be_left_out_did_say_counts() {
    let mut extra = remote("licences", &[RemotePoint::PreFilter, RemotePoint::Filter]);
    extra.ignorable = true;
    let mut story = Story::asking(vec![extra]);
    story.node("n1", 2);
    story.node("n2", 2);
    story.pod("alone", None);
    let questions = story.questions();
    story.refuse(&questions[0], &["n1"]);
    story.fail(&questions[1]);
    assert_eq!(places(&story.turn().0), [("alone", "n2")]);
}

#[test]
fn a_node_that_came_later_does_not_suit_before_it_was_asked_about() {
    let mut story = Story::asking(vec![remote("licences", &[RemotePoint::Filter])]);
    story.node("n1", 2);
    story.group("g", 1);
    story.pod("g-0", Some("g"));
    let question = story.questions().remove(0);
    story.refuse(&question, &["n1"]);
    assert!(story.questions().is_empty());
    assert!(
        story.why("g").contains("1 node(s) had no licence"),
        "{}",
        story.why("g")
    );
    story.node("n2", 2);
    assert!(
        story.questions().is_empty(),
        "not more often than once a second"
    );
    story.pass(1_000);
    let question = story.questions().remove(0);
    assert_eq!(told_of(&question).2, ["n1", "n2"]);
    story.refuse(&question, &["n1"]);
    assert_eq!(places(&story.turn().0), [("g-0", "n2")]);
}

#[test]
fn what_was_said_holds_for_its_time_and_a_gang_that_waits_for_it_is_asked_about_again() {
    let mut story = Story::asking(vec![remote("licences", &[RemotePoint::Filter])]);
    story.node("n1", 2);
    story.group("g", 1);
    story.pod("g-0", Some("g"));
    let question = story.questions().remove(0);
    story.refuse(&question, &["n1"]);
    assert!(story.questions().is_empty());
    story.pass(9_999);
    assert!(story.questions().is_empty());
    let plan = story.scheduler.cycle(story.now);
    assert!(plan.wake_at.is_some_and(|at| at <= story.now + Millis(1)));
    story.pass(1);
    let question = story.questions().remove(0);
    story.refuse(&question, &[]);
    assert_eq!(names(&story.turn().0), ["g-0"]);
}

#[test]
fn nobody_is_asked_about_a_gang_that_is_not_to_be_tried() {
    let mut story = Story::asking(vec![remote("licences", &[RemotePoint::Filter])]);
    story.node("n1", 2);
    story.group("g", 2);
    story.pod("g-0", Some("g"));
    assert!(story.questions().is_empty(), "it is not whole");
}

#[test]
fn one_that_manages_a_resource_is_asked_only_about_pods_that_request_it() {
    let cards = Remote {
        resources: vec!["example.com/card".to_owned()],
        ..remote("cards", &[RemotePoint::Filter])
    };
    let mut story = Story::asking(vec![cards]);
    let mut spec = node("n1", 4);
    spec.allocatable.push(("example.com/card".to_owned(), 1));
    spec.allocatable.push(("example.com/other".to_owned(), 1));
    story.tell(Event::is(spec));
    story.pod("plain", None);
    let mut other = pod("other", None, 1);
    other
        .shape
        .requests
        .push(("example.com/other".to_owned(), 1));
    story.submit(other);
    let (binds, questions) = story.turn();
    assert_eq!((names(&binds).len(), questions.len()), (2, 0));
    let mut card = pod("card", None, 1);
    card.shape.requests.push(("example.com/card".to_owned(), 1));
    story.submit(card);
    assert_eq!(told_of(&story.questions()[0]).1, ["card"]);
}

#[test]
fn so_many_questions_are_open_at_once_and_the_others_have_their_turn() {
    let mut story = Story::asking(vec![remote("licences", &[RemotePoint::Filter])]);
    for node in ["n1", "n2", "n3"] {
        story.node(node, 110);
    }
    for index in 0..300 {
        story.pod(&format!("p{index:03}"), None);
    }
    let questions = story.questions();
    assert_eq!(questions.len(), 256);
    let mut bound = 0;
    let mut open = questions;
    while let Some(question) = open.pop() {
        story.refuse(&question, &[]);
        let (binds, more) = story.turn();
        bound += binds.len();
        open.extend(more);
    }
    assert_eq!(bound, 300);
}

#[test]
fn a_gang_that_is_gone_is_forgotten_with_its_questions() {
    let mut story = Story::asking(vec![remote("licences", &[RemotePoint::Filter])]);
    story.node("n1", 2);
    let key = story.pod("p", None);
    let question = story.questions().remove(0);
    story.tell(Event::Gone(ObjectKey::Pod(key)));
    story.turn();
    story.refuse(&question, &[]);
    assert!(story.questions().is_empty());
}

#[test]
fn of_what_a_plugin_looks_after_nodes_need_have_none_and_it_is_told_how_much_is_asked_for() {
    let card = || "example.com/card".to_owned();
    let mut story = Story::asking(vec![Remote {
        resources: vec![card()],
        unchecked: vec![card()],
        ..remote("cards", &[RemotePoint::Filter])
    }]);
    story.node("n1", 2);
    let asks = |name: &str, group: Option<&str>| {
        let mut spec = pod(name, group, 1);
        spec.shape.requests.push((card(), 3));
        spec
    };
    story.define(GangSpec {
        min_available: 2,
        min_resources: vec![(card(), 6)],
        ..group("g")
    });
    story.submit(asks("g-0", Some("g")));
    story.submit(asks("g-1", Some("g")));
    let [question] = &story.questions()[..] else {
        panic!("one question");
    };
    let Body::Remote(asked) = &question.body else {
        panic!("{question:?}");
    };
    assert!(asked.pods[0].requests.contains(&(card(), 3)), "{asked:?}");
    story.refuse(question, &[]);
    assert_eq!(places(&story.turn().0), [("g-0", "n1"), ("g-1", "n1")]);
    // Who asks for none of it is none of its business.
    story.node("n2", 1);
    story.pod("plain", None);
    let (binds, questions) = story.turn();
    assert_eq!(places(&binds), [("plain", "n2")]);
    assert!(questions.is_empty());
}
