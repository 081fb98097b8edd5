//! What there is to tell of slots: nothing is decided by it.

use super::{NoSlot, Slot, SlotId};
use crate::state::ClusterState;
use muster_model::SlotClaim;
use muster_model::resources::Dimension;

impl ClusterState {
    /// The names of all testbeds.
    pub fn testbeds(&self) -> impl Iterator<Item = &str> {
        let testbeds = self.slots.testbeds.values();
        testbeds.map(|testbed| testbed.name.as_str())
    }

    /// The slots of a testbed, by position.
    pub fn slots_of_testbed(&self, name: &str) -> impl Iterator<Item = (SlotId, &Slot)> {
        let found = self.slots.testbed(name).into_iter();
        found.flat_map(|(testbed, one)| {
            let slots = one.slots.iter();
            slots.map(move |(position, slot)| {
                let position = *position;
                (SlotId { testbed, position }, slot)
            })
        })
    }

    /// What the node of a slot lacks for its room to be the slot's own.
    #[must_use]
    pub fn lacks_for_slot(&self, id: SlotId) -> Vec<(Dimension, i64)> {
        let testbed = self.slots.testbeds.get(&id.testbed);
        let slot = testbed.and_then(|one| one.slots.get(&id.position));
        let open = slot.filter(|slot| !slot.held);
        let Some((testbed, (slot, node))) =
            testbed.zip(open.and_then(|one| Some((one, one.node?))))
        else {
            return Vec::new();
        };
        let lack = |(one, amount)| (one, self.lack_for_slot(slot, node, one, amount));
        let lacks = testbed.request.iter().map(lack);
        lacks.filter(|(_, lack)| *lack > 0).collect()
    }

    /// Why a pod may not have what it claims, in words.
    #[must_use]
    pub fn no_slot_in_words(&self, claim: &SlotClaim, why: &NoSlot) -> String {
        let testbed = &claim.testbed;
        match why {
            NoSlot::NoTestbed => format!("testbed {testbed} does not exist"),
            NoSlot::NotAllowed => {
                let namespace = &claim.namespace;
                format!("testbed {testbed} is not for pods of namespace {namespace}")
            }
            NoSlot::TooLarge(dimension) => {
                let name = self.dimensions().name(*dimension);
                format!("the pod asks for more {name} than a slot of testbed {testbed} has")
            }
            NoSlot::NotThere => format!("{claim} is not there"),
            NoSlot::NoRoom => format!("{claim} waits for room on its node"),
            NoSlot::Taken(other) => {
                let who = self.pod(*other).map(|pod| pod.key.to_string());
                let who = who.unwrap_or_default();
                format!("{claim} is occupied by {who}")
            }
        }
    }
}
