//! The rules, each by its name.

use super::world::{World, is_ghost, node_key, pod_key, spec, testbed_key};
use crate::testbed::Settings;
use crate::{Answer, Deed, Machine, Observation, Resource, Write};
use muster_api::slices::Sizes;
use muster_model::units::{Millis, Time};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Two nodes with two slots each.
fn world() -> World {
    let mut world = World::new();
    world.node("node-a", Some("1"), 8);
    world.node("node-b", Some("2"), 8);
    world.testbed("bed", spec(2, "1"));
    world.rest();
    world
}

const FOUR: [&str; 4] = [
    "0 node-a/0 Free",
    "1 node-b/0 Free",
    "2 node-a/1 Free",
    "3 node-b/1 Free",
];

#[test]
fn every_free_slot_is_named_and_then_held_by_a_ghost() {
    let world = world();
    assert_eq!(world.slots("bed"), FOUR);
    assert_eq!(world.ghosts().len(), 4);
    let status = world.status("bed");
    let ghost = &world.objects[&pod_key("muster-system", &status.slots[0].ghost)];
    assert_eq!(
        status.slots[0].pod_uid.as_deref(),
        ghost["metadata"]["uid"].as_str()
    );
    let counts = [
        status.nodes,
        status.total,
        status.free,
        status.reserved,
        status.occupied,
    ];
    assert_eq!(counts, [2, 4, 4, 0, 0].map(Some));
    let ready = ("Held".to_owned(), "4 slots on 2 nodes".to_owned());
    assert_eq!(world.ready("bed"), ready);
    assert_eq!(status.conditions[0].status, "True");
}

#[test]
fn at_rest_nothing_is_written_and_a_new_machine_writes_nothing() {
    let mut world = world();
    let count = world.written.len();
    world.rest();
    world.restart();
    world.rest();
    assert_eq!(world.written.len(), count);
}

#[test]
fn a_ghost_that_somebody_deletes_comes_back() {
    let mut world = world();
    let names = world.ghosts();
    world.remove(&pod_key("muster-system", &names[0]));
    world.rest();
    assert_eq!(world.ghosts(), names);
}

#[test]
fn a_ghost_of_which_the_watch_tells_before_the_answer_to_its_creation_is_left_alone() {
    let mut world = World::new();
    world.node("node-a", Some("1"), 8);
    world.testbed("bed", spec(2, "1"));
    let mut deletes = 0;
    for _ in 0..300 {
        let writes = world.machine.due(world.now, 9);
        for write in writes {
            deletes += usize::from(matches!(write.deed, Deed::Delete { .. }));
            let answer = world.carry_out(&write);
            while world.hear(Resource::Pods) || world.hear(Resource::Testbeds) {}
            world.machine.answered(write.ticket, answer, world.now);
        }
        world.bind_ghosts();
        while world.hear(Resource::Nodes) || world.hear(Resource::Pods) {}
        while world.hear(Resource::Testbeds) {}
        world.now = world.now + Millis(500);
    }
    assert_eq!(deletes, 0);
    assert_eq!(world.slots("bed"), ["0 node-a/0 Free", "1 node-a/1 Free"]);
    let creates = world.written.iter().filter(|(_, word)| *word == "create");
    assert_eq!(creates.count(), 2);
    assert_eq!(world.ready("bed").0, "Held");
}

#[test]
fn an_occupied_slot_has_no_ghost_until_its_pod_ends() {
    let mut world = world();
    let pod = world.take("p", 2);
    world.rest();
    assert_eq!(world.slots("bed")[2], "2 node-a/1 Occupied p");
    assert_eq!(world.ghosts().len(), 3);
    world.edit(&pod, |pod| pod["status"]["phase"] = json!("Succeeded"));
    world.rest();
    assert_eq!(world.slots("bed"), FOUR);
    assert_eq!(world.ghosts().len(), 4);
}

