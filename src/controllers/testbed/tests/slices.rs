//! Testbeds whose slots are in several objects.

use super::world::{World, node_key, slice_key, spec, testbed_key};
use crate::{Answer, Deed, Machine, Observation, Resource, Write};
use muster_model::units::Millis;
use serde_json::json;

/// Four nodes of two slots each: three of them the Testbed says itself, and two each slice.
fn world() -> World {
    let mut world = World::of_small_parts();
    for (number, name) in ["node-a", "node-b", "node-c", "node-d"].iter().enumerate() {
        world.node(name, Some(&number.to_string()), 8);
    }
    world.testbed("bed", spec(2, "1"));
    world.rest();
    world
}

const EIGHT: [&str; 8] = [
    "0 node-a/0 Free",
    "1 node-b/0 Free",
    "2 node-c/0 Free",
    "3 node-d/0 Free",
    "4 node-a/1 Free",
    "5 node-b/1 Free",
    "6 node-c/1 Free",
    "7 node-d/1 Free",
];

fn sizes(sizes: &[(&str, usize)]) -> Vec<(String, usize)> {
    let sizes = sizes.iter();
    sizes
        .map(|(name, size)| ((*name).to_owned(), *size))
        .collect()
}

#[test]
fn what_the_status_has_no_room_for_is_in_slices() {
    let world = world();
    assert_eq!(world.slots("bed"), EIGHT);
    let found = sizes(&[("bed.3", 2), ("bed.5", 2), ("bed.7", 1)]);
    assert_eq!(world.sizes_of_slices(), found);
    let own = &world.objects[&testbed_key("bed")]["status"];
    assert_eq!(own["slots"].as_array().unwrap().len(), 3);
    assert_eq!((&own["total"], &own["free"]), (&json!(8), &json!(8)));
    assert_eq!(world.ghosts().len(), 8);
    assert_eq!(world.ready("bed").0, "Held");
    let slice = &world.objects[&slice_key("bed.3")];
    let owner = &slice["metadata"]["ownerReferences"][0];
    assert_eq!(
        owner["uid"],
        world.objects[&testbed_key("bed")]["metadata"]["uid"]
    );
    assert_eq!(owner["controller"], json!(true));
}

#[test]
fn at_rest_nothing_is_written_and_a_new_machine_writes_nothing() {
    let mut world = world();
    world.take("p", 6);
    world.rest();
    let count = world.written.len();
    world.rest();
    world.restart();
    world.rest();
    assert_eq!(world.written.len(), count);
    assert_eq!(world.slots("bed")[6], "6 node-c/1 Occupied p");
}

#[test]
fn who_sits_on_a_slot_of_a_slice_keeps_it_across_a_restart() {
    let mut world = world();
    let pod = world.take("p", 6);
    world.rest();
    world.restart();
    world.edit(&pod, |pod| {
        pod["metadata"]["labels"]["muster.dev/slots"] = json!("2_6");
        pod["metadata"]["annotations"] = json!({"muster.dev/slot": "2"});
    });
    world.rest();
    assert_eq!(world.slots("bed")[6], "6 node-c/1 Occupied p");
    assert_eq!(world.slots("bed")[2], EIGHT[2]);
}

#[test]
fn nothing_is_numbered_before_all_slices_are_told() {
    let mut world = world();
    world.edit(&node_key("node-a"), |node| {
        node["metadata"]["labels"] = json!({});
    });
    world.rest();
    let before = world.slots("bed");
    let settings = world.machine.settings.clone();
    world.machine = crate::testbed::Testbeds::new(settings);
    for resource in world.machine.needs() {
        if resource != Resource::TestbedSlices {
            world.list(resource);
        }
    }
    assert_eq!(world.machine.due(world.now, 99), []);
    assert_eq!(world.machine.wakes_at(), None);
    world.list(Resource::TestbedSlices);
    world.rest();
    assert_eq!(world.slots("bed"), before);
}

