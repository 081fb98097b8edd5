//! Slots of testbeds: who sits on each, and the room that is its own whoever does (source: mission,
//! "Slots").
//!
//! **Invariant:** once the room of a slot is held, what the slot takes of its node is always the same: its
//! ghost, the pod that has it, or nobody, with as much *filler* as these leave of it. So its room is never
//! free to anybody else, not between its pod and its ghost either; and a pod that claims it finds its room
//! there by definition, whatever the node has left.
//!
//! Which slots there are says the status of the Testbed, which tenants cannot write. A ghost is one by its
//! namespace, its Testbed's uid and its name in that table. Who sits where is worked out from pods that are
//! on the node: what their owners may edit only chooses among slots that are free to them anyway.

use super::ids::{NodeId, PodId};
use super::pods::{Place, Pod};
use super::{ClusterState, Shape};
use muster_model::resources::{Request, Tally};
use muster_model::{LabelSelector, Labels, PodKey, SlotClaim, SlotSpec, TestbedSpec};
use std::collections::{BTreeMap, BTreeSet};

/// A slot: its testbed and its position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId {
    testbed: u32,
    position: u32,
}

impl SlotId {
    /// Its number in its testbed.
    #[must_use]
    pub const fn position(self) -> u32 {
        self.position
    }
}

/// A slot.
#[derive(Clone, Debug)]
pub struct Slot {
    spec: SlotSpec,
    /// Its node, while that is there.
    node: Option<NodeId>,
    /// Its ghost, while that is on the node.
    ghost: Option<PodId>,
    /// The pod that has it: decided, nominated or there.
    seat: Option<PodId>,
    /// Whether its room is its own.
    held: bool,
    /// Its ghost and its pod are both on the node, each with room of its own: one came that was not known.
    crowded: bool,
    /// What of its room nobody takes.
    filler: Tally,
}

impl Slot {
    /// Its node, while that is there.
    #[must_use]
    pub const fn node(&self) -> Option<NodeId> {
        self.node
    }

    /// Its ghost, while that is on the node.
    #[must_use]
    pub const fn ghost(&self) -> Option<PodId> {
        self.ghost
    }

    /// The pod that has it: decided, nominated or there.
    #[must_use]
    pub const fn seat(&self) -> Option<PodId> {
        self.seat
    }

    /// Whether its room is its own, whoever is there.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.held
    }
}

/// A testbed.
#[derive(Clone, Debug)]
struct Testbed {
    name: String,
    uid: String,
    selector: Option<LabelSelector>,
    request: Request,
    slots: BTreeMap<u32, Slot>,
}

/// What tells a ghost from all other pods: its Testbed's uid and its name.
type GhostName = (String, String);

/// All slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    testbeds: BTreeMap<u32, Testbed>,
    ids: BTreeMap<String, u32>,
    made: u32,
    by_ghost: BTreeMap<GhostName, SlotId>,
    /// Those that the reconciler saw somebody on, by the uid of the pod.
    occupied: BTreeMap<String, SlotId>,
    /// By the name of the node.
    on: BTreeMap<String, BTreeSet<SlotId>>,
    /// All ghosts, on nodes or not.
    ghosts: BTreeMap<GhostName, PodId>,
    seats: BTreeMap<PodId, SlotId>,
    /// The slot that a pod had last, or is to have.
    hints: BTreeMap<PodId, SlotId>,
    /// Pods on nodes that claim a slot, and have none.
    unseated: BTreeSet<PodId>,
    /// Slots whose room is not held, or whose ghost may come.
    news: BTreeSet<SlotId>,
}

impl Slots {
    fn get(&self, id: SlotId) -> Option<&Slot> {
        self.testbeds.get(&id.testbed)?.slots.get(&id.position)
    }

    fn get_mut(&mut self, id: SlotId) -> Option<&mut Slot> {
        let testbed = self.testbeds.get_mut(&id.testbed)?;
        testbed.slots.get_mut(&id.position)
    }

