//! What changed since the engine last looked.

use super::ids::{GangId, NodeId, QueueId};
use muster_model::Source;
use std::collections::BTreeSet;

/// Notes for the engine, taken with [`ClusterState::take_changes`](super::ClusterState).
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Gangs of which something changed.
    pub gangs: BTreeSet<GangId>,
    /// Nodes on which a pod may fit that did not before.
    pub nodes: BTreeSet<NodeId>,
    /// Queues that were declared, or declared otherwise than before.
    pub queues: BTreeSet<QueueId>,
    /// Queues are other than before: others may have to go for who waits.
    pub rules: bool,
    /// A topology came, went, was declared otherwise, or has other nodes in a domain.
    pub topologies: bool,
    /// Pods that somebody asks about are in other domains than before.
    pub pods: bool,
    /// Room that was held for a gang is free for others.
    pub room_set_free: bool,
    /// Gangs that are gone.
    pub removed: Vec<GangId>,
    /// Gangs whose PodGroup is another object than before, or gone.
    pub remade: Vec<GangId>,
    /// PodGroups that are there and say nothing of ours any more, by kind and uid.
    pub silent: Vec<(Source, String)>,
}

impl Changes {
    /// Whether there is nothing to look at.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gangs.is_empty()
            && self.nodes.is_empty()
            && self.queues.is_empty()
            && !self.room_set_free
            && !self.rules
            && !self.pods
            && !self.topologies
            && self.removed.is_empty()
            && self.silent.is_empty()
    }
}
