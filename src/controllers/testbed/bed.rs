//! What is known of one Testbed: what it asks for, what it says, and its slots as they are now.

use super::part::{Heard, Part, number};
use super::slots::{Known, Numbered, Wanted};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use muster_api::crd::{self, Slot, SlotState, TestbedStatus};
use muster_api::slices::Sizes;
use muster_api::slots::{Asked, asked};
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// A pod that sits on a slot or is on its way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guest {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
}

/// A slot and who sits there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seated {
    pub(super) slot: Wanted,
    /// It is one of those that the Testbed asks for; else it only stays for who sits there.
    pub(super) wanted: bool,
    pub(super) state: SlotState,
    /// Who sits there if it is occupied, or comes if it is reserved.
    pub(super) guest: Option<Guest>,
    /// The uid of its ghost, where that is there and stays.
    pub(super) held_by: Option<String>,
    /// Its ghost is bound.
    pub(super) held: bool,
    /// Its ghost was told to give way, and is gone: for somebody, whoever that is.
    pub(super) gave_way: bool,
    /// Since when it has no ghost while somebody comes.
    pub(super) awaited: Option<Time>,
}

/// How many slots are so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) free: usize,
    pub(super) reserved: usize,
    pub(super) occupied: usize,
    /// Free ones that are to be held.
    pub(super) to_hold: usize,
    /// Those of them that are.
    pub(super) held: usize,
}

impl Tally {
    fn of(slots: &BTreeMap<u32, Seated>) -> Self {
        let mut tally = Self::default();
        for one in slots.values() {
            tally.count(one, |number| *number += 1);
        }
        tally
    }

    fn count(&mut self, one: &Seated, change: impl Fn(&mut usize)) {
        change(match one.state {
            SlotState::Free => &mut self.free,
            SlotState::Reserved => &mut self.reserved,
            SlotState::Occupied => &mut self.occupied,
        });
        if one.wanted && one.state == SlotState::Free {
            change(&mut self.to_hold);
            if one.held {
                change(&mut self.held);
            }
        }
    }
}

/// A Testbed.
#[derive(Debug)]
pub(super) struct Bed {
    pub(super) uid: String,
    pub(super) version: String,
    pub(super) generation: i64,
    /// It is about to go: nothing is held any more.
    pub(super) terminating: bool,
    pub(super) asked: Asked,
    pub(super) request: BTreeMap<String, Quantity>,
    /// What it says, as it was last observed; of its slots, `parts` has that.
    pub(super) said: Option<TestbedStatus>,
    /// What is said of its slots, by the first number of each part.
    pub(super) parts: BTreeMap<u32, Part>,
    pub(super) sizes: Sizes,
    slots: BTreeMap<u32, Seated>,
    pub(super) tally: Tally,
    pub(super) left_out: usize,
    /// The numbers of the slots of each node.
    pub(super) on_node: BTreeMap<String, Vec<u32>>,
    /// What is wrong on which node.
    pub(super) problems: BTreeMap<String, String>,
    /// Ghosts that the API server refuses, and why.
    pub(super) refused: BTreeMap<String, String>,
    /// Parts of which slots are not named yet, for others name them.
    pub(super) waiting: BTreeSet<u32>,
    /// Parts that the API server does not take, and why.
    pub(super) unsaid: BTreeMap<u32, String>,
}

impl Bed {
    pub(super) fn read(testbed: &crd::Testbed, sizes: Sizes) -> Self {
        let meta = &testbed.metadata;
        let mut said = testbed.status.clone();
        let slots = said.as_mut().map(|said| std::mem::take(&mut said.slots));
        let mut bed = Self {
            uid: meta.uid.clone().unwrap_or_default(),
            version: meta.resource_version.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or(0),
            terminating: meta.deletion_timestamp.is_some(),
            asked: asked(testbed),
            request: testbed.spec.resources_per_slot.clone(),
            said,
            parts: BTreeMap::new(),
            sizes,
            slots: BTreeMap::new(),
            tally: Tally::default(),
            left_out: 0,
            on_node: BTreeMap::new(),
            problems: BTreeMap::new(),
            refused: BTreeMap::new(),
            waiting: BTreeSet::new(),
            unsaid: BTreeMap::new(),
        };
        bed.begin_with(slots.unwrap_or_default());
        bed
    }

    /// Takes what is observed of it now.
    pub(super) fn update(&mut self, testbed: &crd::Testbed) -> Heard {
        let meta = &testbed.metadata;
        let (asked, terminating) = (asked(testbed), meta.deletion_timestamp.is_some());
        let differs = asked != self.asked || terminating != self.terminating;
        self.version = meta.resource_version.clone().unwrap_or_default();
        self.generation = meta.generation.unwrap_or(0);
        self.terminating = terminating;
        self.asked = asked;
        self.request.clone_from(&testbed.spec.resources_per_slot);
        self.status_moved_to(&self.version.clone());
        let mut said = testbed.status.clone();
        let slots = said.as_mut().map(|said| std::mem::take(&mut said.slots));
        self.said = said;
        let heard = self.hear(0, slots.unwrap_or_default());
        Heard {
            layout: differs || heard.layout,
            ..heard
        }
    }

