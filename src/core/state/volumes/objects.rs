//! Claims, volumes and the rest come, change and go.

use super::free::{FreeVolumes, pin_of};
use super::{PodVolumes, Volumes};
use crate::state::ids::PodId;
use muster_model::{
    AttachmentSpec, ClaimKey, ClaimSpec, CsiDriverSpec, CsiNodeSpec, StorageCapacitySpec,
    StorageClassSpec, VolumeSpec,
};
use std::collections::BTreeSet;

/// What news of storage means for others.
#[derive(Debug, Default)]
pub(in crate::state) struct Stir {
    /// Pods whose volumes may ask for something else now.
    pub(super) pods: BTreeSet<PodId>,
    /// Pods that may fit where they did not, though they ask for the same.
    pub(super) wake: BTreeSet<PodId>,
    /// Hosts on which there are other volumes now.
    pub(super) hosts: BTreeSet<String>,
    /// The node that has other drivers, limits or attachments now.
    pub(super) node: Option<String>,
    /// What that node is to volumes has changed, too.
    pub(super) facts: bool,
    /// Any node may say something else now.
    pub(super) everywhere: bool,
}

impl Volumes {
    pub(in crate::state) fn set_claim(
        &mut self,
        key: &ClaimKey,
        claim: Option<ClaimSpec>,
        stir: &mut Stir,
    ) {
        if self.claims.get(key) == claim.as_ref() {
            return;
        }
        let volume_of = |claim: Option<&ClaimSpec>| claim.map(|one| one.volume.clone());
        let before = self.claims.remove(key);
        let (named, names) = (volume_of(before.as_ref()), volume_of(claim.as_ref()));
        if let Some(before) = before
            && let Some(claims) = self.naming.get_mut(&before.volume)
        {
            claims.remove(key);
            if claims.is_empty() {
                self.naming.remove(&before.volume);
            }
        }
        if claim.as_ref().is_none_or(ClaimSpec::is_bound) {
            // What was chosen has come true, or never will.
            self.forget_choice(key);
        }
        if let Some(claim) = claim {
            if !claim.volume.is_empty() {
                let claims = self.naming.entry(claim.volume.clone()).or_default();
                claims.insert(key.clone());
            }
            self.claims.insert(key.clone(), claim);
        }
        stir.pods.extend(self.users_of(key));
        if named != names {
            // Who else names one of these shares it now, or does not any more.
            for name in [named, names].into_iter().flatten() {
                for key in self.naming.get(&name).into_iter().flatten() {
                    stir.pods.extend(self.users_of(key));
                }
            }
        }
    }

    pub(in crate::state) fn set_volume(
        &mut self,
        name: &str,
        volume: Option<VolumeSpec>,
        stir: &mut Stir,
    ) {
        if self.volumes.get(name) == volume.as_ref() {
            return;
        }
        let before = self.volumes.remove(name);
        for (one, is_new) in [(&before, false), (&volume, true)] {
            let Some(one) = one else { continue };
            if let Some(of) = &one.claim {
                let volumes = self.of_claim.entry(of.key.clone()).or_default();
                if is_new {
                    volumes.insert(name.to_owned());
                } else {
                    volumes.remove(name);
                }
                if volumes.is_empty() {
                    self.of_claim.remove(&of.key);
                }
                stir.pods.extend(self.users_of(&of.key));
            }
            self.note_handle(one, is_new, stir);
            if FreeVolumes::is_free(one) {
                self.stir_class(one, is_new, stir);
            }
        }
        if let Some(volume) = volume {
            self.volumes.insert(name.to_owned(), volume);
        }
        for key in self.naming.get(name).into_iter().flatten() {
            stir.pods.extend(self.users_of(key));
        }
    }

