//! The slots of testbeds, and which pods were bound to them.

use muster_model::{SlotSpec, TestbedSpec};
use std::collections::{BTreeMap, BTreeSet};

/// A slot, by its testbed's name and its position.
pub(crate) type SlotKey = (String, u32);

/// What is known of slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotBook {
    testbeds: BTreeMap<String, TestbedSpec>,
    /// The uid of the pod that was bound to a slot last.
    sits: BTreeMap<SlotKey, String>,
    /// Those whose room has been theirs.
    held: BTreeSet<SlotKey>,
}

impl SlotBook {
    pub(crate) fn hear(&mut self, spec: &TestbedSpec) {
        let before = self.testbeds.insert(spec.name.clone(), spec.clone());
        let of = |spec: Option<&TestbedSpec>, position| {
            let spec = spec?;
            let slot = spec.slots.iter().find(|slot| slot.position == position)?;
            Some((
                spec.uid.clone(),
                spec.request.clone(),
                slot.node.clone(),
                slot.ghost.clone(),
            ))
        };
        let same = |(name, position): &SlotKey| {
            *name != spec.name
                || of(before.as_ref(), *position) == of(Some(spec), *position)
                    && of(Some(spec), *position).is_some()
        };
        self.held.retain(&same);
        self.sits.retain(|key, _| same(key));
        // Who sits there, for all that was seen.
        for slot in spec.slots.iter().filter(|slot| !slot.occupant.is_empty()) {
            let key = (spec.name.clone(), slot.position);
            self.sit(key, &slot.occupant);
        }
    }

    pub(crate) fn gone(&mut self, name: &str) {
        self.testbeds.remove(name);
        self.held.retain(|(testbed, _)| testbed != name);
        self.sits.retain(|(testbed, _), _| testbed != name);
    }

    /// A node is gone: nothing on it is a slot.
    pub(crate) fn node_gone(&mut self, node: &str) {
        let testbeds = &self.testbeds;
        let there = |(name, position): &SlotKey| {
            let slots = testbeds.get(name).map(|one| &one.slots);
            let mut slots = slots.into_iter().flatten();
            slots.any(|slot| slot.position == *position && slot.node != node)
        };
        self.held.retain(&there);
        self.sits.retain(|key, _| there(key));
    }

    pub(crate) fn testbed(&self, name: &str) -> Option<&TestbedSpec> {
        self.testbeds.get(name)
    }

    pub(crate) fn slot(&self, (testbed, position): &SlotKey) -> Option<&SlotSpec> {
        let slots = &self.testbeds.get(testbed)?.slots;
        slots.iter().find(|slot| slot.position == *position)
    }

    /// The slot of a ghost.
    pub(crate) fn of_ghost(&self, uid: &str, name: &str) -> Option<(SlotKey, &SlotSpec)> {
        let testbed = self.testbeds.values().find(|one| one.uid == uid)?;
        let slot = testbed.slots.iter().find(|slot| slot.ghost == name)?;
        Some(((testbed.name.clone(), slot.position), slot))
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
        self.sits.retain(|_, known| known != uid);
        self.sits.insert(key, uid.to_owned());
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
            let mut request = self.testbeds.get(&key.0)?.request.iter();
            let amount = request
                .find(|(name, _)| name == resource)
                .map(|(_, amount)| *amount);
            Some((key, amount.unwrap_or(i64::from(resource == "pods"))))
        })
    }
}
