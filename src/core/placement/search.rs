//! What sets of nodes come into question for members that are to be near each other, from the nearest
//! on: through the domains of a tree, or through the ports of a graph.

use super::domain::Domain;
use super::domains::{Domains, Given};
use super::ports::Ports;
use super::spot::{Candidate, Shortlist, Spot, TRIED_IN_DOUBT};
use super::wanted::{Rooms, Steps, Wanted};
use crate::framework::DomainOrder;
use crate::state::{Closeness, ClusterState, Common, Graph, Id, Network, NodeId, NodeSet};
use muster_model::counted;

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

    /// The same, where it leaves as little room as the one before it.
    pub(super) fn as_tight(&self, index: usize) -> Option<&Spot> {
        let before = self.found.get(index.checked_sub(1)?)?;
        let next = self.found.get(index)?;
        (next.rank[0] == before.rank[0]).then_some(&next.spot)
    }

    fn find_more(&mut self, search: &Search<'_>, state: &ClusterState) {
        let Some(given) = self.given.take() else {
            return;
        };
        let Some(domains) = search.domains(state) else {
            return;
        };
        let more = domains.tightest(given);
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

/// What is searched for, and where.
pub(super) struct Search<'a> {
    pub(super) wanted: Wanted<'a>,
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
            wanted: Wanted {
                near,
                rooms,
                inside,
            },
            order,
            way,
        }
    }

    /// The sets of nodes of the next reach at which any may hold the members, those with least room
    /// beyond that first; at least one.
    pub(super) fn next(&self, state: &ClusterState, steps: &mut Steps) -> Option<Candidates> {
        let from = steps.last.map_or(0, |last| last.saturating_add(1));
        let (reach, found) = match &self.way {
            Way::Nowhere => return None,
            Way::Tree(_) => {
                let domains = self.domains(state)?;
                let of_height = |height| match self.order {
                    Some(order) => Candidates::all(domains.ordered(height, order)),
                    None => {
                        let mut found = Candidates {
                            found: Vec::new(),
                            given: Some(Given::none(height)),
                        };
                        found.find_more(self, state);
                        found
                    }
                };
                let mut found = (from..=domains.highest())
                    .map(|height| (height, of_height(height)))
                    .filter(|(_, found)| !found.is_empty());
                found.next()?
            }
            Way::Graph(ports) => {
                let graph = self.graph(state)?;
                let found = match from {
                    0 => self.single_nodes(ports.held()),
                    _ => Vec::new(),
                };
                let (reach, found) = match found.is_empty() {
                    true => ports.next(graph, &self.wanted, steps)?,
                    false => (0, found),
                };
                (reach, Candidates::all(found))
            }
        };
        *steps = Steps {
            last: Some(reach),
            tried: steps.tried + 1,
        };
        Some(found)
    }

    /// Of the nodes that have room for all, those with the least beyond.
    fn single_nodes(&self, held: &[NodeId]) -> Vec<Candidate> {
        let rooms = &self.wanted.rooms;
        let mut best = Shortlist::new(rooms.needed);
        let mut add = |node: NodeId| {
            let room = self.wanted.room_on(node);
            if let (room, true) = room {
                let penalty = rooms.penalty(|devices| devices.contains(node));
                let beyond = room.saturating_sub(rooms.needed);
                best.add_ranked([penalty + beyond, 0, 0], node.index(), || Spot::Node(node));
            }
        };
        match held {
            [] => {
                let enough = rooms.nodes_with(rooms.least_room()).into_iter();
                enough.for_each(add);
            }
            [node] => add(*node),
            _ => {}
        }
        best.take()
    }

    /// The domains of the tree that it is searched through; `None` where that is none.
    pub(super) fn domains<'s>(&'s self, state: &'s ClusterState) -> Option<Domains<'s>> {
        let network = state.topologies().get(self.wanted.near.topology)?.network();
        match (network, &self.way) {
            (Network::Tree(tree), Way::Tree(common)) => Some(Domains {
                tree,
                wanted: &self.wanted,
                common: *common,
            }),
            _ => None,
        }
    }

    fn graph<'s>(&self, state: &'s ClusterState) -> Option<&'s Graph> {
        match state.topologies().get(self.wanted.near.topology)?.network() {
            Network::Graph(graph) => Some(graph),
            Network::Tree(_) => None,
        }
    }

    /// The set of nodes of the greatest reach that has room for most members, whether for all or not.
    pub(super) fn fullest(&self, state: &ClusterState) -> Option<Spot> {
        match &self.way {
            Way::Nowhere => None,
            Way::Tree(_) => self.domains(state)?.fullest(),
            Way::Graph(ports) => match self.wanted.near.at_most {
                Some(0) => {
                    let among: Vec<NodeId> = match ports.held() {
                        [] => self.wanted.rooms.nodes_with(1),
                        [node] => vec![*node],
                        _ => Vec::new(),
                    };
                    let most = among.into_iter().rev();
                    most.max_by_key(|node| self.wanted.room_on(*node).0)
                        .map(Spot::Node)
                }
                _ => {
                    let fullest = ports.fullest(self.graph(state)?, &self.wanted);
                    fullest.map(Spot::Group)
                }
            },
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
