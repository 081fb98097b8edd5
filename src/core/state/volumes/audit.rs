//! Derives from scratch what is kept of volumes, and compares.

use super::choice::Source;
use super::free::{CapacityIndex, FreeVolumes};
use super::places::NodeVolumes;
use super::{PodVolumes, Volumes};
use crate::state::ClusterState;
use crate::state::ids::NodeId;
use muster_model::ClaimKey;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

fn same<T: PartialEq + Debug>(what: &str, noted: &T, found: &T) -> Result<(), String> {
    if noted == found {
        return Ok(());
    }
    Err(format!("{what}: {noted:?}, not {found:?}"))
}

impl ClusterState {
    /// Checks what is kept of volumes.
    pub(in crate::state) fn audit_volumes(&self) -> Result<(), String> {
        let volumes = &self.volumes;
        for (id, known) in &volumes.pods {
            let Some(pod) = self.pods.get(*id) else {
                return Err(format!("volumes of {id:?}, which is gone"));
            };
            let key = &pod.key;
            if volumes.is_stale(*id) {
                return Err(format!(
                    "pod {key}: its volumes ask for something else by now"
                ));
            }
            same("volumes are counted on", &known.counted, &pod.room())?;
            let shape = self.shapes.get(pod.shape);
            let in_shape = shape.and_then(|shape| shape.volumes.clone());
            same("needs in the shape", &in_shape, &known.needs)?;
            if !known.chose.is_empty() && pod.place.node().is_none() {
                return Err(format!("pod {key} has no node, and volumes were chosen"));
            }
        }
        let without = |id| !volumes.pods.contains_key(&id);
        let mut pods = self.pods.iter().filter(|(id, _)| without(*id));
        let of_none = |shape| {
            self.shapes
                .get(shape)
                .is_some_and(|one| one.volumes.is_some())
        };
        if let Some((_, pod)) = pods.find(|(_, pod)| of_none(pod.shape)) {
            return Err(format!("pod {} has needs and no volumes", pod.key));
        }
        volumes.audit()
    }
}

impl Volumes {
    fn audit(&self) -> Result<(), String> {
        let mut again = Self {
            pods: self.pods.clone(),
            ..Self::default()
        };
        let counted: Vec<(_, NodeId)> = (self.pods.iter())
            .filter_map(|(id, pod)| Some((*id, pod.counted?)))
            .collect();
        for (id, node) in counted {
            again.count(id, node);
        }
        let sorted = |on: &BTreeMap<NodeId, NodeVolumes>| {
            let mut on = on.clone();
            on.values_mut().for_each(NodeVolumes::sort);
            on
        };
        same(
            "volumes on nodes",
            &sorted(&self.on_nodes),
            &sorted(&again.on_nodes),
        )?;
        same("claims in use", &self.in_use, &again.in_use)?;
        let (mut users, mut wanting) = (BTreeMap::new(), BTreeMap::new());
        for (id, pod) in &self.pods {
            for key in pod.claims() {
                users.entry(key).or_insert_with(BTreeSet::new).insert(*id);
            }
            for class in &pod.classes {
                let of_class = wanting.entry(class.clone());
                of_class.or_insert_with(BTreeSet::new).insert(*id);
            }
        }
        same("pods by claim", &self.users, &users)?;
        same("pods by class", &self.wanting, &wanting)?;
        self.audit_indexes()?;
        self.audit_choices()
    }

    fn audit_indexes(&self) -> Result<(), String> {
        let (mut free, mut rooms) = (FreeVolumes::default(), CapacityIndex::default());
        let mut of_claim: BTreeMap<ClaimKey, BTreeSet<String>> = BTreeMap::new();
        let mut of_handle: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for volume in self.volumes.values() {
            if let Some(handle) = &volume.handle {
                let unique = (handle.driver.clone(), handle.handle.clone());
                let volumes = of_handle.entry(unique).or_default();
                volumes.insert(volume.name.clone());
            }
            if FreeVolumes::is_free(volume) {
                free.add(volume);
            }
            if let Some(of) = &volume.claim {
                let volumes = of_claim.entry(of.key.clone()).or_default();
                volumes.insert(volume.name.clone());
            }
        }
        self.capacities.values().for_each(|one| rooms.add(one));
        same("free volumes", &self.free, &free)?;
        same("capacities", &self.rooms, &rooms)?;
        same("volumes by claim", &self.of_claim, &of_claim)?;
        same("volumes by handle", &self.of_handle, &of_handle)
    }

    /// A volume is chosen for one claim, by pods that say so themselves.
    fn audit_choices(&self) -> Result<(), String> {
        let mut taken = BTreeMap::new();
        let mut promised: BTreeMap<ClaimKey, i64> = BTreeMap::new();
        for (key, chosen) in &self.chosen {
            match &chosen.source {
                Source::Volume(name) => {
                    if taken.insert(name.clone(), key.clone()).is_some() {
                        return Err(format!("volume {name} was chosen twice"));
                    }
                }
                Source::Made(Some(room)) => {
                    *promised.entry(room.clone()).or_default() += chosen.size();
                }
                Source::Made(None) => {}
                Source::Known => return Err(format!("claim {key}: nothing was chosen")),
            }
            let counts = |pod: &PodVolumes| pod.chose.contains(key);
            let pods = self.pods.iter().filter(|(_, pod)| counts(pod));
            let pods: BTreeSet<_> = pods.map(|(id, _)| *id).collect();
            let noted: BTreeSet<_> = chosen.pods().iter().copied().collect();
            same("pods of a choice", &noted, &pods)?;
        }
        same("volumes chosen", &self.taken, &taken)?;
        promised.retain(|_, size| *size > 0);
        same("room promised", &self.promised, &promised)
    }
}
