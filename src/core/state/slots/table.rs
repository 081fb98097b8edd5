//! Which slots there are: what the status of a Testbed and its slices say, and which of the nodes in it are there.

use super::{GhostName, Slot, SlotId, Testbed};
use crate::state::ClusterState;
use crate::state::ids::NodeId;
use muster_model::resources::{Request, Tally};
use muster_model::{SliceSpec, SlotSpec, TestbedSpec};
use std::collections::{BTreeMap, BTreeSet};

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
        let request = self.provided(&request);
        let id = self.slots.ids.get(&spec.name).copied();
        let id = id.unwrap_or_else(|| {
            self.slots.made += 1;
            self.slots.made
        });
        self.slots.ids.insert(spec.name.clone(), id);
        let mut parts = vec![(String::new(), spec.slots)];
        let testbed = self.slots.testbeds.entry(id).or_insert_with(|| Testbed {
            name: spec.name.clone(),
            uid: spec.uid.clone(),
            selector: None,
            request: Request::default(),
            slots: BTreeMap::new(),
            vacant: BTreeSet::new(),
            parts: BTreeMap::new(),
        });
        let resized = testbed.request != request;
        let others_may = testbed.selector != spec.namespace_selector;
        testbed.selector = spec.namespace_selector;
        if resized {
            // All of them are other slots, also those that were told before their Testbed was.
            self.drop_all_slots(id);
            let slices = self.slots.slices.values();
            let slices = slices.filter(|one| one.testbed == spec.name && one.owner == spec.uid);
            parts.extend(slices.map(|one| (one.name.clone(), one.slots.clone())));
            if let Some(testbed) = self.slots.testbeds.get_mut(&id) {
                testbed.request = request;
            }
        }
        let mut changed = BTreeSet::new();
        for (part, slots) in parts {
            changed.append(&mut self.take_part(id, part, slots));
        }
        if others_may {
            let slots = self.slots.testbeds.get(&id).map(|one| &one.slots);
            changed.extend(slots.into_iter().flat_map(BTreeMap::keys));
        }
        self.take_changed(id, &changed);
    }

    /// A slice appeared or changed.
    pub(in crate::state) fn upsert_slice(&mut self, spec: SliceSpec) {
        let before = self.slots.slices.insert(spec.name.clone(), spec.clone());
        let whose = |one: &SliceSpec| (one.testbed.clone(), one.owner.clone());
        if let Some(before) = before.filter(|one| whose(one) != whose(&spec)) {
            self.take_slice(before, Vec::new());
        }
        let slots = spec.slots.clone();
        self.take_slice(spec, slots);
    }

    /// A slice is gone.
    pub(in crate::state) fn remove_slice(&mut self, name: &str) {
        if let Some(before) = self.slots.slices.remove(name) {
            self.take_slice(before, Vec::new());
        }
    }

    /// Takes what a slice says, if its Testbed is there.
    fn take_slice(&mut self, slice: SliceSpec, slots: Vec<SlotSpec>) {
        let testbed = self.slots.testbed(&slice.testbed);
        let Some((id, _)) = testbed.filter(|(_, one)| one.uid == slice.owner) else {
            return;
        };
        let changed = self.take_part(id, slice.name, slots);
        self.take_changed(id, &changed);
    }

    /// Takes what one object says of the slots of a testbed: others that it told before are none any more. Which
    /// are new, or taken by somebody else.
    fn take_part(&mut self, id: u32, part: String, slots: Vec<SlotSpec>) -> BTreeSet<u32> {
        let Some(testbed) = self.slots.testbeds.get_mut(&id) else {
            return BTreeSet::new();
        };
        let before = testbed.parts.remove(&part).unwrap_or_default();
        let mut wanted: BTreeMap<u32, SlotSpec> = BTreeMap::new();
        for slot in slots {
            // What another object says is not for this one to say.
            if before.contains(&slot.position) || !testbed.slots.contains_key(&slot.position) {
                wanted.entry(slot.position).or_insert(slot);
            }
        }
        let stays = |position: &u32| {
            let known = testbed.slots.get(position).map(|slot| &slot.spec);
            let wanted = wanted.get(position);
            known.zip(wanted).is_some_and(|(known, wanted)| {
                wanted.node == known.node && wanted.ghost == known.ghost
            })
        };
        let gone = before.into_iter().filter(|position| !stays(position));
        let gone: BTreeSet<SlotId> = gone
            .map(|position| SlotId {
                testbed: id,
                position,
            })
            .collect();
        if !wanted.is_empty() {
            testbed.parts.insert(part, wanted.keys().copied().collect());
        }
        self.drop_slots(&gone);
        let mut changed = BTreeSet::new();
        for (position, slot) in wanted {
            let id = SlotId {
                testbed: id,
                position,
            };
            if self.take_slot(id, slot) {
                changed.insert(position);
            }
        }
        changed
    }

    /// Slots of a testbed are new, or taken by somebody else: who has none may sit there, and who claims them may
    /// find one now.
    fn take_changed(&mut self, testbed: u32, changed: &BTreeSet<u32>) {
        if changed.is_empty() {
            return;
        }
        for pod in self.slots.unseated.clone() {
            self.sit_down(pod);
        }
        let slots = self.slots.testbeds.get(&testbed).map(|one| &one.slots);
        let slots = slots.into_iter().flat_map(|slots| {
            let changed = changed.iter();
            changed.filter_map(|position| slots.get(position))
        });
        self.changes.nodes.extend(slots.filter_map(Slot::node));
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
        let occupant = spec.occupant.clone();
        let here = self.slots.on.entry(spec.node.clone()).or_default();
        here.insert(id);
        let slot = Slot {
            spec,
            node,
            ghost: None,
            seat: None,
            held: false,
            crowded: false,
            filler: Tally::default(),
        };
        testbed.slots.insert(id.position, slot);
        self.slots.news.insert(id);
        self.name_ghost(&name, |slots| slots.insert(id));
        if occupant.is_empty() {
            self.follow_the_word(id);
        } else {
            self.slots.occupied.insert(occupant.clone(), id);
            self.follow_the_table(id, &occupant);
        }
        true
    }

    /// Changes which slots a ghost is told to stand for, and with it perhaps the one that it stands for.
    fn name_ghost(&mut self, name: &GhostName, change: impl FnOnce(&mut BTreeSet<SlotId>) -> bool) {
        let before = self.slots.of_ghost(name);
        let slots = self.slots.by_ghost.entry(name.clone()).or_default();
        change(slots);
        if slots.is_empty() {
            self.slots.by_ghost.remove(name);
        }
        let now = self.slots.of_ghost(name);
        if before == now {
            return;
        }
        if let Some(slot) = before
            && let Some(known) = self.slots.get_mut(slot)
            && known.ghost.take().is_some()
        {
            known.crowded = false;
            self.slots.news.insert(slot);
            self.recount_slot(slot);
        }
        let ghost = self.slots.ghosts.get(name).filter(|_| now.is_some());
        if let Some(ghost) = ghost.copied() {
            self.sit_down(ghost);
        }
    }

    fn drop_all_slots(&mut self, id: u32) {
        let Some(testbed) = self.slots.testbeds.get_mut(&id) else {
            return;
        };
        testbed.parts.clear();
        let all = testbed.slots.keys().map(|position| SlotId {
            testbed: id,
            position: *position,
        });
        let all: BTreeSet<SlotId> = all.collect();
        self.drop_slots(&all);
    }

    /// Slots are none any more: who sits there is a pod as all others.
    fn drop_slots(&mut self, gone: &BTreeSet<SlotId>) {
        if gone.is_empty() {
            return;
        }
        for id in gone {
            self.drop_slot(*id);
        }
        let seats = &mut self.slots.seats;
        let sat = seats.extract_if(.., |_, seat| gone.contains(seat));
        self.slots.unseated.extend(sat.map(|(pod, _)| pod));
        self.slots.hints.retain(|_, slot| !gone.contains(slot));
    }

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
        self.name_ghost(&name, |slots| slots.remove(&id));
        if self.slots.occupied.get(&slot.spec.occupant) == Some(&id) {
            self.slots.occupied.remove(&slot.spec.occupant);
        }
        if let Some(here) = self.slots.on.get_mut(&slot.spec.node) {
            here.remove(&id);
            if here.is_empty() {
                self.slots.on.remove(&slot.spec.node);
            }
        }
        self.slots.news.remove(&id);
        self.changes.nodes.extend(slot.node);
    }

    /// A testbed is gone.
    pub(in crate::state) fn remove_testbed(&mut self, name: &str) {
        let Some(id) = self.slots.ids.remove(name) else {
            return;
        };
        self.drop_all_slots(id);
        self.slots.testbeds.remove(&id);
        self.changes.rules = true;
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
