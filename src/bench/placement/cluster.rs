//! The nodes of a workload, and how far they are from each other: by itself, not as the scheduler sees it.

use muster_model::{Amounts, Labels, NodeSpec, TopologySpec, plain};
use std::collections::BTreeMap;

/// Nodes of one kind that fill so many racks.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    /// How nodes of it are named.
    pub(super) name: &'static str,
    /// How many racks there are.
    pub(super) racks: usize,
    /// What a node offers.
    pub(super) offers: Amounts,
}

/// A cluster: a tree of three levels.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) nodes: Vec<NodeSpec>,
    pub(super) topology: TopologySpec,
}

/// The labels of the levels and their hops, from the widest.
pub(super) const LEVELS: [(&str, u32); 3] = [(FABRIC, 6), (BLOCK, 4), (RACK, 2)];
/// All nodes are in one.
const FABRIC: &str = "bench/fabric";
/// Several racks.
pub(super) const BLOCK: &str = "bench/block";
/// Nodes at one switch.
pub(super) const RACK: &str = "bench/rack";

impl Cluster {
    /// Racks of so many hosts, and blocks of so many racks.
    pub(super) fn new(kinds: &[Kind], hosts: usize, racks: usize) -> Self {
        let mut nodes = Vec::new();
        let mut rack = 0;
        for kind in kinds {
            for _ in 0..kind.racks {
                for _ in 0..hosts {
                    let name = format!("{}-{:04}", kind.name, nodes.len());
                    nodes.push(NodeSpec {
                        labels: Labels::from([
                            (FABRIC.to_owned(), "f".to_owned()),
                            (BLOCK.to_owned(), format!("b{}", rack / racks)),
                            (RACK.to_owned(), format!("r{rack}")),
                        ]),
                        ..plain::node(name, kind.offers.clone())
                    });
                }
                rack += 1;
            }
        }
        let topology = plain::levels("tree", LEVELS);
        Self { nodes, topology }
    }

    /// How much of a resource there is.
    pub(super) fn total(&self, resource: &str) -> i64 {
        let nodes = self.nodes.iter();
        nodes.map(|node| amount(&node.allocatable, resource)).sum()
    }

    /// Its resources.
    pub(super) fn resources(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in self.nodes.iter().flat_map(|node| &node.allocatable) {
            if name != "pods" && !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// The fewest hops between so many pods of this request while nothing else is there.
    pub(super) fn fewest_hops(&self, request: &Amounts, pods: u64) -> Option<u32> {
        let room = |node: &NodeSpec| {
            let each = request.iter().filter(|(_, asked)| *asked > 0);
            let each = each.map(|(name, asked)| amount(&node.allocatable, name) / asked);
            each.min().unwrap_or(0).unsigned_abs()
        };
        if self.nodes.iter().any(|node| room(node) >= pods) {
            return Some(0);
        }
        for (at, (_, hops)) in LEVELS.iter().enumerate().rev() {
            let mut domains: BTreeMap<Vec<&str>, u64> = BTreeMap::new();
            for node in &self.nodes {
                *domains.entry(path(&node.labels, at)).or_default() += room(node);
            }
            if domains.values().any(|room| *room >= pods) {
                return Some(*hops);
            }
        }
        None
    }

    /// The hops between the two of these nodes that are furthest from each other.
    pub(super) fn hops(&self, nodes: &[&NodeSpec]) -> Option<u32> {
        let (first, rest) = nodes.split_first()?;
        let apart = |other: &&NodeSpec| {
            if other.name == first.name {
                return 0;
            }
            let mut levels = LEVELS.iter().enumerate().rev();
            let same = |at| path(&first.labels, at) == path(&other.labels, at);
            let common = levels.find(|(at, _)| same(*at));
            common.map_or(u32::MAX, |(_, (_, hops))| *hops)
        };
        // In a tree the furthest two are as far apart as the furthest is from any.
        rest.iter().map(apart).max().or(Some(0))
    }
}

/// The domain of a level that a node is in: its labels down to that level.
fn path(labels: &Labels, level: usize) -> Vec<&str> {
    let upto = LEVELS.iter().take(level + 1);
    upto.filter_map(|(label, _)| labels.get(*label).map(String::as_str))
        .collect()
}

/// How much of a resource.
pub(super) fn amount(amounts: &Amounts, resource: &str) -> i64 {
    let found = amounts.iter().find(|(name, _)| name == resource);
    found.map_or(0, |(_, amount)| *amount)
}
