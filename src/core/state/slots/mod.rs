//! Slots of testbeds: who sits on each, and the room that is its own whoever does (source: mission,
//! "Slots").
//!
//! **Invariant:** once the room of a slot is held, what the slot takes of its node is always the same: its
//! ghost, the pod that has it, or nobody, with as much *filler* as these leave of it. So its room is never
//! free to anybody else, not between its pod and its ghost either; and a pod that claims it finds its room
//! there by definition, whatever the node has left.
//!
//! Which slots there are say the status of the Testbed and its slices, which tenants cannot write. A ghost is one by its
//! namespace, its Testbed's uid and its name in that table. Who sits where is worked out from pods that are
//! on the node: what their owners may edit only chooses among slots that are free to them anyway.

mod room;
mod seating;
mod table;
mod told;

use super::ids::{NodeId, PodId};
use super::pods::{Place, Pod};
use super::{ClusterState, Shape};
use muster_model::resources::{Request, Tally};
use muster_model::{LabelSelector, Labels, PodKey, SliceSpec, SlotClaim, SlotSpec};
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
    /// The name of its node.
    #[must_use]
    pub fn node_name(&self) -> &str {
        &self.spec.node
    }

    /// The name of its ghost.
    #[must_use]
    pub fn ghost_name(&self) -> &str {
        &self.spec.ghost
    }

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

    /// What of its room nobody takes.
    #[must_use]
    pub const fn filler(&self) -> &Tally {
        &self.filler
    }

    /// Whether its room is its own, and no pod has it.
    const fn is_vacant(&self) -> bool {
        self.held && self.node.is_some() && self.seat.is_none()
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
    /// Those that are held and that no pod has.
    vacant: BTreeSet<u32>,
    /// Which of them each object has told: the Testbed itself, by an empty name, and its slices.
    parts: BTreeMap<String, BTreeSet<u32>>,
}

/// What tells a ghost from all other pods: its Testbed's uid and its name.
type GhostName = (String, String);

/// All slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    testbeds: BTreeMap<u32, Testbed>,
    ids: BTreeMap<String, u32>,
    made: u32,
    /// All slices, whosever they are, by name.
    slices: BTreeMap<String, SliceSpec>,
    /// The slots that a ghost is told to stand for. While numbers change there may be two, in two parts: it stands
    /// for the first, in whatever order they are told.
    by_ghost: BTreeMap<GhostName, BTreeSet<SlotId>>,
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
    /// The resources that slots of some Testbed have, a bit for each.
    pub(super) fn named(&self) -> u32 {
        let requests = self.testbeds.values().flat_map(|one| one.request.iter());
        let named = requests.map(|(one, _)| 1 << one.index());
        named.fold(0, |all, bit: u32| all | bit)
    }

    fn get(&self, id: SlotId) -> Option<&Slot> {
        self.testbeds.get(&id.testbed)?.slots.get(&id.position)
    }

    fn get_mut(&mut self, id: SlotId) -> Option<&mut Slot> {
        let testbed = self.testbeds.get_mut(&id.testbed)?;
        testbed.slots.get_mut(&id.position)
    }

    /// The slot that the ghost of this name stands for.
    fn of_ghost(&self, name: &GhostName) -> Option<SlotId> {
        self.by_ghost.get(name)?.first().copied()
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

    /// Those of them that the pod may have now, by position. As many are looked at as the claim names, or as nobody
    /// has, whichever are fewer.
    pub fn slots_open_to(
        &self,
        pod: PodId,
        claim: &SlotClaim,
    ) -> impl Iterator<Item = (SlotId, NodeId)> {
        let own = self.slot_of(pod).map(|id| id.position);
        let (below, above) = own.map_or((0, 0), |own| (own, own + 1));
        let testbed = self.slots.testbed(&claim.testbed).into_iter();
        testbed.flat_map(move |(testbed, slots)| {
            let vacant = &slots.vacant;
            let names_few = claim.positions.len() < vacant.len();
            let few = names_few.then(|| claim.positions.iter().copied());
            let many = (!names_few).then(|| {
                let above = vacant.range(above..).copied();
                let all = vacant.range(..below).copied().chain(own).chain(above);
                all.filter(|position| claim.names(*position))
            });
            let all = few.into_iter().flatten().chain(many.into_iter().flatten());
            all.filter_map(move |position| {
                let node = self.may_have(pod, slots.slots.get(&position)?).ok()?;
                Some((SlotId { testbed, position }, node))
            })
        })
    }

    /// The node of a slot, if a pod claims it and may have it now.
    #[must_use]
    pub fn open_to(&self, pod: PodId, claim: &SlotClaim, id: SlotId) -> Option<NodeId> {
        let (testbed, slots) = self.slots.testbed(&claim.testbed)?;
        let named = testbed == id.testbed && claim.names(id.position);
        let slot = slots.slots.get(&id.position).filter(|_| named)?;
        self.may_have(pod, slot).ok()
    }

    /// Those of them that are on a node, by position: as many are looked at as the node has, and not all that the
    /// claim names.
    pub fn slots_claimed_on(
        &self,
        claim: &SlotClaim,
        node: NodeId,
    ) -> impl Iterator<Item = (SlotId, &Slot)> {
        let testbed = self.slots.testbed(&claim.testbed).map(|(id, _)| id);
        let here = self.slots.on.get(self.nodes.name(node));
        let here = here
            .into_iter()
            .flatten()
            .filter(move |id| Some(id.testbed) == testbed && claim.names(id.position));
        let here = here.filter_map(|id| Some((*id, self.slots.get(*id)?)));
        here.filter(move |(_, slot)| slot.node == Some(node))
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
        let free = free && self.slots.of_ghost(&name) == Some(id);
        let node = slot.node.filter(|_| waits && free)?;
        // While a testbed is resized the table has the ghosts of before.
        let shape = self.shapes.get(pod.shape)?;
        let mut asked = shape.request.iter();
        let larger = asked.any(|(one, amount)| amount > testbed.request.get(one));
        if larger || self.nodes.is_exclusive(node) || self.is_overfull(ghost, node) {
            return None;
        }
        Some((ghost, node))
    }

    /// The slot of a ghost.
    #[must_use]
    pub fn slot_of_ghost(&self, pod: PodId) -> Option<SlotId> {
        let name = ghost_name(self.pods.get(pod)?)?;
        self.slots.of_ghost(&name)
    }

    /// The pods' names, for words about who has a slot.
    #[must_use]
    pub fn who_has(&self, pod: PodId) -> Option<&PodKey> {
        Some(&self.pods.get(pod)?.key)
    }
}
