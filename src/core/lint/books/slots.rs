//! The slots of testbeds, and which pods were bound to them.

use muster_model::{SliceSpec, SlotSpec, TestbedSpec};
use std::collections::{BTreeMap, BTreeSet};

/// A slot, by its testbed's name and its position.
pub(crate) type SlotKey = (String, u32);

/// A testbed, and the slots that it and its slices have told.
#[derive(Clone, Debug, Default)]
struct Bed {
    /// Without slots.
    spec: TestbedSpec,
    slots: BTreeMap<u32, SlotSpec>,
    /// Which of them each object has told: the Testbed, by an empty name, and its slices.
    parts: BTreeMap<String, BTreeSet<u32>>,
    by_ghost: BTreeMap<String, BTreeSet<u32>>,
}

/// What is known of slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotBook {
    testbeds: BTreeMap<String, Bed>,
    slices: BTreeMap<String, SliceSpec>,
    /// The uid of the pod that was bound to a slot last.
    sits: BTreeMap<SlotKey, String>,
    /// On which slot each of them is.
    seats: BTreeMap<String, SlotKey>,
    /// Those whose room has been theirs.
    held: BTreeSet<SlotKey>,
}

impl SlotBook {
    pub(crate) fn hear(&mut self, spec: &TestbedSpec) {
        let name = &spec.name;
        let known = self.testbeds.get(name).map(|bed| &bed.spec);
        let same = known.is_some_and(|one| one.uid == spec.uid && one.request == spec.request);
        if !same {
            self.gone(name);
        }
        let bed = self.testbeds.entry(name.clone()).or_default();
        bed.spec = TestbedSpec {
            slots: Vec::new(),
            ..spec.clone()
        };
        self.take_part(name, "", &spec.slots);
        if !same {
            let slices = self.slices.values();
            let slices = slices.filter(|one| one.testbed == *name && one.owner == spec.uid);
            for slice in slices.cloned().collect::<Vec<_>>() {
                self.take_part(name, &slice.name, &slice.slots);
            }
        }
    }

    pub(crate) fn hear_slice(&mut self, slice: &SliceSpec) {
        let before = self.slices.insert(slice.name.clone(), slice.clone());
        let whose = |one: &SliceSpec| (one.testbed.clone(), one.owner.clone());
        if let Some(before) = before.filter(|one| whose(one) != whose(slice)) {
            self.take_slice(&before, &[]);
        }
        self.take_slice(slice, &slice.slots);
    }

    pub(crate) fn slice_gone(&mut self, name: &str) {
        if let Some(before) = self.slices.remove(name) {
            self.take_slice(&before, &[]);
        }
    }

    fn take_slice(&mut self, slice: &SliceSpec, slots: &[SlotSpec]) {
        let bed = self.testbeds.get(&slice.testbed);
        if bed.is_some_and(|bed| bed.spec.uid == slice.owner) {
            self.take_part(&slice.testbed, &slice.name, slots);
        }
    }

    /// Takes what one object says of the slots of a testbed.
    fn take_part(&mut self, name: &str, part: &str, slots: &[SlotSpec]) {
        let Some(bed) = self.testbeds.get_mut(name) else {
            return;
        };
        let mut before = BTreeMap::new();
        for position in bed.parts.remove(part).unwrap_or_default() {
            if let Some(slot) = bed.slots.remove(&position) {
                if let Some(numbers) = bed.by_ghost.get_mut(&slot.ghost) {
                    numbers.remove(&position);
                }
                before.insert(position, (slot.node, slot.ghost));
            }
        }
        for slot in slots {
            if bed.slots.contains_key(&slot.position) {
                continue;
            }
            bed.slots.insert(slot.position, slot.clone());
            let numbers = bed.by_ghost.entry(slot.ghost.clone()).or_default();
            numbers.insert(slot.position);
            let part = bed.parts.entry(part.to_owned()).or_default();
            part.insert(slot.position);
            let is = (slot.node.clone(), slot.ghost.clone());
            if before.get(&slot.position) == Some(&is) {
                before.remove(&slot.position);
            }
        }
        bed.by_ghost.retain(|_, numbers| !numbers.is_empty());
        for position in before.into_keys() {
            self.forget(&(name.to_owned(), position));
        }
        // Who sits there, for all that was seen.
        for slot in slots.iter().filter(|slot| !slot.occupant.is_empty()) {
            let key = (name.to_owned(), slot.position);
            self.sit(key, &slot.occupant);
        }
    }

