//! What a Testbed says: its status as a function of its slots, and the patch from what it says already.

use super::Settings;
use super::bed::{Bed, Seated};
use super::part::Saying;
use crate::said::{self, bounded};
use muster_api::condition::Condition;
use muster_api::crd::{NodeProblem, Slot, SlotState, TestbedStatus};
use muster_model::units::Time;
use serde::Serialize;
use serde_json::{Value, json};

/// Of so many nodes it is said what is wrong there.
const PROBLEMS: usize = 20;

/// The slot of this number as the status has it.
pub(super) fn slot(number: u32, one: &Seated, settings: &Settings) -> Slot {
    let (namespace, name, uid) = match (&one.guest, &one.held_by) {
        (Some(guest), _) => (Some(&guest.namespace), Some(&guest.name), Some(&guest.uid)),
        (None, Some(uid)) if one.state == SlotState::Free => {
            let namespace = &settings.ghost_namespace;
            (Some(namespace), Some(&one.slot.ghost), Some(uid))
        }
        _ => (None, None, None),
    };
    Slot {
        position: signed(number as usize),
        node_name: one.slot.node.clone(),
        node_id: one.slot.id.clone(),
        node_position: signed(one.slot.on_node as usize),
        ghost: one.slot.ghost.clone(),
        state: one.state,
        pod_namespace: namespace.cloned(),
        pod_name: name.cloned(),
        pod_uid: uid.cloned(),
    }
}

/// All that is said but the slots themselves.
fn head(bed: &Bed, now: Time) -> TestbedStatus {
    let problems = bed.problems.iter().take(PROBLEMS);
    let said = bed.said.as_ref();
    let before = said.and_then(|said| said.conditions.iter().find(|one| one.kind == READY));
    TestbedStatus {
        observed_generation: Some(bed.generation),
        nodes: Some(signed(bed.on_node.len())),
        total: Some(signed(bed.slots().len())),
        free: Some(signed(bed.tally.free)),
        reserved: Some(signed(bed.tally.reserved)),
        occupied: Some(signed(bed.tally.occupied)),
        slots: Vec::new(),
        node_problems: problems
            .map(|(node, message)| NodeProblem {
                node_name: node.clone(),
                message: bounded(message),
            })
            .collect(),
        conditions: vec![ready(bed, before, now)],
    }
}

const READY: &str = "Ready";

/// Whether every free slot is held, and what is in the way: the most fundamental reason first.
fn ready(bed: &Bed, before: Option<&Condition>, now: Time) -> Condition {
    let to_hold = bed.tally.to_hold;
    let not_held = to_hold - bed.tally.held;
    let (slots, nodes) = (bed.slots().len(), bed.on_node.len());
    let (reason, message) = if let Some(problem) = bed.asked.problems.first() {
        ("Invalid", format!("there are no slots: {problem}"))
    } else if let Some((part, message)) = bed.unsaid.iter().next() {
        let numbers = bed.sizes.numbers(*part);
        let (first, last) = (numbers.start, numbers.end.saturating_sub(1));
        let words = format!("slots {first} to {last} cannot be said: {message}");
        ("SlicesRefused", words)
    } else if let Some(message) = bed.refused.values().next() {
        let count = bed.refused.len();
        let words = format!("{count} ghosts are refused: {message}");
        ("GhostsRefused", words)
    } else if !bed.problems.is_empty() {
        let nodes = bed.problems.iter().take(1);
        let mut words: Vec<String> = nodes
            .map(|(node, words)| format!("{node}: {words}"))
            .collect();
        let count = bed.problems.len();
        if count > 1 {
            words.push(format!(
                "and there are problems on {} more nodes",
                count - 1
            ));
        }
        if count > PROBLEMS {
            words.push(format!("{} of them are not listed", count - PROBLEMS));
        }
        ("NodeProblems", words.join("; "))
    } else if bed.left_out > 0 {
        let asked = slots + bed.left_out;
        let words = format!("of {asked} slots that it asks for, the first {slots} are there");
        ("TooManySlots", words)
    } else if slots == 0 {
        let label = &bed.asked.node_label;
        ("NoNodes", format!("no node has the label {label}"))
    } else if not_held > 0 {
        let words = format!("{not_held} of {to_hold} free slots are not held yet");
        ("Holding", words)
    } else {
        ("Held", format!("{slots} slots on {nodes} nodes"))
    };
    let mut message = message;
    if reason != "TooManySlots" && bed.left_out > 0 {
        message = format!("{message}; {} more slots are left out", bed.left_out);
    }
    let before = before.map_or(&[] as &[Condition], std::slice::from_ref);
    let words = (reason, message.as_str());
    let generation = Some(bed.generation);
    said::condition(READY, reason == "Held", words, generation, before, now)
}

/// The operations that make of what a Testbed says what it has to say; none where that is the same. Of slots, those
/// are in its status that no slice has.
pub(super) fn operations(bed: &Bed, settings: &Settings, now: Time) -> Saying {
    let head = head(bed, now);
    let Some(said) = &bed.said else {
        let (slots, saying) = bed.to_say(0, settings);
        let status = TestbedStatus { slots, ..head };
        return Saying {
            operations: vec![json!({"op": "add", "path": "/status", "value": status})],
            ..saying
        };
    };
    let mut operations = Vec::new();
    let mut field = |name: &str, before: &dyn PartialValue, now: &dyn PartialValue| {
        let (before, now) = (before.value(), now.value());
        if before != now {
            let path = format!("/status/{name}");
            operations.push(json!({"op": "add", "path": path, "value": now}));
        }
    };
    field(
        "observedGeneration",
        &said.observed_generation,
        &head.observed_generation,
    );
    field("nodes", &said.nodes, &head.nodes);
    field("total", &said.total, &head.total);
    field("free", &said.free, &head.free);
    field("reserved", &said.reserved, &head.reserved);
    field("occupied", &said.occupied, &head.occupied);
    field("nodeProblems", &said.node_problems, &head.node_problems);
    field("conditions", &said.conditions, &head.conditions);
    let mut saying = bed.saying(0, "/status/slots", settings);
    operations.append(&mut saying.operations);
    Saying {
        operations,
        ..saying
    }
}

/// A slice that is made anew; and what is said by it.
pub(super) fn slice(name: &str, testbed: &str, bed: &Bed, slots: &[Slot]) -> Value {
    json!({
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "TestbedSlice",
        "metadata": {
            "name": name,
            "ownerReferences": [{
                "apiVersion": "muster.dev/v1alpha1",
                "kind": "Testbed",
                "name": testbed,
                "uid": bed.uid,
                "controller": true,
                "blockOwnerDeletion": false,
            }],
        },
        "spec": {"testbed": testbed, "slots": slots},
    })
}

/// A field as it is compared and written.
trait PartialValue {
    fn value(&self) -> Value;
}

impl<T: Serialize> PartialValue for T {
    fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

fn signed(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