    fn testbed(&self, name: &str) -> Option<(u32, &Testbed)> {
        let id = *self.ids.get(name)?;
        Some((id, self.testbeds.get(&id)?))
    }
}

fn ghost_name(pod: &Pod) -> Option<GhostName> {
    let of = pod.ghost_of.as_ref()?;
    Some((of.testbed.clone(), pod.key.name.clone()))
}

/// Why a pod may not have a slot that it claims.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoSlot {
    /// There is no such testbed.
    NoTestbed,
    /// Pods of its namespace may not claim there.
    NotAllowed,
    /// It asks for more than a slot has of this resource.
    TooLarge(muster_model::resources::Dimension),
    /// There is no such slot, or its node is not there.
    NotThere,
    /// What its node has left is less than the slot, so that it is not one yet.
    NoRoom,
    /// Somebody else has it.
    Taken(PodId),
}

impl ClusterState {
    /// A slot.
    #[must_use]
    pub fn slot(&self, id: SlotId) -> Option<&Slot> {
        self.slots.get(id)
    }

    /// The slot that a pod has.
    #[must_use]
    pub fn slot_of(&self, pod: PodId) -> Option<SlotId> {
        self.slots.seats.get(&pod).copied()
    }

    /// All slots of all testbeds, with the names of these.
    pub fn all_slots(&self) -> impl Iterator<Item = (&str, SlotId, &Slot)> {
        self.slots.testbeds.iter().flat_map(|(testbed, one)| {
            one.slots.iter().map(|(position, slot)| {
                let (testbed, position) = (*testbed, *position);
                (one.name.as_str(), SlotId { testbed, position }, slot)
            })
        })
    }

    /// Whether there is any testbed.
    #[must_use]
    pub fn has_testbeds(&self) -> bool {
        !self.slots.testbeds.is_empty()
    }

    /// The slots that a claim names and that are there, by position.
    pub fn slots_claimed(&self, claim: &SlotClaim) -> impl Iterator<Item = (SlotId, &Slot)> {
        let testbed = self.slots.testbed(&claim.testbed);
        let positions = claim.positions.iter();
        positions.filter_map(move |position| {
            let (id, testbed) = testbed?;
            let slot = testbed.slots.get(position)?;
            let (testbed, position) = (id, *position);
            Some((SlotId { testbed, position }, slot))
        })
    }

    /// Why a pod may have none of the slots that it claims, whatever becomes of these.
    ///
    /// # Errors
    /// The reason.
    pub fn may_claim(&self, shape: &Shape, claim: &SlotClaim) -> Result<(), NoSlot> {
        let Some((_, testbed)) = self.slots.testbed(&claim.testbed) else {
            return Err(NoSlot::NoTestbed);
        };
        let chosen = |selector: &LabelSelector| {
            let namespace = self.namespace(&claim.namespace);
            let labels = namespace.map(|one| &one.labels);
            selector.matches(labels.unwrap_or(&Labels::new()))
        };
        if !testbed.selector.as_ref().is_none_or(chosen) {
            return Err(NoSlot::NotAllowed);
        }
        let mut asked = shape.request.iter();
        match asked.find(|(one, amount)| *amount > testbed.request.get(*one)) {
            Some((dimension, _)) => Err(NoSlot::TooLarge(dimension)),
            None => Ok(()),
        }
    }

    /// Why a pod may not have this slot now, of those that it may claim.
    ///
    /// # Errors
    /// The reason.
    pub fn may_have(&self, pod: PodId, slot: &Slot) -> Result<NodeId, NoSlot> {
        let node = slot.node.ok_or(NoSlot::NotThere)?;
        match slot.seat {
            Some(other) if other != pod => Err(NoSlot::Taken(other)),
            _ if !slot.held || self.is_overfull(pod, node) => Err(NoSlot::NoRoom),
            _ => Ok(node),
        }
    }

