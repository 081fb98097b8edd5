//! What a pod's volumes ask of its node, from claims, volumes and classes as they are now.

use super::{PodVolumes, Volumes};
use muster_model::{
    AccessModes, Attach, BindingMode, ClaimKey, ClaimSpec, Disk, PodVolume, Reach, VolumeNeeds,
    VolumePlace, VolumeSpec, VolumeWant,
};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Labels by zone and region, in the order in which kube-scheduler looks at them.
const ZONES: [&str; 4] = [
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
];

/// What stands between the zones of a volume that is in several.
const BETWEEN_ZONES: &str = "__";

/// Plugins of Kubernetes, and the CSI drivers that stand in for them wherever there is a CSINode
/// (source: csi-translation-lib, and kube-scheduler's NodeVolumeLimits).
const MIGRATED: [(&str, &str); 5] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
];

/// Plugins of Kubernetes that have moved to drivers, and are not counted all the same.
const UNCOUNTED: [&str; 3] = [
    "kubernetes.io/azure-file",
    "kubernetes.io/vsphere-volume",
    "kubernetes.io/no-provisioner",
];

/// What was found for a pod.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) needs: Option<Arc<VolumeNeeds>>,
    pub(super) unbound: Vec<ClaimKey>,
    pub(super) classes: BTreeSet<String>,
    pub(super) attaches: BTreeSet<(String, String)>,
}

impl Volumes {
    /// What a pod's volumes ask of its node.
    pub(super) fn look_up(&self, pod: &PodVolumes) -> Found {
        let mut found = Found::default();
        let mut needs = VolumeNeeds {
            refusal: self.refusal(pod),
            ..VolumeNeeds::default()
        };
        let mut wants: BTreeMap<ClaimKey, VolumeWant> = BTreeMap::new();
        let mut order = Vec::new();
        let mut attaches = BTreeMap::new();
        for volume in &pod.volumes {
            let Some((name, _)) = volume.claim() else {
                if let PodVolume::Disk(disk) = volume {
                    needs.disks.push(disk.clone());
                    if let Some(handle) = disk.handle() {
                        let unique = (handle.driver, handle.handle);
                        attaches.insert(unique, (true, handle.in_tree.is_some()));
                    }
                }
                continue;
            };
            let key = pod.key(name);
            let Some(claim) = self.claims.get(&key) else {
                continue;
            };
            let shared = self.users.get(&key).is_some_and(|users| users.len() > 1);
            if let Some((driver, handle, in_tree)) = self.attached_for(claim) {
                let unique = (driver, handle);
                let shared = shared || self.is_attached_for_others(claim, &unique);
                attaches.insert(unique, (shared, in_tree));
            }
            if claim.modes.has(AccessModes::READ_WRITE_ONCE_POD) && shared {
                needs.alone.push(key.clone());
            }
            if claim.is_bound() {
                needs.places.extend(self.place_of(claim));
            } else if let Entry::Vacant(entry) = wants.entry(key) {
                found.classes.insert(claim.class.clone());
                order.push(entry.key().clone());
                entry.insert(self.want_of(claim, shared));
            }
        }
        needs.disks.retain(Disk::is_restricted);
        needs.disks.sort();
        needs.alone.sort();
        needs.alone.dedup();
        let size = |key: &ClaimKey| {
            let want = wants.get(key);
            want.map(|want| (want.selected_node.is_none(), want.size.unwrap_or(0)))
        };
        order.sort_by_key(size);
        needs.reach = (order.iter().filter_map(|key| wants.get(key)))
            .map(|want| self.reach_of(want))
            .max()
            .unwrap_or_default();
        needs.wants = order.iter().filter_map(|key| wants.remove(key)).collect();
        found.unbound = order;
        needs.attaches = (attaches.iter())
            .map(|((driver, handle), (shared, in_tree))| Attach {
                driver: driver.clone(),
                handle: shared.then(|| handle.clone()),
                in_tree: *in_tree,
            })
            .collect();
        needs.attaches.sort();
        found.attaches = attaches.into_keys().collect();
        if needs.refusal.is_some() {
            // Nothing else is asked, so nothing else tells it from others.
            needs = VolumeNeeds {
                refusal: needs.refusal,
                ..VolumeNeeds::default()
            };
        }
        if pod.ours && !needs.is_nothing() {
            found.needs = Some(Arc::new(needs));
        }
        found
    }

    /// Why no node will do: in the words and the order of kube-scheduler's VolumeRestrictions,
    /// VolumeBinding and VolumeZone before they look at any.
    fn refusal(&self, pod: &PodVolumes) -> Option<String> {
        let claims = || pod.volumes.iter().filter_map(PodVolume::claim);
        let known = |name: &str| self.claims.get(&pod.key(name));
        let mut missing = claims().filter(|(name, made)| !made && known(name).is_none());
        if let Some((name, _)) = missing.next() {
            return Some(format!("persistentvolumeclaim {name:?} not found"));
        }
        for (name, made_for_it) in claims() {
            let Some(claim) = known(name) else {
                return Some(format!(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim \
                     {name:?}"
                ));
            };
            if claim.lost {
                let volume = &claim.volume;
                return Some(format!(
                    "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
                ));
            }
            if claim.deleting {
                return Some(format!("persistentvolumeclaim {name:?} is being deleted"));
            }
            if made_for_it && claim.owner.as_deref() != Some(&pod.uid) {
                let (key, namespace, pod) = (&claim.key, &pod.namespace, &pod.name);
                return Some(format!(
                    "PVC {key} was not created for pod {namespace}/{pod} (pod is not owner)"
                ));
            }
        }
        let immediate = |claim: &ClaimSpec| !claim.is_bound() && !self.waits_for_a_pod(claim);
        let mut known_ones = claims().filter_map(|(name, _)| known(name));
        if known_ones.any(immediate) {
            return Some("pod has unbound immediate PersistentVolumeClaims".to_owned());
        }
        let named = claims().filter(|(_, made)| !made);
        let mut bound = named.filter_map(|(name, _)| known(name).filter(|one| one.is_bound()));
        let gone = bound.find(|claim| !self.volumes.contains_key(&claim.volume))?;
        Some(format!("persistentvolume {:?} not found", gone.volume))
    }

