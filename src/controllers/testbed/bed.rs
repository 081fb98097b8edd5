//! What is known of one Testbed: what it asks for, what it says, and its slots as they are now.

use super::slots::{Known, Numbered, Wanted};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use muster_api::crd::{self, Slot, SlotState, TestbedStatus};
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
    /// Since when it has no ghost while somebody comes.
    pub(super) awaited: Option<Time>,
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
    /// What it says, as it was last observed.
    pub(super) said: Option<TestbedStatus>,
    /// The ghosts that it names: others are not made.
    named: BTreeMap<String, u32>,
    pub(super) slots: BTreeMap<u32, Seated>,
    pub(super) left_out: usize,
    /// The numbers of the slots of each node.
    pub(super) on_node: BTreeMap<String, Vec<u32>>,
    /// What is wrong on which node.
    pub(super) problems: BTreeMap<String, String>,
    /// Ghosts that the API server refuses, and why.
    pub(super) refused: BTreeMap<String, String>,
    /// Slots that may have to be said anew.
    pub(super) changed: BTreeSet<u32>,
    /// When its status was last written.
    pub(super) written_at: Option<Time>,
}

impl Bed {
    pub(super) fn read(testbed: &crd::Testbed) -> Self {
        let meta = &testbed.metadata;
        let said = testbed.status.clone();
        let slots = said.iter().flat_map(|said| &said.slots);
        let named = slots.filter_map(|one| Some((one.ghost.clone(), number(one)?)));
        Self {
            uid: meta.uid.clone().unwrap_or_default(),
            version: meta.resource_version.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or(0),
            terminating: meta.deletion_timestamp.is_some(),
            asked: asked(testbed),
            request: testbed.spec.resources_per_slot.clone(),
            named: named.collect(),
            said,
            slots: BTreeMap::new(),
            left_out: 0,
            on_node: BTreeMap::new(),
            problems: BTreeMap::new(),
            refused: BTreeMap::new(),
            changed: BTreeSet::new(),
            written_at: None,
        }
    }

    /// Takes what is observed of it now; whether the slots have to be numbered anew.
    pub(super) fn update(&mut self, testbed: &crd::Testbed) -> bool {
        let new = Self::read(testbed);
        let numbers = self.slots.iter();
        let numbers = numbers.map(|(number, one)| (one.slot.ghost.as_str(), *number));
        let numbers: BTreeMap<&str, u32> = numbers.collect();
        let named = new.named.iter();
        let as_we_do = named.map(|(ghost, number)| (ghost.as_str(), *number));
        let otherwise = !as_we_do.eq(numbers);
        let anew = otherwise || new.asked != self.asked || new.terminating != self.terminating;
        if self.said != new.said {
            self.changed = self.slots.keys().copied().collect();
        }
        self.version = new.version;
        self.generation = new.generation;
        self.terminating = new.terminating;
        self.asked = new.asked;
        self.request = new.request;
        self.said = new.said;
        self.named = new.named;
        anew
    }

    /// Whether its status says that the slot of this number has this ghost.
    pub(super) fn names(&self, ghost: &str, number: u32) -> bool {
        self.named.get(ghost) == Some(&number)
    }

    /// The slots that its status names; of each, whether somebody sits there.
    pub(super) fn known(&self, sits: impl Fn(&Slot, &str) -> bool) -> Vec<Known<'_>> {
        let slots = self.said.iter().flat_map(|said| &said.slots);
        let known = slots.filter_map(|one| {
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

    /// Takes the slots as they are numbered now. Who sat on one that stays sits there.
    pub(super) fn renumber(&mut self, numbered: Numbered) {
        let said = self.said.iter().flat_map(|said| &said.slots);
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
                        awaited: None,
                    }
                }
            };
            self.slots.insert(number, seated);
        }
        self.left_out = numbered.left_out;
        self.changed = self.slots.keys().copied().collect();
        let on_node = &self.on_node;
        self.problems.retain(|node, _| on_node.contains_key(node));
        let ghosts: BTreeSet<&str> = self
            .slots
            .values()
            .map(|one| one.slot.ghost.as_str())
            .collect();
        self.refused
            .retain(|ghost, _| ghosts.contains(ghost.as_str()));
    }

    /// Which of the slots, by number, this one is.
    pub(super) fn index(&self, number: u32) -> usize {
        // Mostly the numbers have no gaps.
        let guess = number as usize;
        if self.slots.len() > guess
            && self
                .slots
                .keys()
                .next_back()
                .is_some_and(|last| *last as usize == self.slots.len() - 1)
        {
            guess
        } else {
            self.slots.range(..number).count()
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

fn number(slot: &Slot) -> Option<u32> {
    u32::try_from(slot.position).ok()
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