    /// A volume with a handle is there, or not any more: whose volumes have the same handle share it.
    fn note_handle(&mut self, volume: &VolumeSpec, is_new: bool, stir: &mut Stir) {
        let Some(handle) = &volume.handle else { return };
        let unique = (handle.driver.clone(), handle.handle.clone());
        let volumes = self.of_handle.entry(unique.clone()).or_default();
        if is_new {
            volumes.insert(volume.name.clone());
        } else {
            volumes.remove(&volume.name);
        }
        let others: Vec<String> = volumes.iter().cloned().collect();
        if others.is_empty() {
            self.of_handle.remove(&unique);
        }
        for name in others {
            for key in self.naming.get(&name).into_iter().flatten() {
                stir.pods.extend(self.users_of(key));
            }
        }
    }

    /// A volume becomes free, or is not free any more.
    fn stir_class(&mut self, volume: &VolumeSpec, is_new: bool, stir: &mut Stir) {
        let kinds = |free: &FreeVolumes| {
            let class = &volume.class;
            (free.has_loose(class), free.has_pinned(class))
        };
        let before = kinds(&self.free);
        if is_new {
            self.free.add(volume);
        } else {
            self.free.remove(volume);
        }
        let pods = self.wanting.get(&volume.class).into_iter().flatten();
        if before != kinds(&self.free) {
            stir.pods.extend(pods.clone());
        }
        if is_new {
            stir.wake.extend(pods);
        }
        stir.hosts.extend(pin_of(volume).map(str::to_owned));
    }

    pub(in crate::state) fn set_class(
        &mut self,
        name: &str,
        class: Option<StorageClassSpec>,
        stir: &mut Stir,
    ) {
        if self.classes.get(name) == class.as_ref() {
            return;
        }
        match class {
            Some(class) => self.classes.insert(name.to_owned(), class),
            None => self.classes.remove(name),
        };
        let of_class = |pod: &PodVolumes| {
            let mut claims = pod.claims().into_iter();
            claims.any(|key| self.claims.get(&key).is_some_and(|one| one.class == name))
        };
        // Claims of the class that waited for it to be there are not noted: classes hardly change.
        let pods = self.pods.iter().filter(|(_, pod)| of_class(pod));
        stir.pods.extend(pods.map(|(id, _)| *id));
    }

    pub(in crate::state) fn set_driver(
        &mut self,
        name: &str,
        driver: Option<CsiDriverSpec>,
        stir: &mut Stir,
    ) {
        if self.drivers.get(name) == driver.as_ref() {
            return;
        }
        match driver {
            Some(driver) => self.drivers.insert(name.to_owned(), driver),
            None => self.drivers.remove(name),
        };
        let waits = self.pods.iter().filter(|(_, pod)| pod.ours);
        stir.pods.extend(waits.map(|(id, _)| *id));
        stir.everywhere = true;
    }

    pub(in crate::state) fn set_csi_node(
        &mut self,
        name: &str,
        csi: Option<CsiNodeSpec>,
        stir: &mut Stir,
    ) {
        let before = self.csi_nodes.get(name);
        if before == csi.as_ref() {
            return;
        }
        let migrated = |csi: Option<&CsiNodeSpec>| csi.map(|csi| csi.migrated.clone());
        stir.facts = migrated(before) != migrated(csi.as_ref());
        stir.node = Some(name.to_owned());
        match csi {
            Some(csi) => self.csi_nodes.insert(name.to_owned(), csi),
            None => self.csi_nodes.remove(name),
        };
    }

    pub(in crate::state) fn set_capacity(
        &mut self,
        key: &ClaimKey,
        capacity: Option<StorageCapacitySpec>,
        stir: &mut Stir,
    ) {
        if self.capacities.get(key) == capacity.as_ref() {
            return;
        }
        let before = self.capacities.remove(key);
        if let Some(before) = &before {
            self.rooms.remove(before);
        }
        if let Some(capacity) = capacity {
            // Drivers tell of every volume; of less room nobody needs to know.
            let shrinks = before.is_some_and(|before| {
                (&before.class, &before.nodes) == (&capacity.class, &capacity.nodes)
                    && before.capacity >= capacity.capacity
                    && before.largest >= capacity.largest
            });
            if !shrinks {
                let pods = self.wanting.get(&capacity.class).into_iter().flatten();
                stir.wake.extend(pods);
            }
            self.rooms.add(&capacity);
            self.capacities.insert(key.clone(), capacity);
        }
    }

