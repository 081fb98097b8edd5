//! What sets of nodes come into question for members that are to be near each other, from the nearest
//! on: what the search through domains and the one through ports have in common.

use super::capacity::Capacity;
use super::domain::Domain;
use super::domains::Given;
use super::ports::{Group, Ports};
use crate::framework::DomainOrder;
use crate::state::{
    Closeness, ClusterState, Common, DomainId, Id, Network, NodeId, NodeSet, Reach,
};
use muster_model::counted;
use std::sync::Arc;

/// How many sets of nodes of one reach are tried at most.
pub(super) const TRIED_IN_DOUBT: usize = 16;

/// Smaller goes first.
pub(super) type Rank = [u64; 3];

/// A set of nodes that may hold the members: the better ones first.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// How much more it has room for, or what the profile's order says; of a domain, then the room in the
    /// domains that it is in.
    rank: Rank,
    /// What decides between equals.
    id: usize,
    pub(super) spot: Spot,
}

impl Candidate {
    const fn key(&self) -> (Rank, usize) {
        (self.rank, self.id)
    }
}

/// The sets of nodes of one reach, worked out as far as somebody asked for them.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    found: Vec<Candidate>,
    /// How far the domains of a tree were given out; `None` where there are no more.
    given: Option<Given>,
}

impl Candidates {
    const fn all(found: Vec<Candidate>) -> Self {
        Self { found, given: None }
    }

    /// The best after so many.
    pub(super) fn get(
        &mut self,
        index: usize,
        search: &Search<'_>,
        state: &ClusterState,
    ) -> Option<&Spot> {
        if index >= self.found.len() {
            self.find_more(search, state);
        }
        self.found.get(index).map(|one| &one.spot)
    }

    fn find_more(&mut self, search: &Search<'_>, state: &ClusterState) {
        let Some(given) = self.given.take() else {
            return;
        };
        let topology = state.topologies().get(search.near.topology);
        let (Some(Network::Tree(tree)), Way::Tree(common)) =
            (topology.map(|one| one.network()), &search.way)
        else {
            return;
        };
        let more = search.tightest(tree, *common, given);
        if let Some(last) = more.last() {
            let count = given.count + more.len();
            let after = Some(last.rank[0]);
            let given = Given {
                after,
                count,
                ..given
            };
            self.given = (count < TRIED_IN_DOUBT).then_some(given);
        }
        self.found.extend(more);
    }

    fn is_empty(&self) -> bool {
        self.found.is_empty()
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

/// What is searched for, and where.
pub(super) struct Search<'a> {
    pub(super) near: Closeness,
    /// What room there is for those to be placed.
    pub(super) rooms: Rooms,
    /// The nodes it is restricted to.
    pub(super) inside: Option<&'a NodeSet>,
    /// Which domains come first, where a profile says so.
    pub(super) order: Option<&'a dyn DomainOrder>,
    way: Way,
}

/// What it is searched through, and what binds it to members that have a place.
enum Way {
    Nowhere,
    /// Domains with all of what they have in common.
    Tree(Common),
    /// Ports that are near all of them.
    Graph(Ports),
}

/// What room there is for the members of a demand.
pub(super) struct Rooms {
    /// For each shape, and how many members have it.
    pub(super) by_shape: Vec<(Arc<Capacity>, u64)>,
    pub(super) needed: u64,
    /// The nodes with devices, if no member asks for any.
    pub(super) devices: Option<NodeSet>,
}

/// More than there may be room beyond what is asked for: a set of nodes with devices that no member asks
/// for comes after all others.
const SPARED: u64 = 1 << 48;

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steps {
    /// The reach that was tried last.
    pub(super) last: Option<Reach>,
    /// How many reaches were tried.
    pub(super) tried: u32,
}

impl Rooms {
    /// What goes before how much more room there is: whether nothing is taken from devices.
    pub(super) fn penalty(&self, touches: impl FnOnce(&NodeSet) -> bool) -> u64 {
        let spoils = self.devices.as_ref().is_some_and(touches);
        if spoils { SPARED } else { 0 }
    }

