//! Volumes for claims that are not bound: which one, or that it is made, if the pod goes to a node.
//!
//! The rules are those of kube-scheduler's volume binder (`FindPodVolumes`) and of component-helpers'
//! `FindMatchingVolume`. What was chosen for those who were placed before counts.

use super::Volumes;
use crate::state::ids::{GangId, NodeId, PodId};
use muster_model::{ClaimKey, Labels, Requirement, Term, VolumeNeeds, VolumeSpec, VolumeWant};

/// A node that is asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Where<'a> {
    pub(super) id: NodeId,
    pub(super) name: &'a str,
    pub(super) labels: &'a Labels,
}

/// Where a claim's volume is to come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is this one.
    Volume(String),
    /// It is made, out of this room where that is looked up.
    Made(Option<ClaimKey>),
    /// It was chosen with another pod that names the claim.
    Known,
}

/// What was chosen for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Where its volume comes from.
    pub source: Source,
    /// The node of the pod with which it was chosen.
    pub node: NodeId,
    /// The gang of that pod.
    gang: Option<GangId>,
    /// The bytes.
    size: i64,
    /// The pods that count on it.
    pods: Vec<PodId>,
}

impl Chosen {
    pub(super) const fn size(&self) -> i64 {
        self.size
    }

    pub(super) fn pods(&self) -> &[PodId] {
        &self.pods
    }
}

/// What a node lacks, in the order in which it is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmet {
    /// A bound volume is not reached from it.
    pub bound: bool,
    /// There is no volume for a claim, and none can be made.
    pub unbound: bool,
    /// There is no room for one.
    pub space: bool,
    /// A bound volume is not there.
    pub gone: bool,
}

impl Unmet {
    /// Whether nothing is lacking.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// Whether one of the terms holds of the labels.
pub(super) fn reaches(terms: &[Term], labels: &Labels) -> bool {
    terms.iter().any(|term| term.matches("", labels))
}

fn all_hold(wanted: &[Requirement], labels: &Labels) -> bool {
    let mut wanted = wanted.iter();
    wanted.all(|one| one.matches(labels.get(&one.key).map(String::as_str)))
}

impl Volumes {
    /// What a node lacks of what a pod's bound volumes ask.
    pub(super) fn unmet_by_bound(&self, needs: &VolumeNeeds, node: Where<'_>) -> Unmet {
        let mut unmet = Unmet::default();
        for place in &needs.places {
            if place.is_gone {
                unmet.gone = true;
                break;
            }
            let migrated = place.migrated.as_ref().filter(|(plugin, _)| {
                let csi = self.csi_nodes.get(node.name);
                csi.is_some_and(|csi| csi.migrated.contains(plugin))
            });
            let affinity = migrated.map(|(_, terms)| terms).or(place.affinity.as_ref());
            if affinity.is_some_and(|terms| !reaches(terms, node.labels)) {
                unmet.bound = true;
                break;
            }
        }
        unmet
    }

    /// Where the volumes of a pod's wants are to come from if it goes to a node.
    pub(super) fn sources(
        &self,
        needs: &VolumeNeeds,
        gang: Option<GangId>,
        node: Where<'_>,
    ) -> Result<Vec<Source>, Unmet> {
        let unbound = Err(Unmet {
            unbound: true,
            ..Unmet::default()
        });
        let mut sources = Vec::with_capacity(needs.wants.len());
        let mut found: Vec<&str> = Vec::new();
        let mut to_make = Vec::new();
        for (index, want) in needs.wants.iter().enumerate() {
            let known = want.shared.as_ref().and_then(|key| self.chosen.get(key));
            if let Some(selected) = &want.selected_node {
                let with_others = known.is_some_and(|known| known.gang == gang && gang.is_some());
                if selected != node.name && !with_others {
                    return unbound;
                }
            }
            let source = if let Some(known) = known {
                if !self.is_reached(known, want, gang, node) {
                    return unbound;
                }
                Source::Known
            } else if let Some(volume) = self.matching(want, node, &found) {
                found.push(volume);
                Source::Volume(volume.to_owned())
            } else {
                to_make.push(index);
                Source::Made(None)
            };
            sources.push(source);
        }
        let mut promised: Vec<(&ClaimKey, i64)> = Vec::new();
        for index in to_make {
            let want = &needs.wants[index];
            let somewhere = want.topologies.is_empty() || reaches(&want.topologies, node.labels);
            if !want.provisions || !somewhere {
                return unbound;
            }
            if want.tracks_capacity {
                let Some(room) = self.room_for(want, node, &promised) else {
                    return Err(Unmet {
                        space: true,
                        ..Unmet::default()
                    });
                };
                promised.push((room, want.size.unwrap_or(0)));
                sources[index] = Source::Made(Some(room.clone()));
            }
        }
        Ok(sources)
    }

    /// Whether a node reaches what was chosen for a claim. Where a volume that is being made will be
    /// is not known yet: pods of the same gang do not wait for it, and are asked again when it is.
    fn is_reached(
        &self,
        known: &Chosen,
        want: &VolumeWant,
        gang: Option<GangId>,
        node: Where<'_>,
    ) -> bool {
        if let Source::Volume(name) = &known.source {
            let affinity = self.volumes.get(name).and_then(|one| one.affinity.as_ref());
            return affinity.is_none_or(|terms| reaches(terms, node.labels));
        }
        let with_others = known.gang == gang && gang.is_some();
        let somewhere = want.topologies.is_empty() || reaches(&want.topologies, node.labels);
        known.node == node.id || (with_others && somewhere)
    }

