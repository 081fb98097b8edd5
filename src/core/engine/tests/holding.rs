//! Room that is held for members that are not there yet: from when, for whom, and until when.

use super::*;
use muster_model::explanation::ClaimKind;
use muster_model::resources::Dimension;
use muster_model::{Labels, NodeSpec, Reservation, Source, Taint};

fn asking(name: &str, min: u32, cpus: i64) -> GangSpec {
    GangSpec {
        min_available: min,
        min_resources: vec![("cpu".to_owned(), cpus * 1000)],
        ..group(name)
    }
}

impl Story {
    /// What is free on a node, in CPUs.
    fn free(&self, node: &str) -> i64 {
        let nodes = self.scheduler.state().nodes();
        nodes.free(nodes.find(node).unwrap(), Dimension::CPU) / 1000
    }
}

#[test]
fn what_a_driver_leaves_of_it_is_held_for_those_it_makes() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(asking("a", 1, 3));
    story.pod("driver", Some("a"));
    assert_eq!(names(&story.run()), ["driver"]);
    assert_eq!(story.free("n"), 1, "1 for the driver, 2 held");
    story.pod("other", None);
    story.pod("another", None);
    assert_eq!(names(&story.run()), ["other"]);
    story.pod("e0", Some("a"));
    assert_eq!(names(&story.run()), ["e0"]);
    assert_eq!(story.free("n"), 0, "1 held still");
    story.pod("e1", Some("a"));
    assert_eq!(names(&story.run()), ["e1"]);
}

#[test]
fn what_is_claimed_is_told_and_counted_by_kind() {
    let kinds = |story: &Story, name: &str| -> Vec<(ClaimKind, usize, Option<Time>)> {
        let explained = story.scheduler.explain_gang(&key(name), story.now, 0);
        let claims = explained.unwrap().claims.into_iter();
        claims.map(|one| (one.kind, one.nodes, one.until)).collect()
    };
    let mut story = Story::new();
    story.node("n", 4);
    story.define(GangSpec {
        priority: Some(9),
        ..asking("held", 1, 2)
    });
    story.binds();
    // Two are taken by somebody less important, who does not leave at once.
    story.submit(pod("low", None, 2));
    assert_eq!(names(&story.run()), ["low"]);
    story.define(GangSpec {
        min_available: 1,
        priority: Some(5),
        ..group("nominated")
    });
    story.submit(pod("p", Some("nominated"), 2));
    assert_eq!(story.step().1.len(), 1);
    let in_ten_minutes = Some(Time(600_000));
    assert_eq!(
        kinds(&story, "held"),
        [(ClaimKind::Held, 1, in_ten_minutes)]
    );
    assert_eq!(
        kinds(&story, "nominated"),
        [(ClaimKind::Nominated, 1, None)]
    );
    assert_eq!(story.scheduler.stats().claims, [0, 1, 1, 0, 0, 0]);
    story.tell(Event::Gone(ObjectKey::Gang(key("held"), Source::Muster)));
    assert_eq!(names(&story.run()), ["p"], "there is room at once");
    assert_eq!(story.scheduler.stats().claims, [0; 6]);
}

/// A place is reserved for the head of the queue where room is held.
#[test]
fn what_is_left_is_held_though_somebody_waits_for_the_same_room() {
    let mut story = Story::new();
    story.node("n", 2);
    story.define(asking("a", 0, 2));
    story.binds();
    assert_eq!(story.free("n"), 0, "all of it is held");
    // For so long the place of a head is not reserved where nobody knows when it will be free.
    story.submit(pod("head", None, 2));
    assert_eq!(story.binds(), []);
    story.pass(300_000);
    assert_eq!(story.binds(), []);
    assert!(story.scheduler.reserved().next().is_some());
    story.node("m", 1);
    story.pod("e", Some("a"));
    assert_eq!(names(&story.run()), ["e"]);
    let state = story.scheduler.state();
    let id = state.find_gang(&key("a")).unwrap();
    let held = state.held_for(id).unwrap().sum();
    assert_eq!(held.get(Dimension::CPU), 1_000);
}