    /// How much room for pods of the first shape a set of nodes has at least that may hold all members;
    /// 1 where that is not known.
    pub(super) fn least_room(&self) -> u64 {
        match self.by_shape[..] {
            [(_, members)] if members >= self.needed => self.needed,
            _ => 1,
        }
    }

    /// That for each shape.
    pub(super) fn each(&self) -> impl Iterator<Item = &Arc<Capacity>> {
        self.by_shape.iter().map(|(room, _)| room)
    }

    /// For how many pods there is room where there is so much for each shape, and whether that may be
    /// enough for the members.
    pub(super) fn sum(&self, room: impl Fn(&Capacity) -> u64) -> (u64, bool) {
        self.judge(self.by_shape.iter().map(|(one, _)| room(one)))
    }

    /// The same for the room of each shape.
    pub(super) fn judge(&self, rooms: impl Iterator<Item = u64>) -> (u64, bool) {
        let (mut sum, mut members) = (0_u64, 0);
        for ((_, of_shape), room) in self.by_shape.iter().zip(rooms) {
            sum += room;
            members += room.min(*of_shape);
        }
        (sum, members >= self.needed)
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

impl<'a> Search<'a> {
    /// For members who are to be near those who are on these nodes.
    pub(super) fn new(
        state: &ClusterState,
        near: Closeness,
        rooms: Rooms,
        on: impl Iterator<Item = NodeId>,
        inside: Option<&'a NodeSet>,
        order: Option<&'a dyn DomainOrder>,
    ) -> Self {
        let topology = state.topologies().get(near.topology);
        let way = match topology.map(|one| one.network()) {
            None => Way::Nowhere,
            Some(Network::Tree(tree)) => Way::Tree(tree.common(on)),
            Some(Network::Graph(graph)) => {
                Way::Graph(Ports::new(graph, &rooms, on, inside, near.at_most))
            }
        };
        Self {
            near,
            rooms,
            inside,
            order,
            way,
        }
    }

    /// The sets of nodes of the next reach at which any may hold the members, those with least room
    /// beyond that first; at least one.
    pub(super) fn next(&self, state: &ClusterState, steps: &mut Steps) -> Option<Candidates> {
        let network = state.topologies().get(self.near.topology)?.network();
        let from = steps.last.map_or(0, |last| last.saturating_add(1));
        let (reach, found) = match (network, &self.way) {
            (Network::Tree(tree), Way::Tree(common)) => {
                let highest = self.highest(tree);
                let of_height = |height| match self.order {
                    Some(order) => Candidates::all(self.ordered(tree, *common, height, order)),
                    None => {
                        let mut found = Candidates {
                            found: Vec::new(),
                            given: Some(Given::none(height)),
                        };
                        found.find_more(self, state);
                        found
                    }
                };
                let mut found = (from..=highest)
                    .map(|height| (height, of_height(height)))
                    .filter(|(_, found)| !found.is_empty());
                found.next()?
            }
            (Network::Graph(graph), Way::Graph(ports)) => {
                let found = match from {
                    0 => self.single_nodes(ports.held()),
                    _ => Vec::new(),
                };
                let (reach, found) = match found.is_empty() {
                    true => ports.next(graph, self, steps)?,
                    false => (0, found),
                };
                (reach, Candidates::all(found))
            }
            _ => return None,
        };
        *steps = Steps {
            last: Some(reach),
            tried: steps.tried + 1,
        };
        Some(found)
    }

    /// Of the nodes that have room for all, those with the least beyond.
    fn single_nodes(&self, held: &[NodeId]) -> Vec<Candidate> {
        let mut best = Shortlist::new(self.rooms.needed);
        let mut add = |node: NodeId| {
            let room = self.room_on(node);
            if let (room, true) = room {
                let penalty = self.rooms.penalty(|devices| devices.contains(node));
                let beyond = room.saturating_sub(self.rooms.needed);
                best.add_ranked([penalty + beyond, 0, 0], node.index(), || Spot::Node(node));
            }
        };
        match (held, self.rooms.by_shape.first()) {
            ([], Some((first, _))) => {
                let enough = first.nodes_with(self.rooms.least_room());
                enough.for_each(add);
            }
            ([node], _) => add(*node),
            _ => {}
        }
        best.take()
    }

    /// What those who have a place have in common, in a tree.
    pub(super) const fn common(&self) -> Option<Common> {
        match &self.way {
            Way::Tree(common) => Some(*common),
            Way::Nowhere | Way::Graph(_) => None,
        }
    }

    pub(super) fn is_inside(&self, node: NodeId) -> bool {
        self.inside.is_none_or(|among| among.contains(node))
    }

    pub(super) fn room_on(&self, node: NodeId) -> (u64, bool) {
        if self.is_inside(node) {
            self.rooms.sum(|one| one.of_node(node))
        } else {
            (0, false)
        }
    }

    /// The set of nodes of the greatest reach that has room for most members, whether for all or not.
    pub(super) fn fullest(&self, state: &ClusterState) -> Option<Spot> {
        let network = state.topologies().get(self.near.topology)?.network();
        match (network, &self.way) {
            (Network::Tree(tree), Way::Tree(common)) => {
                let spots = self.spots(tree, *common, self.highest(tree), 1);
                let room = |spot: &Spot| match spot {
                    Spot::Node(node) => self.room_on(*node).0,
                    Spot::Domain(id) => self.room_in(tree, *id).0,
                    Spot::Group(_) => 0,
                };
                // Of equals the first.
                spots.into_iter().rev().max_by_key(room)
            }
            (Network::Graph(graph), Way::Graph(ports)) => match self.near.at_most {
                Some(0) => {
                    let among: Vec<NodeId> = match (ports.held(), self.rooms.by_shape.first()) {
                        ([], Some((first, _))) => first.nodes_with(1).collect(),
                        ([node], _) => vec![*node],
                        _ => Vec::new(),
                    };
                    let most = among.into_iter().rev();
                    most.max_by_key(|node| self.room_on(*node).0)
                        .map(Spot::Node)
                }
                _ => ports.fullest(graph, self).map(Spot::Group),
            },
            _ => None,
        }
    }
}

/// The nodes of a spot.
pub(super) fn nodes_of(state: &ClusterState, near: Closeness, spot: &Spot) -> Domain {
    let topology = state.topologies().get(near.topology);
    let nodes = match (spot, topology.map(|one| one.network())) {
        (Spot::Node(node), _) => NodeSet::from_iter([*node]),
        (Spot::Domain(id), Some(Network::Tree(tree))) => {
            let domain = tree.domain(*id);
            domain.map(|one| one.nodes.clone()).unwrap_or_default()
        }
        (Spot::Group(group), Some(Network::Graph(graph))) => group.nodes(graph),
        _ => NodeSet::default(),
    };
    Domain::Only(nodes)
}

/// What people call a spot: `in node n1`, `in rack=r7`, `on 12 nodes around n1`.
pub(super) fn named(state: &ClusterState, near: Closeness, spot: &Spot) -> String {
    let name = |node: NodeId| state.nodes().name(node);
    let topology = state.topologies().get(near.topology);
    match (spot, topology.map(|one| one.network())) {
        (Spot::Node(node), _) => format!("in node {}", name(*node)),
        (Spot::Domain(id), Some(Network::Tree(tree))) => format!("in {}", tree.path(*id)),
        (Spot::Group(group), Some(Network::Graph(graph))) => {
            let nodes = counted(group.nodes(graph).len(), "node");
            let centre = group.centre(graph);
            format!("on {nodes} around {}", centre.map_or("", name))
        }
        _ => String::new(),
    }
}
