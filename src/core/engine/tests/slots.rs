//! Slots of testbeds: held by ghosts, claimed by pods, never anybody else's.

mod slices;
mod told;
mod woken;

use super::profiles::{of, two_profiles};
use super::*;
use muster_model::testing::pod as plain_pod;
use muster_model::{GhostOf, NamespaceSpec, SlotClaim, SlotSpec, TestbedSpec};
use std::sync::Arc;

/// Testbed `lab`, of slots of one CPU on these nodes, in order of position.
fn lab(nodes: &[&str]) -> TestbedSpec {
    let slot = |(position, node): (usize, &&str)| SlotSpec {
        position: u32::try_from(position).unwrap(),
        node: (*node).to_owned(),
        ghost: format!("ghost-{position}"),
        occupant: String::new(),
    };
    TestbedSpec {
        name: "lab".to_owned(),
        uid: "lab".to_owned(),
        request: vec![("cpu".to_owned(), 1000)],
        slots: nodes.iter().enumerate().map(slot).collect(),
        ..TestbedSpec::default()
    }
}

fn ghost(position: u32) -> PodSpec {
    let mut spec = plain_pod(&format!("ghost-{position}"), None, 1);
    spec.key.namespace = "muster-system".to_owned();
    PodSpec {
        ghost_of: Some(GhostOf {
            testbed: "lab".to_owned(),
        }),
        ..spec
    }
}

/// A pod of one CPU that claims slots of `lab`.
fn claimant(name: &str, group: Option<&str>, positions: &[u32]) -> PodSpec {
    let mut spec = plain_pod(name, group, 1);
    spec.shape.claim = Some(Arc::new(SlotClaim {
        namespace: spec.key.namespace.clone(),
        testbed: "lab".to_owned(),
        positions: positions.to_vec(),
    }));
    spec
}

fn ended(spec: PodSpec, node: &str) -> PodSpec {
    PodSpec {
        phase: PodPhase::Succeeded,
        node: Some(node.to_owned()),
        ..spec
    }
}

impl Story {
    /// Nodes of so many CPUs, and `lab` on them, with ghosts that are bound.
    fn with_lab(nodes: &[&str], cpus: i64, slots: &[&str]) -> Self {
        let mut story = Self::new();
        nodes.iter().for_each(|name| story.node(name, cpus));
        story.tell(Event::is(lab(slots)));
        for position in 0..slots.len() {
            story.submit(ghost(u32::try_from(position).unwrap()));
        }
        assert_eq!(story.run().len(), slots.len(), "all ghosts are bound");
        story
    }

    /// The ghosts that were asked to go are gone.
    fn ghosts_gone(&mut self, evicted: &[Evict]) {
        for evict in evicted {
            self.tell(Event::EvictResult(
                evict.pod.clone(),
                EvictOutcome::Accepted,
            ));
            self.tell(Event::Gone(ObjectKey::Pod(evict.pod.clone())));
        }
    }

    /// A cycle in which ghosts go, and the next, in which those come for whom they went.
    fn seat(&mut self) -> Vec<Bind> {
        let (binds, evicted) = self.step();
        assert_eq!(binds, []);
        self.ghosts_gone(&evicted);
        self.run()
    }
}

fn evicted(evictions: &[Evict]) -> Vec<&str> {
    evictions.iter().map(|one| one.pod.name.as_str()).collect()
}

fn slots_of(binds: &[Bind]) -> Vec<(&str, Option<u32>)> {
    binds
        .iter()
        .map(|one| (one.pod.name.as_str(), one.slot))
        .collect()
}

#[test]
fn ghosts_come_to_the_nodes_of_their_slots() {
    let mut story = Story::new();
    ["n0", "n1"].iter().for_each(|name| story.node(name, 1));
    for position in [1, 0] {
        story.submit(ghost(position));
    }
    assert_eq!(story.binds(), [], "nobody knows what they are for");
    story.tell(Event::is(lab(&["n1", "n0"])));
    let binds = story.run();
    let places: Vec<_> = binds
        .iter()
        .map(|one| (&*one.pod.name, &*one.node))
        .collect();
    assert_eq!(places, [("ghost-0", "n1"), ("ghost-1", "n0")]);
}

