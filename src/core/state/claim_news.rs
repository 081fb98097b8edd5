//! Which claims to room changed since the last plan, for the linter, which keeps its own account of them.

use super::ClusterState;
use super::ids::{GangId, PodId};
use muster_model::{AmountsOn, ClaimNews, GangKey};
use std::collections::BTreeSet;

/// Of whom a claim changed.
#[derive(Clone, Debug, Default)]
pub(super) struct ClaimsChanged {
    pods: BTreeSet<PodId>,
    gangs: BTreeSet<GangKey>,
}

impl ClaimsChanged {
    /// Room is nominated for a pod, or not any more.
    pub(super) fn note_pod(&mut self, id: PodId) {
        self.pods.insert(id);
    }

    /// Something is held for a gang, or not any more.
    pub(super) fn note_gang(&mut self, key: &GangKey) {
        self.gangs.insert(key.clone());
    }
}

impl ClusterState {
    /// What changed of the claims to room since the last call.
    pub fn take_claim_news(&mut self) -> ClaimNews {
        let changed = std::mem::take(&mut self.claims_changed);
        let pods = changed.pods.into_iter().filter_map(|id| {
            let pod = self.pods.get(id)?;
            let node = pod.nominated;
            let node = node.map(|node| self.nodes.name(node).to_owned());
            Some((pod.key.clone(), node))
        });
        let gangs = changed.gangs.into_iter().map(|key| {
            let id = self.gangs_by_key.get(&key).copied();
            (key, id.map_or_else(Vec::new, |id| self.amounts_held(id)))
        });
        ClaimNews {
            nominated: pods.collect(),
            held: gangs.collect(),
        }
    }

    fn amounts_held(&self, gang: GangId) -> AmountsOn {
        let held = self.held_for(gang).into_iter().flat_map(|held| &held.on);
        let named = held.map(|(node, amounts)| {
            let amounts = amounts.iter();
            let amounts = amounts.map(|(dimension, amount)| {
                let name = self.dimensions.name(dimension);
                (name.to_owned(), amount)
            });
            (self.nodes.name(*node).to_owned(), amounts.collect())
        });
        named.collect()
    }
}
