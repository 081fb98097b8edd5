//! Pods and SchedulingSpecs as they were told, and whose each of them is.

use super::pod::{Owner, Pod};
use crate::desk::Name;
use crate::machine::Other;
use muster_api::kinds::{Identity, is_older};
use muster_api::slim;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Things {
    /// Every pod there is, whosever.
    places: BTreeMap<Name, Placed>,
    /// The pods that a QueueJob controls, by namespace and its uid, and by their names.
    pods: BTreeMap<Name, BTreeMap<String, Pod>>,
    /// The names of pods that say they are of the QueueJob of this name.
    named: BTreeMap<Name, BTreeSet<String>>,
    specs: BTreeMap<Name, Spec>,
    /// The QueueJobs that there are, by namespace and uid.
    owners: BTreeMap<Name, Name>,
}

/// A pod, as far as it is known of each.
#[derive(Debug)]
struct Placed {
    uid: String,
    version: String,
    owner: Option<Owner>,
}

/// A SchedulingSpec.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) uid: String,
    pub(super) version: String,
    pub(super) terminating: bool,
    pub(super) spec: Value,
    owner: Option<Owner>,
}

impl Spec {
    /// Whether the QueueJob of this uid controls it.
    pub(super) fn is_of(&self, uid: &str) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.uid == uid)
    }
}

static NO_PODS: BTreeMap<String, Pod> = BTreeMap::new();

impl Things {
    /// There is a QueueJob of this name and uid.
    pub(super) fn owner_is(&mut self, key: &Name, uid: &str) {
        let by_uid = (key.0.clone(), uid.to_owned());
        self.owners.insert(by_uid, key.clone());
    }

    /// It is there no more.
    pub(super) fn owner_gone(&mut self, key: &Name, uid: &str) {
        self.owners.remove(&(key.0.clone(), uid.to_owned()));
    }

    /// Takes news of a pod; which QueueJobs are concerned, unless it is no news.
    pub(super) fn pod_is(&mut self, pod: &slim::Pod) -> Option<Vec<Name>> {
        let id = Identity::of(&pod.metadata);
        let place = (id.namespace, id.name);
        let before = self
            .places
            .get(&place)
            .filter(|before| before.uid == id.uid);
        if before.is_some_and(|before| is_older(&pod.metadata, &before.version)) {
            return None;
        }
        let mut concerned: Vec<Name> = self.lift(&place).into_iter().collect();
        let owner = Owner::of(&pod.metadata);
        if let Some(owner) = &owner {
            concerned.push(self.job_of(&place.0, owner));
            let named = (place.0.clone(), owner.name.clone());
            let named = self.named.entry(named).or_default();
            named.insert(place.1.clone());
            let of_uid = (place.0.clone(), owner.uid.clone());
            let pods = self.pods.entry(of_uid).or_default();
            pods.insert(place.1.clone(), Pod::read(pod));
        }
        let placed = Placed {
            uid: id.uid,
            version: pod.metadata.resource_version.clone().unwrap_or_default(),
            owner,
        };
        self.places.insert(place, placed);
        Some(concerned)
    }

    /// A pod is gone; which QueueJobs are concerned.
    pub(super) fn pod_gone(&mut self, id: &Identity) -> Vec<Name> {
        let place = (id.namespace.clone(), id.name.clone());
        let known = self.places.get(&place);
        if known.is_none_or(|known| known.uid != id.uid) {
            return Vec::new();
        }
        self.lift(&place).into_iter().collect()
    }

    /// Takes a pod off the lists; the QueueJob that it was of.
    fn lift(&mut self, place: &Name) -> Option<Name> {
        let owner = self.places.remove(place)?.owner?;
        remove(
            &mut self.pods,
            &(place.0.clone(), owner.uid.clone()),
            |pods| {
                pods.remove(&place.1);
                pods.is_empty()
            },
        );
        remove(
            &mut self.named,
            &(place.0.clone(), owner.name.clone()),
            |names| {
                names.remove(&place.1);
                names.is_empty()
            },
        );
        Some(self.job_of(&place.0, &owner))
    }