#[test]
fn a_pod_gets_the_first_of_its_slots_once_the_ghost_has_left() {
    let mut story = Story::with_lab(&["n0", "n1"], 1, &["n0", "n1"]);
    story.submit(claimant("p", None, &[0, 1]));
    let (binds, evictions) = story.step();
    assert_eq!((binds, evicted(&evictions)), (vec![], vec!["ghost-0"]));
    assert_eq!(story.step(), (vec![], vec![]), "asked once");
    story.ghosts_gone(&evictions);
    let binds = story.run();
    assert_eq!(slots_of(&binds), [("p", Some(0))]);
    assert_eq!(binds[0].node, "n0");
}

#[test]
fn the_node_that_a_pod_is_meant_to_have_is_free_once_the_ghost_has_left() {
    let mut story = two_profiles();
    story.node("n0", 1);
    story.tell(Event::is(lab(&["n0"])));
    story.submit(ghost(0));
    assert_eq!(story.run().len(), 1);
    story.submit(PodSpec {
        nominated: Some("n0".to_owned()),
        ..of(1, claimant("p", None, &[0]))
    });
    let (binds, evictions) = story.step();
    assert_eq!((binds, evicted(&evictions)), (vec![], vec!["ghost-0"]));
    story.ghosts_gone(&evictions);
    assert_eq!(slots_of(&story.run()), [("p", Some(0))]);
}

#[test]
fn nobody_else_takes_the_room_of_a_ghost_whatever_its_priority() {
    let mut story = Story::with_lab(&["n0"], 1, &["n0"]);
    story.submit(PodSpec {
        priority: Some(1_000_000),
        ..plain_pod("strong", None, 1)
    });
    assert_eq!(story.step(), (vec![], vec![]));
    assert_eq!(
        story
            .later(400_000)
            .effects
            .iter()
            .filter(|one| matches!(one, Effect::Evict(_)))
            .count(),
        0
    );
}

#[test]
fn the_room_between_a_ghost_and_its_pod_is_nobody_elses() {
    let mut story = Story::with_lab(&["n0"], 1, &["n0"]);
    story.submit(claimant("p", None, &[0]));
    let (_, evictions) = story.step();
    story.pod("other", None);
    assert_eq!(story.step(), (vec![], vec![]));
    story.ghosts_gone(&evictions);
    assert_eq!(names(&story.run()), ["p"]);
    // It ends, and its ghost is not there yet.
    story.submit(ended(claimant("p", None, &[0]), "n0"));
    assert_eq!(story.binds(), []);
    story.submit(ghost(0));
    assert_eq!(names(&story.run()), ["ghost-0"]);
}

#[test]
fn a_pod_smaller_than_its_slot_leaves_nobody_the_rest() {
    let mut story = Story::with_lab(&["n0"], 4, &["n0"]);
    let mut large = lab(&["n0"]);
    large.request = vec![("cpu".to_owned(), 4000)];
    large.slots[0].ghost = "ghost-9".to_owned();
    story.tell(Event::Gone(ObjectKey::Pod(ghost(0).key)));
    story.tell(Event::is(large));
    let mut its = ghost(9);
    its.shape.requests = vec![("cpu".to_owned(), 4000)];
    story.submit(its);
    assert_eq!(names(&story.run()), ["ghost-9"]);
    story.submit(claimant("p", None, &[0]));
    assert_eq!(names(&story.seat()), ["p"]);
    story.pod("other", None);
    assert_eq!(story.binds(), []);
}

#[test]
fn a_pod_waits_for_an_occupied_slot_and_is_told_by_whom() {
    let mut story = Story::with_lab(&["n0"], 1, &["n0"]);
    story.submit(claimant("first", None, &[0]));
    assert_eq!(names(&story.seat()), ["first"]);
    story.group("second", 1);
    story.submit(claimant("second", Some("second"), &[0]));
    assert_eq!(story.step(), (vec![], vec![]));
    let why = story.why("second");
    assert!(
        why.contains("slot 0 of testbed lab is occupied by a/first"),
        "{why}"
    );
    story.submit(ended(claimant("first", None, &[0]), "n0"));
    assert_eq!(names(&story.run()), ["second"]);
}

