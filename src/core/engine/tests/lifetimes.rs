//! From when a lifetime counts: from the binding, whoever ordered it.

use super::jobs::{job, story};
use super::*;

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

/// A watch tells only after the answer when somebody was bound.
#[test]
fn a_lifetime_whose_beginning_becomes_known_later_ends_in_time() {
    let mut story = story();
    story.node("n", 2);
    story.pass(60_000);
    found_running(&mut story, "found", &[]);
    let member = |index: u32, bound_at: Option<Time>| PodSpec {
        node: Some("n".into()),
        phase: PodPhase::Running,
        bound_at,
        ..pod(&format!("found-{index}"), Some("found"), 1)
    };
    for index in 0..2 {
        story.submit(member(index, None));
    }
    story.later(0);
    story.submit(member(0, Some(Time(60_000))));
    story.later(0);
    story.pass(10_000);
    story.job(&job("entitled", "default", 1, 0));
    assert_eq!(story.evicted().len(), 2);
}
