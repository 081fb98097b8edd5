//! Testbeds in the worlds in which faults happen: pods that claim slots, alone and in gangs, while testbeds are
//! resized, go and come again, and their controllers die; and what must hold of slots in the end.

use crate::plans::plans;
use crate::pods::{duration, habits, pod};
use crate::small::lot::Lot;
use crate::small::{NS, RACK, key};
use crate::world::{entry, play};
use muster::api::crd::SlotState;
use muster::api::slices::Sizes;
use muster::controllers::Resource;
use muster::model::units::Time;
use muster::model::{SlotClaim, plain};
use muster::sim::driver::Driver;
use muster::sim::random::Random;
use muster::sim::scenario::{Entry, Played, PodPlan};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) const LAB: &str = "lab";
const GHOSTS: &str = "muster-system";

/// Slots on every node: all have the label.
fn lab(random: &mut Random) -> Value {
    json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "metadata": {"name": LAB},
        "spec": {
            "nodeLabel": RACK,
            "slotsPerNode": 1 + random.below(2),
            "resourcesPerSlot": {"cpu": format!("{}m", 500 * (1 + random.below(3)))},
        },
    })
}

/// How many slots the status of a testbed has, and each slice: few, so that most testbeds have slices. By how much
/// there is in a world, which leaves its lots to all others.
pub(crate) fn sizes(entries: usize) -> Sizes {
    let few = |most: usize| u32::try_from(1 + entries % most).unwrap();
    Sizes {
        status: few(4),
        slice: few(3),
        ..Sizes::default()
    }
}

/// A testbed, which may come late, be another one on the way, go, and come again; and pods that claim its slots.
pub(crate) fn testbed(random: &mut Random, entries: &mut Vec<Entry>) {
    let at = if random.per_mille(300) {
        random.below(10_000)
    } else {
        0
    };
    let testbed = |random: &mut Random, at: u64| {
        entry(at, Played::Whole(Resource::Testbeds, Box::new(lab(random))))
    };
    let mut first = testbed(random, at);
    if random.per_mille(300) {
        let at = at + 1 + random.below(20_000);
        entries.push(testbed(random, at));
    } else if random.per_mille(300) {
        let gone = at + 1 + random.below(10_000);
        first.delete_at = Some(Time(gone));
        let again = gone + 1 + random.below(10_000);
        entries.push(testbed(random, again));
    }
    entries.push(first);
    for index in 0..1 + random.below(6) {
        let duration = duration(random);
        let mut plan = pod(format!("claims-{index}"), None, 500, duration);
        claim(random, &mut plan);
        plan.spec.priority = random.per_mille(200).then_some(1);
        entries.push(entry(random.below(25_000), Played::Pod(Box::new(plan))));
    }
    if random.per_mille(500) {
        gang(random, entries);
    }
    if random.per_mille(500) {
        plans(random, entries);
    }
}

/// A gang of which most members claim slots.
fn gang(random: &mut Random, entries: &mut Vec<Entry>) {
    let (name, size) = ("claimants", 2 + random.count(2));
    let at = random.below(20_000);
    entries.push(entry(at, play(plain::group(key(name), size))));
    let duration = duration(random);
    let habits = habits(random);
    for index in 0..size {
        let mut plan = pod(format!("{name}-{index}"), Some(name), 500, duration);
        let mut other = plan.clone();
        habits(&mut other);
        if index > 0 || random.per_mille(500) {
            plan.spec.shape.constraints.profile = other.spec.shape.constraints.profile;
            claim(random, &mut plan);
        } else {
            plan = other;
        }
        let at = at + random.below(1_000);
        entries.push(entry(at, Played::Pod(Box::new(plan))));
    }
}

/// One to three of the slots that there may be, or are not.
fn claim(random: &mut Random, plan: &mut PodPlan) {
    let count = 1 + random.below(3);
    let positions: BTreeSet<u32> = (0..count).map(|_| random.count(8)).collect();
    plan.spec.shape.claim = Some(Arc::new(SlotClaim {
        namespace: NS.to_owned(),
        testbed: LAB.to_owned(),
        positions: positions.into_iter().collect(),
    }));
}

/// At rest every free slot has its ghost or no room for it, every ghost a slot, and nobody shares one.
pub(crate) fn slots_are_in_order(driver: &Driver) -> Result<(), String> {
    let server = driver.server();
    let Some(testbed) = server.testbeds().next() else {
        let ghost = server.pods().find(|pod| pod.is_ghost());
        return match ghost {
            Some(ghost) => Err(format!(
                "ghost {} is there without a testbed",
                ghost.spec.key
            )),
            None => Ok(()),
        };
    };
    let slots = testbed.status.unwrap_or_default().slots;
    let names: BTreeSet<&str> = slots.iter().map(|slot| slot.ghost.as_str()).collect();
    for pod in server.pods().filter(|pod| pod.is_ghost()) {
        if !names.contains(pod.spec.key.name.as_str()) {
            return Err(format!("ghost {} has no slot", pod.spec.key));
        }
    }
    let brain = driver.brain().ok_or("the scheduler is dead")?;
    let state = brain.scheduler().state();
    let mut sit: BTreeSet<&str> = BTreeSet::new();
    for slot in &slots {
        let position = slot.position;
        let ghost = server.pod_named(GHOSTS, &slot.ghost);
        let known = state
            .all_slots()
            .find(|(_, id, _)| i64::from(id.position()) == i64::from(position));
        let Some((.., known)) = known else {
            return Err(format!("slot {position} is not known"));
        };
        let seat = known
            .seat()
            .and_then(|pod| state.pod(pod))
            .map(|pod| &pod.key);
        match slot.state {
            SlotState::Free => {
                if let Some(seat) = seat {
                    return Err(format!("slot {position} is free, and {seat} has it"));
                }
                let bound =
                    ghost.is_some_and(|ghost| ghost.spec.node.as_deref() == Some(&slot.node_name));
                let apart = known
                    .node()
                    .is_some_and(|node| state.nodes().is_exclusive(node));
                if known.is_held() && !bound && !apart {
                    return Err(format!("slot {position} has no ghost, and room"));
                }
            }
            SlotState::Occupied => {
                let uid = slot.pod_uid.as_deref().unwrap_or_default();
                if !sit.insert(uid) || seat.is_none_or(|seat| seat.uid != uid) {
                    return Err(format!(
                        "slot {position} is occupied by {uid}, and {seat:?} has it"
                    ));
                }
                if let Some(ghost) = ghost {
                    return Err(format!(
                        "slot {position} is occupied, and {} there",
                        ghost.spec.key
                    ));
                }
            }
            SlotState::Reserved => return Err(format!("slot {position} stays reserved")),
        }
    }
    Ok(())
}