#[test]
fn a_gang_gets_all_its_slots_or_none() {
    let mut story = Story::with_lab(&["n0", "n1"], 1, &["n0", "n1"]);
    story.submit(claimant("sits", None, &[1]));
    assert_eq!(names(&story.seat()), ["sits"]);
    story.group("g", 2);
    story.submit(claimant("g-0", Some("g"), &[0, 1]));
    story.submit(claimant("g-1", Some("g"), &[0, 1]));
    assert_eq!(story.step(), (vec![], vec![]), "no ghost goes in vain");
    story.submit(ended(claimant("sits", None, &[1]), "n1"));
    assert_eq!(
        slots_of(&story.seat()),
        [("g-0", Some(0)), ("g-1", Some(1))]
    );
}

#[test]
fn members_that_claim_overlapping_slots_find_the_one_way_that_suits_all() {
    let mut story = Story::with_lab(&["n0", "n1", "n2"], 1, &["n0", "n1", "n2"]);
    story.group("g", 3);
    story.submit(claimant("g-0", Some("g"), &[0, 1, 2]));
    story.submit(claimant("g-1", Some("g"), &[0, 1]));
    story.submit(claimant("g-2", Some("g"), &[0]));
    let mut binds = story.seat();
    binds.sort_by(|one, other| one.pod.name.cmp(&other.pod.name));
    assert_eq!(
        slots_of(&binds),
        [("g-0", Some(2)), ("g-1", Some(1)), ("g-2", Some(0))]
    );
}

#[test]
fn a_driver_that_claims_nothing_shares_the_gang() {
    let mut story = Story::with_lab(&["n0", "n1"], 1, &["n0"]);
    story.group("g", 2);
    story.pod("driver", Some("g"));
    story.submit(claimant("executor", Some("g"), &[0]));
    let binds = story.seat();
    let places: Vec<_> = binds
        .iter()
        .map(|one| (&*one.pod.name, &*one.node))
        .collect();
    assert_eq!(places, [("driver", "n1"), ("executor", "n0")]);
}

#[test]
fn a_driver_without_room_keeps_the_ghosts_where_they_are() {
    let mut story = Story::with_lab(&["n0"], 1, &["n0"]);
    story.group("g", 2);
    story.pod("driver", Some("g"));
    story.submit(claimant("executor", Some("g"), &[0]));
    assert_eq!(story.step(), (vec![], vec![]));
    story.node("n1", 1);
    assert_eq!(story.seat().len(), 2);
}

