//! Whatever happens in whatever order, it comes to rest, and what must hold holds all the way.

use super::world::{World, is_ghost, node_key, pod_key, spec, testbed_key};
use crate::{Answer, Machine, Resource, Write};
use muster_api::crd::SlotState;
use muster_api::slices::whose;
use muster_model::units::Millis;
use proptest::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Something that happens.
#[derive(Clone, Debug)]
enum Act {
    Label(u8, Option<u8>),
    NodeGone(u8),
    Cpus(u8, u8),
    Resize(u8, u8, u8),
    BedGone(u8),
    /// A pod is bound to a slot as by the scheduler.
    Claim(u8),
    /// A pod is bound beside all slots.
    Intrude(u8, u8),
    Ends(u8),
    GhostGone(u8),
    Foreign(u8),
    /// Somebody deletes a slice.
    SliceGone(u8),
    Bind,
    Hear(u8, u8),
    List(u8),
    Due(u8),
    /// A write happens; its answer comes later.
    CarryOut(u8),
    Answer(u8, u8),
    Twice(u8),
    Wait(u16),
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    use Act::*;
    prop_oneof![
        2 => (0u8..4, proptest::option::of(0u8..4)).prop_map(|(node, id)| Label(node, id)),
        1 => (0u8..4).prop_map(NodeGone),
        1 => (0u8..4, 0u8..5).prop_map(|(node, cpus)| Cpus(node, cpus)),
        1 => (0u8..2, 1u8..4, 1u8..3).prop_map(|(bed, count, cpu)| Resize(bed, count, cpu)),
        1 => (0u8..2).prop_map(BedGone),
        3 => any::<u8>().prop_map(Claim),
        1 => (0u8..4, any::<u8>()).prop_map(|(node, slots)| Intrude(node, slots)),
        3 => any::<u8>().prop_map(Ends),
        2 => any::<u8>().prop_map(GhostGone),
        1 => any::<u8>().prop_map(Foreign),
        1 => any::<u8>().prop_map(SliceGone),
        4 => Just(Bind),
        8 => (0u8..5, 1u8..5).prop_map(|(of, count)| Hear(of, count)),
        1 => (0u8..5).prop_map(List),
        8 => (1u8..6).prop_map(Due),
        5 => any::<u8>().prop_map(CarryOut),
        10 => (any::<u8>(), 0u8..16).prop_map(|(which, how)| Answer(which, how)),
        1 => any::<u8>().prop_map(Twice),
        3 => (1u16..3_000).prop_map(Wait),
        1 => Just(Restart),
    ]
}

const RESOURCES: [Resource; 5] = [
    Resource::Namespaces,
    Resource::Nodes,
    Resource::Testbeds,
    Resource::TestbedSlices,
    Resource::Pods,
];

struct Storm {
    world: World,
    /// Sent and not answered; with the answer that is on its way.
    flying: Vec<(Write, Option<Answer>)>,
    answered: Vec<Write>,
    pods: u32,
    /// By ghost, the number that a status gave its slot first; while it was there.
    numbers: BTreeMap<String, i32>,
}

fn bed(number: u8) -> String {
    if number == 0 {
        "bed".to_owned()
    } else {
        format!("bed-{number}")
    }
}

impl Storm {
    fn new(in_parts: bool) -> Self {
        let mut world = if in_parts {
            World::of_small_parts()
        } else {
            World::new()
        };
        for number in 0..3 {
            world.node(&format!("node-{number}"), Some(&number.to_string()), 4);
        }
        world.testbed("bed", spec(2, "1"));
        Self {
            world,
            flying: Vec::new(),
            answered: Vec::new(),
            pods: 0,
            numbers: BTreeMap::new(),
        }
    }