    /// Whether more is in use on a node than it offers, of what a pod asks for: somebody is there who was not
    /// known.
    fn is_overfull(&self, pod: PodId, node: NodeId) -> bool {
        let shape = self.shape_of(pod).map(|shape| shape.request.iter());
        let mut asked = shape.into_iter().flatten();
        asked.any(|(one, _)| self.nodes.free(node, one) < 0)
    }

    /// The slot that a pod had last, or is to have.
    #[must_use]
    pub fn slot_meant_for(&self, pod: PodId) -> Option<SlotId> {
        self.slots.hints.get(&pod).copied()
    }

    /// Nothing says any more which slot a pod is to have, or this.
    pub fn point_back(&mut self, pod: PodId, slot: Option<SlotId>) {
        match slot {
            Some(slot) => self.slots.hints.insert(pod, slot),
            None => self.slots.hints.remove(&pod),
        };
    }

    /// Whether the slot that a pod had before it was thought away is free to it still; `None`: it had none.
    #[must_use]
    pub fn may_sit_again(&self, pod: PodId) -> Option<bool> {
        let slot = self.slots.get(self.slot_meant_for(pod)?)?;
        Some(slot.seat.is_none_or(|other| other == pod))
    }

    /// Whether something is to be done about slots.
    #[must_use]
    pub fn has_slot_news(&self) -> bool {
        !self.slots.news.is_empty()
    }