    /// The volume that a want gets on a node: the one that is for its claim, or the smallest.
    fn matching<'a>(
        &'a self,
        want: &'a VolumeWant,
        node: Where<'_>,
        found: &[&str],
    ) -> Option<&'a str> {
        if want.selected_node.is_some() {
            return None;
        }
        let is_reached = |volume: &VolumeSpec| {
            let affinity = volume.affinity.as_ref();
            affinity.is_none_or(|terms| reaches(terms, node.labels))
        };
        let size = want.size.unwrap_or(0);
        let suits = |volume: &VolumeSpec| {
            volume.size >= size
                && volume.block == want.block
                && volume.attributes_class == want.attributes_class
                && !volume.deleting
        };
        let own = want.own.iter().filter_map(|name| self.volumes.get(name));
        if let Some(own) = own.clone().find(|volume| suits(volume)) {
            return is_reached(own).then_some(own.name.as_str());
        }
        let mut free = self.free.smallest_first(&want.class, node.labels, size);
        free.find(|name| {
            let is_free = !found.contains(name) && !self.taken.contains_key(*name);
            is_free
                && self.volumes.get(*name).is_some_and(|volume| {
                    let selector = want.selector.as_ref();
                    suits(volume)
                        && selector.is_none_or(|wanted| all_hold(wanted, &volume.labels))
                        && volume.modes.has(want.modes)
                        && is_reached(volume)
                })
        })
    }

    /// Room for a new volume that a node reaches, with what was promised to others taken off.
    fn room_for<'a>(
        &'a self,
        want: &VolumeWant,
        node: Where<'a>,
        promised: &[(&ClaimKey, i64)],
    ) -> Option<&'a ClaimKey> {
        let size = want.size.unwrap_or(0);
        let enough = |key: &&ClaimKey| {
            let Some(capacity) = self.capacities.get(*key) else {
                return false;
            };
            let nodes = capacity.nodes.as_ref();
            if !nodes.is_some_and(|wanted| all_hold(wanted, node.labels)) {
                return false;
            }
            let here = promised.iter().filter(|(one, _)| one == key);
            let here: i64 = here.map(|(_, size)| size).sum();
            let before = self.promised.get(*key).copied().unwrap_or(0);
            let left = |all: i64| all.saturating_sub(before).saturating_sub(here);
            let fits = capacity.largest.or(capacity.capacity);
            // Alone, a volume may be as large as is said; several have to fit together.
            let is_first = before.saturating_add(here) == 0;
            fits.is_some_and(|most| size <= most)
                && (is_first || capacity.capacity.is_none_or(|all| size <= left(all)))
        };
        self.rooms.near(&want.class, node.labels).find(enough)
    }

    /// Chooses for a pod that goes to a node; what cannot be chosen is left out, and keeps the pod
    /// from being bound.
    pub(super) fn choose(&mut self, pod: PodId, gang: Option<GangId>, node: Where<'_>) {
        let Some(known) = self.pods.get(&pod) else {
            return;
        };
        let Some(needs) = known.needs.clone().filter(|needs| !needs.wants.is_empty()) else {
            return;
        };
        let Ok(sources) = self.sources(&needs, gang, node) else {
            return;
        };
        let claims = known.unbound.clone();
        for ((claim, source), want) in claims.iter().zip(sources).zip(&needs.wants) {
            if let Some(chosen) = self.chosen.get_mut(claim) {
                chosen.pods.push(pod);
                continue;
            }
            let size = want.size.unwrap_or(0);
            match &source {
                Source::Volume(name) => {
                    self.taken.insert(name.clone(), claim.clone());
                }
                Source::Made(Some(room)) => {
                    let promised = self.promised.entry(room.clone()).or_default();
                    *promised = promised.saturating_add(size);
                }
                Source::Made(None) | Source::Known => {}
            }
            let chosen = Chosen {
                source,
                node: node.id,
                gang,
                size,
                pods: vec![pod],
            };
            self.chosen.insert(claim.clone(), chosen);
        }
        if let Some(known) = self.pods.get_mut(&pod) {
            known.chose = claims;
        }
    }

    /// Gives back what was chosen with a pod.
    pub(super) fn give_back(&mut self, pod: PodId) {
        let Some(known) = self.pods.get_mut(&pod) else {
            return;
        };
        for claim in std::mem::take(&mut known.chose) {
            let Some(chosen) = self.chosen.get_mut(&claim) else {
                continue;
            };
            chosen.pods.retain(|one| *one != pod);
            if chosen.pods.is_empty() {
                self.forget_choice(&claim);
            }
        }
    }

    /// Nothing is chosen for a claim any more; the pods that counted on it are not told.
    pub(super) fn forget_choice(&mut self, claim: &ClaimKey) {
        let Some(chosen) = self.chosen.remove(claim) else {
            return;
        };
        match chosen.source {
            Source::Volume(name) => {
                self.taken.remove(&name);
            }
            Source::Made(Some(room)) => {
                if let Some(promised) = self.promised.get_mut(&room) {
                    *promised -= chosen.size;
                    if *promised <= 0 {
                        self.promised.remove(&room);
                    }
                }
            }
            Source::Made(None) | Source::Known => {}
        }
        for pod in chosen.pods {
            if let Some(known) = self.pods.get_mut(&pod) {
                known.chose.retain(|one| one != claim);
            }
        }
    }

    /// Whether everything was chosen that a pod wants.
    #[must_use]
    pub fn has_chosen(&self, pod: PodId) -> bool {
        let Some(known) = self.pods.get(&pod) else {
            return true;
        };
        known
            .unbound
            .iter()
            .all(|claim| known.chose.contains(claim))
    }
}
