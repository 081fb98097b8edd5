//! A network of links: nodes and switches, and the shortest paths between nodes.
//!
//! Nodes with the same links are in one port. The hops between ports depend on the links alone, so
//! that a node that comes or goes costs nothing but its name; a port is measured when it gets its first
//! node, and stays measured.

use super::links::{Links, NAMED, NO_PATH};
use crate::state::ids::{Id, NodeId, PortId};
use crate::state::node_set::NodeSet;
use muster_model::{Link, counted};
use std::collections::{BTreeMap, BTreeSet};

/// How many ports are measured: the hops between as many take 134 MB.
const MAX_PORTS: usize = 8_192;

/// Nodes with the same links: as far from all others, and equally far from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Port {
    kind: usize,
    /// Its nodes.
    pub nodes: NodeSet,
    /// How many nodes these are.
    pub size: u32,
}

/// Nodes and the shortest paths between them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    links: Links,
    ports: Vec<Port>,
    of_kind: Vec<Option<PortId>>,
    /// The vertex of each node.
    vertex_of: Vec<Option<usize>>,
    /// Whether a vertex is a node.
    is_node: Vec<bool>,
    /// From each port to those before it, and to itself.
    hops: Vec<Vec<u32>>,
    nodes: u32,
    /// How many nodes found no port.
    beyond: u32,
    version: u64,
}

impl Graph {
    /// One without nodes.
    pub(super) fn new(links: &[Link], serial: u32) -> Self {
        let links = Links::new(links);
        Self {
            of_kind: vec![None; links.kinds()],
            is_node: vec![false; links.vertices()],
            links,
            version: u64::from(serial) << 32,
            ..Self::default()
        }
    }

    /// Takes over a node's name; `None` if it is gone.
    pub(super) fn set(&mut self, node: NodeId, name: Option<&str>) {
        if self.vertex_of.len() <= node.index() {
            self.vertex_of.resize(node.index() + 1, None);
        }
        let vertex = name.and_then(|name| self.links.find(name));
        let before = std::mem::replace(&mut self.vertex_of[node.index()], vertex);
        if vertex == before {
            return;
        }
        self.version += 1;
        if let Some(before) = before {
            self.is_node[before] = false;
            match self.of_kind[self.links.kind(before)] {
                Some(port) => {
                    let port = &mut self.ports[port.index()];
                    port.nodes.remove(node);
                    port.size -= 1;
                    self.nodes -= 1;
                }
                None => self.beyond -= 1,
            }
        }
        let Some(vertex) = vertex else { return };
        self.is_node[vertex] = true;
        match self.port_for(self.links.kind(vertex)) {
            Some(port) => {
                let port = &mut self.ports[port.index()];
                port.nodes.insert(node);
                port.size += 1;
                self.nodes += 1;
            }
            None => self.beyond += 1,
        }
    }

    /// The port of a kind, measured now if need be.
    fn port_for(&mut self, kind: usize) -> Option<PortId> {
        if self.of_kind[kind].is_some() || self.ports.len() == MAX_PORTS {
            return self.of_kind[kind];
        }
        let before = self.ports.iter().map(|port| port.kind);
        self.hops
            .push(self.links.hops(kind, before.chain(std::iter::once(kind))));
        let id = PortId::from_index(self.ports.len());
        self.ports.push(Port {
            kind,
            ..Port::default()
        });
        self.of_kind[kind] = Some(id);
        Some(id)
    }

    /// Another whenever a node came to a port or left it; no other network ever has the same.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// All ports; some have no nodes any more.
    pub fn ports(&self) -> impl Iterator<Item = (PortId, &Port)> {
        let ports = self.ports.iter().enumerate();
        ports.map(|(index, port)| (PortId::from_index(index), port))
    }

    /// A port.
    #[must_use]
    pub fn port(&self, id: PortId) -> Option<&Port> {
        self.ports.get(id.index())
    }

    /// The port of a node.
    #[must_use]
    pub fn port_of(&self, node: NodeId) -> Option<PortId> {
        let vertex = self.vertex_of.get(node.index()).copied().flatten()?;
        self.of_kind[self.links.kind(vertex)]
    }

    /// The hops between a node of one port and another node of the other, or of the same; [`NO_PATH`]
    /// where there is none.
    #[must_use]
    pub fn between(&self, one: PortId, other: PortId) -> u32 {
        let (low, high) = (
            one.index().min(other.index()),
            one.index().max(other.index()),
        );
        let known = self.hops.get(high).and_then(|row| row.get(low));
        known.copied().unwrap_or(NO_PATH)
    }

    /// The largest number of hops between two of some nodes; `None` where two have no path.
    #[must_use]
    pub fn hops(&self, nodes: impl IntoIterator<Item = NodeId>) -> Option<u32> {
        let nodes: BTreeSet<NodeId> = nodes.into_iter().collect();
        if nodes.len() < 2 {
            return Some(0);
        }
        let mut on: BTreeMap<PortId, usize> = BTreeMap::new();
        for node in nodes {
            *on.entry(self.port_of(node)?).or_default() += 1;
        }
        let mut most = 0;
        for (one, nodes) in &on {
            if *nodes > 1 {
                most = most.max(self.between(*one, *one));
            }
            let before = on.keys().take_while(|other| *other < one);
            let farthest = before.map(|other| self.between(*one, *other)).max();
            most = most.max(farthest.unwrap_or(0));
        }
        (most != NO_PATH).then_some(most)
    }

