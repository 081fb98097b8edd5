//! What a plugin was asked to reserve, to be given back.

use crate::framework::{Reserve, Spots};
use crate::state::{ClusterState, GangId};
use muster_model::{AskedPlace, PodKey, places_in_words};
use std::fmt;
use std::sync::Arc;

/// A plugin was asked to reserve what the pods of a decision need on their nodes.
#[derive(Clone)]
pub struct Reserved {
    /// The gang.
    pub(super) gang: GangId,
    /// The pods and their nodes.
    pub(super) places: Arc<[AskedPlace]>,
    /// The plugin.
    pub(super) plugin: Arc<dyn Reserve>,
}

impl Reserved {
    /// The plugin is told that nothing came of it.
    pub fn give_back(&self, state: &ClusterState) {
        self.give_back_of(state, &self.places);
    }

    /// The plugin is told that nothing came of the place of one pod.
    pub fn give_back_for(&self, state: &ClusterState, pod: &PodKey) {
        let place = self.places.iter().position(|place| place.pod == *pod);
        if let Some(index) = place {
            self.give_back_of(state, &self.places[index..=index]);
        }
    }

    fn give_back_of(&self, state: &ClusterState, places: &[AskedPlace]) {
        self.plugin
            .unreserve(&Spots::named(state, self.gang, places));
    }
}

impl fmt::Debug for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plugin, places) = (self.plugin.name(), places_in_words(&self.places));
        write!(f, "{plugin} for {places}")
    }
}
