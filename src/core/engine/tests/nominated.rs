//! Those for whom room is held until others have left, and what else may let them onto it.

use super::jobs::{Job, job, story};
use super::*;
use muster_model::{Labels, NamespaceChoice, NodeSpec, PodTerm};

const RACK: &str = "rack";

fn in_rack_a(name: &str, cpus: i64) -> NodeSpec {
    NodeSpec {
        labels: Labels::from([(RACK.to_owned(), "a".to_owned())]),
        ..node(name, cpus)
    }
}

/// The same pod, which may be in no rack with one that says `web`.
fn apart(mut spec: PodSpec) -> PodSpec {
    let web = LabelRequirement {
        key: "app".to_owned(),
        holds: LabelCondition::In(vec!["web".to_owned()]),
    };
    spec.shape.pods.anti_affinity = vec![PodTerm {
        namespaces: NamespaceChoice::only("a"),
        selector: LabelSelector {
            requirements: vec![web],
        },
        topology_key: RACK.to_owned(),
    }];
    spec
}

/// A pod that has to leave since it is in the rack does not, but its node goes.
#[test]
fn one_whose_room_is_held_starts_when_nobody_keeps_it_from_there_any_more() {
    let mut story = Story::new();
    story.tell(Event::is(in_rack_a("small", 1)));
    let web = Labels::from([("app".to_owned(), "web".to_owned())]);
    story.submit(PodSpec {
        labels: PodLabels::new(&web),
        priority: Some(0),
        ..pod("web", None, 1)
    });
    assert_eq!(story.run().len(), 1);
    story.tell(Event::is(in_rack_a("large", 3)));
    story.submit(apart(PodSpec {
        priority: Some(9),
        ..pod("alone", None, 3)
    }));
    let evicted = story.step().1;
    assert_eq!(evicted.len(), 1);
    let accepted = EvictOutcome::Accepted;
    story.tell(Event::EvictResult(evicted[0].pod.clone(), accepted));
    assert_eq!(story.binds(), []);
    story.tell(Event::Gone(ObjectKey::Node("small".into())));
    assert_eq!(names(&story.run()), ["alone"]);
}

const LICENCE: &str = "example.com/licence";

/// A node of eight CPUs on which a pod that gives way runs, and a queue that may hold so much.
fn full_node(limit: &[(&str, i64)]) -> Story {
    let mut story = story();
    let mut node = node("n", 8);
    node.allocatable.push((LICENCE.to_owned(), 8));
    story.tell(Event::is(node));
    story.job(&Job {
        lifetime: Some(0),
        ..job("low", "default", 8, 0)
    });
    assert_eq!(story.run().len(), 1);
    limit_queue(&mut story, limit);
    story
}

fn limit_queue(story: &mut Story, limit: &[(&str, i64)]) {
    let limit = limit.iter().map(|(name, most)| ((*name).to_owned(), *most));
    story.tell(Event::is(QueueSpec {
        name: "q".into(),
        uid: "q".into(),
        over_share: 1_000_000,
        excess_budget: Some(u64::MAX),
        limit: limit.collect(),
        ..QueueSpec::default()
    }));
}

/// A gang that goes before the one that gives way.
fn high(min_available: u32) -> GangSpec {
    GangSpec {
        min_available,
        priority: Some(9),
        queue: Some("q".into()),
        ..group("g")
    }
}

/// What may change of a gang while others leave for it, so that it takes more than its queue was asked for: its
/// minimum is raised, a member makes way for a larger one, or asks for more itself.
#[test]
fn a_limit_is_asked_again_for_those_who_take_more_of_the_room_than_it_was_found_for() {
    let raise = |story: &mut Story| story.define(high(2));
    let replace = |story: &mut Story| {
        story.gone("p0");
        story.gone("p1");
        story.submit(pod("p2", Some("g"), 8));
    };
    let edit = |story: &mut Story| {
        for name in ["p0", "p1"] {
            story.submit(pod(name, Some("g"), 8));
        }
    };
    let changes: [fn(&mut Story); 3] = [raise, replace, edit];
    for change in changes {
        let mut story = full_node(&[("cpu", 4_000)]);
        story.define(high(1));
        for name in ["p0", "p1"] {
            story.submit(pod(name, Some("g"), 4));
        }
        assert_eq!(story.evicted(), ["low"]);
        change(&mut story);
        story.gone("low");
        assert_eq!(story.run(), [], "eight are more than four");
        let why = story.why("g");
        assert!(
            why.ends_with("it asks for 8 cpu, and the limit of queue q is 4 cpu"),
            "{why}"
        );
        limit_queue(&mut story, &[("cpu", 8_000)]);
        assert!(!story.run().is_empty());
    }
}

/// The first to be tried asks for most of the CPUs, and fits nowhere, whoever goes.
#[test]
fn nobody_goes_for_members_that_are_more_than_the_limit_of_their_queue() {
    let mut story = full_node(&[(LICENCE, 4)]);
    story.define(high(1));
    let mut first = pod("a", Some("g"), 3);
    first.shape.constraints.selector = [("nobody".into(), "has".into())].into();
    story.submit(first);
    let mut other = pod("b", Some("g"), 1);
    other.shape.requests.push((LICENCE.to_owned(), 6));
    story.submit(other);
    assert_eq!(story.evicted(), [""; 0]);
    let why = story.why("g");
    assert!(why.contains("the limit of queue q is 4"), "{why}");
    limit_queue(&mut story, &[(LICENCE, 6)]);
    assert_eq!(story.evicted(), ["low"]);
    story.gone("low");
    assert_eq!(names(&story.run()), ["b"]);
}