#[test]
fn who_may_go_where_its_own_room_is_held_goes_there() {
    let mut story = Story::new();
    let taint = Taint {
        key: "t".to_owned(),
        ..Taint::default()
    };
    story.tell(Event::is(NodeSpec {
        taints: vec![taint],
        ..node("n", 2)
    }));
    story.define(asking("a", 1, 2));
    story.binds();
    assert_eq!(story.free("n"), 0, "all of it is held");
    story.node("m", 1);
    story.pod("runs", None);
    assert_eq!(names(&story.run()), ["runs"]);
    story.pod("p", Some("a"));
    assert_eq!(story.binds(), [], "it may not go there");
    story.pass(300_000);
    assert_eq!(story.binds(), []);
    assert!(story.scheduler.reserved().next().is_some());
    story.node("n", 2);
    assert_eq!(names(&story.run()), ["p"]);
    assert_eq!(story.scheduler.stats().sweep_rescues, 0);
}

#[test]
fn a_bind_that_comes_back_does_not_take_more_than_there_is() {
    let mut story = Story::new();
    story.node("n", 2);
    story.define(asking("a", 0, 2));
    story.pod("p", Some("a"));
    let binds = story.binds();
    assert_eq!((names(&binds), story.free("n")), (vec!["p"], 0));
    story.refused(&binds[0]);
    story.pod("other", None);
    assert!(
        story.run().is_empty(),
        "what the bind gave back is held again"
    );
    story.node("m", 4);
    story.submit(pod("large", Some("a"), 3));
    let mut bound = BTreeSet::new();
    for _ in 0..4 {
        bound.extend(story.run().into_iter().map(|bind| bind.pod.name));
        assert!(story.free("n") >= 0 && story.free("m") >= 0);
        story.pass(60_000);
    }
    let expected = ["p", "large", "other"].map(str::to_owned);
    assert_eq!(bound, BTreeSet::from(expected));
}

#[test]
fn who_has_lost_its_room_with_a_node_is_let_in_anew() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(asking("a", 2, 4));
    story.step();
    assert_eq!(story.status("a").phase, GangPhase::Inqueue);
    story.tell(Event::Gone(ObjectKey::Node("n".into())));
    story.step();
    assert_eq!(story.status("a").phase, GangPhase::Pending);
    story.node("m", 4);
    story.step();
    assert_eq!(story.status("a").phase, GangPhase::Inqueue);
    assert_eq!(story.free("m"), 0);
}

#[test]
fn who_asks_for_more_is_let_in_anew_and_who_asks_for_less_gives_back() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(asking("a", 2, 3));
    story.step();
    assert_eq!(story.free("n"), 1);
    story.define(asking("a", 2, 5));
    story.step();
    assert_eq!(story.status("a").phase, GangPhase::Pending);
    story.define(asking("a", 2, 2));
    story.step();
    assert_eq!(story.status("a").phase, GangPhase::Inqueue);
    assert_eq!(story.free("n"), 2);
}

#[test]
fn a_new_leader_holds_for_a_driver_what_is_free() {
    let mut story = Story::new();
    story.define(asking("a", 1, 3));
    story.node("n", 4);
    story.submit(PodSpec {
        node: Some("n".into()),
        phase: PodPhase::Running,
        ..pod("driver", Some("a"), 1)
    });
    story.pod("other", None);
    story.pod("another", None);
    story.run();
    story.run();
    assert_eq!(story.free("n"), 0);
    story.pod("e0", Some("a"));
    story.pod("e1", Some("a"));
    let mut bound = names(&story.run()).len();
    bound += names(&story.run()).len();
    assert_eq!(bound, 2, "its executors have what was held");
}

