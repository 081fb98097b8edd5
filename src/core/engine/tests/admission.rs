//! Who is let in, and what is set aside for them.

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
            .starts_with("NotEnoughResources: minResources: 3000m cpu wanted")
    );
    story.node("m", 4);
    story.step();
    assert_eq!(story.status("b").phase, GangPhase::Inqueue);
}
