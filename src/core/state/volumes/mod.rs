//! Claims, volumes and classes, which pods use them, and what was decided on them.
//!
//! What a pod's volumes ask of its node is found when something that it depends on changes, and kept
//! in the pod's shape. What is chosen for a pod that was placed counts from then on as taken, and is
//! free again when the pod is taken off: so it follows whatever is tried on the state.

mod audit;
mod choice;
mod events;
mod free;
mod needs;
mod objects;
mod places;
#[cfg(test)]
mod tests;

pub use choice::{Chosen, Source, Unmet};
pub(super) use events::PodVolumesOf;

use super::ids::{NodeId, PodId};
use free::{CapacityIndex, FreeVolumes};
use muster_model::{
    AttachmentSpec, ClaimKey, ClaimSpec, CsiDriverSpec, CsiNodeSpec, PodVolume,
    StorageCapacitySpec, StorageClassSpec, VolumeNeeds, VolumeSpec,
};
use places::NodeVolumes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All that is known of storage.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    claims: BTreeMap<ClaimKey, ClaimSpec>,
    volumes: BTreeMap<String, VolumeSpec>,
    classes: BTreeMap<String, StorageClassSpec>,
    drivers: BTreeMap<String, CsiDriverSpec>,
    capacities: BTreeMap<ClaimKey, StorageCapacitySpec>,
    csi_nodes: BTreeMap<String, CsiNodeSpec>,
    attachments: BTreeMap<String, AttachmentSpec>,
    /// Attachments by node.
    attached: BTreeMap<String, BTreeSet<String>>,
    /// Pods by the claims they name, there or not.
    users: BTreeMap<ClaimKey, BTreeSet<PodId>>,
    /// Volumes by the claim they are for.
    of_claim: BTreeMap<ClaimKey, BTreeSet<String>>,
    /// Claims by the volume they name.
    naming: BTreeMap<String, BTreeSet<ClaimKey>>,
    /// Volumes by driver and handle.
    of_handle: BTreeMap<(String, String), BTreeSet<String>>,
    /// Pods by the classes of their claims that are not bound.
    wanting: BTreeMap<String, BTreeSet<PodId>>,
    free: FreeVolumes,
    rooms: CapacityIndex,
    /// The pods with volumes.
    pods: BTreeMap<PodId, PodVolumes>,
    /// What pods have on their nodes.
    on_nodes: BTreeMap<NodeId, NodeVolumes>,
    /// How many pods with a node use each claim.
    in_use: BTreeMap<ClaimKey, u32>,
    /// What was chosen for claims of pods that were placed.
    chosen: BTreeMap<ClaimKey, Chosen>,
    /// The volumes among that.
    taken: BTreeMap<String, ClaimKey>,
    /// How much is spoken for of each capacity.
    promised: BTreeMap<ClaimKey, i64>,
}

/// A pod's volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PodVolumes {
    uid: String,
    namespace: String,
    name: String,
    ours: bool,
    volumes: Vec<PodVolume>,
    needs: Option<Arc<VolumeNeeds>>,
    /// The claims that its wants are for, one each.
    unbound: Vec<ClaimKey>,
    /// Their classes.
    classes: BTreeSet<String>,
    /// The volumes that its node attaches: driver and handle.
    attaches: BTreeSet<(String, String)>,
    /// Where that is counted.
    counted: Option<NodeId>,
    /// Claims for which something was chosen with it.
    chose: Vec<ClaimKey>,
}

impl PodVolumes {
    /// The claims it names, each once.
    fn claims(&self) -> BTreeSet<ClaimKey> {
        let names = self.volumes.iter().filter_map(PodVolume::claim);
        names.map(|(name, _)| self.key(name)).collect()
    }

    fn key(&self, name: &str) -> ClaimKey {
        ClaimKey {
            namespace: self.namespace.clone(),
            name: name.to_owned(),
        }
    }
}

impl Volumes {
    /// Whether no pod has any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// A claim.
    #[must_use]
    pub fn claim(&self, key: &ClaimKey) -> Option<&ClaimSpec> {
        self.claims.get(key)
    }

    /// A volume.
    #[must_use]
    pub fn volume(&self, name: &str) -> Option<&VolumeSpec> {
        self.volumes.get(name)
    }

    /// How much room for new volumes is offered there, if that is said.
    #[must_use]
    pub fn capacity(&self, key: &ClaimKey) -> Option<i64> {
        self.capacities.get(key)?.capacity
    }

    /// Whether there are volumes of a class that nobody has.
    #[must_use]
    pub fn has_free(&self, class: &str) -> bool {
        self.free.has_any(class)
    }

    /// What a node's CSINode says.
    #[must_use]
    pub fn csi_node(&self, node: &str) -> Option<&CsiNodeSpec> {
        self.csi_nodes.get(node)
    }

    /// What a CSIDriver says.
    #[must_use]
    pub fn driver(&self, name: &str) -> Option<&CsiDriverSpec> {
        self.drivers.get(name)
    }

    /// Whether a pod with a node uses the claim.
    #[must_use]
    pub fn is_in_use(&self, claim: &ClaimKey) -> bool {
        self.in_use.contains_key(claim)
    }

    /// What a pod's volumes ask of its node.
    #[must_use]
    pub fn needs(&self, pod: PodId) -> Option<&Arc<VolumeNeeds>> {
        self.pods.get(&pod)?.needs.as_ref()
    }

    /// The claims of a pod that are not bound.
    #[must_use]
    pub fn unbound(&self, pod: PodId) -> &[ClaimKey] {
        self.pods.get(&pod).map_or(&[], |one| &one.unbound)
    }

    /// What was chosen for a claim.
    #[must_use]
    pub fn chosen(&self, claim: &ClaimKey) -> Option<&Chosen> {
        self.chosen.get(claim)
    }
}
