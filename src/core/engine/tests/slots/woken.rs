//! Who waits for a slot is tried again when something changes that may help, and need not wait for the sweep.

use super::*;
use muster_model::{LabelCondition, LabelRequirement};

/// Of everybody who waits nobody is tried again: there is nothing more to do.
fn rests(story: &mut Story) {
    for _ in 0..3 {
        assert_eq!(story.step(), (vec![], vec![]));
        story.pass(1_000);
    }
    assert!(!story.scheduler.wants_cycle());
}

#[test]
fn by_a_pod_that_gives_up_a_slot_which_it_never_got() {
    let mut story = Story::with_lab(&["n0"], 4, &["n0"]);
    let first = story.submit(claimant("first", None, &[0]));
    let (_, evictions) = story.step();
    assert_eq!(evicted(&evictions), ["ghost-0"]);
    story.submit(claimant("second", None, &[0]));
    rests(&mut story);
    story.tell(Event::Gone(ObjectKey::Pod(first)));
    assert_eq!(
        story.step(),
        (vec![], vec![]),
        "the ghost is asked to go only once"
    );
    story.ghosts_gone(&evictions);
    assert_eq!(slots_of(&story.run()), [("second", Some(0))]);
}

#[test]
fn by_a_pod_that_is_deleted_while_its_ghost_is_gone() {
    let mut story = Story::with_lab(&["n0"], 4, &["n0"]);
    let first = story.submit(claimant("first", None, &[0]));
    let (_, evictions) = story.step();
    story.ghosts_gone(&evictions);
    assert_eq!(slots_of(&story.binds()), [("first", Some(0))]);
    story.submit(claimant("second", None, &[0]));
    rests(&mut story);
    story.tell(Event::Gone(ObjectKey::Pod(first)));
    assert_eq!(slots_of(&story.run()), [("second", Some(0))]);
}

#[test]
fn by_a_namespace_that_may_claim_from_now_on() {
    let mut story = Story::with_lab(&["n0"], 4, &["n0"]);
    let mut closed = lab(&["n0"]);
    closed.namespace_selector = Some(LabelSelector {
        requirements: vec![LabelRequirement {
            key: "lab".to_owned(),
            holds: LabelCondition::Exists,
        }],
    });
    let mut namespace = NamespaceSpec {
        name: "a".to_owned(),
        ..NamespaceSpec::default()
    };
    story.tell(Event::is(namespace.clone()));
    story.tell(Event::is(closed));
    story.submit(claimant("p", None, &[0]));
    rests(&mut story);
    namespace.labels.insert("lab".to_owned(), String::new());
    story.tell(Event::is(namespace));
    let (_, evictions) = story.step();
    assert_eq!(evicted(&evictions), ["ghost-0"]);
}

#[test]
fn by_a_testbed_that_is_opened() {
    let mut story = Story::with_lab(&["n0"], 4, &["n0"]);
    let mut closed = lab(&["n0"]);
    closed.namespace_selector = Some(LabelSelector::nothing());
    story.tell(Event::is(NamespaceSpec {
        name: "a".to_owned(),
        ..NamespaceSpec::default()
    }));
    story.tell(Event::is(closed));
    story.submit(claimant("p", None, &[0]));
    rests(&mut story);
    story.tell(Event::is(lab(&["n0"])));
    let (_, evictions) = story.step();
    assert_eq!(evicted(&evictions), ["ghost-0"]);
}
