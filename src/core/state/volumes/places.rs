//! What pods have on their nodes: volumes that the node attaches, and disks.

use super::Volumes;
use super::choice::{Source, Unmet, Where};
use crate::state::ClusterState;
use crate::state::ids::{GangId, NodeId, PodId};
use muster_model::{ClaimKey, Disk, PodVolume, VolumeNeeds};
use std::collections::{BTreeMap, BTreeSet};

/// What pods have on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeVolumes {
    /// By driver and handle: how many pods.
    attaches: BTreeMap<String, BTreeMap<String, u32>>,
    /// Disks that may conflict.
    disks: Vec<(PodId, Disk)>,
}

impl NodeVolumes {
    pub(super) fn sort(&mut self) {
        self.disks.sort();
    }

    fn is_empty(&self) -> bool {
        self.attaches.is_empty() && self.disks.is_empty()
    }
}

impl Volumes {
    /// Counts what a pod has on its node.
    pub(super) fn count(&mut self, pod: PodId, node: NodeId) {
        let Some(known) = self.pods.get_mut(&pod) else {
            return;
        };
        known.counted = Some(node);
        let here = self.on_nodes.entry(node).or_default();
        for (driver, handle) in &known.attaches {
            let of_driver = here.attaches.entry(driver.clone()).or_default();
            *of_driver.entry(handle.clone()).or_default() += 1;
        }
        for volume in &known.volumes {
            match volume {
                PodVolume::Disk(disk) if disk.is_restricted() => {
                    here.disks.push((pod, disk.clone()));
                }
                PodVolume::Claim(name) => {
                    let key = ClaimKey {
                        namespace: known.namespace.clone(),
                        name: name.clone(),
                    };
                    *self.in_use.entry(key).or_default() += 1;
                }
                PodVolume::Disk(_) | PodVolume::Ephemeral(_) => {}
            }
        }
        if here.is_empty() {
            self.on_nodes.remove(&node);
        }
    }

    /// Does not count it any more.
    pub(super) fn discount(&mut self, pod: PodId) {
        let Some(known) = self.pods.get_mut(&pod) else {
            return;
        };
        let Some(node) = known.counted.take() else {
            return;
        };
        if let Some(here) = self.on_nodes.get_mut(&node) {
            for (driver, handle) in &known.attaches {
                let Some(of_driver) = here.attaches.get_mut(driver) else {
                    continue;
                };
                if let Some(pods) = of_driver.get_mut(handle) {
                    *pods -= 1;
                    if *pods == 0 {
                        of_driver.remove(handle);
                    }
                }
                if of_driver.is_empty() {
                    here.attaches.remove(driver);
                }
            }
            here.disks.retain(|(one, _)| *one != pod);
            if here.is_empty() {
                self.on_nodes.remove(&node);
            }
        }
        for volume in &known.volumes {
            let PodVolume::Claim(name) = volume else {
                continue;
            };
            let key = known.key(name);
            if let Some(pods) = self.in_use.get_mut(&key) {
                *pods -= 1;
                if *pods == 0 {
                    self.in_use.remove(&key);
                }
            }
        }
    }

    /// The volumes of a driver that a node has attached: those that its pods use, and others.
    fn attached_on(&self, node: NodeId, name: &str, driver: &str) -> (usize, BTreeSet<&str>) {
        let of_pods = self.on_nodes.get(&node);
        let of_pods = of_pods.and_then(|here| here.attaches.get(driver));
        let used = |handle: &str| of_pods.is_some_and(|all| all.contains_key(handle));
        let attachments = self.attached.get(name).into_iter().flatten();
        let others = attachments.filter_map(|name| {
            let attachment = self.attachments.get(name)?;
            let volume = self.volumes.get(&attachment.volume)?;
            let handle = volume.handle.as_ref()?;
            let counts =
                attachment.driver == driver && handle.in_tree.is_none() && !used(&handle.handle);
            counts.then_some(handle.handle.as_str())
        });
        (of_pods.map_or(0, BTreeMap::len), others.collect())
    }

