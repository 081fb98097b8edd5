//! The pods that claim slots, and where they are or are about to be.

use muster_api::kinds::Identity;
use muster_api::slim;
use muster_api::slots::{Claim, asks_for, claim};
use muster_model::Amounts;
use std::collections::{BTreeMap, BTreeSet};

/// A pod that claims slots, has not ended, and has a node or is meant for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claimant {
    pub(super) uid: String,
    pub(super) claim: Claim,
    /// Seconds since 1970.
    pub(super) created: i64,
    pub(super) node: String,
    /// It is bound there; else only meant for it.
    pub(super) bound: bool,
    pub(super) asks_for: Amounts,
}

/// Reads a pod; `None` if it is nobody to have a slot.
pub(super) fn read(pod: &slim::Pod) -> Option<Claimant> {
    let (meta, status) = (&pod.metadata, &pod.status);
    let ended = matches!(status.phase.as_str(), "Succeeded" | "Failed");
    let (bound, meant) = (&pod.spec.node_name, &status.nominated_node_name);
    // Who is about to go comes nowhere any more.
    let comes = meta.deletion_timestamp.is_none();
    let node = if bound.is_empty() && comes {
        meant
    } else {
        bound
    };
    if ended || node.is_empty() {
        return None;
    }
    let created = meta.creation_timestamp.as_ref();
    Some(Claimant {
        uid: meta.uid.clone().unwrap_or_default(),
        claim: claim(meta)?,
        created: created.map_or(0, |at| at.0.as_second()),
        node: node.clone(),
        bound: !bound.is_empty(),
        asks_for: asks_for(pod),
    })
}

/// A Testbed and a node.
type Place = (String, String);
/// Namespace and name.
type PodName = (String, String);

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Claimants {
    pods: BTreeMap<PodName, Claimant>,
    at: BTreeMap<Place, BTreeSet<PodName>>,
}

impl Claimants {
    /// A pod is so, and claims this, if anything. At which places that may make a difference.
    pub(super) fn is(&mut self, pod: Identity, claimant: Option<Claimant>) -> Vec<Place> {
        let name = (pod.namespace, pod.name);
        if self.pods.get(&name) == claimant.as_ref() {
            return Vec::new();
        }
        let mut touched: Vec<Place> = self.forget(&name).into_iter().collect();
        if let Some(claimant) = claimant {
            let place = (claimant.claim.testbed.clone(), claimant.node.clone());
            self.at
                .entry(place.clone())
                .or_default()
                .insert(name.clone());
            self.pods.insert(name, claimant);
            touched.push(place);
        }
        touched
    }

    /// A pod is gone.
    pub(super) fn gone(&mut self, pod: &Identity) -> Option<Place> {
        let name = (pod.namespace.clone(), pod.name.clone());
        let same = self.pods.get(&name).is_some_and(|one| one.uid == pod.uid);
        if same { self.forget(&name) } else { None }
    }

    fn forget(&mut self, name: &PodName) -> Option<Place> {
        let before = self.pods.remove(name)?;
        let place = (before.claim.testbed, before.node);
        if let Some(names) = self.at.get_mut(&place) {
            names.remove(name);
            if names.is_empty() {
                self.at.remove(&place);
            }
        }
        Some(place)
    }

    /// Those at a place, the oldest first.
    pub(super) fn at(&self, place: &Place) -> Vec<(&PodName, &Claimant)> {
        let names = self.at.get(place).into_iter().flatten();
        let mut all: Vec<_> = names
            .filter_map(|name| Some((name, self.pods.get(name)?)))
            .collect();
        all.sort_by_key(|(name, one)| (one.created, *name));
        all
    }

    /// The places of those of a namespace.
    pub(super) fn of_namespace(&self, namespace: &str) -> Vec<Place> {
        let first = (namespace.to_owned(), String::new());
        let pods = self.pods.range(first..);
        let pods = pods.take_while(|((of, _), _)| of == namespace);
        pods.map(|(_, one)| (one.claim.testbed.clone(), one.node.clone()))
            .collect()
    }
}