#[test]
fn who_sits_on_a_slot_keeps_it_whatever_is_written_on_it_and_across_a_restart() {
    let mut world = world();
    let pod = world.take("p", 2);
    world.rest();
    world.edit(&pod, |pod| {
        pod["metadata"]["annotations"] = json!({"muster.dev/slot": "0"});
        pod["metadata"]["labels"]["muster.dev/slots"] = json!("0_2");
    });
    world.rest();
    world.restart();
    world.rest();
    assert_eq!(world.slots("bed")[2], "2 node-a/1 Occupied p");
    assert_eq!(world.slots("bed")[0], FOUR[0]);
}

#[test]
fn who_claims_and_may_not_gets_nothing_but_a_sentence() {
    type Change = fn(&mut Value);
    let refused: [(&str, Change, &str); 6] = [
        ("0_0", |_| {}, "muster.dev/slots: 0 is there twice"),
        ("-1", |_| {}, "\"-1\" is not the number of a slot"),
        ("a", |_| {}, "\"a\" is not the number of a slot"),
        ("0", |_| {}, "none of its slots on this node is free"),
        ("1_3_7", |_| {}, "none of its slots on this node is free"),
        (
            "0",
            |pod| pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("2"),
            "it asks for more cpu than a slot has",
        ),
    ];
    for (slots, change, why) in refused {
        let mut world = world();
        let pod = world.claimant("p", slots, "node-a");
        world.edit(&pod, change);
        world.rest();
        assert_eq!(world.slots("bed"), FOUR, "{slots}");
        let problem = &world.status("bed").node_problems[0];
        let words = format!("pod team/p claims a slot and has none: {why}");
        assert!(
            problem.message.ends_with(why) && problem.message.starts_with(&words[..30]),
            "{problem:?}"
        );
    }
}

#[test]
fn a_namespace_that_is_not_chosen_claims_nothing() {
    let mut world = world();
    let mut asked = spec(2, "1");
    asked["namespaceSelector"] = json!({"matchLabels": {"name": "other"}});
    world.testbed("bed", asked);
    world.rest();
    world.take("p", 0);
    world.rest();
    assert_eq!(world.slots("bed"), FOUR);
    let problem = &world.status("bed").node_problems[0];
    assert!(
        problem
            .message
            .contains("pods of namespace team may not claim"),
        "{problem:?}"
    );
}

#[test]
fn a_forged_ghost_is_neither_counted_nor_deleted() {
    let mut world = world();
    let ghost = world.objects[&pod_key("muster-system", &world.ghosts()[0])].clone();
    let mut elsewhere = ghost.clone();
    elsewhere["metadata"]["namespace"] = json!("team");
    elsewhere["metadata"]["uid"] = Value::Null;
    world.put(Resource::Pods, elsewhere);
    let mut without_owner = ghost;
    without_owner["metadata"]["name"] = json!("bed-9-0123456789");
    without_owner["metadata"]["ownerReferences"] = json!([]);
    world.put(Resource::Pods, without_owner);
    world.rest();
    assert_eq!(world.pods().count(), 6);
    assert_eq!(world.slots("bed"), FOUR);
}

#[test]
fn a_pod_that_has_the_name_of_a_ghost_is_left_alone_and_said() {
    let mut world = world();
    let name = world.ghosts()[0].clone();
    let key = pod_key("muster-system", &name);
    world.remove(&key);
    world.put(
        Resource::Pods,
        json!({"metadata": {"namespace": "muster-system", "name": name}, "spec": {"containers": [{"name": "a"}]}}),
    );
    for _ in 0..20 {
        while world.hear(Resource::Pods) {}
        let writes = world.machine.due(world.now, 100);
        for write in writes {
            let answer = world.carry_out(&write);
            world.machine.answered(write.ticket, answer, world.now);
        }
        world.now = world.now + Millis(1_000);
    }
    let (reason, message) = world.ready("bed");
    assert_eq!(reason, "GhostsRefused");
    assert!(
        message.contains(&format!("another pod has the name {name}")),
        "{message}"
    );
    assert_eq!(world.pods().count(), 4);
    world.remove(&key);
    world.rest();
    assert_eq!(world.ready("bed").0, "Held");
}

