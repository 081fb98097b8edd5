//! How many pods of a shape there is room for, on each node and in each domain or port of a topology.
//!
//! These are bounds: there is never room for more. Where nothing but the filters that say how much
//! room they leave stands against a pod, they are exact.

use super::per_shape::PerShape;
use crate::framework::{Context, Profile};
use crate::state::{DomainId, Gone, Id, Network, NodeId, NodeSet, PortId, TopologyId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Room by topology and shape.
#[derive(Debug, Default)]
pub(super) struct Capacities {
    by_topology: BTreeMap<TopologyId, PerShape<Arc<Capacity>>>,
}

/// Of so many nodes in a row it is known how much the roomiest has, so that all can be passed over.
const ROW: usize = 64;

/// For how many pods of one shape there is room.
#[derive(Clone, Debug, Default)]
pub(super) struct Capacity {
    of_node: Vec<u32>,
    /// The most that is on one of so many nodes in a row.
    most: Vec<u32>,
    /// Of each domain, or of each port where there are no domains.
    of_part: Vec<u64>,
}

impl Capacity {
    /// On a node.
    pub(super) fn of_node(&self, node: NodeId) -> u64 {
        u64::from(self.of_node.get(node.index()).copied().unwrap_or(0))
    }

    /// In a domain.
    pub(super) fn of_domain(&self, domain: DomainId) -> u64 {
        self.of_part.get(domain.index()).copied().unwrap_or(0)
    }

    /// In a port.
    pub(super) fn of_port(&self, port: PortId) -> u64 {
        self.of_part.get(port.index()).copied().unwrap_or(0)
    }

    /// The nodes that have so much at least, and any.
    pub(super) fn nodes_with(&self, at_least: u64) -> impl Iterator<Item = NodeId> {
        self.rooms_of_nodes(at_least).map(|(node, _)| node)
    }

    /// The same, each with how much it has.
    pub(super) fn rooms_of_nodes(&self, at_least: u64) -> impl Iterator<Item = (NodeId, u64)> {
        let wanted = move |room: &u32| u64::from(*room) >= at_least.max(1);
        let rows = self.of_node.chunks(ROW).zip(&self.most).enumerate();
        let rows = rows.filter(move |(_, (_, most))| wanted(most));
        rows.flat_map(move |(row, (rooms, _))| {
            let rooms = rooms.iter().enumerate();
            let enough = rooms.filter(move |(_, room)| wanted(room));
            enough.map(move |(index, room)| {
                let node = NodeId::from_index(row * ROW + index);
                (node, u64::from(*room))
            })
        })
    }

    /// On these nodes together.
    pub(super) fn on(&self, nodes: impl Iterator<Item = NodeId>) -> u64 {
        nodes.map(|node| self.of_node(node)).sum()
    }

    fn set(&mut self, network: &Network, node: NodeId, room: u32) {
        if self.of_node.len() <= node.index() {
            self.of_node.resize(node.index() + 1, 0);
        }
        let before = std::mem::replace(&mut self.of_node[node.index()], room);
        if before == room {
            return;
        }
        self.note_most(node.index() / ROW, before, room);
        let sums = &mut self.of_part;
        network.for_each_part_with(node, |index| {
            if sums.len() <= index {
                sums.resize(index + 1, 0);
            }
            sums[index] = sums[index] + u64::from(room) - u64::from(before);
        });
    }

    fn note_most(&mut self, row: usize, before: u32, room: u32) {
        if self.most.len() <= row {
            self.most.resize(row + 1, 0);
        }
        if room >= self.most[row] {
            self.most[row] = room;
        } else if before == self.most[row] {
            let rooms = self.of_node.iter().skip(row * ROW).take(ROW);
            self.most[row] = rooms.max().copied().unwrap_or(0);
        }
    }
}

impl Capacities {
    /// Forgets shapes that nobody has any more.
    pub(super) fn forget(&mut self, gone: &Gone<'_>) {
        let topologies = self.by_topology.values_mut();
        topologies.for_each(|by_shape| by_shape.forget(gone));
    }

    /// Of how many nodes the room is kept, over all shapes and topologies.
    pub(super) fn len(&self) -> usize {
        self.by_topology.values().map(PerShape::nodes).sum()
    }

    /// The room for pods like this one, whose constraints allow these nodes.
    pub(super) fn of(
        &mut self,
        profile: &Profile,
        cx: &Context<'_>,
        allowed: &NodeSet,
        topology: TopologyId,
    ) -> Option<Arc<Capacity>> {
        let topologies = cx.state.topologies();
        self.by_topology
            .retain(|id, _| topologies.get(*id).is_some());
        let network = topologies.get(topology)?.network();
        let serial = cx.state.shapes().serial(cx.pod.shape)?;
        let nodes = cx.state.nodes();
        let room = |node| {
            let here = allowed.contains(node) && nodes.present().contains(node);
            let mut local = profile.asked_of_the_node(cx.shape);
            let least = local.try_fold(u32::MAX, |least, one| {
                let room = least.min(one.room(cx, node));
                (room > 0).then_some(room)
            });
            least.filter(|_| here).unwrap_or(0)
        };
        let basis = network.version() ^ profile.basis(cx);
        let by_shape = self.by_topology.entry(topology).or_default();
        if let Some((known, touched)) = by_shape.follow(serial, basis, nodes) {
            let mut touched = touched.peekable();
            if touched.peek().is_some() {
                let known = Arc::make_mut(known);
                for node in touched {
                    known.set(network, node, room(node));
                }
            }
            return Some(Arc::clone(known));
        }
        let mut anew = Capacity::default();
        for node in nodes.present().iter() {
            anew.set(network, node, room(node));
        }
        let known = by_shape.keep(serial, basis, nodes, Arc::new(anew));
        Some(Arc::clone(known))
    }
}
