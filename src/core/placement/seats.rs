//! Which member of a gang gets which of the slots that it claims: as many members as can be, and each the
//! first slot that the others leave it.
//!
//! A maximum matching by augmenting paths: members are taken in order, and who is matched stays so, on
//! another of its slots if need be. What filters say is asked as if no member were placed yet.

use super::Placer;
use super::demand::{Demand, Order};
use crate::framework::Profile;
use crate::state::{ClusterState, NodeId, PodId, ShapeId, SlotId};
use std::collections::{BTreeMap, BTreeSet};

/// Who is to have which slot, and where that is.
pub(super) type Seats = BTreeMap<PodId, (SlotId, NodeId)>;

impl Placer {
    /// The slots of all members that claim some.
    pub(super) fn choose_seats(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        demand: &Demand,
    ) -> Seats {
        let claims = |shape| {
            let shape = state.shapes().get(shape);
            shape.is_some_and(|shape| shape.claim.is_some())
        };
        if !demand.shapes().any(|(shape, _)| claims(shape)) {
            return Seats::new();
        }
        let mut search = Search::default();
        let mut suits: BTreeMap<(ShapeId, NodeId), bool> = BTreeMap::new();
        let members = demand.members(state, Order::Created);
        let members = members.into_iter().filter_map(|member| {
            let shape = state.shape_of(member.pod)?;
            Some((member, shape.claim.clone()?))
        });
        let members: Vec<_> = members.collect();
        let is_alone = members.len() == 1;
        for (member, claim) in members {
            // What it was promised comes first.
            let meant = state.slot_meant_for(member.pod);
            let first = meant.and_then(|id| Some((id, state.open_to(member.pod, &claim, id)?)));
            let open = state.slots_open_to(member.pod, &claim);
            let others = open.filter(|(slot, _)| Some(*slot) != meant);
            let fits = |(_, node): &(SlotId, NodeId)| {
                let known = suits.get(&(member.shape, *node)).filter(|_| !member.avoids);
                known.copied().unwrap_or_else(|| {
                    let fits = self.fits(state, profile, member.pod, *node);
                    suits.insert((member.shape, *node), fits);
                    fits
                })
            };
            // Nobody has one against who is alone: the first will do.
            let most = if is_alone { 1 } else { usize::MAX };
            let slots = first.into_iter().chain(others);
            let slots = slots.filter(fits).take(most).collect();
            search.add(member.pod, slots);
        }
        search.found()
    }
}

/// The search.
#[derive(Default)]
struct Search {
    /// The slots that each member may have, the best first.
    slots: BTreeMap<PodId, Vec<(SlotId, NodeId)>>,
    taken: BTreeMap<SlotId, PodId>,
}

impl Search {
    /// Finds a slot for one member more, if there is one.
    fn add(&mut self, pod: PodId, slots: Vec<(SlotId, NodeId)>) {
        self.slots.insert(pod, slots);
        self.find(pod, &mut BTreeSet::new());
    }

    /// Finds a slot for a member among those not asked about yet: a free one, else one whose owner finds
    /// another.
    fn find(&mut self, pod: PodId, asked: &mut BTreeSet<SlotId>) -> bool {
        let slots = self.slots.get(&pod).cloned().unwrap_or_default();
        let free = slots
            .iter()
            .find(|(slot, _)| !self.taken.contains_key(slot));
        if let Some((slot, _)) = free {
            self.taken.insert(*slot, pod);
            return true;
        }
        for (slot, _) in slots {
            if !asked.insert(slot) {
                continue;
            }
            let owner = self.taken.get(&slot).copied();
            if owner.is_some_and(|owner| self.find(owner, asked)) {
                self.taken.insert(slot, pod);
                return true;
            }
        }
        false
    }

    fn found(self) -> Seats {
        let mut seats = Seats::new();
        for (slot, pod) in &self.taken {
            let mut slots = self.slots.get(pod).into_iter().flatten();
            let node = slots.find(|(one, _)| one == slot).map(|(_, node)| *node);
            seats.extend(node.map(|node| (*pod, (*slot, node))));
        }
        seats
    }
}