    /// How many nodes have links.
    #[must_use]
    pub const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// What an admin may not have meant.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.links.parts() > 1 {
            let parts = self.links.parts();
            doubts.push(format!(
                "the links are in {parts} parts: there is no path from one to another"
            ));
        }
        let ends = self.links.ends().iter();
        let unknown: Vec<&str> = ends
            .filter(|(_, vertex)| !self.is_node[*vertex])
            .map(|(name, _)| name.as_str())
            .collect();
        if !unknown.is_empty() {
            let names = unknown[..unknown.len().min(NAMED)].join(", ");
            let count = counted(unknown.len(), "name");
            doubts.push(format!(
                "{count} with a single link and no node so called ({names}): taken for switches"
            ));
        }
        if self.beyond > 0 {
            let nodes = counted(self.beyond as usize, "node");
            doubts.push(format!(
                "{nodes} beyond {MAX_PORTS} different places in the network: as if without links"
            ));
        }
        doubts.extend_from_slice(self.links.doubts());
        doubts
    }

    /// The nodes of each port with some, and how far they are from the others, whatever the order in
    /// which the nodes came.
    pub(super) fn described(&self) -> BTreeMap<String, Vec<NodeId>> {
        let inhabited = || self.ports().filter(|(_, port)| port.size > 0);
        let described = inhabited().map(|(id, port)| {
            let hops = inhabited().map(|(other, _)| (self.ports[other.index()].kind, other));
            let hops: BTreeMap<usize, u32> = hops
                .map(|(kind, other)| (kind, self.between(id, other)))
                .collect();
            let name = format!("{} {hops:?}", port.kind);
            (name, port.nodes.iter().collect())
        });
        described.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::links::MOST_HOPS;
    use super::*;
    use proptest::prelude::*;

    fn link(a: usize, b: usize, cost: u32) -> Link {
        Link {
            a: format!("v{a}"),
            b: format!("v{b}"),
            cost,
        }
    }

    /// The shortest paths by trying every vertex as a stop on every way.
    fn shortest(count: usize, links: &[(usize, usize, u32)]) -> Vec<Vec<u32>> {
        let mut hops = vec![vec![NO_PATH; count]; count];
        for (a, b, cost) in links {
            hops[*a][*b] = hops[*a][*b].min(*cost);
            hops[*b][*a] = hops[*b][*a].min(*cost);
        }
        (0..count).for_each(|one| hops[one][one] = 0);
        for over in 0..count {
            for from in 0..count {
                for to in 0..count {
                    let way = hops[from][over].saturating_add(hops[over][to]);
                    hops[from][to] = hops[from][to].min(way);
                }
            }
        }
        hops
    }

    proptest! {
        #[test]
        fn hops_are_the_shortest_paths_whoever_came_and_went(
            links in prop::collection::vec((0..14_usize, 0..14_usize, 1..5_u32), 1..30),
            news in prop::collection::vec((0..14_usize, prop::bool::ANY), 1..40),
        ) {
            let said: Vec<Link> = links.iter().map(|(a, b, cost)| link(*a, *b, *cost)).collect();
            let mut graph = Graph::new(&said, 1);
            for (index, comes) in news {
                let name = format!("v{index}");
                graph.set(NodeId::from_index(index), comes.then_some(name.as_str()));
            }
            let hops = shortest(14, &links);
            let mut nodes = 0;
            for (one, hops) in hops.iter().enumerate() {
                let port = graph.port_of(NodeId::from_index(one));
                nodes += u32::from(port.is_some());
                for other in (0..14).filter(|other| *other != one) {
                    let pair = [one, other].map(NodeId::from_index);
                    let found = graph.hops(pair);
                    if port.is_none() || graph.port_of(pair[1]).is_none() {
                        prop_assert_eq!(found, None);
                    } else {
                        let right = hops[other];
                        prop_assert_eq!(found, (right != NO_PATH).then_some(right));
                    }
                }
            }
            prop_assert_eq!(graph.nodes(), nodes);
        }
    }

    #[test]
    fn nodes_with_the_same_links_are_measured_once() {
        let mut links = Vec::new();
        for leaf in 0..3 {
            links.extend((0..4).map(|spine| link(100 + leaf, 200 + spine, 1)));
            links.extend((0..5).map(|host| link(10 * leaf + host, 100 + leaf, 1)));
        }
        let mut graph = Graph::new(&links, 1);
        for leaf in 0..3 {
            for host in 0..5 {
                let index = 10 * leaf + host;
                graph.set(NodeId::from_index(index), Some(&format!("v{index}")));
            }
        }
        assert_eq!(graph.ports().count(), 3);
        // Three leaves that differ by their hosts, and spines that do not differ.
        assert_eq!(graph.links.junctions(), 4);
        let hops = |one, other| graph.hops([one, other].map(NodeId::from_index));
        assert_eq!((hops(0, 1), hops(0, 10)), (Some(2), Some(4)));
    }

    #[test]
    fn a_path_of_any_length_is_a_number() {
        let links: Vec<Link> = (0..5_000)
            .map(|one| link(one, one + 1, 1_000_000))
            .collect();
        let mut graph = Graph::new(&links, 1);
        for index in [0, 5_000] {
            graph.set(NodeId::from_index(index), Some(&format!("v{index}")));
        }
        let ends = [0, 5_000].map(NodeId::from_index);
        assert_eq!(graph.hops(ends), Some(MOST_HOPS));
    }
}
