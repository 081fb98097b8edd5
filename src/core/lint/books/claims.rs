//! What is held for members of gangs that are not there yet.

use muster_model::GangKey;
use std::collections::{BTreeMap, BTreeSet};

/// What is held for gangs, by node.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClaimsHeld {
    on: BTreeMap<String, BTreeMap<GangKey, BTreeMap<String, i64>>>,
    nodes_of: BTreeMap<GangKey, BTreeSet<String>>,
}

impl ClaimsHeld {
    /// So much is held for a gang, and no more.
    pub(crate) fn hold(&mut self, gang: &GangKey, on: &[(String, Vec<(String, i64)>)]) {
        self.forget(gang);
        for (node, amounts) in on {
            let here = self.on.entry(node.clone()).or_default();
            here.insert(gang.clone(), amounts.iter().cloned().collect());
            let nodes = self.nodes_of.entry(gang.clone()).or_default();
            nodes.insert(node.clone());
        }
    }

    /// A gang has none any more.
    pub(crate) fn forget(&mut self, gang: &GangKey) {
        for node in self.nodes_of.remove(gang).unwrap_or_default() {
            if let Some(here) = self.on.get_mut(&node) {
                here.remove(gang);
                if here.is_empty() {
                    self.on.remove(&node);
                }
            }
        }
    }

    /// What is held on a node.
    pub(crate) fn on(
        &self,
        node: &str,
    ) -> impl Iterator<Item = (&GangKey, &BTreeMap<String, i64>)> {
        self.on.get(node).into_iter().flatten()
    }
}
