//! Simulated storage: claims, volumes and classes as the API server holds them, and what the PV
//! controller and a provisioner do about them.
//!
//! A claim is bound to the volume that one of both names, or to the smallest that suits; or a volume
//! is made. Claims of class mode WaitForFirstConsumer are left alone until a scheduler has written on
//! the volume or the claim. A volume that is made for a node is reached from the node's zone.

use muster_model::{
    BindingMode, ClaimKey, ClaimRef, ClaimSpec, Handle, Labels, NodeSpec, Operator, Requirement,
    StorageClassSpec, StorageEvent, Term, VolumeSpec,
};
use std::collections::BTreeMap;

const ZONE: &str = "topology.kubernetes.io/zone";

/// What the API server holds of storage.
#[derive(Debug, Default)]
pub struct Storage {
    claims: BTreeMap<ClaimKey, ClaimSpec>,
    volumes: BTreeMap<String, VolumeSpec>,
    classes: BTreeMap<String, StorageClassSpec>,
    /// All else, by kind and name.
    others: BTreeMap<(u8, ClaimKey), StorageEvent>,
    news: Vec<StorageEvent>,
    /// Something changed since the controllers last looked.
    unsettled: bool,
}

/// Where an object of the other kinds is kept.
fn place_of(event: &StorageEvent) -> Option<(u8, ClaimKey)> {
    let named = |kind: u8, name: &str| {
        let name = name.to_owned();
        let namespace = String::new();
        Some((kind, ClaimKey { namespace, name }))
    };
    match event {
        StorageEvent::CsiNode(csi) => named(0, &csi.name),
        StorageEvent::CsiNodeDeleted(name) => named(0, name),
        StorageEvent::CsiDriver(driver) => named(1, &driver.name),
        StorageEvent::CsiDriverDeleted(name) => named(1, name),
        StorageEvent::Attachment(attachment) => named(2, &attachment.name),
        StorageEvent::AttachmentDeleted(name) => named(2, name),
        StorageEvent::Capacity(capacity) => Some((3, capacity.key.clone())),
        StorageEvent::CapacityDeleted(key) => Some((3, key.clone())),
        StorageEvent::Claim(_)
        | StorageEvent::ClaimDeleted(_)
        | StorageEvent::Volume(_)
        | StorageEvent::VolumeDeleted(_)
        | StorageEvent::Class(_)
        | StorageEvent::ClassDeleted(_) => None,
    }
}

/// What is told when the object of an event is deleted.
#[must_use]
pub fn deletion(event: &StorageEvent) -> StorageEvent {
    match event {
        StorageEvent::Claim(claim) => StorageEvent::ClaimDeleted(claim.key.clone()),
        StorageEvent::Volume(volume) => StorageEvent::VolumeDeleted(volume.name.clone()),
        StorageEvent::Class(class) => StorageEvent::ClassDeleted(class.name.clone()),
        StorageEvent::CsiNode(csi) => StorageEvent::CsiNodeDeleted(csi.name.clone()),
        StorageEvent::CsiDriver(driver) => StorageEvent::CsiDriverDeleted(driver.name.clone()),
        StorageEvent::Capacity(capacity) => StorageEvent::CapacityDeleted(capacity.key.clone()),
        StorageEvent::Attachment(one) => StorageEvent::AttachmentDeleted(one.name.clone()),
        gone => gone.clone(),
    }
}

impl Storage {
    /// What watches would deliver since this was last called.
    pub fn take_news(&mut self) -> Vec<StorageEvent> {
        std::mem::take(&mut self.news)
    }

