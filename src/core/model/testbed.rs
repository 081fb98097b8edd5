//! Testbeds as the core is told of them: slots of one size on nodes (source: mission, "Slots").
//!
//! The table of slots is what the Testbed's reconciler wrote into its status and its slices: nobody else may. What
//! is read of a pod, which its owner may edit, says only what it asks for.

use super::{Amounts, LabelSelector};
use std::fmt;

/// A set of slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct TestbedSpec {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `spec.resourcesPerSlot`.
    pub request: Amounts,
    /// `spec.namespaceSelector`: who may claim its slots; `None`: all.
    pub namespace_selector: Option<LabelSelector>,
    /// `status.slots`, by position: the others are in its slices.
    pub slots: Vec<SlotSpec>,
}

/// A part of the slots of a Testbed: those in one TestbedSlice. No two objects have the same position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct SliceSpec {
    /// `metadata.name`.
    pub name: String,
    /// The name of the Testbed that controls it; empty: none does.
    pub testbed: String,
    /// Its uid.
    pub owner: String,
    /// The slots, by position.
    pub slots: Vec<SlotSpec>,
}

/// One slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct SlotSpec {
    /// Its number, which it keeps.
    pub position: u32,
    /// The name of its node.
    pub node: String,
    /// The name of its ghost pod, which it keeps.
    pub ghost: String,
    /// The uid of the pod that sits there, as far as the reconciler saw.
    pub occupant: String,
}

/// A pod that stands for a free slot: it is in the namespace of ghosts, and a Testbed controls it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GhostOf {
    /// The Testbed's uid.
    pub testbed: String,
}

/// Which slots a pod may run on: labels `muster.dev/testbed` and `muster.dev/slots`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SlotClaim {
    /// The pod's namespace: whether it may claim hangs on it.
    pub namespace: String,
    /// The Testbed's name.
    pub testbed: String,
    /// Their numbers, rising.
    pub positions: Vec<u32>,
}

impl SlotClaim {
    /// Whether it names the slot of this number.
    #[must_use]
    pub fn names(&self, position: u32) -> bool {
        self.positions.binary_search(&position).is_ok()
    }
}

/// `slots 0, 3 of testbed lab`.
impl fmt::Display for SlotClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.positions.len() {
            1 => "slot ",
            _ => "slots ",
        })?;
        for (index, position) in self.positions.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{position}")?;
        }
        f.write_str(" of testbed ")?;
        f.write_str(&self.testbed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_names_its_slots() {
        let claim = |positions: &[u32]| SlotClaim {
            testbed: "lab".to_owned(),
            positions: positions.to_vec(),
            ..SlotClaim::default()
        };
        assert_eq!(claim(&[3]).to_string(), "slot 3 of testbed lab");
        assert_eq!(claim(&[0, 3]).to_string(), "slots 0, 3 of testbed lab");
    }
}