#[test]
fn slots_follow_labels_and_nodes_and_keep_their_numbers() {
    let mut world = world();
    world.edit(&node_key("node-a"), |node| {
        node["metadata"]["labels"] = json!({});
    });
    world.rest();
    assert_eq!(world.slots("bed"), [FOUR[1], FOUR[3]]);
    assert_eq!(world.ghosts().len(), 2);
    world.node("node-c", Some("0"), 8);
    world.rest();
    let all = ["0 node-c/0 Free", FOUR[1], "2 node-c/1 Free", FOUR[3]];
    assert_eq!(world.slots("bed"), all);
    world.remove(&node_key("node-b"));
    world.rest();
    assert_eq!(world.slots("bed"), [all[0], all[2]]);
    world.remove(&node_key("node-c"));
    world.rest();
    assert_eq!(world.slots("bed"), [""; 0]);
    assert_eq!(world.ghosts(), [""; 0]);
    assert_eq!(world.ready("bed").0, "NoNodes");
}

#[test]
fn a_label_that_changes_renames_the_slot_and_no_more() {
    let mut world = world();
    let ghosts = world.ghosts();
    world.edit(&node_key("node-a"), |node| {
        node["metadata"]["labels"]["bed"] = json!("rack");
    });
    world.rest();
    assert_eq!(world.slots("bed"), FOUR);
    assert_eq!(world.slot("bed", 0).node_id, "rack");
    assert_eq!(world.ghosts(), ghosts);
}

#[test]
fn who_runs_is_left_alone_and_its_slot_stays_until_it_ends() {
    for restart in [false, true] {
        let mut world = world();
        let pod = world.take("p", 0);
        world.rest();
        world.edit(&node_key("node-a"), |node| {
            node["metadata"]["labels"] = json!({});
        });
        world.testbed("bed", spec(2, "2"));
        if restart {
            world.restart();
        }
        world.rest();
        if restart {
            world.restart();
            world.rest();
        }
        assert_eq!(world.slots("bed")[0], "0 node-a/0 Occupied p");
        assert_eq!(world.ghosts().len(), 2, "of node-b");
        world.remove(&pod);
        world.rest();
        assert!(!world.slots("bed").iter().any(|one| one.contains("node-a")));
    }
}

#[test]
fn resized_slots_are_other_slots() {
    let mut world = world();
    let before = world.ghosts();
    world.testbed("bed", spec(1, "2"));
    world.rest();
    let after = world.ghosts();
    assert_eq!(after.len(), 2);
    assert!(!after.iter().any(|ghost| before.contains(ghost)));
    assert_eq!(world.slots("bed"), [FOUR[0], FOUR[1]]);
}

