//! Testbeds whose slots are told in parts.

use super::*;
use muster_model::SliceSpec;

/// `lab` with the first slots of these in itself, the others in a slice.
fn in_parts(nodes: &[&str], in_testbed: usize) -> (TestbedSpec, SliceSpec) {
    let mut testbed = lab(nodes);
    let slice = SliceSpec {
        name: format!("lab.{in_testbed}"),
        testbed: "lab".to_owned(),
        owner: "lab".to_owned(),
        slots: testbed.slots.split_off(in_testbed),
    };
    (testbed, slice)
}

fn story(nodes: &[&str]) -> Story {
    let mut story = Story::new();
    nodes.iter().for_each(|name| story.node(name, 1));
    for position in 0..nodes.len() {
        story.submit(ghost(u32::try_from(position).unwrap()));
    }
    story
}

fn positions(story: &Story) -> Vec<u32> {
    let told = story.scheduler.explain_testbed("lab", story.now);
    told.map_or(Vec::new(), |told| {
        told.slots.iter().map(|slot| slot.position).collect()
    })
}

const THREE: [&str; 3] = ["n0", "n1", "n2"];

#[test]
fn a_testbed_is_whole_whichever_part_of_it_is_told_first() {
    for slice_first in [false, true] {
        let mut story = story(&THREE);
        let (testbed, slice) = in_parts(&THREE, 1);
        if slice_first {
            story.tell(Event::is(slice));
            assert_eq!((story.run(), positions(&story)), (vec![], vec![]));
            story.tell(Event::is(testbed));
        } else {
            story.tell(Event::is(testbed));
            assert_eq!(story.run().len(), 1);
            story.tell(Event::is(slice));
        }
        let _ = story.run();
        assert_eq!(positions(&story), [0, 1, 2]);
        story.submit(claimant("p", None, &[2]));
        assert_eq!(slots_of(&story.seat()), [("p", Some(2))]);
    }
}

#[test]
fn each_part_says_its_own_and_nothing_of_the_others() {
    let mut story = story(&THREE);
    let (testbed, slice) = in_parts(&THREE, 1);
    story.tell(Event::is(testbed.clone()));
    story.tell(Event::is(slice.clone()));
    assert_eq!(story.run().len(), 3);
    story.tell(Event::is(testbed.clone()));
    assert_eq!(positions(&story), [0, 1, 2]);
    let mut greedy = slice.clone();
    greedy.slots.push(SlotSpec {
        node: "n2".to_owned(),
        ..testbed.slots[0].clone()
    });
    story.tell(Event::is(greedy));
    let told = story.scheduler.explain_testbed("lab", story.now).unwrap();
    assert_eq!(told.slots[0].node, "n0", "the Testbed says so");
    let fewer = SliceSpec {
        slots: slice.slots[1..].to_vec(),
        ..slice.clone()
    };
    story.tell(Event::is(fewer));
    assert_eq!(positions(&story), [0, 2]);
    story.tell(Event::Gone(ObjectKey::TestbedSlice(slice.name)));
    assert_eq!(positions(&story), [0]);
}

#[test]
fn who_sits_on_a_slot_of_a_slice_is_known_to_another_process() {
    let mut story = story(&THREE);
    let (testbed, mut slice) = in_parts(&THREE, 1);
    slice.slots[1].occupant = claimant("p", None, &[1, 2]).key.uid;
    story.tell(Event::is(slice));
    story.tell(Event::is(testbed));
    let mut there = claimant("p", None, &[1, 2]);
    there.node = Some("n2".to_owned());
    story.tell(Event::is(there));
    let told = story.scheduler.explain_testbed("lab", story.now).unwrap();
    assert_eq!(told.slots[2].pod.as_deref(), Some("a/p"));
}

#[test]
fn a_slice_of_a_testbed_of_that_name_that_is_gone_says_nothing_of_the_next() {
    let mut story = story(&THREE);
    let (testbed, slice) = in_parts(&THREE, 1);
    story.tell(Event::is(testbed.clone()));
    story.tell(Event::is(slice.clone()));
    let _ = story.run();
    let next = TestbedSpec {
        uid: "another".to_owned(),
        ..testbed
    };
    story.tell(Event::is(next));
    assert_eq!(positions(&story), [0]);
    let its_own = SliceSpec {
        owner: "another".to_owned(),
        slots: slice.slots[..1].to_vec(),
        ..slice.clone()
    };
    story.tell(Event::is(its_own));
    assert_eq!(positions(&story), [0, 1]);
    // Of the one that is gone, late.
    story.tell(Event::is(slice));
    assert_eq!(positions(&story), [0]);
    story.tell(Event::Gone(ObjectKey::Testbed("lab".to_owned())));
    assert_eq!(positions(&story), [] as [u32; 0]);
}

#[test]
fn slots_that_are_resized_are_others_in_every_part() {
    let mut story = story(&THREE);
    let (testbed, slice) = in_parts(&THREE, 1);
    story.tell(Event::is(testbed.clone()));
    story.tell(Event::is(slice));
    assert_eq!(story.run().len(), 3);
    let larger = TestbedSpec {
        request: vec![("cpu".to_owned(), 2_000)],
        ..testbed
    };
    story.tell(Event::is(larger));
    let told = story.scheduler.explain_testbed("lab", story.now).unwrap();
    assert_eq!(positions(&story), [0, 1, 2]);
    assert!(told.slots.iter().all(|slot| !slot.held), "no node has room");
}

/// A process that starts is told the parts of a table one by one: where somebody sits may be told last.
#[test]
fn who_sits_on_a_slot_that_is_told_late_is_not_taken_for_on_another() {
    for seen in [true, false] {
        let mut story = Story::new();
        story.node("n0", 2);
        let mut sitting = claimant("p", None, &[0, 1]);
        sitting.node = Some("n0".to_owned());
        sitting.phase = PodPhase::Running;
        sitting.slot = Some(1);
        let (testbed, mut slice) = in_parts(&["n0", "n0"], 1);
        if seen {
            slice.slots[0].occupant = sitting.key.uid.clone();
        }
        story.submit(sitting);
        story.tell(Event::is(testbed));
        story.tell(Event::is(slice));
        story.submit(claimant("new", None, &[0, 1]));
        assert_eq!(slots_of(&story.run()), [("new", Some(0))], "seen: {seen}");
    }
}

/// While numbers change, two parts may name one ghost: it stands for the first of the slots.
#[test]
fn a_ghost_stands_for_one_slot_in_whatever_order_the_parts_are_told() {
    for (slice_first, shifts) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut story = Story::new();
        story.node("n0", 2);
        story.submit(ghost(0));
        let (testbed, mut slice) = in_parts(&["n0", "n0"], 1);
        slice.slots[0].ghost = "ghost-0".to_owned();
        let mut told = [Event::is(testbed.clone()), Event::is(slice)];
        if slice_first {
            told.reverse();
        }
        told.into_iter().for_each(|event| story.tell(event));
        assert_eq!(story.run().len(), 1);
        if shifts {
            let mut testbed = testbed;
            testbed.slots[0].ghost = "ghost-1".to_owned();
            story.tell(Event::is(testbed));
        }
        story.submit(claimant("p", None, &[1]));
        let (binds, evictions) = story.step();
        let went = if shifts { vec!["ghost-0"] } else { vec![] };
        assert_eq!(evicted(&evictions), went, "{slice_first}, {shifts}");
        assert_eq!(binds.is_empty(), shifts, "{slice_first}, {shifts}");
    }
}