    /// Nothing is known of who is on a slot any more.
    fn forget(&mut self, key: &SlotKey) {
        self.held.remove(key);
        if let Some(uid) = self.sits.remove(key) {
            self.seats.remove(&uid);
        }
    }

    pub(crate) fn gone(&mut self, name: &str) {
        let bed = self.testbeds.remove(name);
        for position in bed.into_iter().flat_map(|bed| bed.slots.into_keys()) {
            self.forget(&(name.to_owned(), position));
        }
    }

    /// A node is gone: nothing on it is a slot.
    pub(crate) fn node_gone(&mut self, node: &str) {
        let known = self.held.iter().chain(self.sits.keys());
        let there = known.filter(|key| self.slot(key).is_none_or(|slot| slot.node == node));
        for key in there.cloned().collect::<Vec<_>>() {
            self.forget(&key);
        }
    }

    pub(crate) fn testbed(&self, name: &str) -> Option<&TestbedSpec> {
        Some(&self.testbeds.get(name)?.spec)
    }

    pub(crate) fn slot(&self, (testbed, position): &SlotKey) -> Option<&SlotSpec> {
        self.testbeds.get(testbed)?.slots.get(position)
    }

    /// The slot of a ghost.
    pub(crate) fn of_ghost(&self, uid: &str, name: &str) -> Option<(SlotKey, &SlotSpec)> {
        let bed = self.testbeds.values().find(|one| one.spec.uid == uid)?;
        let position = *bed.by_ghost.get(name)?.first()?;
        let slot = bed.slots.get(&position)?;
        Some(((bed.spec.name.clone(), position), slot))
    }

    /// A pod, or a ghost, is bound to a slot.
    pub(crate) fn take(&mut self, key: SlotKey, sits: Option<&str>) {
        if let Some(uid) = sits {
            self.sit(key.clone(), uid);
        }
        self.held.insert(key);
    }

    /// Who sits on a slot, whose room may be smaller than a slot's is by now.
    fn sit(&mut self, key: SlotKey, uid: &str) {
        // It sits on one, whatever became of a bind before.
        if let Some(before) = self.seats.insert(uid.to_owned(), key.clone()) {
            self.sits.remove(&before);
        }
        if let Some(other) = self.sits.insert(key, uid.to_owned()) {
            self.seats.remove(&other);
        }
    }

    /// Whether the room of a slot has been its own.
    pub(crate) fn is_held(&self, key: &SlotKey) -> bool {
        self.held.contains(key)
    }

    /// The uid of the pod that was bound to a slot last.
    pub(crate) fn sits(&self, key: &SlotKey) -> Option<&String> {
        self.sits.get(key)
    }

    /// The slots on a node whose room has been theirs, and what each takes of a resource.
    pub(crate) fn held_on<'a>(
        &'a self,
        node: &'a str,
        resource: &'a str,
    ) -> impl Iterator<Item = (&'a SlotKey, i64)> {
        self.held.iter().filter_map(move |key| {
            self.slot(key).filter(|slot| slot.node == node)?;
            let mut request = self.testbeds.get(&key.0)?.spec.request.iter();
            let amount = request
                .find(|(name, _)| name == resource)
                .map(|(_, amount)| *amount);
            Some((key, amount.unwrap_or(i64::from(resource == "pods"))))
        })
    }
}