    /// Takes the slots about which something may have to be done: on these nodes something else is free now.
    pub fn take_slot_news(&mut self, nodes: &BTreeSet<NodeId>) -> BTreeSet<SlotId> {
        let mut news = std::mem::take(&mut self.slots.news);
        if self.slots.testbeds.is_empty() {
            return news;
        }
        for node in nodes {
            let here = self.slots.on.get(self.nodes.name(*node));
            news.extend(here.into_iter().flatten());
        }
        news
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
        let has = |one| {
            let there = [slot.ghost, slot.seat].into_iter().flatten();
            let shapes = there.filter_map(|pod| self.shape_of(pod));
            shapes.map(|shape| shape.request.get(one)).sum::<i64>()
        };
        let is_free = |(one, amount)| {
            let rest: i64 = amount - has(one);
            rest.max(0) <= self.nodes.free(node, one)
        };
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

    /// The ghost of a slot that may be bound now: it waits, the room is held, and nobody has it.
    #[must_use]
    pub fn ghost_to_bind(&self, id: SlotId) -> Option<(PodId, NodeId)> {
        let testbed = self.slots.testbeds.get(&id.testbed)?;
        let slot = testbed.slots.get(&id.position)?;
        let name = (testbed.uid.clone(), slot.spec.ghost.clone());
        let ghost = *self.slots.ghosts.get(&name)?;
        let pod = self.pods.get(ghost)?;
        let waits = pod.place == Place::None && !pod.departs() && pod.uses_room();
        let free = slot.held && slot.seat.is_none() && slot.ghost.is_none();
        let node = slot.node.filter(|_| waits && free)?;
        // While a testbed is resized the table has the ghosts of before.
        let shape = self.shapes.get(pod.shape)?;
        let mut asked = shape.request.iter();
        let larger = asked.any(|(one, amount)| amount > testbed.request.get(one));
        if larger || self.nodes.is_exclusive(node) {
            return None;
        }
        Some((ghost, node))
    }

    /// The slot of a ghost.
    #[must_use]
    pub fn slot_of_ghost(&self, pod: PodId) -> Option<SlotId> {
        let name = ghost_name(self.pods.get(pod)?)?;
        self.slots.by_ghost.get(&name).copied()
    }

    /// A testbed appeared or changed.
    pub(super) fn upsert_testbed(&mut self, spec: TestbedSpec) {
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

    /// The reconciler saw somebody on a slot that another has, for all that is known here: so it is. Whether that
    /// makes a difference.
    fn follow_the_table(&mut self, id: SlotId, uid: &str) -> bool {
        let Some((node, seat)) = self
            .slots
            .get(id)
            .and_then(|slot| Some((slot.node?, slot.seat)))
        else {
            return false;
        };
        let sits = |pod: &&PodId| {
            let pod = self.pods.get(**pod);
            pod.is_some_and(|pod| pod.key.uid == uid && pod.holds_node())
        };
        let Some(pod) = self.nodes.pods(node).iter().find(sits).copied() else {
            return false;
        };
        if seat == Some(pod) {
            return false;
        }
        let leaves = self.slots.seats.remove(&pod);
        if let Some(slot) = leaves.and_then(|slot| self.slots.get_mut(slot)) {
            slot.seat = None;
        }
        self.slots.news.extend(leaves);
        leaves.into_iter().for_each(|slot| self.recount_slot(slot));
        if let Some(other) = seat {
            self.slots.seats.remove(&other);
            self.slots.hints.remove(&other);
            self.slots.unseated.insert(other);
        }
        if let Some(slot) = self.slots.get_mut(id) {
            slot.seat = None;
        }
        self.slots.hints.insert(pod, id);
        self.sit_down(pod);
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
    pub(super) fn remove_testbed(&mut self, name: &str) {
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

    /// A ghost is known from now on, or is not any more.
    pub(super) fn note_ghost(&mut self, id: PodId, there: bool) {
        let Some(name) = self.pods.get(id).and_then(ghost_name) else {
            return;
        };
        self.slots.news.extend(self.slots.by_ghost.get(&name));
        if there {
            self.slots.ghosts.insert(name, id);
        } else {
            self.slots.ghosts.remove(&name);
        }
    }

    /// Something is another than it was about a ghost.
    pub(super) fn note_slot_of(&mut self, id: PodId) {
        let slot = self.slot_of_ghost(id);
        self.slots.news.extend(slot);
    }

    /// A pod is forgotten.
    pub(super) fn forget_seat(&mut self, id: PodId) {
        self.slots.hints.remove(&id);
    }

    /// A pod takes room on a node: its slot, if it has one there, has it now.
    pub(super) fn sit_down(&mut self, id: PodId) {
        let Some((pod, node)) = self.pods.get(id).and_then(|pod| Some((pod, pod.room()?))) else {
            return;
        };
        if pod.ghost_of.is_some() {
            let slot = self.slot_of_ghost(id);
            if let Some(slot) = slot
                && let Some(known) = self
                    .slots
                    .get_mut(slot)
                    .filter(|one| one.node == Some(node))
            {
                let placed = known.seat.and_then(|pod| self.pods.get(pod)?.place.node());
                known.ghost = Some(id);
                known.crowded = placed.is_some();
                self.slots.news.insert(slot);
                self.recount_slot(slot);
            }
            return;
        }
        let claims = self
            .shapes
            .get(pod.shape)
            .is_some_and(|shape| shape.claim.is_some());
        if !claims
            && !self.slots.hints.contains_key(&id)
            && !self.slots.occupied.contains_key(&pod.key.uid)
        {
            return;
        }
        let is_bound = matches!(pod.place, Place::Bound(_));
        let Some(slot) = self.choose_slot(id, node) else {
            if claims {
                self.slots.unseated.insert(id);
            }
            return;
        };
        self.slots.unseated.remove(&id);
        self.slots.seats.insert(id, slot);
        self.slots.hints.insert(id, slot);
        if let Some(known) = self.slots.get_mut(slot) {
            known.seat = Some(id);
            // Who was only tried here has the ghost go first.
            known.crowded = is_bound && known.ghost.is_some();
        }
        self.slots.news.insert(slot);
        self.recount_slot(slot);
    }

    /// A pod takes no room any more.
    pub(super) fn stand_up(&mut self, id: PodId) {
        self.slots.unseated.remove(&id);
        let slot = match self.slots.seats.remove(&id) {
            Some(slot) => Some(slot),
            None => self.slot_of_ghost(id),
        };
        let Some(slot) = slot else { return };
        let Some(known) = self.slots.get_mut(slot) else {
            return;
        };
        let was_ghost = known.ghost == Some(id);
        if known.seat == Some(id) {
            known.seat = None;
        } else if known.ghost == Some(id) {
            known.ghost = None;
        } else {
            return;
        }
        let node = known.node.filter(|_| was_ghost && known.seat.is_none());
        known.crowded = false;
        self.slots.news.insert(slot);
        self.recount_slot(slot);
        // Somebody may be there of whom it was not known that the ghost had gone for them.
        let here = |pod: &&PodId| {
            let pod = self.pods.get(**pod).filter(|_| **pod != id);
            pod.is_some_and(|pod| node.is_some() && pod.room() == node)
        };
        let waiting: Vec<PodId> = self.slots.unseated.iter().filter(here).copied().collect();
        waiting.into_iter().for_each(|pod| self.sit_down(pod));
    }

    /// Which slot on its node a pod has: the one it had, which its reconciler saw it on, which it says, else
    /// the first of those it claims that is free to it.
    fn choose_slot(&self, id: PodId, node: NodeId) -> Option<SlotId> {
        let pod = self.pods.get(id)?;
        let shape = self.shapes.get(pod.shape)?;
        let free = |slot: SlotId| {
            let known = self.slots.get(slot)?;
            (known.node == Some(node) && known.seat.is_none()).then_some(slot)
        };
        let there = matches!(pod.place, Place::Bound(_) | Place::Assumed(_));
        let had = self.slots.hints.get(&id).filter(|_| there);
        let seen = self.slots.occupied.get(&pod.key.uid);
        if let Some(slot) = had.or(seen).and_then(|slot| free(*slot)) {
            return Some(slot);
        }
        let claim = shape.claim.as_deref()?;
        self.may_claim(shape, claim).ok()?;
        // Whom somebody else put there takes nothing from a ghost.
        let ordered = !matches!(pod.place, Place::Bound(_));
        let claimed = self.slots_claimed(claim).filter(|(slot, known)| {
            let ghost = known.ghost.and_then(|ghost| self.pods.get(ghost));
            free(*slot).is_some() && (ordered || ghost.is_none_or(Pod::departs))
        });
        let claimed: Vec<SlotId> = claimed.map(|(slot, _)| slot).collect();
        let meant = self
            .slots
            .hints
            .get(&id)
            .filter(|slot| claimed.contains(slot));
        let word = pod.facts.slot.filter(|_| !ordered);
        let mut here = self
            .slots_claimed(claim)
            .filter(|(_, known)| known.node == Some(node));
        if word.is_some() && here.any(|(slot, _)| Some(slot.position) == word) {
            // Where its ghost is still, for all that is known, that is to be known first.
            return claimed.into_iter().find(|slot| Some(slot.position) == word);
        }
        meant.or(claimed.first()).copied()
    }

    /// Brings what a slot takes of its node up to what it is to take.
    fn recount_slot(&mut self, id: SlotId) {
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
        if wanted != slot.filler {
            let before = std::mem::replace(&mut slot.filler, wanted);
            if let Some(node) = slot.node {
                self.nodes.fill_slot(id, node, &before, &slot.filler);
            }
        }
    }

    /// A node is there: its slots are.
    pub(super) fn find_slots_on(&mut self, node: NodeId) {
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
    pub(super) fn lose_slots_on(&mut self, node: NodeId) {
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
            }
            self.recount_slot(id);
            if let Some(slot) = self.slots.get_mut(id) {
                slot.node = None;
            }
        }
    }

    /// What the slots on a node take of it beside their pods.
    pub(super) fn filler_on(
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
    pub(super) fn fillers(&self) -> impl Iterator<Item = (SlotId, NodeId, &Tally)> {
        let slots = self.all_slots();
        slots.filter_map(|(_, id, slot)| Some((id, slot.node?, &slot.filler)))
    }

    /// Who sits where, from scratch.
    pub(super) fn audit_slots(&self) -> Result<(), String> {
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

    /// The pods' names, for words about who has a slot.
    #[must_use]
    pub fn who_has(&self, pod: PodId) -> Option<&PodKey> {
        Some(&self.pods.get(pod)?.key)
    }
}