    /// The QueueJob that looks after what is of this owner: that of its uid, or else of its name.
    fn job_of(&self, namespace: &str, owner: &Owner) -> Name {
        let by_uid = self.owners.get(&(namespace.to_owned(), owner.uid.clone()));
        by_uid
            .cloned()
            .unwrap_or_else(|| (namespace.to_owned(), owner.name.clone()))
    }

    fn is_known(&self, namespace: &str, owner: &Owner) -> bool {
        let by_uid = (namespace.to_owned(), owner.uid.clone());
        self.owners.contains_key(&by_uid)
    }

    /// Whether there is a pod of this name.
    pub(super) fn has_pod(&self, place: &Name) -> bool {
        self.places.contains_key(place)
    }

    /// Whether there is a pod of this name that neither this QueueJob has nor one that is gone: of the latter it is
    /// taken away.
    pub(super) fn is_strange(&self, place: &Name, uid: &str) -> bool {
        self.places
            .get(place)
            .is_some_and(|placed| match &placed.owner {
                None => true,
                Some(owner) => owner.uid != uid && self.is_known(&place.0, owner),
            })
    }

    /// The pods of the QueueJob of this uid.
    pub(super) fn pods_of(&self, key: &Name, uid: &str) -> &BTreeMap<String, Pod> {
        let by_uid = (key.0.clone(), uid.to_owned());
        self.pods.get(&by_uid).unwrap_or(&NO_PODS)
    }

    /// Pods, by name and uid, that are of a QueueJob of this name that is gone, and are to be told to go.
    pub(super) fn orphaned_pods<'a>(
        &'a self,
        key: &'a Name,
    ) -> impl Iterator<Item = (&'a String, &'a str)> {
        let names = self.named.get(key).into_iter().flatten();
        names.filter_map(|name| {
            let placed = self.places.get(&(key.0.clone(), name.clone()))?;
            let owner = placed.owner.as_ref()?;
            let pod = self.pods_of(key, &owner.uid).get(name)?;
            (!self.is_known(&key.0, owner) && !pod.terminating)
                .then_some((name, placed.uid.as_str()))
        })
    }

    /// Takes news of a SchedulingSpec; its name, unless it is no news.
    pub(super) fn spec_is(&mut self, other: &Other) -> Option<Name> {
        let id = Identity::of(&other.metadata);
        let key = (id.namespace, id.name);
        let before = self.specs.get(&key).filter(|before| before.uid == id.uid);
        if before.is_some_and(|before| is_older(&other.metadata, &before.version)) {
            return None;
        }
        let spec = Spec {
            uid: id.uid,
            version: other.metadata.resource_version.clone().unwrap_or_default(),
            terminating: other.metadata.deletion_timestamp.is_some(),
            spec: other.spec.clone(),
            owner: Owner::of(&other.metadata),
        };
        self.specs.insert(key.clone(), spec);
        Some(key)
    }

    /// A SchedulingSpec is gone.
    pub(super) fn spec_gone(&mut self, id: &Identity) {
        let key = (id.namespace.clone(), id.name.clone());
        if self.specs.get(&key).is_some_and(|spec| spec.uid == id.uid) {
            self.specs.remove(&key);
        }
    }

    /// The SchedulingSpec of this name, whosever it is.
    pub(super) fn spec(&self, key: &Name) -> Option<&Spec> {
        self.specs.get(key)
    }

    /// Whether it is of a QueueJob that is gone.
    pub(super) fn is_orphan(&self, spec: &Spec, namespace: &str) -> bool {
        let owner = spec.owner.as_ref();
        owner.is_some_and(|owner| !self.is_known(namespace, owner))
    }

    /// The uid of the SchedulingSpec of this name, if it is of a QueueJob that is gone and is to be told to go.
    pub(super) fn orphaned_spec(&self, key: &Name) -> Option<&str> {
        let spec = self.specs.get(key)?;
        (!spec.terminating && self.is_orphan(spec, &key.0)).then_some(spec.uid.as_str())
    }
}

/// Takes something out of what is listed under a key, and the key where nothing is left.
fn remove<V>(all: &mut BTreeMap<Name, V>, key: &Name, take: impl FnOnce(&mut V) -> bool) {
    if let Some(of_key) = all.get_mut(key)
        && take(of_key)
    {
        all.remove(key);
    }
}