    /// Whether a claim is bound when a pod that uses it has a node.
    fn waits_for_a_pod(&self, claim: &ClaimSpec) -> bool {
        let class = self.classes.get(&claim.class);
        claim.volume.is_empty()
            && class.is_some_and(|class| class.mode == BindingMode::WaitForFirstConsumer)
    }

    /// What a bound claim asks of the node, if anything.
    fn place_of(&self, claim: &ClaimSpec) -> Option<VolumePlace> {
        let Some(volume) = self.volumes.get(&claim.volume) else {
            return Some(VolumePlace {
                is_gone: true,
                ..VolumePlace::default()
            });
        };
        let plugin = volume.handle.as_ref().and_then(|one| one.in_tree.clone());
        let place = VolumePlace {
            is_gone: false,
            affinity: volume.affinity.clone(),
            migrated: plugin.zip(volume.migrated_affinity.clone()),
            zones: zones_of(volume),
        };
        (place != VolumePlace::default()).then_some(place)
    }

    fn want_of(&self, claim: &ClaimSpec, shared: bool) -> VolumeWant {
        let class = self.classes.get(&claim.class);
        let provisions = class.is_some_and(|class| class.provisions());
        let provisioner = class.map_or("", |class| class.provisioner.as_str());
        let driver = self.drivers.get(provisioner).filter(|_| provisions);
        let own = self.of_claim.get(&claim.key).into_iter().flatten();
        let own = own.filter(|name| {
            let volume = self.volumes.get(*name);
            volume.is_some_and(|one| {
                one.class == claim.class && one.claim.as_ref().is_some_and(|of| of.names(claim))
            })
        });
        VolumeWant {
            size: claim.size,
            class: claim.class.clone(),
            modes: claim.modes,
            block: claim.block,
            selector: claim.selector.clone(),
            attributes_class: claim.attributes_class.clone(),
            selected_node: claim.selected_node.clone(),
            own: own.cloned().collect(),
            shared: shared.then(|| claim.key.clone()),
            provisions,
            topologies: class.map(|one| one.topologies.clone()).unwrap_or_default(),
            tracks_capacity: claim.size.is_some()
                && driver.is_some_and(|driver| driver.tracks_capacity),
        }
    }

    /// How far what a want depends on reaches.
    fn reach_of(&self, want: &VolumeWant) -> Reach {
        let looks_for_one = want.selected_node.is_none();
        let loose = looks_for_one && self.free.has_loose(&want.class);
        let of_one = want.shared.is_some() || !want.own.is_empty();
        if loose || want.tracks_capacity || of_one {
            Reach::Cluster
        } else if looks_for_one && self.free.has_pinned(&want.class) {
            Reach::Node
        } else {
            Reach::Facts
        }
    }

    /// Driver and handle of what a node attaches for a claim, and whether that counts on nodes with a
    /// CSINode only.
    fn is_attached_for_others(&self, claim: &ClaimSpec, unique: &(String, String)) -> bool {
        let volumes = self.of_handle.get(unique);
        let claims = self.naming.get(&claim.volume);
        volumes.is_some_and(|all| all.len() > 1) || claims.is_some_and(|all| all.len() > 1)
    }

    fn attached_for(&self, claim: &ClaimSpec) -> Option<(String, String, bool)> {
        if let Some(volume) = self.volumes.get(&claim.volume) {
            let found = volume.handle.clone()?;
            return Some((found.driver, found.handle, found.in_tree.is_some()));
        }
        let provisioner = &self.classes.get(&claim.class)?.provisioner;
        if provisioner.is_empty() || UNCOUNTED.contains(&provisioner.as_str()) {
            return None;
        }
        let migrated = MIGRATED.iter().find(|(plugin, _)| plugin == provisioner);
        let driver = migrated.map_or(provisioner.as_str(), |(_, driver)| driver);
        let handle = format!("claim {}", claim.key);
        Some((driver.to_owned(), handle, migrated.is_some()))
    }
}

/// The zones and regions that a volume's labels name; what cannot be read is left out.
fn zones_of(volume: &VolumeSpec) -> Vec<(String, Vec<String>)> {
    let zones = ZONES.iter().filter_map(|key| {
        let value = volume.labels.get(*key)?;
        let mut values: Vec<String> = (value.split(BETWEEN_ZONES))
            .map(|zone| zone.trim().to_owned())
            .collect();
        if values.iter().any(String::is_empty) {
            return None;
        }
        values.sort();
        values.dedup();
        Some(((*key).to_owned(), values))
    });
    zones.collect()
}