    /// Whether the controllers have something to look at.
    #[must_use]
    pub const fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// What a list returns.
    pub fn list(&self) -> impl Iterator<Item = StorageEvent> {
        let claims = self.claims.values().cloned().map(StorageEvent::Claim);
        let volumes = self.volumes.values().cloned().map(StorageEvent::Volume);
        let classes = self.classes.values().cloned().map(StorageEvent::Class);
        let others = self.others.values().cloned();
        classes.chain(volumes).chain(claims).chain(others)
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

    fn tell(&mut self, event: StorageEvent) {
        self.unsettled = true;
        self.news.push(event);
    }

    fn write_claim(&mut self, claim: ClaimSpec) {
        if self.claims.get(&claim.key) != Some(&claim) {
            self.claims.insert(claim.key.clone(), claim.clone());
            self.tell(StorageEvent::Claim(claim));
        }
    }

    fn write_volume(&mut self, mut volume: VolumeSpec) {
        volume.available = volume.claim.is_none();
        if self.volumes.get(&volume.name) != Some(&volume) {
            self.volumes.insert(volume.name.clone(), volume.clone());
            self.tell(StorageEvent::Volume(volume));
        }
    }

    /// Creates or changes an object; `uid` is that of a new claim.
    pub fn put(&mut self, event: StorageEvent, uid: impl FnOnce() -> String) {
        match event {
            StorageEvent::Claim(mut claim) => {
                match self.claims.get(&claim.key) {
                    Some(before) => {
                        claim.uid.clone_from(&before.uid);
                        claim.owner.clone_from(&before.owner);
                        if claim.volume.is_empty() {
                            claim.volume.clone_from(&before.volume);
                        }
                        claim.bind_completed |= before.bind_completed;
                        claim.lost |= before.lost;
                        let selected = before.selected_node.clone();
                        claim.selected_node = claim.selected_node.or(selected);
                    }
                    None => claim.uid = uid(),
                }
                self.write_claim(claim);
            }
            StorageEvent::Volume(mut volume) => {
                if let Some(before) = self.volumes.get(&volume.name) {
                    volume.claim = volume.claim.or_else(|| before.claim.clone());
                }
                self.write_volume(volume);
            }
            StorageEvent::Class(class) => {
                self.classes.insert(class.name.clone(), class.clone());
                self.tell(StorageEvent::Class(class));
            }
            other => {
                if let Some(place) = place_of(&other) {
                    self.others.insert(place, other.clone());
                    self.tell(other);
                }
            }
        }
    }

    /// Deletes an object. The volume of a claim that is gone is deleted if it was made for the claim,
    /// else kept for somebody to clean.
    pub fn delete(&mut self, event: &StorageEvent) {
        let gone = deletion(event);
        let was_there = match &gone {
            StorageEvent::ClaimDeleted(key) => self.claims.remove(key).is_some_and(|claim| {
                let made = made_for(&claim);
                if self.volumes.remove(&made).is_some() {
                    self.tell(StorageEvent::VolumeDeleted(made));
                }
                true
            }),
            StorageEvent::VolumeDeleted(name) => self.volumes.remove(name).is_some(),
            StorageEvent::ClassDeleted(name) => self.classes.remove(name).is_some(),
            other => place_of(other).is_some_and(|place| self.others.remove(&place).is_some()),
        };
        if was_there {
            self.tell(gone);
        }
    }

    /// Deletes the claims that were made for a pod.
    pub fn delete_claims_of(&mut self, pod_uid: &str) {
        let of_pod = |claim: &&ClaimSpec| claim.owner.as_deref() == Some(pod_uid);
        let gone: Vec<_> = self.claims.values().filter(of_pod).cloned().collect();
        for claim in gone {
            self.delete(&StorageEvent::Claim(claim));
        }
    }

    /// Writes on a volume which claim it is for.
    ///
    /// # Errors
    /// Why the API server refuses.
    pub fn reserve(&mut self, volume: &str, claim: &ClaimRef) -> Result<(), String> {
        let Some(found) = self.volumes.get(volume) else {
            let message = format!("persistentvolumes {volume:?} not found");
            return Err(message);
        };
        match &found.claim {
            Some(of) if of == claim => return Ok(()),
            Some(of) if !(of.key == claim.key && of.uid.is_empty()) => {
                let message = format!("volume {volume} is for claim {}", of.key);
                return Err(message);
            }
            _ => {}
        }
        self.write_volume(VolumeSpec {
            claim: Some(claim.clone()),
            ..found.clone()
        });
        Ok(())
    }

    /// Writes on a claim for which node its volume is to be made.
    ///
    /// # Errors
    /// Why the API server refuses.
    pub fn select_node(&mut self, claim: &ClaimRef, node: &str) -> Result<(), String> {
        let found = self.claims.get(&claim.key);
        let Some(found) = found.filter(|one| one.uid == claim.uid) else {
            let name = &claim.key.name;
            return Err(format!("persistentvolumeclaims {name:?} not found"));
        };
        self.write_claim(ClaimSpec {
            selected_node: Some(node.to_owned()),
            ..found.clone()
        });
        Ok(())
    }

    /// What the controllers do when they look. `fails` says whether making a volume does.
    pub fn settle(&mut self, nodes: &BTreeMap<String, NodeSpec>, mut fails: impl FnMut() -> bool) {
        self.unsettled = false;
        let keys: Vec<ClaimKey> = self.claims.keys().cloned().collect();
        for key in keys {
            let Some(claim) = self.claims.get(&key).cloned() else {
                continue;
            };
            if claim.is_bound() {
                if !claim.lost && !self.volumes.contains_key(&claim.volume) {
                    self.write_claim(ClaimSpec {
                        lost: true,
                        ..claim
                    });
                }
                continue;
            }
            if let Some(volume) = self.volume_for(&claim) {
                self.bind(claim, volume);
                continue;
            }
            let Some(class) = self.classes.get(&claim.class).cloned() else {
                continue;
            };
            let waits = class.mode == BindingMode::WaitForFirstConsumer;
            if !class.provisions() || !claim.volume.is_empty() {
                continue;
            }
            if waits && claim.selected_node.is_none() {
                continue;
            }
            if fails() {
                // Whoever chose the node is to choose again.
                self.write_claim(ClaimSpec {
                    selected_node: None,
                    ..claim
                });
                self.unsettled |= !waits;
                continue;
            }
            let node = claim
                .selected_node
                .as_ref()
                .and_then(|name| nodes.get(name));
            let volume = make(&claim, &class, node);
            self.bind(claim, volume);
        }
    }

    /// The volume that a claim is bound to without anybody's help.
    fn volume_for(&self, claim: &ClaimSpec) -> Option<VolumeSpec> {
        let is_for = |volume: &VolumeSpec| {
            let of = volume.claim.as_ref();
            of.is_some_and(|of| of.names(claim))
        };
        if !claim.volume.is_empty() {
            let named = self.volumes.get(&claim.volume)?;
            let free = named.claim.is_none() || is_for(named);
            return free.then(|| named.clone());
        }
        if let Some(own) = self.volumes.values().find(|one| is_for(one)) {
            return Some(own.clone());
        }
        let class = self.classes.get(&claim.class);
        if class.is_some_and(|class| class.mode == BindingMode::WaitForFirstConsumer) {
            return None;
        }
        let selected = |labels: &Labels| {
            let wanted = claim.selector.iter().flatten();
            let mut held = wanted.map(|one| one.matches(labels.get(&one.key).map(String::as_str)));
            held.all(|holds| holds)
        };
        let suits = |volume: &&VolumeSpec| {
            volume.claim.is_none()
                && volume.class == claim.class
                && volume.size >= claim.size.unwrap_or(0)
                && volume.modes.has(claim.modes)
                && volume.block == claim.block
                && selected(&volume.labels)
        };
        let suiting = self.volumes.values().filter(suits);
        suiting.min_by_key(|volume| volume.size).cloned()
    }

    fn bind(&mut self, claim: ClaimSpec, volume: VolumeSpec) {
        let key = claim.key.clone();
        let uid = claim.uid.clone();
        self.write_volume(VolumeSpec {
            claim: Some(ClaimRef { key, uid }),
            ..volume.clone()
        });
        self.write_claim(ClaimSpec {
            volume: volume.name,
            bind_completed: true,
            ..claim
        });
    }
}

/// The name of the volume that is made for a claim.
fn made_for(claim: &ClaimSpec) -> String {
    format!("pvc-{}", claim.uid)
}

/// A volume for a claim.
fn make(claim: &ClaimSpec, class: &StorageClassSpec, node: Option<&NodeSpec>) -> VolumeSpec {
    let zone = node.and_then(|node| node.labels.get(ZONE));
    let in_zone = |zone: &String| {
        vec![Term {
            labels: vec![Requirement {
                key: ZONE.to_owned(),
                operator: Operator::In,
                values: vec![zone.clone()],
            }],
            fields: Vec::new(),
        }]
    };
    VolumeSpec {
        name: made_for(claim),
        size: claim.size.unwrap_or(0),
        modes: claim.modes,
        block: claim.block,
        class: claim.class.clone(),
        attributes_class: claim.attributes_class.clone(),
        affinity: zone.map(in_zone),
        handle: Some(Handle {
            driver: class.provisioner.clone(),
            handle: claim.uid.clone(),
            in_tree: None,
        }),
        ..VolumeSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(name: &str, class: &str) -> ClaimSpec {
        ClaimSpec {
            key: ClaimKey {
                namespace: "n".to_owned(),
                name: name.to_owned(),
            },
            class: class.to_owned(),
            size: Some(5),
            ..ClaimSpec::default()
        }
    }

    fn class(name: &str, mode: BindingMode) -> StorageEvent {
        StorageEvent::Class(StorageClassSpec {
            name: name.to_owned(),
            provisioner: "driver".to_owned(),
            mode,
            topologies: Vec::new(),
        })
    }

    fn volume(name: &str, class: &str, size: i64) -> StorageEvent {
        StorageEvent::Volume(VolumeSpec {
            name: name.to_owned(),
            class: class.to_owned(),
            size,
            ..VolumeSpec::default()
        })
    }

    #[test]
    fn a_claim_is_bound_to_the_smallest_volume_that_suits_or_one_is_made() {
        let mut storage = Storage::default();
        storage.put(class("now", BindingMode::Immediate), String::new);
        for (name, size) in [("small", 4), ("large", 9), ("fitting", 6)] {
            storage.put(volume(name, "now", size), String::new);
        }
        for (name, uid) in [("a", "1"), ("b", "2"), ("c", "3")] {
            let claim = StorageEvent::Claim(claim(name, "now"));
            storage.put(claim, || uid.to_owned());
        }
        storage.settle(&BTreeMap::new(), || false);
        let bound = |name: &str| storage.claim(&claim(name, "").key).unwrap().volume.clone();
        assert_eq!(["a", "b", "c"].map(bound), ["fitting", "large", "pvc-3"]);
    }

    #[test]
    fn a_claim_that_waits_for_a_pod_is_left_alone_until_its_node_is_chosen() {
        let mut storage = Storage::default();
        let mode = BindingMode::WaitForFirstConsumer;
        storage.put(class("late", mode), String::new);
        storage.put(volume("there", "late", 9), String::new);
        let one = claim("a", "late");
        storage.put(StorageEvent::Claim(one.clone()), || "1".to_owned());
        storage.settle(&BTreeMap::new(), || false);
        assert!(!storage.claim(&one.key).unwrap().is_bound());
        let of = ClaimRef {
            key: one.key.clone(),
            uid: "1".to_owned(),
        };
        storage.select_node(&of, "node").unwrap();
        storage.settle(&BTreeMap::new(), || true);
        assert_eq!(storage.claim(&one.key).unwrap().selected_node, None);
        storage.select_node(&of, "node").unwrap();
        storage.settle(&BTreeMap::new(), || false);
        assert_eq!(storage.claim(&one.key).unwrap().volume, "pvc-1");
    }

    #[test]
    fn a_volume_that_is_for_a_claim_is_not_given_to_another() {
        let mut storage = Storage::default();
        storage.put(volume("there", "", 9), String::new);
        let of = |name: &str| ClaimRef {
            key: claim(name, "").key,
            uid: "1".to_owned(),
        };
        storage.reserve("there", &of("a")).unwrap();
        storage.reserve("there", &of("a")).unwrap();
        let refused = storage.reserve("there", &of("b")).unwrap_err();
        assert_eq!(refused, "volume there is for claim n/a");
        assert!(storage.reserve("gone", &of("b")).is_err());
    }
}