#[test]
fn a_change_is_written_only_where_it_is() {
    let mut world = world();
    world.now = world.now + Millis(5_000);
    world.take("p", 6);
    while world.hear(Resource::Pods) {}
    let writes = world.machine.due(world.now, 9);
    let words: Vec<(&str, Vec<&str>)> = writes
        .iter()
        .map(|write| match &write.deed {
            Deed::PatchStatus { operations, .. } | Deed::Patch { operations, .. } => {
                let paths = operations.iter().map(|one| one["path"].as_str().unwrap());
                (write.on.name.as_str(), paths.collect())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        words,
        [
            ("bed", vec!["/status/free", "/status/occupied"]),
            ("bed.5", vec!["/spec/slots/1"])
        ]
    );
    for write in &writes {
        let answer = world.carry_out(write);
        world.machine.answered(write.ticket, answer, world.now);
    }
    world.take("q", 5);
    while world.hear(Resource::Pods) {}
    assert_eq!(world.machine.due(world.now + Millis(999), 9), []);
    assert_eq!(world.machine.due(world.now + Millis(1_000), 9).len(), 2);
}

#[test]
fn a_slice_without_slots_goes_and_comes_back() {
    let mut world = world();
    world.testbed("bed", spec(1, "1"));
    world.rest();
    assert_eq!(world.sizes_of_slices(), sizes(&[("bed.3", 1)]));
    assert_eq!(world.slots("bed"), EIGHT[..4]);
    world.testbed("bed", spec(2, "1"));
    world.rest();
    assert_eq!(world.slots("bed"), EIGHT);
}

#[test]
fn a_slice_that_somebody_deletes_or_edits_is_made_anew() {
    let mut world = world();
    world.remove(&slice_key("bed.5"));
    world.rest();
    assert_eq!(world.slots("bed"), EIGHT);
    world.edit(&slice_key("bed.5"), |slice| {
        slice["spec"]["slots"] = json!([]);
    });
    world.rest();
    assert_eq!(world.slots("bed"), EIGHT);
    world.edit(&slice_key("bed.5"), |slice| {
        slice["spec"]["slots"][0]["state"] = json!("Occupied");
    });
    world.rest();
    assert_eq!(world.slots("bed"), EIGHT);
}

#[test]
fn news_of_the_slice_that_was_there_before_changes_nothing() {
    let mut world = world();
    let mut before = world.objects[&slice_key("bed.5")].clone();
    before["metadata"]["uid"] = json!("before");
    before["metadata"]["resourceVersion"] = json!("1");
    before["spec"]["slots"] = json!([]);
    let news = Observation::read(Resource::TestbedSlices, before).unwrap();
    world.machine.observe(news, world.now);
    assert_eq!(world.machine.due(world.now + Millis(60_000), 10), []);
    assert_eq!(world.slots("bed"), EIGHT);
}

#[test]
fn the_slices_of_a_testbed_that_is_gone_go() {
    let mut world = world();
    world.remove(&testbed_key("bed"));
    world.rest();
    assert_eq!(world.sizes_of_slices(), []);
    // One of the same name has its own.
    world.testbed("bed", spec(2, "1"));
    world.rest();
    world.remove(&testbed_key("bed"));
    world.testbed("bed", spec(2, "1"));
    world.rest();
    assert_eq!(world.slots("bed"), EIGHT);
    let uid = world.objects[&testbed_key("bed")]["metadata"]["uid"].clone();
    for slice in world.slices() {
        let owners = slice.metadata.owner_references.unwrap();
        assert_eq!(json!(owners[0].uid), uid);
    }
}

#[test]
fn what_is_called_like_a_slice_and_is_not_ours_is_left_alone_and_said() {
    let mut world = World::of_small_parts();
    let foreign = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "TestbedSlice",
        "metadata": {"name": "bed.3"}, "spec": {"testbed": "bed"},
    });
    world.put(Resource::TestbedSlices, foreign);
    for name in ["node-a", "node-b", "node-c", "node-d"] {
        world.node(name, Some("1"), 8);
    }
    world.testbed("bed", spec(1, "1"));
    for _ in 0..50 {
        world.hear_all();
        for write in world.machine.due(world.now, 100) {
            let answer = world.carry_out(&write);
            world.machine.answered(write.ticket, answer, world.now);
        }
        world.bind_ghosts();
        world.now = world.now + Millis(1_000);
    }
    let (reason, message) = world.ready("bed");
    assert_eq!(reason, "SlicesRefused");
    assert_eq!(
        message,
        "slots 3 to 4 cannot be said: another TestbedSlice is called bed.3"
    );
    assert_eq!(world.ghosts().len(), 3, "what is not named is not made");
    world.remove(&slice_key("bed.3"));
    world.rest();
    assert_eq!(world.ready("bed").0, "Held");
    assert_eq!(world.slots("bed"), EIGHT[..4]);
}

/// The status is to name a new slot in place of one that goes; that comes back, and gets a number in a slice: it is
/// named there only once the status is known not to name it any more, whatever becomes of the write.
#[test]
fn no_slot_is_ever_named_in_two_parts() {
    for happens in [false, true] {
        let mut world = World::of_small_parts();
        for (number, name) in ["node-a", "node-b", "node-c", "node-d"].iter().enumerate() {
            world.node(name, Some(&number.to_string()), 8);
        }
        world.testbed("bed", spec(1, "1"));
        world.rest();
        let ghost = world.slot("bed", 1).ghost;
        world.now = world.now + Millis(5_000);
        world.edit(&node_key("node-b"), |node| {
            node["metadata"]["labels"] = json!({});
        });
        world.node("node-e", Some("9"), 8);
        world.hear_all();
        let due = world.machine.due(world.now, 99).into_iter();
        let (mut status, others): (Vec<Write>, Vec<Write>) =
            due.partition(|write| write.on.resource == Resource::Testbeds);
        let status = status.pop().unwrap();
        assert_eq!(others.len(), 1, "the ghost of node-b: {others:?}");
        let answer = world.carry_out(&others[0]);
        world.machine.answered(others[0].ticket, answer, world.now);
        world.edit(&node_key("node-b"), |node| {
            node["metadata"]["labels"]["bed"] = json!("1");
        });
        world.hear_all();
        for _ in 0..5 {
            world.now = world.now + Millis(1_000);
            for write in world.machine.due(world.now, 99) {
                let answer = world.carry_out(&write);
                world.machine.answered(write.ticket, answer, world.now);
            }
            let slice = &world.slices()[0].spec.slots;
            assert!(slice.iter().all(|slot| slot.ghost != ghost), "{slice:?}");
        }
        if happens {
            world.carry_out(&status);
        }
        world
            .machine
            .answered(status.ticket, Answer::Lost, world.now);
        world.rest();
        let all = world.slots("bed");
        assert_eq!([&*all[1], &*all[4]], ["1 node-e/0 Free", "4 node-b/0 Free"]);
        assert_eq!(world.ready("bed").0, "Held");
    }
}
