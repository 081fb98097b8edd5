//! Which slots there are: what the status of a Testbed says, and which of the nodes in it are there.

use super::{Slot, SlotId, Testbed};
use crate::state::ClusterState;
use crate::state::ids::{NodeId, PodId};
use muster_model::resources::{Request, Tally};
use muster_model::{SlotSpec, TestbedSpec};
use std::collections::BTreeMap;

impl ClusterState {
    /// A testbed appeared or changed.
    pub(in crate::state) fn upsert_testbed(&mut self, spec: TestbedSpec) {
        let same = |(_, known): (u32, &Testbed)| known.uid == spec.uid;
        if self.slots.testbed(&spec.name).is_some_and(|one| !same(one)) {
            self.remove_testbed(&spec.name);
        }
        let mut request = vec![("pods".to_owned(), 1)];
        request.extend(
            spec.request
                .iter()
                .filter(|(name, _)| name != "pods")
                .cloned(),
        );
        let request = self.request_of(&request);
        let id = self.slots.ids.get(&spec.name).copied();
        let id = id.unwrap_or_else(|| {
            self.slots.made += 1;
            self.slots.made
        });
        self.slots.ids.insert(spec.name.clone(), id);
        let testbed = self.slots.testbeds.entry(id).or_insert_with(|| Testbed {
            name: spec.name,
            uid: spec.uid,
            selector: None,
            request: Request::default(),
            slots: BTreeMap::new(),
        });
        let resized = testbed.request != request;
        let others_may = testbed.selector != spec.namespace_selector;
        testbed.selector = spec.namespace_selector;
        let mut wanted: BTreeMap<u32, SlotSpec> = BTreeMap::new();
        for slot in spec.slots {
            wanted.entry(slot.position).or_insert(slot);
        }
        let stays = |position: &u32, slot: &Slot| {
            let wanted = wanted.get(position);
            !resized
                && wanted
                    .is_some_and(|one| one.node == slot.spec.node && one.ghost == slot.spec.ghost)
        };
        let gone: Vec<u32> = testbed
            .slots
            .iter()
            .filter(|(position, slot)| !stays(position, slot))
            .map(|(position, _)| *position)
            .collect();
        for position in gone {
            self.drop_slot(SlotId {
                testbed: id,
                position,
            });
        }
        if let Some(testbed) = self.slots.testbeds.get_mut(&id) {
            testbed.request = request;
        }
        let mut changed = false;
        for (position, slot) in wanted {
            changed |= self.take_slot(
                SlotId {
                    testbed: id,
                    position,
                },
                slot,
            );
        }
        if changed {
            for pod in self.slots.unseated.clone() {
                self.sit_down(pod);
            }
        }
        if changed || others_may || resized {
            self.help_claimants_of(id);
        }
    }

    /// A slot is told of; whether it is new.
    fn take_slot(&mut self, id: SlotId, spec: SlotSpec) -> bool {
        if let Some(slot) = self.slots.get_mut(id) {
            let before = std::mem::replace(&mut slot.spec.occupant, spec.occupant);
            let now = slot.spec.occupant.clone();
            if before != now {
                if self.slots.occupied.get(&before) == Some(&id) {
                    self.slots.occupied.remove(&before);
                }
                if !now.is_empty() {
                    self.slots.occupied.insert(now.clone(), id);
                    return self.follow_the_table(id, &now);
                }
            }
            return false;
        }
        let Some(testbed) = self.slots.testbeds.get_mut(&id.testbed) else {
            return false;
        };
        let name = (testbed.uid.clone(), spec.ghost.clone());
        let node = self.nodes.find(&spec.node);
        let node = node.filter(|node| self.nodes.present().contains(*node));
        if !spec.occupant.is_empty() {
            self.slots.occupied.insert(spec.occupant.clone(), id);
        }
        let here = self.slots.on.entry(spec.node.clone()).or_default();
        here.insert(id);
        let slot = Slot {
            spec,
            node,
            ghost: None,
            seat: None,
            held: false,
            vacant: false,
            crowded: false,
            filler: Tally::default(),
        };
        testbed.slots.insert(id.position, slot);
        self.slots.news.insert(id);
        self.slots.by_ghost.insert(name.clone(), id);
        if let Some(ghost) = self.slots.ghosts.get(&name).copied() {
            self.sit_down(ghost);
        }
        true
    }

