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

/// How what a Testbed says stands to its slots as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Agrees {
    /// The numbers are the same, in their order.
    numbers: bool,
    /// So are the ghosts behind them.
    ghosts: bool,
}

/// What is other than before in a Testbed that was observed.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// Its slots have to be numbered anew.
    pub(super) layout: bool,
    /// Ghosts that it names and did not name before.
    pub(super) named: Vec<String>,
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
    /// How what it says stands to its slots as they are.
    agrees: Agrees,
    slots: BTreeMap<u32, Seated>,
    pub(super) tally: Tally,
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
        let mut bed = Self {
            uid: meta.uid.clone().unwrap_or_default(),
            version: meta.resource_version.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or(0),
            terminating: meta.deletion_timestamp.is_some(),
            asked: asked(testbed),
            request: testbed.spec.resources_per_slot.clone(),
            named: named(said.as_ref()),
            said,
            agrees: Agrees::default(),
            slots: BTreeMap::new(),
            tally: Tally::default(),
            left_out: 0,
            on_node: BTreeMap::new(),
            problems: BTreeMap::new(),
            refused: BTreeMap::new(),
            changed: BTreeSet::new(),
            written_at: None,
        };
        bed.agrees = bed.agreement();
        bed
    }

    /// Takes what is observed of it now.
    pub(super) fn update(&mut self, testbed: &crd::Testbed) -> Change {
        let meta = &testbed.metadata;
        let (asked, terminating) = (asked(testbed), meta.deletion_timestamp.is_some());
        let differs = asked != self.asked || terminating != self.terminating;
        self.version = meta.resource_version.clone().unwrap_or_default();
        self.generation = meta.generation.unwrap_or(0);
        self.terminating = terminating;
        self.asked = asked;
        self.request.clone_from(&testbed.spec.resources_per_slot);
        let named = self.hear(testbed.status.clone());
        Change {
            layout: differs || !self.agrees.ghosts,
            named,
        }
    }

    /// Takes what its status says now; the ghosts that it names and did not name before.
    fn hear(&mut self, said: Option<TestbedStatus>) -> Vec<String> {
        let before = std::mem::replace(&mut self.said, said);
        let slots = |of: &Option<TestbedStatus>| of.as_ref().map(|said| said.slots.len());
        let pairs = || {
            let before = before.iter().flat_map(|said| &said.slots);
            before.zip(self.said.iter().flat_map(|said| &said.slots))
        };
        let same = |(one, other): (&Slot, &Slot)| {
            one.position == other.position && one.ghost == other.ghost
        };
        if slots(&before) == slots(&self.said) && pairs().all(same) {
            let others = pairs().filter(|(one, other)| one != other);
            self.changed
                .extend(others.filter_map(|(_, one)| number(one)));
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.named, named(self.said.as_ref()));
        self.changed = self.slots.keys().copied().collect();
        self.agrees = self.agreement();
        let unnamed = self.named.iter();
        let unnamed = unnamed.filter(|(ghost, number)| before.get(*ghost) != Some(number));
        unnamed.map(|(ghost, _)| ghost.clone()).collect()
    }

    /// How what it says stands to its slots.
    fn agreement(&self) -> Agrees {
        let positions = self.said.iter().flat_map(|said| &said.slots);
        let positions = positions.map(number);
        let numbers = positions.eq(self.slots.keys().copied().map(Some));
        let ghosts = self.named.len() == self.slots.len()
            && self
                .slots
                .iter()
                .all(|(number, one)| self.names(&one.slot.ghost, *number));
        Agrees { numbers, ghosts }
    }

    /// What is counted and compared as it changes is the same from scratch.
    #[cfg(test)]
    pub(super) fn audit(&self) {
        assert_eq!(self.tally, Tally::of(&self.slots));
        assert_eq!(self.named, named(self.said.as_ref()));
        assert_eq!(self.agrees, self.agreement());
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
        self.changed.insert(number);
        true
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
        self.tally = Tally::of(&self.slots);
        self.agrees = self.agreement();
    }

    /// Where its status has the slot of this number, and what it says there; `None`: its slots have other numbers.
    pub(super) fn said_of(&self, number: u32) -> Option<(usize, &Slot)> {
        let slots = &self.said.as_ref()?.slots;
        if !self.agrees.numbers {
            return None;
        }
        let position = i32::try_from(number).ok()?;
        let index = slots.binary_search_by_key(&position, |one| one.position);
        let index = index.ok()?;
        Some((index, slots.get(index)?))
    }

    /// Whether its status has the numbers of its slots, in their order.
    pub(super) const fn says_its_numbers(&self) -> bool {
        self.agrees.numbers
    }
}

impl Seated {
    /// The uid of who sits there.
    pub(super) fn occupant(&self) -> Option<&str> {
        let guest = self.guest.as_ref()?;
        (self.state == SlotState::Occupied).then_some(guest.uid.as_str())
    }
}

/// The ghosts that a status names, with their numbers.
fn named(said: Option<&TestbedStatus>) -> BTreeMap<String, u32> {
    let slots = said.into_iter().flat_map(|said| &said.slots);
    let named = slots.filter_map(|one| Some((one.ghost.clone(), number(one)?)));
    named.collect()
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
