//! An order of nodes along a topology, and how far two of them are from each other: what is needed to
//! lay pods out in a line.
//!
//! Who walks along the nodes in this order leaves a domain only when it has seen all of it, at every
//! level. On a tree no other walk over the same nodes makes fewer hops: of each level it crosses as many
//! borders as there are domains, less one, and none crosses fewer.

use super::{Network, NodeId, Nodes, Topology, Tree};
use muster_model::natural;
use std::cmp::Ordering;

impl Topology {
    /// Puts nodes in order: domains by the value of their label, from the widest level on; inside the
    /// narrowest by the node's name. Numbers in values and names count as numbers: `rack-2` is before
    /// `rack-10`. In a network of links those with the same links are next to each other. Nodes that are
    /// nowhere in it are last.
    pub fn put_in_order(&self, nodes: &mut [NodeId], all: &Nodes) {
        nodes.sort_unstable_by(|one, other| {
            let by_place = match self.network() {
                Network::Tree(tree) => by_domain(tree, *one, *other),
                Network::Graph(graph) => {
                    let port = |node: NodeId| {
                        let port = graph.port_of(node);
                        (port.is_none(), port)
                    };
                    port(*one).cmp(&port(*other))
                }
            };
            by_place
                .then_with(|| natural(all.name(*one), all.name(*other)))
                .then(one.cmp(other))
        });
    }

    /// The hops between two nodes; `None` where there is no path.
    #[must_use]
    pub fn hops_between(&self, one: NodeId, other: NodeId) -> Option<u32> {
        if one == other {
            return Some(0);
        }
        self.network().hops([one, other])
    }
}

/// The order of the widest domains that two nodes do not have in common; who is in no narrower one is
/// last.
fn by_domain(tree: &Tree, one: NodeId, other: NodeId) -> Ordering {
    let path = |node| {
        let narrowest = tree.narrowest(node).into_iter();
        let mut path: Vec<_> = narrowest.flat_map(|id| tree.above(id)).collect();
        path.reverse();
        path
    };
    let (one, other) = (path(one), path(other));
    let mut pairs = one.iter().zip(&other);
    match pairs.find(|((id, _), (other, _))| id != other) {
        Some(((id, domain), (other, beside))) => {
            let by_level = domain.level.cmp(&beside.level).reverse();
            let by_value = natural(&domain.value, &beside.value);
            by_level.then(by_value).then(id.cmp(other))
        }
        None => other.len().cmp(&one.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::ClusterState;
    use muster_model::testing::node;
    use muster_model::units::Time;
    use muster_model::{Event, HOSTNAME, Labels, Level, NodeSpec, TopologySpec};

    #[test]
    fn nodes_are_in_the_order_of_their_domains_and_then_of_their_names() {
        let mut state = ClusterState::default();
        let level = |label: &str, hops| Level {
            aliases: Vec::new(),
            label: label.into(),
            hops,
        };
        let spec = TopologySpec {
            name: "fabric".into(),
            levels: vec![level("block", 4), level("rack", 2), level(HOSTNAME, 0)],
            ..TopologySpec::default()
        };
        state.apply(Time::ZERO, Event::is(spec));
        // Racks are numbered anew in each block, and nodes came in no order.
        let places = [
            ("n7", Some(("b", "1"))),
            ("n10", Some(("a", "10"))),
            ("out-2", None),
            ("n9", Some(("a", "10"))),
            ("n1", Some(("b", "1"))),
            ("n8", Some(("a", "2"))),
            ("out-1", None),
        ];
        for (name, place) in places {
            let labels = place.map(|(block, rack)| {
                let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
                Labels::from_iter([pair("block", block), pair("rack", rack)])
            });
            let spec = NodeSpec {
                labels: labels.unwrap_or_default(),
                ..node(name, 1)
            };
            state.apply(Time::ZERO, Event::is(spec));
        }
        let topology = state.topologies().iter().next().unwrap().1;
        let mut nodes: Vec<NodeId> = state.nodes().present().iter().collect();
        topology.put_in_order(&mut nodes, state.nodes());
        let names: Vec<&str> = nodes.iter().map(|node| state.nodes().name(*node)).collect();
        assert_eq!(names, ["n8", "n9", "n10", "n1", "n7", "out-1", "out-2"]);
        let hops = |one: usize, other: usize| topology.hops_between(nodes[one], nodes[other]);
        assert_eq!(
            (hops(0, 0), hops(1, 2), hops(0, 1)),
            (Some(0), Some(2), Some(4))
        );
        assert_eq!((hops(2, 3), hops(5, 5), hops(5, 6)), (None, Some(0), None));
    }
}