    /// A slot is none any more: who sits there is a pod as all others.
    fn drop_slot(&mut self, id: SlotId) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.held = false;
            (slot.ghost, slot.seat) = (None, None);
        }
        self.recount_slot(id);
        let Some(testbed) = self.slots.testbeds.get_mut(&id.testbed) else {
            return;
        };
        let Some(slot) = testbed.slots.remove(&id.position) else {
            return;
        };
        let name = (testbed.uid.clone(), slot.spec.ghost);
        if self.slots.by_ghost.get(&name) == Some(&id) {
            self.slots.by_ghost.remove(&name);
        }
        if self.slots.occupied.get(&slot.spec.occupant) == Some(&id) {
            self.slots.occupied.remove(&slot.spec.occupant);
        }
        if let Some(here) = self.slots.on.get_mut(&slot.spec.node) {
            here.remove(&id);
            if here.is_empty() {
                self.slots.on.remove(&slot.spec.node);
            }
        }
        let seats = self.slots.seats.iter().filter(|(_, seat)| **seat == id);
        let seats: Vec<PodId> = seats.map(|(pod, _)| *pod).collect();
        for pod in seats {
            self.slots.seats.remove(&pod);
            self.slots.unseated.insert(pod);
        }
        self.slots.hints.retain(|_, slot| *slot != id);
        self.slots.news.remove(&id);
        self.changes.nodes.extend(slot.node);
    }

    /// A testbed is gone.
    pub(in crate::state) fn remove_testbed(&mut self, name: &str) {
        let Some(id) = self.slots.ids.remove(name) else {
            return;
        };
        let positions = self.slots.testbeds.get(&id).map(|one| &one.slots);
        let positions: Vec<u32> = positions
            .into_iter()
            .flat_map(|one| one.keys().copied())
            .collect();
        for position in positions {
            self.drop_slot(SlotId {
                testbed: id,
                position,
            });
        }
        self.slots.testbeds.remove(&id);
        self.changes.rules = true;
    }

    /// Who claims slots of a testbed may find one now.
    fn help_claimants_of(&mut self, testbed: u32) {
        let slots = self.slots.testbeds.get(&testbed).map(|one| &one.slots);
        let nodes = slots
            .into_iter()
            .flat_map(|slots| slots.values().filter_map(Slot::node));
        self.changes.nodes.extend(nodes);
    }

    /// A node is there: its slots are.
    pub(in crate::state) fn find_slots_on(&mut self, node: NodeId) {
        let Some(here) = self.slots.on.get(self.nodes.name(node)).cloned() else {
            return;
        };
        let mut came = false;
        for id in here {
            if let Some(slot) = self.slots.get_mut(id).filter(|slot| slot.node.is_none()) {
                slot.node = Some(node);
                self.slots.news.insert(id);
                came = true;
            }
        }
        if came {
            for pod in self.nodes.pods(node).to_vec() {
                self.sit_down(pod);
            }
        }
    }

    /// A node goes: its slots have no room any more.
    pub(in crate::state) fn lose_slots_on(&mut self, node: NodeId) {
        let Some(here) = self.slots.on.get(self.nodes.name(node)).cloned() else {
            return;
        };
        for id in here {
            let Some(slot) = self.slots.get_mut(id) else {
                continue;
            };
            slot.held = false;
            slot.ghost = None;
            if let Some(pod) = slot.seat.take() {
                self.slots.seats.remove(&pod);
                // It may have one again there, or when the table says so.
                self.slots.unseated.insert(pod);
            }
            self.recount_slot(id);
            if let Some(slot) = self.slots.get_mut(id) {
                slot.node = None;
            }
        }
    }
}