#[test]
fn a_deleted_testbed_takes_its_ghosts_along_and_nobody_elses() {
    let mut world = world();
    world.testbed("other", spec(1, "1"));
    world.rest();
    assert_eq!(world.ghosts().len(), 6);
    world.edit(&testbed_key("bed"), |bed| {
        bed["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    world.rest();
    assert_eq!(world.ghosts().len(), 2);
    world.remove(&testbed_key("bed"));
    world.rest();
    world.remove(&testbed_key("other"));
    world.restart();
    world.rest();
    assert_eq!(world.ghosts(), [""; 0]);
}

#[test]
fn a_node_that_is_too_small_for_the_slots_of_all_testbeds_is_named_and_the_rest_works() {
    let mut world = World::new();
    world.node("node-a", Some("1"), 3);
    world.node("node-b", Some("2"), 8);
    world.testbed("bed", spec(2, "1"));
    world.testbed("large", spec(1, "2"));
    world.rest();
    for testbed in ["bed", "large"] {
        let (reason, message) = world.ready(testbed);
        assert_eq!(reason, "NodeProblems", "{message}");
        let problem = &world.status(testbed).node_problems[0];
        assert_eq!(problem.node_name, "node-a");
        assert!(
            problem
                .message
                .starts_with("for its slots, of all Testbeds, it needs 4 cpu and has 3"),
            "{problem:?}"
        );
    }
    let bound = world
        .pods()
        .filter(|(_, pod)| !pod["spec"]["nodeName"].is_null());
    assert_eq!(bound.count(), 5);
    world.edit(&node_key("node-a"), |node| {
        node["status"]["allocatable"]["cpu"] = json!("4");
    });
    world.rest();
    assert_eq!(world.ready("bed").0, "Held");
    assert_eq!(world.ready("large").0, "Held");
}

#[test]
fn why_a_ghost_is_not_bound_is_said() {
    let mut world = world();
    let key = pod_key("muster-system", &world.slot("bed", 0).ghost);
    world.edit(&key, |pod| {
        pod["spec"]["nodeName"] = Value::Null;
        pod["status"]["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "message": "0/2 nodes are available",
        }]);
    });
    while world.hear(Resource::Pods) {}
    for _ in 0..3 {
        for write in world.machine.due(world.now, 9) {
            let answer = world.carry_out(&write);
            world.machine.answered(write.ticket, answer, world.now);
        }
        world.now = world.now + Millis(1_000);
    }
    let problem = &world.status("bed").node_problems[0];
    assert_eq!(
        problem.message,
        "slot 0 is not held: 0/2 nodes are available"
    );
}

#[test]
fn beyond_the_bound_the_first_slots_are_held_and_the_rest_is_said() {
    let mut world = World::with(Settings {
        sizes: Sizes {
            most: 3,
            ..Sizes::default()
        },
        ..Settings::default()
    });
    world.node("node-a", Some("1"), 8);
    world.node("node-b", Some("2"), 8);
    world.testbed("bed", spec(2, "1"));
    world.rest();
    assert_eq!(world.slots("bed"), FOUR[..3]);
    let (reason, message) = world.ready("bed");
    assert_eq!(reason, "TooManySlots");
    assert_eq!(
        message,
        "of 4 slots that it asks for, the first 3 are there"
    );
}

#[test]
fn what_can_never_be_valid_is_said() {
    let mut world = World::new();
    world.node("node-a", Some("1"), 8);
    world.testbed("bed", spec(1, "-1"));
    world.rest();
    let (reason, message) = world.ready("bed");
    assert_eq!(reason, "Invalid");
    assert!(message.contains("spec.resourcesPerSlot.cpu"), "{message}");
}

#[test]
fn no_ghost_is_made_while_somebody_comes_but_not_for_ever() {
    let mut world = world();
    let ghost = world.slot("bed", 0).ghost;
    let pod = world.claimant("p", "0_1", "");
    world.edit(&pod, |pod| {
        pod["status"]["nominatedNodeName"] = json!("node-a");
    });
    world.remove(&pod_key("muster-system", &ghost));
    let start = world.now;
    some_seconds_pass(&mut world);
    assert_eq!(world.slots("bed")[0], "0 node-a/0 Reserved p");
    assert!(!world.ghosts().contains(&ghost));
    world.rest();
    assert!(world.ghosts().contains(&ghost));
    assert!(world.now >= start + Millis(30_000));
    assert_eq!(world.slots("bed"), FOUR);
}

fn some_seconds_pass(world: &mut World) {
    for _ in 0..5 {
        for resource in [Resource::Pods, Resource::Testbeds] {
            while world.hear(resource) {}
        }
        for write in world.machine.due(world.now, 9) {
            let answer = world.carry_out(&write);
            world.machine.answered(write.ticket, answer, world.now);
        }
        world.now = world.now + Millis(1_000);
    }
}

fn told_to_go(reason: &str) -> Value {
    json!([{"type": "DisruptionTarget", "status": "True", "reason": reason}])
}

#[test]
fn a_ghost_that_went_for_nobody_is_made_again_at_once() {
    let mut world = world();
    let ghost = pod_key("muster-system", &world.slot("bed", 0).ghost);
    world.edit(&ghost, |pod| {
        pod["status"]["conditions"] = told_to_go("EvictionByEvictionAPI");
    });
    world.remove(&ghost);
    let start = world.now;
    world.rest();
    assert_eq!(world.slots("bed"), FOUR);
    assert!(world.now < start + Millis(5_000));
}

/// Who comes is bound as a rule before anybody says that it is meant for the node.
#[test]
fn a_ghost_that_gave_way_is_not_made_again_before_somebody_comes() {
    for comes in [true, false] {
        let mut world = world();
        let seat = world.slot("bed", 0);
        let ghost = pod_key("muster-system", &seat.ghost);
        world.edit(&ghost, |pod| {
            pod["status"]["conditions"] = told_to_go("PreemptionByScheduler");
        });
        world.remove(&ghost);
        let start = world.now;
        some_seconds_pass(&mut world);
        assert_eq!(world.slots("bed")[0], "0 node-a/0 Reserved");
        assert!(!world.ghosts().contains(&seat.ghost));
        if comes {
            let pod = world.claimant("p", "0", "node-a");
            world.rest();
            assert_eq!(world.slots("bed")[0], "0 node-a/0 Occupied p");
            world.remove(&pod);
            let ended = world.now;
            world.rest();
            assert!(world.now < ended + Millis(30_000), "nobody comes any more");
        } else {
            world.rest();
            assert!(world.now >= start + Millis(30_000));
        }
        assert_eq!(world.slots("bed"), FOUR);
    }
}

#[test]
fn a_slot_whose_ghost_is_about_to_go_is_reserved() {
    let mut world = world();
    let key = pod_key("muster-system", &world.slot("bed", 0).ghost);
    world.edit(&key, |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    world.rest();
    assert_eq!(world.slots("bed")[0], "0 node-a/0 Reserved");
    world.remove(&key);
    world.rest();
    assert_eq!(world.slots("bed"), FOUR);
}

#[test]
fn a_ghost_that_has_ended_or_holds_too_little_is_made_anew() {
    let changes: [fn(&mut Value); 3] = [
        |pod| pod["status"] = json!({"phase": "Failed"}),
        |pod| pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("0"),
        |pod| pod["spec"]["nodeName"] = json!("node-b"),
    ];
    for change in changes {
        let mut world = world();
        let key = pod_key("muster-system", &world.slot("bed", 0).ghost);
        let before = world.objects[&key]["metadata"]["uid"].clone();
        world.edit(&key, change);
        world.rest();
        assert_ne!(world.objects[&key]["metadata"]["uid"], before);
        assert_eq!(world.slots("bed"), FOUR);
    }
}

#[test]
fn a_ghost_that_is_altered_as_it_is_made_is_not_made_again_in_a_hurry() {
    let mut world = world();
    let key = pod_key("muster-system", &world.slot("bed", 0).ghost);
    world.remove(&key);
    let until = world.now + Millis(120_000);
    let mut creates = 0;
    while world.now < until {
        while world.hear(Resource::Pods) {}
        for write in world.machine.due(world.now, 9) {
            let answer = world.carry_out(&write);
            if matches!(write.deed, Deed::Create(_)) {
                creates += 1;
                let key = pod_key("muster-system", &write.on.name);
                world.edit(&key, |pod| {
                    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("0");
                });
            }
            world.machine.answered(write.ticket, answer, world.now);
        }
        world.now = world.now + Millis(50);
    }
    assert!(creates < 15, "{creates}");
}

#[test]
fn a_refusal_is_said_and_tried_again_ever_less_often() {
    let mut world = World::new();
    world.node("node-a", Some("1"), 8);
    world.testbed("bed", spec(1, "1"));
    let mut tries = 0;
    for _ in 0..2_000 {
        for write in world.machine.due(world.now, 9) {
            let answer = if matches!(write.deed, Deed::Create(_)) {
                tries += 1;
                Answer::Refused {
                    message: "exceeded quota".to_owned(),
                }
            } else {
                world.carry_out(&write)
            };
            world.machine.answered(write.ticket, answer, world.now);
        }
        while world.hear(Resource::Testbeds) || world.hear(Resource::Nodes) {}
        world.now = world.now + Millis(100);
    }
    assert!((10..20).contains(&tries), "{tries}");
    let (reason, message) = world.ready("bed");
    assert_eq!(
        (reason.as_str(), message.as_str()),
        ("GhostsRefused", "1 ghosts are refused: exceeded quota")
    );
}

#[test]
fn who_is_told_to_wait_waits_and_what_is_lost_is_found_out() {
    let mut world = World::new();
    world.node("node-a", Some("1"), 8);
    world.testbed("bed", spec(1, "1"));
    while world.hear(Resource::Testbeds) || world.hear(Resource::Nodes) {}
    let until = world.now + Millis(5_000);
    let first = world.machine.due(world.now, 9).remove(0);
    world
        .machine
        .answered(first.ticket, Answer::Throttled { until }, world.now);
    assert_eq!(world.machine.due(world.now + Millis(4_999), 9), []);
    world.now = until;
    let again = world.machine.due(world.now, 9).remove(0);
    assert_eq!(again.on, first.on);
    // It was done, and nobody knows.
    world.carry_out(&again);
    world
        .machine
        .answered(again.ticket, Answer::Lost, world.now);
    world.rest();
    assert_eq!(world.ready("bed").0, "Held");
    let patches = world.written.iter().filter(|(_, word)| *word == "patch");
    assert!(patches.count() <= 3);
}

/// One write in 100 ms: what is said of ghosts would be another thing before it is written.
#[test]
fn while_ghosts_wait_to_be_made_nothing_but_their_names_is_said() {
    let mut world = World::new();
    world.node("node-a", Some("1"), 200);
    world.testbed("bed", spec(40, "1"));
    let mut order = Vec::new();
    for _ in 0..100 {
        for resource in [Resource::Nodes, Resource::Testbeds, Resource::Pods] {
            while world.hear(resource) {}
        }
        for write in world.machine.due(world.now, 1) {
            let made = matches!(write.deed, Deed::Create(_));
            order.push(if made { "ghost" } else { "words" });
            let answer = world.carry_out(&write);
            world.machine.answered(write.ticket, answer, world.now);
        }
        world.now = world.now + Millis(100);
    }
    let mut wanted = vec!["ghost"; 42];
    (wanted[0], wanted[41]) = ("words", "words");
    assert_eq!(order, wanted);
}

#[test]
fn statuses_are_written_once_a_second_at_most_and_say_only_what_changed() {
    let mut world = World::new();
    for number in 0..50 {
        world.node(&format!("node-{number}"), Some(&number.to_string()), 8);
    }
    world.testbed("bed", spec(2, "1"));
    world.rest();
    world.now = world.now + Millis(5_000);
    world.take("p", 30);
    while world.hear(Resource::Pods) {}
    let writes = world.machine.due(world.now, 9);
    let [
        Write {
            deed: Deed::PatchStatus { operations, .. },
            ..
        },
    ] = &writes[..]
    else {
        panic!("{writes:?}");
    };
    let paths = operations.iter().map(|one| one["path"].as_str().unwrap());
    assert_eq!(
        paths.collect::<Vec<_>>(),
        ["/status/free", "/status/occupied", "/status/slots/30"]
    );
    let answer = world.carry_out(&writes[0]);
    world.machine.answered(writes[0].ticket, answer, world.now);
    world.take("q", 31);
    while world.hear(Resource::Pods) {}
    assert_eq!(world.machine.due(world.now + Millis(999), 9), []);
    let writes = world.machine.due(world.now + Millis(1_000), 9);
    assert_eq!(writes.len(), 1);
    // An API server that takes its time is left alone for ten times as long.
    let sent = world.now + Millis(1_000);
    let answer = world.carry_out(&writes[0]);
    (world.machine).answered(writes[0].ticket, answer, sent + Millis(400));
    world.take("r", 32);
    while world.hear(Resource::Pods) {}
    assert_eq!(world.machine.due(sent + Millis(3_999), 9), []);
    assert_eq!(world.machine.due(sent + Millis(4_000), 9).len(), 1);
}

/// Slots without a name have no ghosts: they do not wait for that.
#[test]
fn new_slots_are_named_soon_on_a_slow_api_server() {
    let mut world = world();
    world.now = world.now + Millis(60_000);
    world.take("p", 0);
    while world.hear(Resource::Pods) {}
    let writes = world.machine.due(world.now, 9);
    assert_eq!(writes.len(), 1);
    let answer = world.carry_out(&writes[0]);
    let sent = world.now;
    (world.machine).answered(writes[0].ticket, answer, sent + Millis(900));
    world.node("node-x", Some("7"), 8);
    while world.hear(Resource::Nodes) {}
    assert_eq!(world.machine.due(sent + Millis(1_000), 9).len(), 1);
}

/// Ten Testbeds of a thousand slots: a pod that ends costs one create, and next to no time.
#[test]
fn one_pod_that_ends_among_ten_thousand_slots_is_one_create() {
    let mut world = World::new();
    for number in 0..100 {
        world.node(&format!("node-{number}"), Some(&number.to_string()), 1_000);
    }
    for number in 0..10 {
        world.testbed(&format!("bed-{number}"), spec(10, "1"));
    }
    while world.hear(Resource::Nodes) || world.hear(Resource::Testbeds) {}
    loop {
        let writes = world.machine.due(world.now, 20_000);
        if writes.is_empty()
            && world
                .machine
                .wakes_at()
                .is_none_or(|at| at > world.now + Millis(10_000))
        {
            break;
        }
        for write in writes {
            let answer = world.carry_out(&write);
            world.machine.answered(write.ticket, answer, world.now);
        }
        world.bind_all();
        while world.hear(Resource::Pods) || world.hear(Resource::Testbeds) {}
        world.now = world.now + Millis(1_000);
    }
    assert_eq!(world.ghosts().len(), 10_000);
    let seat = world.slot("bed-3", 500);
    world.remove(&pod_key("muster-system", &seat.ghost));
    let pod = world.claimant("p", "500", &seat.node_name);
    world.edit(&pod, |pod| {
        pod["metadata"]["labels"]["muster.dev/testbed"] = json!("bed-3");
    });
    while world.hear(Resource::Pods) {}
    world.rest();
    assert_eq!(
        world.slots("bed-3")[500],
        format!("500 {}/5 Occupied p", seat.node_name)
    );
    world.now = world.now + Millis(5_000);
    world.edit(&pod, |pod| pod["status"]["phase"] = json!("Succeeded"));
    let ended = serde_json::from_value(world.objects[&pod].clone()).unwrap();
    let started = begin();
    world.machine.observe(Observation::Pod(ended), world.now);
    let writes = world.machine.due(world.now, 100);
    let took = started.elapsed();
    let creates = writes
        .iter()
        .filter(|one| matches!(one.deed, Deed::Create(_)));
    assert_eq!((creates.count(), writes.len()), (1, 2), "and one status");
    println!("one pod that ends among 10,000 slots: {took:?}");
    assert!(took < Duration::from_millis(20), "{took:?}");
}

#[expect(clippy::disallowed_methods, reason = "it is measured")]
fn begin() -> Instant {
    Instant::now()
}

#[test]
fn a_late_answer_to_nothing_changes_nothing() {
    let mut world = world();
    world
        .machine
        .answered(crate::Ticket(9_999), Answer::Lost, Time(0));
    assert_eq!(world.machine.due(world.now, 9), []);
    assert!(world.pods().all(|(_, pod)| is_ghost(pod)));
}