    fn act(&mut self, act: Act) {
        let world = &mut self.world;
        match act {
            Act::Label(node, id) => {
                let name = format!("node-{node}");
                if world.objects.contains_key(&node_key(&name)) {
                    let labels = id.map_or(json!({}), |id| json!({"bed": id.to_string()}));
                    world.edit(&node_key(&name), |node| node["metadata"]["labels"] = labels);
                } else {
                    world.node(&name, id.map(|id| id.to_string()).as_deref(), 4);
                }
            }
            Act::NodeGone(node) => world.remove(&node_key(&format!("node-{node}"))),
            Act::Cpus(node, cpus) => {
                let key = node_key(&format!("node-{node}"));
                if world.objects.contains_key(&key) {
                    let cpus = json!(cpus.to_string());
                    world.edit(&key, |node| node["status"]["allocatable"]["cpu"] = cpus);
                }
            }
            Act::Resize(number, count, cpu) => {
                world.testbed(&bed(number), spec(count.into(), &cpu.to_string()));
            }
            Act::BedGone(number) => world.remove(&testbed_key(&bed(number))),
            Act::Claim(which) => self.claim(which),
            Act::Intrude(node, slots) => {
                self.pods += 1;
                let name = format!("intruder-{}", self.pods);
                let slots = format!("{}_{}", slots % 4, 4 + slots % 3);
                world.claimant(&name, &slots, &format!("node-{node}"));
            }
            Act::Ends(which) => {
                let pods = world.pods().filter(|(_, pod)| !is_ghost(pod));
                let pods: Vec<_> = pods.map(|(key, _)| key.clone()).collect();
                if let Some(pod) = pods.get(usize::from(which) % pods.len().max(1)) {
                    if which % 2 == 0 {
                        world.edit(pod, |pod| pod["status"]["phase"] = json!("Succeeded"));
                    } else if pod.1 == "team" {
                        world.remove(pod);
                    }
                }
            }
            Act::GhostGone(which) => {
                let ghosts = world.ghosts();
                if let Some(ghost) = ghosts.get(usize::from(which) % ghosts.len().max(1)) {
                    world.remove(&pod_key("muster-system", ghost));
                }
            }
            Act::Foreign(which) => {
                let meta = json!({
                    "namespace": "muster-system", "name": format!("foreign-{which}"),
                    "labels": {"muster.dev/ghost-of": "bed"},
                });
                let pod = json!({"metadata": meta, "spec": {"containers": [{"name": "a"}]}});
                world.put(Resource::Pods, pod);
            }
            Act::SliceGone(which) => {
                let slices = world
                    .of(Resource::TestbedSlices)
                    .map(|(key, _)| key.clone());
                let slices: Vec<_> = slices.collect();
                if let Some(key) = slices.get(usize::from(which) % slices.len().max(1)) {
                    world.remove(key);
                    // What it said is not said any more: its slots get numbers anew.
                    self.check_numbers();
                }
            }
            Act::Bind => _ = world.bind_ghosts(),
            Act::Hear(of, count) => {
                for _ in 0..count {
                    world.hear(RESOURCES[usize::from(of)]);
                }
            }
            Act::List(of) => world.list(RESOURCES[usize::from(of)]),
            Act::Due(most) => {
                let writes = world.machine.due(world.now, most.into());
                self.flying
                    .extend(writes.into_iter().map(|one| (one, None)));
                let objects: BTreeSet<_> = self.flying.iter().map(|(one, _)| &one.on).collect();
                assert_eq!(objects.len(), self.flying.len(), "two writes of one object");
            }
            Act::CarryOut(which) => {
                if !self.flying.is_empty() {
                    let index = usize::from(which) % self.flying.len();
                    let (write, answer) = self.flying[index].clone();
                    let answer = answer.unwrap_or_else(|| self.carry_out(&write));
                    self.flying[index].1 = Some(answer);
                }
            }
            Act::Answer(which, how) => self.answer(which, how),
            Act::Twice(which) => {
                if let Some(write) = self
                    .answered
                    .get(usize::from(which) % self.answered.len().max(1))
                {
                    let answer = Answer::Conflict;
                    world.machine.answered(write.ticket, answer, world.now);
                }
            }
            Act::Wait(span) => world.now = world.now + Millis(span.into()),
            Act::Restart => {
                // What was sent may still happen.
                for (write, answer) in std::mem::take(&mut self.flying) {
                    if answer.is_none() && write.ticket.0 % 2 == 0 {
                        self.carry_out(&write);
                    }
                }
                self.answered.clear();
                self.world.restart();
            }
        }
    }

    /// A pod is bound to a slot that a status shows as free, as by the scheduler.
    fn claim(&mut self, which: u8) {
        if !self.world.objects.contains_key(&testbed_key("bed")) {
            return;
        }
        let object = &self.world.objects[&testbed_key("bed")];
        if object["status"].is_null() {
            return;
        }
        let slots = self.world.status("bed").slots;
        let free = slots.iter().filter(|one| one.state == SlotState::Free);
        let free: Vec<_> = free.collect();
        if let Some(slot) = free.get(usize::from(which) % free.len().max(1)) {
            self.pods += 1;
            let name = format!("pod-{}", self.pods);
            self.world.take(&name, slot.position.cast_unsigned());
        }
    }

    fn carry_out(&mut self, write: &Write) -> Answer {
        if let crate::Deed::Delete { uid } = &write.deed {
            let there = self
                .world
                .pods()
                .find(|(_, pod)| pod["metadata"]["uid"] == json!(uid));
            assert!(
                there.is_none_or(|(_, pod)| is_ghost(pod)),
                "not ours: {there:?}"
            );
        }
        let answer = self.world.carry_out(write);
        self.check_numbers();
        answer
    }

    fn answer(&mut self, which: u8, how: u8) {
        if self.flying.is_empty() {
            return;
        }
        let (write, came) = self.flying.remove(usize::from(which) % self.flying.len());
        let until = self.world.now + Millis(700);
        let answer = match how {
            0 => Answer::Lost,
            1 => {
                came.unwrap_or_else(|| self.carry_out(&write));
                Answer::Lost
            }
            // What happened is not refused.
            2 if came.is_none() => Answer::Refused {
                message: "no".to_owned(),
            },
            3 if came.is_none() => Answer::Throttled { until },
            4 => match came.unwrap_or_else(|| self.carry_out(&write)) {
                Answer::Done(_) => Answer::Done(None),
                other => other,
            },
            _ => came.unwrap_or_else(|| self.carry_out(&write)),
        };
        let now = self.world.now;
        self.world.machine.answered(write.ticket, answer, now);
        self.answered.push(write);
    }