    pub(in crate::state) fn set_attachment(
        &mut self,
        name: &str,
        attachment: Option<AttachmentSpec>,
        stir: &mut Stir,
    ) {
        let before = self.attachments.get(name);
        if before == attachment.as_ref() {
            return;
        }
        if let Some(before) = self.attachments.remove(name) {
            if let Some(names) = self.attached.get_mut(&before.node) {
                names.remove(name);
                if names.is_empty() {
                    self.attached.remove(&before.node);
                }
            }
            stir.node = Some(before.node);
        }
        if let Some(attachment) = attachment {
            let names = self.attached.entry(attachment.node.clone()).or_default();
            names.insert(name.to_owned());
            stir.node = Some(attachment.node.clone());
            self.attachments.insert(name.to_owned(), attachment);
        }
    }

    fn users_of(&self, key: &ClaimKey) -> BTreeSet<PodId> {
        self.users.get(key).cloned().unwrap_or_default()
    }

    /// Notes a pod's volumes; what they ask for is found afterwards. Says whose claims are shared now.
    pub(super) fn register(&mut self, id: PodId, pod: PodVolumes) -> BTreeSet<PodId> {
        let mut others = BTreeSet::new();
        for key in pod.claims() {
            let users = self.users.entry(key).or_default();
            users.insert(id);
            if users.len() == 2 {
                others.extend(users.iter().copied());
            }
        }
        self.pods.insert(id, pod);
        others.remove(&id);
        others
    }

    /// Forgets a pod that is counted nowhere. Says whose claims are not shared any more.
    pub(super) fn unregister(&mut self, id: PodId) -> BTreeSet<PodId> {
        self.give_back(id);
        let Some(pod) = self.pods.remove(&id) else {
            return BTreeSet::new();
        };
        self.unlist(id, &pod.classes);
        let mut others = BTreeSet::new();
        for key in pod.claims() {
            let Some(users) = self.users.get_mut(&key) else {
                continue;
            };
            users.remove(&id);
            if users.len() == 1 {
                others.extend(users.iter().copied());
            }
            if users.is_empty() {
                self.users.remove(&key);
            }
        }
        others
    }

    fn unlist(&mut self, id: PodId, classes: &BTreeSet<String>) {
        for class in classes {
            if let Some(pods) = self.wanting.get_mut(class) {
                pods.remove(&id);
                if pods.is_empty() {
                    self.wanting.remove(class);
                }
            }
        }
    }

    /// Finds out what a pod's volumes ask for now, while it is counted nowhere. Says whether that is
    /// other than before.
    pub(super) fn refresh(&mut self, id: PodId) -> bool {
        let Some(pod) = self.pods.get(&id) else {
            return false;
        };
        let found = self.look_up(pod);
        let classes = pod.classes.clone();
        if classes != found.classes {
            self.unlist(id, &classes);
            for class in &found.classes {
                let pods = self.wanting.entry(class.clone()).or_default();
                pods.insert(id);
            }
        }
        let Some(pod) = self.pods.get_mut(&id) else {
            return false;
        };
        let differs = pod.needs != found.needs;
        pod.needs = found.needs;
        pod.unbound = found.unbound;
        pod.classes = found.classes;
        pod.attaches = found.attaches;
        differs
    }

    /// Whether finding it out would change anything.
    pub(super) fn is_stale(&self, id: PodId) -> bool {
        self.pods.get(&id).is_some_and(|pod| {
            let found = self.look_up(pod);
            pod.needs != found.needs
                || pod.unbound != found.unbound
                || pod.classes != found.classes
                || pod.attaches != found.attaches
        })
    }
}