#[test]
fn who_may_not_claim_is_told_why() {
    let mut story = Story::with_lab(&["n0"], 1, &["n0"]);
    let mut closed = lab(&["n0"]);
    closed.namespace_selector = Some(LabelSelector::nothing());
    story.tell(Event::is(NamespaceSpec {
        name: "a".to_owned(),
        ..NamespaceSpec::default()
    }));
    story.group("g", 1);
    story.tell(Event::is(closed));
    story.submit(claimant("g-0", Some("g"), &[0]));
    assert_eq!(story.step(), (vec![], vec![]));
    let why = story.why("g");
    assert!(
        why.contains("testbed lab is not for pods of namespace a"),
        "{why}"
    );
    story.tell(Event::is(lab(&["n0"])));
    assert_eq!(names(&story.seat()), ["g-0"]);
    for (name, spec, words) in [
        (
            "other",
            claimant("other", Some("other"), &[7]),
            "none of slot 7 of testbed lab",
        ),
        (
            "large",
            PodSpec {
                shape: muster_model::ShapeSpec {
                    claim: claimant("x", None, &[0]).shape.claim,
                    ..plain_pod("x", None, 2).shape
                },
                ..plain_pod("large", Some("large"), 2)
            },
            "asks for more cpu than a slot of testbed lab has",
        ),
    ] {
        story.group(name, 1);
        story.submit(spec);
        assert_eq!(story.step(), (vec![], vec![]));
        let why = story.why(name);
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn a_slot_without_room_becomes_one_when_there_is() {
    let mut story = Story::new();
    story.node("n0", 1);
    story.pod_of_others_on("n0");
    story.tell(Event::is(lab(&["n0"])));
    story.submit(ghost(0));
    assert_eq!(story.binds(), []);
    let other = PodKey {
        namespace: "a".to_owned(),
        name: "on-n0".to_owned(),
        uid: String::new(),
    };
    story.pod("waits", None);
    assert_eq!(story.binds(), []);
    story.tell(Event::Gone(ObjectKey::Pod(other)));
    assert_eq!(
        names(&story.run()),
        ["ghost-0"],
        "slots are taken before anybody who waits"
    );
}

/// A pod that names a slot, but was put on the node by somebody else, or says so afterwards.
#[test]
fn a_pod_that_was_not_put_there_takes_no_slot_from_its_ghost() {
    let mut story = Story::with_lab(&["n0"], 4, &["n0"]);
    story.submit(PodSpec {
        node: Some("n0".to_owned()),
        phase: PodPhase::Running,
        ours: false,
        slot: Some(0),
        ..claimant("forged", None, &[0])
    });
    story.submit(claimant("honest", None, &[0]));
    assert_eq!(slots_of(&story.seat()), [("honest", Some(0))]);
}

#[test]
fn labels_edited_after_binding_change_nothing() {
    let mut story = Story::with_lab(&["n0", "n1"], 1, &["n0", "n1"]);
    story.submit(claimant("p", None, &[0]));
    let binds = story.seat();
    story.submit(PodSpec {
        node: Some(binds[0].node.clone()),
        phase: PodPhase::Running,
        ..claimant("p", None, &[1])
    });
    story.submit(PodSpec {
        node: Some(binds[0].node.clone()),
        phase: PodPhase::Running,
        ..plain_pod("p", None, 1)
    });
    story.submit(claimant("q", None, &[0]));
    assert_eq!(story.step(), (vec![], vec![]), "p sits there");
    story.submit(claimant("r", None, &[1]));
    assert_eq!(slots_of(&story.seat()), [("r", Some(1))]);
}

#[test]
fn another_process_finds_who_sits_where() {
    let mut story = Story::new();
    ["n0", "n1"].iter().for_each(|name| story.node(name, 2));
    let bound = |spec: PodSpec, node: &str| PodSpec {
        node: Some(node.to_owned()),
        phase: PodPhase::Running,
        ..spec
    };
    // Both slots are on one node; what the reconciler saw counts more than what the pod says.
    let mut table = lab(&["n0", "n0", "n1"]);
    table.slots[1].occupant = "a/seen".to_owned();
    let mut seen = bound(claimant("seen", None, &[0, 1]), "n0");
    seen.key.uid = "a/seen".to_owned();
    seen.slot = Some(0);
    story.submit(seen);
    story.submit(PodSpec {
        slot: Some(0),
        ..bound(claimant("says", None, &[0, 2]), "n0")
    });
    story.submit(bound(ghost(2), "n1"));
    story.tell(Event::is(table));
    story.submit(claimant("new", None, &[0, 1, 2]));
    assert_eq!(slots_of(&story.seat()), [("new", Some(2))]);
}

/// Somebody who says that it sits where the reconciler saw another.
#[test]
fn who_was_seen_on_a_slot_has_it_and_not_who_came_first() {
    let mut story = Story::new();
    story.node("n0", 2);
    for name in ["says", "seen"] {
        let mut spec = PodSpec {
            node: Some("n0".to_owned()),
            phase: PodPhase::Running,
            ..claimant(name, None, &[0])
        };
        spec.key.uid = format!("a/{name}");
        story.submit(spec);
    }
    let mut table = lab(&["n0"]);
    table.slots[0].occupant = "a/seen".to_owned();
    story.tell(Event::is(table));
    let mut gone = claimant("says", None, &[0]);
    gone.key.uid = "a/says".to_owned();
    story.tell(Event::Gone(ObjectKey::Pod(gone.key)));
    story.submit(claimant("new", None, &[0]));
    assert_eq!(story.step(), (vec![], vec![]), "seen sits there still");
}

/// Somebody came to the node of whom nothing was known when the room of the slot was held.
#[test]
fn a_ghost_comes_to_no_node_on_which_more_is_than_was_known() {
    let mut story = Story::new();
    story.node("n0", 1);
    story.tell(Event::is(lab(&["n0"])));
    assert_eq!(story.binds(), []);
    let other = PodSpec {
        node: Some("n0".to_owned()),
        phase: PodPhase::Running,
        ours: false,
        ..plain_pod("other", None, 1)
    };
    story.submit(other.clone());
    story.submit(ghost(0));
    assert_eq!(story.binds(), [], "its room is held, and in use");
    story.submit(ended(other, "n0"));
    assert_eq!(names(&story.run()), ["ghost-0"]);
}

#[test]
fn a_ghost_that_may_not_go_keeps_its_slot_and_is_asked_again() {
    let mut story = Story::with_lab(&["n0"], 1, &["n0"]);
    story.submit(claimant("p", None, &[0]));
    let (_, evictions) = story.step();
    let no = EvictOutcome::Refused {
        message: "no".to_owned(),
    };
    story.tell(Event::EvictResult(evictions[0].pod.clone(), no));
    assert_eq!(story.step(), (vec![], vec![]));
    story.pass(1_000);
    let (binds, evictions) = story.step();
    assert_eq!((binds, evicted(&evictions)), (vec![], vec!["ghost-0"]));
    story.ghosts_gone(&evictions);
    assert_eq!(names(&story.run()), ["p"]);
}

#[test]
fn a_ghost_that_was_refused_to_us_and_leaves_for_somebody_else_is_waited_for_at_rest() {
    let mut story = Story::with_lab(&["n0"], 1, &["n0"]);
    story.submit(claimant("p", None, &[0]));
    let (_, evictions) = story.step();
    let no = EvictOutcome::Refused {
        message: "no".to_owned(),
    };
    story.tell(Event::EvictResult(evictions[0].pod.clone(), no));
    story.step();
    story.submit(PodSpec {
        node: Some("n0".to_owned()),
        terminating: true,
        ..ghost(0)
    });
    story.pass(1_000);
    for _ in 0..3 {
        assert_eq!(story.step(), (vec![], vec![]));
    }
    assert!(!story.scheduler.wants_cycle());
    story.tell(Event::Gone(ObjectKey::Pod(evictions[0].pod.clone())));
    assert_eq!(names(&story.run()), ["p"]);
}

#[test]
fn a_ghost_whose_bind_came_back_is_bound_later() {
    let mut story = Story::new();
    story.node("n0", 1);
    story.tell(Event::is(lab(&["n0"])));
    story.submit(ghost(0));
    let binds = story.binds();
    story.refused(&binds[0]);
    assert_eq!(story.binds(), []);
    let wake = story.scheduler.cycle(story.now).wake_at;
    assert_eq!(wake, Some(story.now + Millis(1_000)));
    story.pass(1_000);
    let binds = story.binds();
    assert_eq!(names(&binds), ["ghost-0"]);
    story.refused(&binds[0]);
    assert_eq!(story.binds(), []);
    story.pass(1_000);
    assert_eq!(story.binds(), [], "longer each time");
    story.pass(1_000);
    assert_eq!(names(&story.run()), ["ghost-0"]);
}

#[test]
fn a_testbed_that_goes_gives_its_room_back() {
    let mut story = Story::with_lab(&["n0"], 1, &["n0"]);
    story.pod("waits", None);
    assert_eq!(story.binds(), []);
    story.tell(Event::Gone(ObjectKey::Testbed("lab".to_owned())));
    assert_eq!(story.binds(), [], "its ghost is there still");
    story.tell(Event::Gone(ObjectKey::Pod(ghost(0).key)));
    assert_eq!(names(&story.run()), ["waits"]);
}

#[test]
fn a_node_that_goes_takes_its_slots_along() {
    let mut story = Story::with_lab(&["n0", "n1"], 1, &["n0", "n1"]);
    story.tell(Event::Gone(ObjectKey::Node("n0".to_owned())));
    story.submit(claimant("p", None, &[0, 1]));
    assert_eq!(slots_of(&story.seat()), [("p", Some(1))]);
    story.tell(Event::Gone(ObjectKey::Pod(ghost(0).key)));
    story.node("n0", 1);
    story.submit(ghost(0));
    assert_eq!(names(&story.run()), ["ghost-0"]);
}

#[test]
fn a_ghost_that_is_on_its_way_is_asked_to_go_when_it_is_there() {
    let mut story = Story::new();
    story.node("n0", 1);
    story.tell(Event::is(lab(&["n0"])));
    story.submit(ghost(0));
    let binds = story.binds();
    story.submit(claimant("p", None, &[0]));
    assert_eq!(story.step(), (vec![], vec![]));
    story.bound(&binds[0]);
    assert_eq!(names(&story.seat()), ["p"]);
}

#[test]
fn who_waits_for_a_slot_comes_before_its_ghost() {
    let mut story = Story::with_lab(&["n0"], 1, &["n0"]);
    story.submit(claimant("first", None, &[0]));
    assert_eq!(names(&story.seat()), ["first"]);
    story.submit(claimant("second", None, &[0]));
    assert_eq!(story.step(), (vec![], vec![]));
    story.submit(ended(claimant("first", None, &[0]), "n0"));
    story.submit(ghost(0));
    assert_eq!(names(&story.run()), ["second"]);
}

/// The node goes and comes back, and the table follows, while nobody knows yet what became of the bind.
#[test]
fn a_pod_on_its_way_to_a_node_that_comes_back_has_its_slot() {
    let mut story = Story::with_lab(&["n0"], 4, &["n0"]);
    story.submit(claimant("p", None, &[0]));
    let (_, gone) = story.step();
    story.ghosts_gone(&gone);
    assert_eq!(slots_of(&story.binds()), [("p", Some(0))]);
    story.tell(Event::Gone(ObjectKey::Node("n0".to_owned())));
    assert_eq!(story.step(), (vec![], vec![]));
    story.tell(Event::is(lab(&[])));
    story.node("n0", 4);
    story.tell(Event::is(lab(&["n0"])));
    story.submit(claimant("q", None, &[0]));
    let (binds, evictions) = story.step();
    assert_eq!((binds, evicted(&evictions)), (vec![], vec![]), "p has it");
}

/// Whoever sits on a slot goes for who comes before it, and has the slot until it is gone, however much room its
/// node has.
#[test]
fn a_slot_that_is_made_free_is_taken_when_it_is_free() {
    let mut story = Story::with_lab(&["n0"], 8, &["n0"]);
    story.submit(claimant("low", None, &[0]));
    assert_eq!(slots_of(&story.seat()), [("low", Some(0))]);
    story.submit(PodSpec {
        priority: Some(10),
        ..claimant("high", None, &[0])
    });
    let (binds, evictions) = story.step();
    assert_eq!((binds, evicted(&evictions)), (vec![], vec!["low"]));
    for _ in 0..3 {
        story.pass(1_000);
        assert_eq!(story.step(), (vec![], vec![]), "low is there still");
    }
    // Nobody else gets it when low has left.
    story.submit(claimant("other", None, &[0]));
    story.ghosts_gone(&evictions);
    assert_eq!(slots_of(&story.run()), [("high", Some(0))]);
}

/// However many a claim names, and however many of them nobody has.
#[test]
fn the_slots_open_to_a_pod_are_those_that_it_may_have() {
    let slots = ["n0", "n0", "n1", "n1", "n2", "n2"];
    let mut story = Story::with_lab(&["n0", "n1", "n2"], 2, &slots);
    for (name, position) in [("one", 1), ("four", 4)] {
        story.submit(claimant(name, None, &[position]));
        story.seat();
    }
    story.tell(Event::Gone(ObjectKey::Node("n2".to_owned())));
    for named in [
        vec![0],
        vec![1],
        vec![0, 5],
        vec![1, 3, 9],
        (0..9).collect(),
    ] {
        for name in ["one", "four", "other"] {
            let spec = claimant("other", None, &named);
            let claim = spec.shape.claim.clone().unwrap();
            let other = story.submit(spec);
            let key = PodKey {
                name: name.to_owned(),
                uid: other.uid.replace("other", name),
                ..other.clone()
            };
            let state = story.scheduler.state();
            let pod = state.find_pod(&key).unwrap();
            let may_have = state.slots_claimed(&claim);
            let may_have = may_have
                .filter_map(|(id, slot)| Some((id.position(), state.may_have(pod, slot).ok()?)));
            let open = state.slots_open_to(pod, &claim);
            let open: Vec<_> = open.map(|(id, node)| (id.position(), node)).collect();
            assert_eq!(open, may_have.collect::<Vec<_>>(), "{name}: {named:?}");
            story.tell(Event::Gone(ObjectKey::Pod(other)));
        }
    }
}
