//! A set of nodes that may hold members who are to be near each other, and the best of several.

use super::capacity::Capacity;
use super::shares::fill;
use crate::state::{DomainId, Graph, NodeId, NodeSet, PortId};

/// How many sets of nodes of one reach are tried at most.
pub(super) const TRIED_IN_DOUBT: usize = 16;

/// Smaller goes first.
pub(super) type Rank = [u64; 3];

/// A set of nodes that may hold the members: the better ones first.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// How much more it has room for, or what the profile's order says; of a domain, then the room in the
    /// domains that it is in.
    pub(super) rank: Rank,
    /// What decides between equals.
    id: usize,
    pub(super) spot: Spot,
}

impl Candidate {
    const fn key(&self) -> (Rank, usize) {
        (self.rank, self.id)
    }
}

/// A set of nodes.
#[derive(Clone, Debug)]
pub(super) enum Spot {
    Node(NodeId),
    Domain(DomainId),
    /// Ports that are all near each other.
    Group(Group),
}

/// Ports that are all near each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Around which it was made.
    pub(super) centre: usize,
    /// The ports; of some one node only.
    pub(super) ports: Vec<(PortId, Option<NodeId>)>,
}

impl Group {
    fn nodes_at(&self, graph: &Graph, index: usize) -> NodeSet {
        match self.ports.get(index) {
            Some((_, Some(node))) => NodeSet::from_iter([*node]),
            Some((port, None)) => graph
                .port(*port)
                .map(|one| one.nodes.clone())
                .unwrap_or_default(),
            None => NodeSet::default(),
        }
    }

    /// Its nodes.
    pub(super) fn nodes(&self, graph: &Graph) -> NodeSet {
        let mut nodes = NodeSet::default();
        for index in 0..self.ports.len() {
            nodes.add_all(&self.nodes_at(graph, index));
        }
        nodes
    }

    /// A node in its midst.
    pub(super) fn centre(&self, graph: &Graph) -> Option<NodeId> {
        self.nodes_at(graph, self.centre).nth(0)
    }

    /// Equal members shared out over as few ports as can be.
    pub(super) fn shared_out(
        &self,
        graph: &Graph,
        room: &Capacity,
        members: u64,
    ) -> Vec<(NodeSet, u64)> {
        let rooms = self.ports.iter().enumerate();
        let rooms = rooms.map(|(index, (port, only))| match only {
            Some(node) => (room.of_node(*node), index),
            None => (room.of_port(*port), index),
        });
        let parts = fill(rooms.collect(), members).into_iter();
        parts
            .map(|(index, members)| (self.nodes_at(graph, index), members))
            .collect()
    }
}

/// Keeps the best of those that may hold the members.
pub(super) struct Shortlist {
    needed: u64,
    best: Vec<Candidate>,
}

impl Shortlist {
    pub(super) fn new(needed: u64) -> Self {
        Self {
            needed,
            best: Vec::with_capacity(TRIED_IN_DOUBT + 1),
        }
    }

    /// One with so much room.
    pub(super) fn add(&mut self, room: u64, id: usize, spot: impl FnOnce() -> Spot) {
        self.add_ranked([room.saturating_sub(self.needed), 0, 0], id, spot);
    }

    /// One of a rank.
    pub(super) fn add_ranked(&mut self, rank: Rank, id: usize, spot: impl FnOnce() -> Spot) {
        let key = (rank, id);
        let at = self.best.partition_point(|other| other.key() < key);
        if at >= TRIED_IN_DOUBT {
            return;
        }
        let spot = spot();
        self.best.insert(at, Candidate { rank, id, spot });
        self.best.truncate(TRIED_IN_DOUBT);
    }

    pub(super) fn take(self) -> Vec<Candidate> {
        self.best
    }
}
