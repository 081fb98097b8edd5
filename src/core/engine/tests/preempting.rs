//! Who has to go for whom, and what becomes of the room.

use super::jobs::{Job, job, story};
use super::*;

#[test]
fn the_lowest_priority_goes_and_the_room_is_held_until_it_is_gone() {
    let mut story = story();
    story.node("n", 4);
    story.job(&job("low", "default", 2, 1));
    story.job(&job("lower", "default", 2, 0));
    assert_eq!(story.run().len(), 2);
    story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), ["lower"]);
    assert_eq!(story.evicted(), [""; 0], "once is enough");
    // Whoever comes now does not get what is held.
    story.tell(Event::EvictResult(
        story.key("lower"),
        EvictOutcome::Accepted,
    ));
    story.job(&job("sneaks-in", "other", 2, 9));
    assert_eq!(story.binds(), []);
    story.gone("lower");
    assert_eq!(names(&story.run()), ["high"]);
}

/// Whoever goes is followed by another at the same moment, of whom no plan knew.
#[test]
fn for_who_never_comes_to_its_place_others_go_ever_more_rarely() {
    let mut story = story();
    story.node("n", 4);
    let follower = |index: usize| PodSpec {
        node: Some("n".into()),
        ..pod(&format!("low-{index}"), None, 4)
    };
    story.submit(follower(0));
    story.job(&job("high", "default", 4, 9));
    let mut pauses = Vec::new();
    for index in 0..6 {
        let mut pause = 0;
        while story.evicted() != [format!("low-{index}")] {
            story.pass(500);
            pause += 500;
            assert!(pause < 10_000);
        }
        pauses.push(pause);
        story.submit(follower(index + 1));
        story.gone(&format!("low-{index}"));
    }
    assert_eq!(pauses, [0, 0, 0, 1_000, 2_000, 4_000]);
    // It comes to a place of its own: that is forgotten.
    story.node("m", 4);
    assert_eq!(names(&story.run()), ["high"]);
}

#[test]
fn room_that_one_leaves_for_another_counts_once_for_their_queue() {
    let mut story = story();
    story.node("n", 4);
    story.job(&job("low", "default", 4, 1));
    story.run();
    let usage = |story: &mut Story| {
        story.pass(1);
        story.run();
        let queues = story.scheduler.state().queues();
        queues.find("default").unwrap().1.account.flow.usage()
    };
    let before = usage(&mut story);
    story.job(&job("high", "default", 4, 9));
    assert_eq!(story.evicted(), ["low"]);
    assert_eq!(usage(&mut story), before);
    story.gone("low");
    assert_eq!(usage(&mut story), before);
}

#[test]
fn equal_priorities_and_other_queues_within_their_share_are_left_alone() {
    let mut story = story();
    story.node("n", 4);
    story.job(&job("equal", "default", 2, 5));
    story.job(&job("others", "other", 2, 0));
    assert_eq!(story.run().len(), 2);
    story.job(&job("high", "default", 2, 5));
    assert_eq!(story.evicted(), [""; 0]);
}

/// Nobody knows how many of them are needed.
#[test]
fn pods_whose_podgroup_does_not_exist_are_left_alone() {
    let mut story = story();
    story.node("n", 2);
    story.submit(PodSpec {
        node: Some("n".into()),
        phase: PodPhase::Running,
        ..pod("there", Some("undefined"), 2)
    });
    story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), [""; 0]);
}

#[test]
fn nobody_goes_for_a_gang_that_would_not_fit_all_the_same() {
    let mut story = story();
    story.node("n", 4);
    story.job(&job("low", "default", 4, 0));
    assert_eq!(story.run().len(), 1);
    story.job(&job("giant", "default", 5, 9));
    assert_eq!(story.evicted(), [""; 0]);
}

#[test]
fn past_its_lifetime_a_gang_goes_for_a_queue_below_its_share() {
    let mut story = story();
    story.node("n", 4);
    for name in ["a", "b", "c", "d"] {
        story.job(&Job {
            lifetime: Some(10_000),
            ..job(name, "other", 1, 0)
        });
    }
    assert_eq!(story.run().len(), 4);
    story.pass(1_000);
    story.job(&job("entitled", "default", 2, 0));
    assert_eq!(
        story.evicted(),
        [""; 0],
        "they are protected for ten seconds"
    );
    story.pass(9_000);
    let gone = story.evicted();
    assert_eq!(gone.len(), 2);
    for name in &gone {
        story.gone(name);
    }
    assert_eq!(names(&story.run()), ["entitled"]);
    // Both queues hold their share now: nobody has to go for more.
    story.job(&job("more", "default", 1, 0));
    assert_eq!(story.evicted(), [""; 0]);
}

#[test]
fn what_is_beyond_a_minimum_goes_before_whole_gangs() {
    let mut story = story();
    story.node("n", 6);
    story.group("elastic", 2);
    for name in ["e0", "e1", "e2", "e3"] {
        story.pod(name, Some("elastic"));
    }
    story.job(&job("low", "default", 2, -5));
    assert_eq!(story.run().len() + story.run().len(), 5);
    story.job(&job("high", "default", 2, 9));
    let mut gone = story.evicted();
    gone.sort();
    assert_eq!(gone, ["e2", "e3"]);
    assert_eq!(story.status("elastic").phase, GangPhase::Running);
}

