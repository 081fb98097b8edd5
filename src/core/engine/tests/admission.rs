//! Who is let in, and what is held for them.

use super::*;

#[test]
fn a_gang_whose_queue_is_deleted_keeps_no_room_from_others() {
    let room = vec![("cpu".to_owned(), 3000)];
    let queue = || QueueSpec {
        name: "team".into(),
        ..QueueSpec::default()
    };
    for leave in [
        Event::Gone(ObjectKey::Queue("team".into())),
        Event::Gone(ObjectKey::Gang(key("a"), muster_model::Source::Muster)),
    ] {
        let mut story = Story::new();
        story.node("n", 4);
        story.tell(Event::is(queue()));
        for (name, queue) in [("a", Some("team".to_owned())), ("b", None)] {
            story.define(GangSpec {
                min_resources: room.clone(),
                queue,
                ..group(name)
            });
            story.step();
        }
        assert_eq!(story.status("b").phase, GangPhase::Pending);
        story.tell(leave);
        story.step();
        assert_eq!(story.status("b").phase, GangPhase::Inqueue);
    }
}

#[test]
fn a_definition_that_does_not_count_changes_nothing() {
    let mut story = Story::new();
    story.node("n", 4);
    let room = |cpus: i64| vec![("cpu".to_owned(), cpus * 1000)];
    story.define(GangSpec {
        min_resources: room(3),
        ..group("a")
    });
    story.define(GangSpec {
        min_resources: room(1),
        source: muster_model::Source::Volcano,
        ..group("a")
    });
    story.define(GangSpec {
        min_resources: room(2),
        ..group("b")
    });
    story.step();
    assert_eq!(story.status("a").phase, GangPhase::Inqueue);
    assert_eq!(story.status("b").phase, GangPhase::Pending);
}

#[test]
fn a_group_without_pods_is_admitted_when_its_room_is_free() {
    let mut story = Story::new();
    story.node("n", 4);
    let room = vec![("cpu".to_owned(), 3000)];
    story.define(GangSpec {
        min_available: 1,
        min_resources: room.clone(),
        ..group("a")
    });
    story.step();
    assert_eq!(story.status("a").phase, GangPhase::Inqueue);
    story.define(GangSpec {
        min_available: 1,
        min_resources: room,
        ..group("b")
    });
    story.step();
    assert_eq!(story.status("b").phase, GangPhase::Pending);
    assert!(
        story
            .why("b")
            .starts_with("NotEnoughResources: minResources: 3 cpu wanted")
    );
    // Nor does a pod find room there, and it is told why, for kubectl shows four free.
    story.define(GangSpec {
        min_available: 1,
        ..group("c")
    });
    story.submit(pod("c0", Some("c"), 2));
    story.step();
    let why = story.why("c");
    assert!(
        why.ends_with("(closest is node n, short of 1 cpu) (3 cpu held for other gangs)"),
        "{why}"
    );
    story.node("m", 4);
    story.step();
    assert_eq!(story.status("b").phase, GangPhase::Inqueue);
}

#[test]
fn what_members_that_are_there_ask_for_they_ask_for_as_pods() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(GangSpec {
        min_available: 4,
        ..group("low")
    });
    for name in ["l0", "l1", "l2", "l3"] {
        story.pod(name, Some("low"));
    }
    assert_eq!(story.run().len(), 4);
    story.define(GangSpec {
        min_available: 4,
        priority: Some(10),
        min_resources: vec![("cpu".to_owned(), 4000)],
        ..group("high")
    });
    for name in ["h0", "h1", "h2", "h3"] {
        story.pod(name, Some("high"));
    }
    let (_, evictions) = story.step();
    assert_eq!(evictions.len(), 4);
    assert_eq!(story.status("high").phase, GangPhase::Inqueue);
}

#[test]
fn a_gang_that_has_ended_claims_nothing() {
    let mut story = Story::new();
    story.node("n", 4);
    let gang = |name| GangSpec {
        min_available: 1,
        min_resources: vec![("cpu".to_owned(), 4000)],
        ..group(name)
    };
    story.define(gang("a"));
    story.pod("driver", Some("a"));
    assert_eq!(story.run().len(), 1);
    story.define(gang("b"));
    story.step();
    assert!(
        story.why("b").contains("3 cpu held for other gangs"),
        "{}",
        story.why("b")
    );
    // The driver stays, as its PodGroup does, until somebody deletes it.
    story.submit(PodSpec {
        phase: PodPhase::Succeeded,
        node: Some("n".into()),
        ..pod("driver", Some("a"), 1)
    });
    story.step();
    assert_eq!(story.status("a").phase, GangPhase::Finished);
    assert_eq!(story.status("b").phase, GangPhase::Inqueue);
}

#[test]
fn what_members_once_had_is_not_claimed_again() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(GangSpec {
        min_available: 1,
        min_resources: vec![("cpu".to_owned(), 4000)],
        ..group("a")
    });
    for name in ["driver", "e0", "e1", "e2"] {
        story.pod(name, Some("a"));
    }
    for _ in 0..4 {
        story.run();
    }
    // It needs fewer now.
    for name in ["e0", "e1", "e2"] {
        let key = pod(name, Some("a"), 1).key;
        story.tell(Event::Gone(ObjectKey::Pod(key)));
    }
    story.define(GangSpec {
        min_available: 1,
        min_resources: vec![("cpu".to_owned(), 3000)],
        ..group("b")
    });
    story.step();
    assert_eq!(story.status("b").phase, GangPhase::Inqueue);
}

#[test]
fn a_queue_and_its_child_that_are_deleted_at_one_moment_go_in_whichever_order_they_are_told() {
    let queue = |name: &str, parent: Option<&str>| QueueSpec {
        name: name.into(),
        parent: parent.map(str::to_owned),
        ..QueueSpec::default()
    };
    for order in [["parent", "child"], ["child", "parent"]] {
        let mut story = Story::new();
        story.node("n", 4);
        story.tell(Event::is(queue("parent", None)));
        story.tell(Event::is(queue("child", Some("parent"))));
        story.define(GangSpec {
            min_available: 1,
            queue: Some("child".into()),
            ..group("runs")
        });
        story.pod("p", Some("runs"));
        assert_eq!(story.run().len(), 1);
        story.define(GangSpec {
            min_available: 1,
            queue: Some("child".into()),
            ..group("waits")
        });
        story.submit(pod("q", Some("waits"), 4));
        assert_eq!(story.run(), []);
        for name in order {
            story.tell(Event::Gone(ObjectKey::Queue(name.into())));
            story.scheduler.audit().unwrap();
        }
        story.step();
        story.scheduler.audit().unwrap();
        assert!(
            story.why("waits").contains("child"),
            "{}",
            story.why("waits")
        );
    }
}