#[test]
fn what_is_held_counts_in_the_books_of_the_queue_once() {
    let mut story = Story::new();
    story.node("n", 8);
    story.tell(Event::is(QueueSpec {
        name: "q".into(),
        limit: vec![("cpu".to_owned(), 4000)],
        ..QueueSpec::default()
    }));
    let in_queue = |spec| GangSpec {
        queue: Some("q".to_owned()),
        ..spec
    };
    story.define(in_queue(asking("a", 4, 4)));
    story.step();
    assert_eq!(story.status("a").phase, GangPhase::Inqueue);
    story.define(in_queue(asking("b", 1, 1)));
    story.step();
    assert_eq!(story.status("b").phase, GangPhase::Pending);
    assert!(
        story.why("b").starts_with("QueueLimit"),
        "{}",
        story.why("b")
    );
    // What its members ask is what was held for them.
    for name in ["a0", "a1", "a2", "a3"] {
        story.pod(name, Some("a"));
    }
    assert_eq!(story.run().len(), 4);
}

#[test]
fn room_that_nobody_uses_is_given_up_and_asked_for_anew_behind_the_others() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(asking("idle", 4, 4));
    story.step();
    story.pod("other", None);
    assert!(story.run().is_empty());
    story.pass(600_000);
    let bound = story.run();
    assert_eq!(names(&bound), ["other"]);
    assert_eq!(story.status("idle").phase, GangPhase::Pending);
    assert_eq!(
        story.why("idle"),
        "Released: room was held for its minResources for 600s, and nobody used it"
    );
    story.tell(Event::Gone(ObjectKey::Pod(bound[0].pod.clone())));
    story.pass(10_000);
    story.step();
    assert_eq!(story.status("idle").phase, GangPhase::Inqueue);
}

#[test]
fn a_driver_that_makes_nobody_keeps_its_own_room_alone() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(asking("a", 1, 4));
    story.pod("driver", Some("a"));
    story.run();
    assert_eq!(story.free("n"), 0);
    story.pass(300_000);
    story.pod("e0", Some("a"));
    story.run();
    story.pass(300_000);
    story.run();
    assert_eq!(story.free("n"), 0, "somebody came to it");
    story.pass(300_000);
    story.run();
    assert_eq!(story.free("n"), 2);
    assert_eq!(story.status("a").phase, GangPhase::Running);
}

/// A story in which a gang was let in on three CPUs and has a driver and so many executors of five that came.
fn with_executors(came: usize, node: i64) -> Story {
    let mut story = Story::new();
    story.node("n", node);
    story.define(asking("a", 1, 3));
    story.pod("driver", Some("a"));
    assert_eq!(names(&story.run()), ["driver"]);
    for index in 0..came {
        story.pod(&format!("e{index}"), Some("a"));
        story.run();
    }
    story
}

/// Whom it sends away in a minute.
fn evicted(story: &mut Story) -> Vec<String> {
    let mut gone = Vec::new();
    for _ in 0..60 {
        story.pass(1_000);
        let evictions = story.step().1;
        gone.extend(evictions.into_iter().map(|one| one.pod.name));
    }
    gone
}

#[test]
fn who_came_to_room_that_was_held_is_not_surplus() {
    let mut story = with_executors(2, 3);
    story.pod("other", None);
    assert_eq!(evicted(&mut story), Vec::<String>::new());
    // Beyond what it asks for they are.
    let mut story = with_executors(3, 4);
    story.pod("other", None);
    assert_eq!(evicted(&mut story), ["e2"]);
}

#[test]
fn who_asks_for_more_when_it_runs_does_not_keep_more_for_that() {
    let mut story = with_executors(3, 4);
    story.define(asking("a", 1, 4));
    story.pod("other", None);
    assert_eq!(evicted(&mut story), ["e2"]);
}

#[test]
fn who_asks_for_less_keeps_less() {
    let mut story = with_executors(2, 3);
    story.define(asking("a", 1, 2));
    story.pod("other", None);
    assert_eq!(evicted(&mut story), ["e1"]);
}