#[test]
fn a_victim_that_may_not_be_deleted_is_replaced_by_another() {
    let mut story = story();
    story.node("n", 2);
    story.node("m", 2);
    story.job(&job("first", "default", 2, 0));
    story.job(&job("second", "default", 2, 1));
    assert_eq!(story.run().len(), 2);
    story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), ["first"]);
    let refused = EvictOutcome::Refused {
        message: "kept for the audit".into(),
    };
    story.tell(Event::EvictResult(story.key("first"), refused));
    let mut evicted = Vec::new();
    for _ in 0..3 {
        evicted.extend(story.evicted());
    }
    assert_eq!(evicted, ["second"]);
    story.gone("second");
    assert_eq!(names(&story.run()), ["high"]);
    story.pass(5_000);
    assert_eq!(story.evicted(), [""; 0], "the first is left alone");
    story.scheduler.audit().unwrap();
}

/// 11 nodes of 4 are full of 44 of 1, and a gang wants 11 of 4.
#[test]
fn a_gang_that_needs_every_node_is_found_room_at_once() {
    let mut story = story();
    for index in 0..11 {
        story.node(&format!("n{index}"), 4);
    }
    for index in 0..44 {
        story.job(&job(&format!("small-{index}"), "default", 1, 0));
    }
    assert_eq!(story.run().len(), 44);
    story.define(GangSpec {
        min_available: 11,
        priority: Some(9),
        ..group("large")
    });
    for index in 0..11 {
        story.submit(pod(&format!("large-{index}"), Some("large"), 4));
    }
    let gone = story.evicted();
    assert_eq!(gone.len(), 44);
    for name in &gone {
        assert_eq!(story.binds(), [], "not before the last has left");
        story.gone(name);
    }
    assert_eq!(story.run().len(), 11);
    story.scheduler.audit().unwrap();
}

#[test]
fn who_is_not_in_the_way_stays() {
    let mut story = story();
    story.node("n", 2);
    story.node("m", 4);
    story.job(&job("small", "default", 2, 0));
    story.job(&job("large", "default", 4, 1));
    assert_eq!(story.run().len(), 2);
    // Only the larger node will do: the less important one on the other stays.
    story.job(&job("high", "default", 3, 9));
    assert_eq!(story.evicted(), ["large"]);
}

#[test]
fn room_that_is_held_for_a_gang_that_goes_away_is_free_again() {
    let mut story = story();
    story.node("n", 2);
    story.job(&job("low", "default", 2, 0));
    assert_eq!(story.run().len(), 1);
    let high = story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), ["low"]);
    story.tell(Event::Gone(ObjectKey::Pod(high)));
    story.gone("low");
    story.job(&job("next", "other", 2, 0));
    assert_eq!(names(&story.run()), ["next"]);
}

/// A gang that runs, as a process finds it that starts now, with when each member was bound.
fn found_running(story: &mut Story, name: &str, bound_at: &[u64]) {
    story.define(GangSpec {
        min_available: 2,
        queue: Some("other".into()),
        lifetime: Some(Millis(10_000)),
        ..group(name)
    });
    for (index, at) in bound_at.iter().enumerate() {
        story.submit(PodSpec {
            node: Some("n".into()),
            bound_at: Some(Time(*at)),
            phase: PodPhase::Running,
            ..pod(&format!("{name}-{index}"), Some(name), 1)
        });
    }
}

#[test]
fn a_lifetime_counts_from_the_binding_whoever_ordered_it() {
    let mut story = story();
    story.node("n", 2);
    story.pass(60_000);
    found_running(&mut story, "found", &[52_000, 55_000]);
    story.job(&job("entitled", "default", 1, 0));
    assert_eq!(story.evicted(), [""; 0], "protected until 62 s");
    story.pass(1_999);
    assert_eq!(story.evicted(), [""; 0]);
    // A member is replaced: that is no new life.
    let lost = story.key("found-0");
    story.tell(Event::Gone(ObjectKey::Pod(lost)));
    story.submit(PodSpec {
        node: Some("n".into()),
        bound_at: Some(story.now),
        ..pod("found-2", Some("found"), 1)
    });
    story.pass(1);
    assert_eq!(story.evicted().len(), 2);
}

#[test]
fn a_binding_in_the_future_is_one_of_now() {
    let mut story = story();
    story.node("n", 2);
    story.pass(60_000);
    found_running(&mut story, "found", &[90_000, 90_000]);
    story.job(&job("entitled", "default", 1, 0));
    assert_eq!(story.evicted(), [""; 0]);
    story.pass(10_000);
    assert_eq!(story.evicted().len(), 2);
}

#[test]
fn a_gang_that_was_off_its_nodes_starts_a_new_life() {
    let mut story = story();
    story.node("n", 2);
    story.pass(60_000);
    found_running(&mut story, "found", &[51_000, 51_000]);
    story.later(0);
    for name in ["found-0", "found-1"] {
        let key = story.key(name);
        story.tell(Event::Gone(ObjectKey::Pod(key)));
    }
    story.later(0);
    for name in ["found-3", "found-4"] {
        story.submit(PodSpec {
            node: Some("n".into()),
            bound_at: Some(story.now),
            ..pod(name, Some("found"), 1)
        });
    }
    story.job(&job("entitled", "default", 1, 0));
    story.pass(9_999);
    assert_eq!(story.evicted(), [""; 0]);
    story.pass(1);
    assert_eq!(story.evicted().len(), 2);
}
