//! Who sits on which slot: worked out whenever a pod takes room, gives it back, or the table says otherwise.

use super::{Slot, SlotId, ghost_name};
use crate::state::ClusterState;
use crate::state::ids::{NodeId, PodId};
use crate::state::pods::{Place, Pod};
use muster_model::SlotClaim;

impl ClusterState {
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

    /// The reconciler saw somebody on a slot that another has, for all that is known here: so it is. Whether that
    /// makes a difference.
    pub(super) fn follow_the_table(&mut self, id: SlotId, uid: &str) -> bool {
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
        self.leave_slot(pod);
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

    /// A slot is told of: whose binding named it sat on another only for want of it.
    pub(super) fn follow_the_word(&mut self, id: SlotId) {
        let Some(node) = self.slots.get(id).and_then(|slot| slot.node) else {
            return;
        };
        let comes = |pod: &&PodId| {
            let seat = self.slots.seats.get(*pod).filter(|seat| **seat != id);
            let seat = seat.filter(|seat| seat.testbed == id.testbed);
            let pod = self.pods.get(**pod).filter(|_| seat.is_some());
            let pod = pod.filter(|pod| pod.facts.slot == Some(id.position));
            pod.is_some_and(|pod| {
                let seen = self.slots.occupied.get(&pod.key.uid);
                let shape = self.shapes.get(pod.shape);
                let claim = shape.and_then(|shape| shape.claim.as_deref());
                let claims = |claim: &SlotClaim| claim.names(id.position);
                matches!(pod.place, Place::Bound(_)) && claim.is_some_and(claims) && seen != seat
            })
        };
        let Some(pod) = self.nodes.pods(node).iter().find(comes).copied() else {
            return;
        };
        self.leave_slot(pod);
        self.slots.hints.remove(&pod);
        self.sit_down(pod);
    }

    /// A pod has the slot no more that it had.
    fn leave_slot(&mut self, pod: PodId) {
        let Some(slot) = self.slots.seats.remove(&pod) else {
            return;
        };
        if let Some(known) = self.slots.get_mut(slot) {
            known.seat = None;
        }
        self.slots.news.insert(slot);
        self.recount_slot(slot);
    }

    /// A ghost is known from now on, or is not any more.
    pub(in crate::state) fn note_ghost(&mut self, id: PodId, there: bool) {
        let Some(name) = self.pods.get(id).and_then(ghost_name) else {
            return;
        };
        self.slots.news.extend(self.slots.of_ghost(&name));
        if there {
            self.slots.ghosts.insert(name, id);
        } else {
            self.slots.ghosts.remove(&name);
        }
    }

    /// Something is another than it was about a ghost.
    pub(in crate::state) fn note_slot_of(&mut self, id: PodId) {
        let slot = self.slot_of_ghost(id);
        self.slots.news.extend(slot);
    }

    /// A pod is forgotten.
    pub(in crate::state) fn forget_seat(&mut self, id: PodId) {
        self.slots.hints.remove(&id);
    }

    /// A pod takes room on a node: its slot, if it has one there, has it now.
    pub(in crate::state) fn sit_down(&mut self, id: PodId) {
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
        self.reclaim_slot(id);
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
    pub(in crate::state) fn stand_up(&mut self, id: PodId) {
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
        let node = known.node.filter(|_| known.seat.is_none());
        known.crowded = false;
        self.slots.news.insert(slot);
        self.recount_slot(slot);
        // Somebody may be there of whom it was not known that the ghost had gone for them.
        let here = |pod: &&PodId| {
            let pod = self.pods.get(**pod).filter(|_| **pod != id);
            // Who only sat elsewhere for a thought comes back to its own.
            let pod = pod.filter(|pod| was_ghost || pod.is_only_nominated());
            pod.is_some_and(|pod| node.is_some() && pod.room() == node)
        };
        let waiting: Vec<PodId> = self.slots.unseated.iter().filter(here).copied().collect();
        waiting.into_iter().for_each(|pod| self.sit_down(pod));
    }

    /// A pod that is there has its slot before those for whom it is to leave, whose place is held meanwhile.
    fn reclaim_slot(&mut self, id: PodId) {
        let pod = self.pods.get(id).filter(|pod| !pod.is_only_nominated());
        let Some(slot) = pod.and_then(|_| self.slots.hints.get(&id).copied()) else {
            return;
        };
        let seat = self.slots.get(slot).and_then(|slot| slot.seat);
        let waits = |other: &PodId| {
            let other = self.pods.get(*other).filter(|_| *other != id);
            other.is_some_and(Pod::is_only_nominated)
        };
        if let Some(other) = seat.filter(waits) {
            self.slots.seats.remove(&other);
            self.slots.unseated.insert(other);
            if let Some(known) = self.slots.get_mut(slot) {
                known.seat = None;
            }
            self.recount_slot(slot);
        }
    }

    /// Whether the reconciler saw somebody else on a slot who is on its node still.
    fn another_was_seen_on(&self, slot: &Slot, pod: PodId, node: NodeId) -> bool {
        let occupant = &slot.spec.occupant;
        let is_here = |other: &PodId| {
            let other = self.pods.get(*other).filter(|_| *other != pod);
            other.is_some_and(|other| other.key.uid == *occupant && other.holds_node())
        };
        !occupant.is_empty() && self.nodes.pods(node).iter().any(is_here)
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
        let claimed = self.slots_claimed_on(claim, node).filter(|(slot, known)| {
            let ghost = known.ghost.and_then(|ghost| self.pods.get(ghost));
            free(*slot).is_some()
                && (ordered || ghost.is_none_or(Pod::departs))
                && !self.another_was_seen_on(known, id, node)
        });
        let claimed: Vec<SlotId> = claimed.map(|(slot, _)| slot).collect();
        let meant = self
            .slots
            .hints
            .get(&id)
            .filter(|slot| claimed.contains(slot));
        let word = pod.facts.slot.filter(|_| !ordered);
        let mut here = self.slots_claimed_on(claim, node);
        if word.is_some() && here.any(|(slot, _)| Some(slot.position) == word) {
            // Where its ghost is still, for all that is known, that is to be known first.
            return claimed.into_iter().find(|slot| Some(slot.position) == word);
        }
        meant.or(claimed.first()).copied()
    }
}