#[test]
fn who_asks_as_its_pods_do_keeps_its_minimum() {
    let mut story = Story::new();
    story.node("n", 3);
    story.define(asking("a", 1, 3));
    for name in ["a0", "a1", "a2"] {
        story.pod(name, Some("a"));
    }
    assert_eq!(story.run().len(), 3);
    story.pod("other", None);
    assert_eq!(evicted(&mut story), ["a2"]);
}

#[test]
fn the_next_process_knows_what_was_held_by_who_is_there() {
    let mut story = Story::new();
    story.node("n", 3);
    story.define(asking("a", 1, 3));
    for name in ["driver", "e0", "e1"] {
        story.submit(PodSpec {
            node: Some("n".to_owned()),
            phase: PodPhase::Running,
            ..pod(name, Some("a"), 1)
        });
    }
    story.run();
    story.pod("other", None);
    assert_eq!(evicted(&mut story), Vec::<String>::new());
}

/// A node with a label, and so many CPUs.
fn labelled(name: &str, pool: &str, cpus: i64) -> NodeSpec {
    NodeSpec {
        labels: Labels::from([("pool".to_owned(), pool.to_owned())]),
        ..node(name, cpus)
    }
}

#[test]
fn room_is_held_on_nodes_that_the_podgroup_selects_and_nowhere_else() {
    let mut story = Story::new();
    story.tell(Event::is(labelled("large", "other", 9)));
    story.tell(Event::is(labelled("small", "own", 3)));
    let own = |name: &str| GangSpec {
        node_selector: Labels::from([("pool".to_owned(), "own".to_owned())]),
        ..asking(name, 1, 2)
    };
    story.define(own("a"));
    story.step();
    assert_eq!((story.free("large"), story.free("small")), (9, 1));
    // The other driver would have room, and its executors would not.
    story.define(own("b"));
    story.pod("driver", Some("b"));
    assert_eq!(story.binds(), []);
    assert_eq!(story.status("b").phase, GangPhase::Pending);
    let why = story.why("b");
    assert!(
        why.contains("minResources: 2 cpu wanted, 1 cpu free"),
        "{why}"
    );
    story.tell(Event::is(labelled("large", "own", 9)));
    assert_eq!(names(&story.run()), ["driver"]);
}

#[test]
fn room_is_held_first_where_members_that_wait_may_go() {
    let mut story = Story::new();
    story.tell(Event::is(labelled("large", "other", 9)));
    story.tell(Event::is(labelled("small", "own", 3)));
    let mut driver = pod("driver", Some("a"), 1);
    driver.shape.constraints.selector = Labels::from([("pool".to_owned(), "own".to_owned())]);
    story.submit(driver);
    story.define(asking("a", 1, 5));
    assert_eq!(names(&story.run()), ["driver"]);
    // Executors may be meant for other nodes: what has no room there is held elsewhere.
    assert_eq!((story.free("large"), story.free("small")), (7, 0));
}

#[test]
fn what_was_kept_for_executors_that_are_deleted_while_they_wait_is_free_in_the_same_cycle() {
    let mut story = Story::new();
    story.node("n", 4);
    story.tell(Event::is(QueueSpec {
        name: "default".into(),
        reservation: Reservation::Strict,
        ..QueueSpec::default()
    }));
    story.define(asking("a", 1, 2));
    story.pod("driver", Some("a"));
    assert_eq!(names(&story.run()), ["driver"]);
    story.group("wave", 2);
    let wave = ["e0", "e1"].map(|name| story.submit(pod(name, Some("wave"), 2)));
    assert_eq!(story.binds(), []);
    story.pod("other", None);
    assert_eq!(story.binds(), [], "nobody passes the head of its queue");
    for key in wave {
        story.tell(Event::Gone(ObjectKey::Pod(key)));
    }
    assert_eq!(names(&story.binds()), ["other"]);
    // And with the group goes what is held for those that it has yet to make.
    assert_eq!(story.free("n"), 1);
    story.tell(Event::Gone(ObjectKey::Gang(key("a"), Source::Muster)));
    story.pod("another", None);
    story.pod("third", None);
    assert_eq!(story.binds().len(), 2);
}
