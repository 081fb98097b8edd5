//! Simulated storage: claims, volumes and classes as the API server holds them, and what the PV
//! controller and a provisioner do about them.
//!
//! A claim is bound to the volume that one of both names, or to the smallest that suits; or a volume
//! is made. Claims of class mode WaitForFirstConsumer are left alone until a scheduler has written on
//! the volume or the claim. A volume that is made for a node is reached from the node's zone.

use muster_model::{
    BindingMode, ClaimKey, ClaimRef, ClaimSpec, Event, Handle, Labels, NodeSpec, Object, ObjectKey,
    ObjectKind, Objects, Operator, Requirement, StorageClassSpec, Term, VolumeSpec,
};

const ZONE: &str = "topology.kubernetes.io/zone";

/// What the API server holds of storage.
#[derive(Debug, Default)]
pub struct Storage {
    objects: Objects,
    news: Vec<Event>,
    /// Something changed since the controllers last looked.
    unsettled: bool,
}

impl Storage {
    /// Whether objects of a kind are held here.
    #[must_use]
    pub const fn has_kind(kind: ObjectKind) -> bool {
        matches!(
            kind,
            ObjectKind::Claim
                | ObjectKind::Volume
                | ObjectKind::StorageClass
                | ObjectKind::CsiNode
                | ObjectKind::CsiDriver
                | ObjectKind::StorageCapacity
                | ObjectKind::VolumeAttachment
        )
    }

    /// What watches would deliver since this was last called.
    pub fn take_news(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.news)
    }

    /// Whether the controllers have something to look at.
    #[must_use]
    pub const fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// What there is of a kind.
    pub fn of_kind(&self, kind: ObjectKind) -> impl Iterator<Item = &Object> {
        self.objects.of_kind(kind)
    }

    /// A claim.
    #[must_use]
    pub fn claim(&self, key: &ClaimKey) -> Option<&ClaimSpec> {
        self.objects.spec(&ObjectKey::Claim(key.clone()))
    }

    /// A volume.
    #[must_use]
    pub fn volume(&self, name: &str) -> Option<&VolumeSpec> {
        self.objects.spec(&ObjectKey::Volume(name.to_owned()))
    }

    fn class(&self, name: &str) -> Option<&StorageClassSpec> {
        self.objects.spec(&ObjectKey::StorageClass(name.to_owned()))
    }

    fn tell(&mut self, event: Event) {
        self.unsettled = true;
        self.news.push(event);
    }

    fn write(&mut self, object: impl Into<Object>) {
        let object = object.into();
        self.objects.put(object.clone());
        self.tell(Event::Is(object));
    }

    fn write_claim(&mut self, claim: ClaimSpec) {
        if self.claim(&claim.key) != Some(&claim) {
            self.write(claim);
        }
    }

    fn write_volume(&mut self, mut volume: VolumeSpec) {
        volume.available = volume.claim.is_none();
        if self.volume(&volume.name) != Some(&volume) {
            self.write(volume);
        }
    }

    /// Creates or changes an object; `uid` is that of a new claim.
    pub fn put(&mut self, object: Object, uid: impl FnOnce() -> String) {
        match object {
            Object::Claim(mut claim) => {
                match self.claim(&claim.key) {
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
                self.write_claim(*claim);
            }
            Object::Volume(mut volume) => {
                if let Some(before) = self.volume(&volume.name) {
                    volume.claim = volume.claim.or_else(|| before.claim.clone());
                }
                self.write_volume(*volume);
            }
            other => self.write(other),
        }
    }

    /// Deletes an object. The volume of a claim that is gone is deleted if it was made for the claim,
    /// else kept for somebody to clean.
    pub fn delete(&mut self, key: &ObjectKey) {
        let Some(gone) = self.objects.remove(key) else {
            return;
        };
        if let Object::Claim(claim) = gone {
            let made = ObjectKey::Volume(made_for(&claim));
            if self.objects.remove(&made).is_some() {
                self.tell(Event::Gone(made));
            }
        }
        self.tell(Event::Gone(key.clone()));
    }

    /// Deletes the claims that were made for a pod.
    pub fn delete_claims_of(&mut self, pod_uid: &str) {
        let of_pod = |claim: &&ClaimSpec| claim.owner.as_deref() == Some(pod_uid);
        let gone = self.objects.all().filter(of_pod);
        let gone: Vec<_> = gone
            .map(|claim| ObjectKey::Claim(claim.key.clone()))
            .collect();
        for key in gone {
            self.delete(&key);
        }
    }

    /// Writes on a volume which claim it is for.
    ///
    /// # Errors
    /// Why the API server refuses.
    pub fn reserve(&mut self, volume: &str, claim: &ClaimRef) -> Result<(), String> {
        let Some(found) = self.volume(volume) else {
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
        let found = self.claim(&claim.key);
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
    pub fn settle(&mut self, nodes: &Objects, mut fails: impl FnMut() -> bool) {
        self.unsettled = false;
        let keys: Vec<ClaimKey> = self
            .objects
            .all()
            .map(|claim: &ClaimSpec| claim.key.clone())
            .collect();
        for key in keys {
            let Some(claim) = self.claim(&key).cloned() else {
                continue;
            };
            if claim.is_bound() {
                if !claim.lost && self.volume(&claim.volume).is_none() {
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
            let Some(class) = self.class(&claim.class).cloned() else {
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
                .and_then(|name| nodes.spec(&ObjectKey::Node(name.clone())));
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
            let named = self.volume(&claim.volume)?;
            let free = named.claim.is_none() || is_for(named);
            return free.then(|| named.clone());
        }
        if let Some(own) = self.objects.all().find(|one| is_for(one)) {
            return Some(own.clone());
        }
        let class = self.class(&claim.class);
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
        let suiting = self.objects.all().filter(suits);
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

    fn class(name: &str, mode: BindingMode) -> Object {
        StorageClassSpec {
            name: name.to_owned(),
            provisioner: "driver".to_owned(),
            mode,
            topologies: Vec::new(),
        }
        .into()
    }

    fn volume(name: &str, class: &str, size: i64) -> Object {
        VolumeSpec {
            name: name.to_owned(),
            class: class.to_owned(),
            size,
            ..VolumeSpec::default()
        }
        .into()
    }

    #[test]
    fn a_claim_is_bound_to_the_smallest_volume_that_suits_or_one_is_made() {
        let mut storage = Storage::default();
        storage.put(class("now", BindingMode::Immediate), String::new);
        for (name, size) in [("small", 4), ("large", 9), ("fitting", 6)] {
            storage.put(volume(name, "now", size), String::new);
        }
        for (name, uid) in [("a", "1"), ("b", "2"), ("c", "3")] {
            storage.put(claim(name, "now").into(), || uid.to_owned());
        }
        storage.settle(&Objects::default(), || false);
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
        storage.put(one.clone().into(), || "1".to_owned());
        storage.settle(&Objects::default(), || false);
        assert!(!storage.claim(&one.key).unwrap().is_bound());
        let of = ClaimRef {
            key: one.key.clone(),
            uid: "1".to_owned(),
        };
        storage.select_node(&of, "node").unwrap();
        storage.settle(&Objects::default(), || true);
        assert_eq!(storage.claim(&one.key).unwrap().selected_node, None);
        storage.select_node(&of, "node").unwrap();
        storage.settle(&Objects::default(), || false);
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