    /// What is counted and compared as it changes is the same from scratch.
    #[cfg(test)]
    pub(super) fn audit(&self) {
        assert_eq!(self.tally, Tally::of(&self.slots));
        self.audit_parts();
    }

    /// Its slots, by number.
    pub(super) const fn slots(&self) -> &BTreeMap<u32, Seated> {
        &self.slots
    }

    /// Takes who sits on a slot now; whether that is something else.
    pub(super) fn put(&mut self, number: u32, now: Seated) -> bool {
        let Some(one) = self.slots.get_mut(&number).filter(|one| **one != now) else {
            return false;
        };
        self.tally.count(one, |number| *number -= 1);
        self.tally.count(&now, |number| *number += 1);
        *one = now;
        let part = self.parts.entry(self.sizes.part_of(number)).or_default();
        part.changed.insert(number);
        true
    }

    /// The slots that are said; of each, whether somebody sits there.
    pub(super) fn known(&self, sits: impl Fn(&Slot, &str) -> bool) -> Vec<Known<'_>> {
        let known = self.all_said().filter_map(|one| {
            let number = number(one)?;
            let here = self.slots.get(&number);
            let here = here.filter(|here| here.slot.ghost == one.ghost);
            let uid = here.map_or_else(|| occupant(one), Seated::occupant);
            Some(Known {
                number,
                node: &one.node_name,
                id: &one.node_id,
                on_node: u32::try_from(one.node_position).ok()?,
                ghost: &one.ghost,
                taken: uid.is_some_and(|uid| sits(one, uid)),
            })
        });
        known.collect()
    }

    /// The ghost of a slot, which was told to give way, is gone.
    pub(super) fn ghost_gave_way(&mut self, number: u32) {
        if let Some(slot) = self.slots.get_mut(&number) {
            slot.gave_way = true;
        }
    }

    /// Takes the slots as they are numbered now. Who sat on one that stays sits there.
    pub(super) fn renumber(&mut self, numbered: Numbered) {
        let said = self.all_said();
        let mut guests: BTreeMap<String, Guest> = said
            .filter_map(|one| Some((one.ghost.clone(), guest(one)?)))
            .collect();
        let mut before = BTreeMap::new();
        for (_, one) in std::mem::take(&mut self.slots) {
            // What is known here is newer than what is said.
            guests.remove(&one.slot.ghost);
            before.insert(one.slot.ghost.clone(), one);
        }
        self.on_node.clear();
        for (number, (slot, wanted)) in numbered.slots {
            let numbers = self.on_node.entry(slot.node.clone()).or_default();
            numbers.push(number);
            let seated = match before.remove(&slot.ghost) {
                Some(one) => Seated {
                    slot,
                    wanted,
                    ..one
                },
                None => {
                    let guest = guests.remove(&slot.ghost);
                    let state = match guest {
                        Some(_) => SlotState::Occupied,
                        None => SlotState::Free,
                    };
                    Seated {
                        slot,
                        wanted,
                        state,
                        guest,
                        held_by: None,
                        held: false,
                        gave_way: false,
                        awaited: None,
                    }
                }
            };
            self.slots.insert(number, seated);
        }
        self.left_out = numbered.left_out;
        let on_node = &self.on_node;
        self.problems.retain(|node, _| on_node.contains_key(node));
        let ghosts: BTreeSet<&str> = self
            .slots
            .values()
            .map(|one| one.slot.ghost.as_str())
            .collect();
        self.refused
            .retain(|ghost, _| ghosts.contains(ghost.as_str()));
        self.tally = Tally::of(&self.slots);
        for part in self.part_numbers() {
            self.all_changed(part);
            self.prune(part);
        }
    }
}

impl Seated {
    /// The uid of who sits there.
    pub(super) fn occupant(&self) -> Option<&str> {
        let guest = self.guest.as_ref()?;
        (self.state == SlotState::Occupied).then_some(guest.uid.as_str())
    }
}

fn occupant(slot: &Slot) -> Option<&str> {
    let uid = slot.pod_uid.as_deref()?;
    (slot.state == SlotState::Occupied).then_some(uid)
}

fn guest(slot: &Slot) -> Option<Guest> {
    Some(Guest {
        uid: occupant(slot)?.to_owned(),
        namespace: slot.pod_namespace.clone().unwrap_or_default(),
        name: slot.pod_name.clone().unwrap_or_default(),
    })
}