    /// How many pods with these needs a node can attach the volumes of, at most; 0 where the driver
    /// of one is not there (`Err`: which one).
    pub(super) fn attachable(
        &self,
        needs: &VolumeNeeds,
        node: NodeId,
        name: &str,
    ) -> Result<u32, String> {
        let csi = self.csi_nodes.get(name);
        let mut new: BTreeMap<&str, u32> = BTreeMap::new();
        let of_pods = self.on_nodes.get(&node);
        for one in needs
            .attaches
            .iter()
            .filter(|one| !one.in_tree || csi.is_some())
        {
            let driver = self.drivers.get(&one.driver);
            let must_be_there = driver.is_some_and(|driver| driver.must_be_installed);
            if must_be_there && !csi.is_some_and(|csi| csi.drivers.contains_key(&one.driver)) {
                return Err(one.driver.clone());
            }
            let attached = of_pods
                .and_then(|here| here.attaches.get(&one.driver))
                .zip(one.handle.as_ref())
                .is_some_and(|(all, handle)| all.contains_key(handle));
            *new.entry(&one.driver).or_default() += u32::from(!attached);
        }
        let mut pods = u32::MAX;
        for (driver, new) in new.into_iter().filter(|(_, new)| *new > 0) {
            let limit = csi.and_then(|csi| csi.drivers.get(driver).copied().flatten());
            let Some(limit) = limit else { continue };
            let (used, others) = self.attached_on(node, name, driver);
            let taken = u32::try_from(used + others.len()).unwrap_or(u32::MAX);
            pods = pods.min(limit.saturating_sub(taken) / new);
        }
        Ok(pods)
    }

    /// Whether a disk that a pod names conflicts with one on the node.
    pub(super) fn conflicts(&self, needs: &VolumeNeeds, node: NodeId) -> bool {
        let here = self.on_nodes.get(&node);
        let there = |disk: &Disk| {
            let mut disks = here.iter().flat_map(|here| &here.disks);
            disks.any(|(_, other)| disk.conflicts(other))
        };
        needs.disks.iter().any(there)
    }
}

impl ClusterState {
    /// What a node lacks of what a pod's claims ask.
    #[must_use]
    pub fn volumes_unmet(&self, needs: &VolumeNeeds, gang: Option<GangId>, node: NodeId) -> Unmet {
        let unmet = self.volumes.unmet_by_bound(needs, self.where_is(node));
        if needs.wants.is_empty() {
            return unmet;
        }
        match self.volumes.sources(needs, gang, self.where_is(node)) {
            Ok(_) => unmet,
            Err(more) => Unmet {
                unbound: more.unbound,
                space: more.space,
                ..unmet
            },
        }
    }

    /// Where the volumes of a pod come from if it goes to a node.
    ///
    /// # Errors
    /// What the node lacks.
    pub fn volume_sources(
        &self,
        needs: &VolumeNeeds,
        gang: Option<GangId>,
        node: NodeId,
    ) -> Result<Vec<Source>, Unmet> {
        self.volumes.sources(needs, gang, self.where_is(node))
    }

    /// For how many pods with these needs a node can attach the volumes, at most.
    ///
    /// # Errors
    /// The driver that is not there and has to be.
    pub fn volumes_attachable(&self, needs: &VolumeNeeds, node: NodeId) -> Result<u32, String> {
        let name = self.nodes.name(node);
        self.volumes.attachable(needs, node, name)
    }

    /// Whether a disk that a pod names is in the way of one on the node.
    #[must_use]
    pub fn disks_conflict(&self, needs: &VolumeNeeds, node: NodeId) -> bool {
        self.volumes.conflicts(needs, node)
    }

    pub(super) fn where_is(&self, node: NodeId) -> Where<'_> {
        Where {
            id: node,
            name: self.nodes.name(node),
            labels: &self.nodes.facts(node).labels,
        }
    }
}
