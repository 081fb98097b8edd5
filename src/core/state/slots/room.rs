//! The room of slots: held once it is free, and the same from then on, whoever is there.

use super::{Slot, SlotId};
use crate::state::ClusterState;
use crate::state::ids::{NodeId, PodId};
use muster_model::resources::{Dimension, Request, Tally};
use std::collections::BTreeSet;

impl ClusterState {
    /// Whether more is in use on a node than it offers, of what a pod asks for: somebody is there who was not
    /// known.
    pub(super) fn is_overfull(&self, pod: PodId, node: NodeId) -> bool {
        let shape = self.shape_of(pod).map(|shape| shape.request.iter());
        let mut asked = shape.into_iter().flatten();
        asked.any(|(one, _)| self.nodes.free(node, one) < 0)
    }

    /// Holds the room of a slot from now on, if it is free but for those who are there; whether it is held. Never
    /// while anybody is thought away.
    pub fn hold_slot(&mut self, id: SlotId) -> bool {
        let Some(testbed) = self.slots.testbeds.get(&id.testbed) else {
            return false;
        };
        let Some(slot) = testbed.slots.get(&id.position) else {
            return false;
        };
        let Some(node) = slot.node.filter(|_| !slot.held) else {
            return slot.held;
        };
        let is_free = |(one, amount)| self.lack_for_slot(slot, node, one, amount) <= 0;
        // Who has a node for itself has its slots, too.
        let is_empty = slot.ghost.is_none() && slot.seat.is_none();
        let others = is_empty && self.nodes.is_exclusive(node);
        let fits = !others && testbed.request.iter().all(is_free);
        if fits && let Some(slot) = self.slots.get_mut(id) {
            slot.held = true;
            self.recount_slot(id);
            self.changes.nodes.insert(node);
        }
        fits
    }

    /// What a node lacks for a slot of this size, beside those who are there.
    pub(super) fn lack_for_slot(
        &self,
        slot: &Slot,
        node: NodeId,
        one: Dimension,
        size: i64,
    ) -> i64 {
        let there = [slot.ghost, slot.seat].into_iter().flatten();
        let shapes = there.filter_map(|pod| self.shape_of(pod));
        let has: i64 = shapes.map(|shape| shape.request.get(one)).sum();
        (size - has).max(0) - self.nodes.free(node, one)
    }

    /// Whether slots have room of a node.
    #[must_use]
    pub fn has_slots_on(&self, node: NodeId) -> bool {
        let here = self
            .slots
            .on
            .get(self.nodes.name(node))
            .into_iter()
            .flatten();
        let mut here = here.filter_map(|id| self.slots.get(*id));
        here.any(|slot| slot.held && slot.node == Some(node))
    }

    /// Brings what a slot takes of its node up to what it is to take.
    pub(super) fn recount_slot(&mut self, id: SlotId) {
        let Some(testbed) = self.slots.testbeds.get_mut(&id.testbed) else {
            return;
        };
        let Some(slot) = testbed.slots.get_mut(&id.position) else {
            return;
        };
        let of = |pod: Option<PodId>| {
            let pod = pod.and_then(|pod| self.pods.get(pod));
            pod.and_then(|pod| self.shapes.get(pod.shape))
                .map(|shape| &shape.request)
        };
        let parts = [of(slot.ghost), of(slot.seat)];
        let mut wanted = Tally::default();
        if slot.held && slot.node.is_some() {
            wanted.add(&testbed.request);
            let mut together = Tally::default();
            parts
                .into_iter()
                .flatten()
                .for_each(|part| together.add(part));
            let largest = if slot.crowded {
                vec![together]
            } else {
                let parts = parts.into_iter().flatten();
                let alone = |part: &Request| {
                    let mut alone = Tally::default();
                    alone.add(part);
                    alone
                };
                parts.map(alone).collect()
            };
            for part in &largest {
                for (dimension, amount) in part.iter() {
                    let more = amount - wanted.get(dimension);
                    wanted.add_amount(dimension, more.max(0));
                }
            }
            parts
                .into_iter()
                .flatten()
                .for_each(|part| wanted.subtract(part));
        }
        if slot.is_vacant() {
            testbed.vacant.insert(id.position);
        } else {
            testbed.vacant.remove(&id.position);
        }
        if wanted != slot.filler {
            let before = std::mem::replace(&mut slot.filler, wanted);
            if let Some(node) = slot.node {
                self.nodes.fill_slot(id, node, &before, &slot.filler);
            }
        }
    }

