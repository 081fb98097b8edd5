//! What becomes of slots: those of a testbed, and those that a gang's pods claim.

use super::{Clock, Lack, RoomClaim, words};
use crate::Code;
use crate::units::Time;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

words! {
    /// How a slot stands.
    SlotIs {
        /// Its room is held, and nobody has it.
        Free,
        /// A pod is to have it, and is not on its way there yet.
        Reserved,
        /// A pod has it.
        Occupied,
        /// What its node has left is less than the slot, so that it is not one yet.
        NoRoom,
        /// Its node is not there.
        NoNode,
    }
}

/// Who has which slot of a testbed, and who waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct TestbedExplanation {
    /// `Testbed`.
    pub kind: Code,
    /// Its name.
    pub name: String,
    /// What times are counted from: known to whoever drives the core.
    pub clock: Clock,
    /// As of when.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub as_of: Time,
    /// Its slots by position: the first thousand.
    pub slots: Vec<SlotLine>,
    /// How many there are.
    pub slot_count: usize,
    /// How many of them are free.
    pub free: usize,
    /// How many a pod has, or is to have.
    pub taken: usize,
    /// The room that it holds for slots that no pod has.
    pub claims: Vec<RoomClaim>,
    /// Some of the gangs whose pods wait for slots of it, by queue and place there.
    pub waiting: Vec<SlotWaiter>,
    /// How many there are.
    pub waiting_count: usize,
}

/// A slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct SlotLine {
    /// Its number.
    pub position: u32,
    /// The name of its node.
    pub node: String,
    /// How it stands.
    pub state: SlotIs,
    /// Whether its room is its own.
    pub held: bool,
    /// What its node lacks for that.
    pub lacks: Vec<Lack>,
    /// The name of its ghost.
    pub ghost: String,
    /// Whether that is on the node, or on its way there.
    pub ghost_on_node: bool,
    /// Who has it, or is to have it: `namespace/name`.
    pub pod: Option<String>,
    /// Some of the gangs that wait and claim it.
    pub waiting: Vec<String>,
    /// How many there are.
    pub waiting_count: usize,
}

/// A gang with pods that wait for slots of a testbed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct SlotWaiter {
    /// Its name.
    pub name: String,
    /// Its queue.
    pub queue: Option<String>,
    /// Its place there, from 1; `None` if it is in no line or far behind.
    pub position: Option<u32>,
    /// How many of its pods wait for slots.
    pub pods: u32,
    /// The first of the slots that they claim.
    pub slots: Vec<u32>,
    /// How many they claim.
    pub slot_count: usize,
    /// Why they may have none of them, whoever leaves.
    pub refused: Option<String>,
}

/// What a pod of a gang claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Claimant {
    /// The pod's name.
    pub pod: String,
    /// Of which testbed it claims slots.
    pub testbed: String,
    /// The one that it has, or is to have.
    pub has: Option<u32>,
    /// The first of those that it claims.
    pub slots: Vec<ClaimedSlot>,
    /// How many it claims.
    pub slot_count: usize,
    /// Why it may have none of them, whoever leaves.
    pub refused: Option<String>,
}

/// A slot that is claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct ClaimedSlot {
    /// Its number.
    pub position: u32,
    /// Its node; `None`: there is no such slot.
    pub node: Option<String>,
    /// How it stands.
    pub state: SlotIs,
    /// Who has it, or is to have it: `namespace/name`.
    pub pod: Option<String>,
}

impl ClaimedSlot {
    /// It is as this says.
    pub fn follow(&mut self, slot: &SlotLine) {
        self.node = Some(slot.node.clone());
        self.state = slot.state.clone();
        self.pod.clone_from(&slot.pod);
    }
}