    /// A slot keeps its number as long as its status has it; and none is there twice.
    fn check_numbers(&mut self) {
        self.world.machine.audit();
        let mut now = BTreeMap::new();
        for number in 0..2 {
            let name = bed(number);
            let there = self.world.objects.get(&testbed_key(&name));
            if there.is_none_or(|one| one["status"].is_null()) {
                continue;
            }
            let mut positions = BTreeSet::new();
            let mut guests = BTreeSet::new();
            for slot in self.world.status(&name).slots {
                assert!(positions.insert(slot.position), "a number twice");
                if slot.state == SlotState::Occupied {
                    assert!(guests.insert(slot.pod_uid.clone()), "a pod on two slots");
                }
                let before = self.numbers.get(&slot.ghost);
                assert!(
                    before.is_none_or(|before| *before == slot.position),
                    "another number"
                );
                assert!(
                    now.insert(slot.ghost, slot.position).is_none(),
                    "a slot twice"
                );
            }
        }
        self.numbers = now;
    }

    /// Everything goes well from here on: then ghosts are those of the slots that are not occupied, and every slot
    /// of every node that has the label is there.
    fn end(mut self) {
        for (write, answer) in std::mem::take(&mut self.flying) {
            let answer = answer.unwrap_or_else(|| self.carry_out(&write));
            let now = self.world.now;
            self.world.machine.answered(write.ticket, answer, now);
        }
        self.world.now = self.world.now + Millis(120_000);
        self.world.rest();
        self.check_numbers();
        let mut wanted = BTreeSet::new();
        for slice in self.world.slices() {
            let whose = whose(&slice).unwrap();
            let bed = &self.world.objects[&testbed_key(whose.testbed)];
            assert_eq!(bed["metadata"]["uid"], json!(whose.owner), "{slice:?}");
            assert!(!slice.spec.slots.is_empty(), "{slice:?}");
        }
        for number in 0..2 {
            let name = bed(number);
            let Some(object) = self.world.objects.get(&testbed_key(&name)) else {
                continue;
            };
            let per_node = object["spec"]["slotsPerNode"].as_u64().unwrap();
            let labelled = self.world.objects.iter().filter(|(key, node)| {
                key.0 == Resource::Nodes && !node["metadata"]["labels"]["bed"].is_null()
            });
            let labelled: BTreeSet<String> = labelled.map(|(key, _)| key.2.clone()).collect();
            let status = self.world.status(&name);
            let mut places = BTreeSet::new();
            for slot in &status.slots {
                places.insert((slot.node_name.clone(), slot.node_position));
                if slot.state == SlotState::Occupied {
                    let uid = slot.pod_uid.clone().unwrap();
                    let pod = self
                        .world
                        .pods()
                        .find(|(_, pod)| pod["metadata"]["uid"] == json!(uid));
                    let (_, pod) = pod.expect("who sits there is there");
                    assert_eq!(pod["spec"]["nodeName"], json!(slot.node_name));
                    assert_ne!(pod["status"]["phase"], json!("Succeeded"));
                } else {
                    assert!(labelled.contains(&slot.node_name), "{slot:?}");
                    wanted.insert(slot.ghost.clone());
                }
            }
            for node in &labelled {
                for on_node in 0..per_node {
                    let place = (node.clone(), i32::try_from(on_node).unwrap());
                    assert!(places.contains(&place), "no slot {place:?} in {status:#?}");
                }
            }
            let head = (status.total, status.observed_generation);
            let generation = object["metadata"]["generation"].as_i64();
            assert_eq!(head, (i32::try_from(status.slots.len()).ok(), generation));
        }
        let ghosts: BTreeSet<String> = self.world.ghosts().into_iter().collect();
        assert_eq!(
            ghosts, wanted,
            "ghosts (left) and the slots that nobody has"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_it_comes_to_rest_with_a_ghost_for_every_slot_that_nobody_has(
        acts in proptest::collection::vec(act(), 1..120), in_parts in proptest::bool::weighted(0.7)
    ) {
        let mut storm = Storm::new(in_parts);
        for act in acts {
            storm.act(act);
        }
        storm.end();
    }
}

/// A slice is made twice, for of the first time nobody told; it comes, and somebody deletes it before the second
/// creation has happened.
#[test]
fn what_a_creation_says_that_may_still_happen_is_said_nowhere_else() {
    use Act::{Answer, Due, Hear, Label, List, Restart, SliceGone, Wait};
    let mut storm = Storm::new(true);
    for act in [
        Restart,
        Due(3),
        Answer(43, 4),
        Label(0, None),
        Answer(162, 5),
        Wait(1000),
        Due(1),
        SliceGone(0),
        Hear(1, 1),
        Hear(3, 1),
        List(3),
        Due(1),
    ] {
        storm.act(act);
    }
    storm.end();
}