    /// What the slots on a node take of it beside their pods.
    pub(in crate::state) fn filler_on(
        &self,
        node: NodeId,
        dimension: muster_model::resources::Dimension,
    ) -> i64 {
        let here = self
            .slots
            .on
            .get(self.nodes.name(node))
            .into_iter()
            .flatten();
        let here = here.filter_map(|id| self.slots.get(*id));
        here.filter(|slot| slot.node == Some(node))
            .map(|slot| slot.filler.get(dimension))
            .sum()
    }

    /// All that slots take of nodes beside their pods.
    pub(in crate::state) fn fillers(&self) -> impl Iterator<Item = (SlotId, NodeId, &Tally)> {
        let slots = self.all_slots();
        slots.filter_map(|(_, id, slot)| Some((id, slot.node?, &slot.filler)))
    }

    /// How many slots have their room held, and no pod has them.
    #[must_use]
    pub fn vacant_slots(&self) -> usize {
        let testbeds = self.slots.testbeds.values();
        testbeds.map(|testbed| testbed.vacant.len()).sum()
    }

    /// Who sits where, from scratch.
    pub(in crate::state) fn audit_slots(&self) -> Result<(), String> {
        for testbed in self.slots.testbeds.values() {
            let slots = testbed.slots.iter().filter(|(_, slot)| slot.is_vacant());
            let (name, slots) = (&testbed.name, slots.map(|(position, _)| *position));
            let (known, slots) = (&testbed.vacant, slots.collect::<BTreeSet<u32>>());
            if slots != *known {
                return Err(format!(
                    "slots {slots:?} of testbed {name} are held for nobody, and {known:?} are known"
                ));
            }
        }
        for (name, id, slot) in self.all_slots() {
            let title = format!("slot {} of testbed {name}", id.position);
            let on_it = |pod: Option<PodId>| {
                let Some(pod) = pod else { return true };
                let pod = self.pods.get(pod);
                pod.is_some_and(|pod| pod.room().is_some() && pod.room() == slot.node)
            };
            if !on_it(slot.ghost) || !on_it(slot.seat) {
                return Err(format!("{title}: who has it is not on its node"));
            }
            if slot.seat.is_some_and(|pod| self.slot_of(pod) != Some(id)) {
                return Err(format!("{title}: who has it has another"));
            }
            let ghost = slot
                .ghost
                .filter(|pod| self.slot_of_ghost(*pod) != Some(id));
            if ghost.is_some() {
                return Err(format!("{title}: its ghost is another's"));
            }
            let Some(node) = slot.node.filter(|_| slot.held) else {
                if slot.filler != Tally::default() {
                    return Err(format!("{title}: takes room that it does not hold"));
                }
                continue;
            };
            let testbed = &self.slots.testbeds[&id.testbed];
            let mut all = slot.filler.clone();
            for pod in [slot.ghost, slot.seat].into_iter().flatten() {
                if let Some(shape) = self.shape_of(pod) {
                    all.add(&shape.request);
                }
            }
            let mut request = testbed.request.iter();
            if let Some((one, _)) = request.find(|(one, amount)| all.get(*one) < *amount) {
                let (node, one) = (self.nodes.name(node), self.dimensions.name(one));
                return Err(format!("{title}: takes less {one} of {node} than it has"));
            }
        }
        for (pod, id) in &self.slots.seats {
            if self
                .slots
                .get(*id)
                .is_none_or(|slot| slot.seat != Some(*pod))
            {
                return Err(format!("{pod:?} has a slot that somebody else has"));
            }
        }
        Ok(())
    }
}
