//! A network of levels: domains inside domains, each a set of nodes.
//!
//! A domain is known by its path: a rack `r1` in block `a` and a rack `r1` in block `b` are two
//! domains. Who has none of the labels, or not all of them, is in no domain.

use crate::state::ids::{DomainId, Id, NodeId, Slab};
use crate::state::node_set::NodeSet;
use muster_model::{HOSTNAME, Labels, Level};
use std::collections::{BTreeMap, BTreeSet};

/// Nodes with the same values of the labels of some levels, from the widest on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    /// The level, 0 is the widest.
    pub level: usize,
    /// The value of the level's label.
    pub value: String,
    /// The domain it is in.
    pub parent: Option<DomainId>,
    /// Its nodes.
    pub nodes: NodeSet,
    /// How many nodes these are.
    pub size: u32,
}

/// Domains inside domains.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// From the widest to the narrowest, without the level of the single node.
    levels: Vec<Level>,
    domains: Slab<DomainId, Domain>,
    by_path: BTreeMap<(Option<DomainId>, usize, String), DomainId>,
    /// The narrowest domain of each node.
    narrowest: Vec<Option<DomainId>>,
    version: u64,
}

impl Tree {
    /// One without nodes.
    pub(super) fn new(levels: &[Level], serial: u32) -> Self {
        let mut levels = levels.to_vec();
        levels.retain(|one| one.label != HOSTNAME);
        Self {
            levels,
            version: u64::from(serial) << 32,
            ..Self::default()
        }
    }

    /// Takes over a node's labels; `None` if it is gone. Without levels there are no domains: what is
    /// known is that a node is near itself.
    pub(super) fn set(&mut self, node: NodeId, labels: Option<&Labels>) {
        let values = labels.and_then(|labels| self.values(labels));
        self.place(node, values.as_deref());
    }

    /// Puts a node into a domain of each of these levels, from the widest on, with these values; `None`
    /// takes it out. Levels may be left out.
    pub(super) fn place(&mut self, node: NodeId, path: Option<&[(usize, &str)]>) {
        if self.levels.is_empty() {
            return;
        }
        if self.narrowest.len() <= node.index() {
            self.narrowest.resize(node.index() + 1, None);
        }
        let path = path.filter(|path| !path.is_empty());
        let before = self.narrowest[node.index()];
        let stays = match (path, before) {
            (None, None) => true,
            (Some(path), Some(domain)) => {
                let above = self.above(domain);
                let above = above.map(|(_, one)| (one.level, one.value.as_str()));
                above.eq(path.iter().rev().copied())
            }
            _ => false,
        };
        if stays {
            return;
        }
        self.version += 1;
        if let Some(domain) = before {
            self.take_out(domain, node);
        }
        self.narrowest[node.index()] = path.and_then(|path| self.put_in(path, node));
    }

    /// The values of all levels' labels, if the node has all of them.
    fn values<'a>(&self, labels: &'a Labels) -> Option<Vec<(usize, &'a str)>> {
        let levels = self.levels.iter().enumerate();
        let value = |(index, level): (usize, &Level)| {
            let value = labels.get(&level.label)?;
            Some((index, value.as_str()))
        };
        levels.map(value).collect()
    }

    fn put_in(&mut self, path: &[(usize, &str)], node: NodeId) -> Option<DomainId> {
        let mut parent = None;
        for &(level, value) in path {
            let path = (parent, level, value.to_owned());
            let id = match self.by_path.get(&path) {
                Some(id) => *id,
                None => {
                    let id = self.domains.insert(Domain {
                        level,
                        value: path.2.clone(),
                        parent,
                        ..Domain::default()
                    });
                    self.by_path.insert(path, id);
                    id
                }
            };
            if let Some(domain) = self.domains.get_mut(id) {
                domain.nodes.insert(node);
                domain.size += 1;
            }
            parent = Some(id);
        }
        parent
    }

    fn take_out(&mut self, narrowest: DomainId, node: NodeId) {
        let path: Vec<DomainId> = self.above(narrowest).map(|(id, _)| id).collect();
        for id in path {
            let Some(domain) = self.domains.get_mut(id) else {
                continue;
            };
            domain.nodes.remove(node);
            domain.size -= 1;
            if domain.size == 0 {
                let value = std::mem::take(&mut domain.value);
                let path = (domain.parent, domain.level, value);
                self.by_path.remove(&path);
                self.domains.remove(id);
            }
        }
    }

    /// The levels, from the widest on; the single node is none.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Another whenever a node came into a domain or left one; no other tree ever has the same.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// A domain.
    #[must_use]
    pub fn domain(&self, id: DomainId) -> Option<&Domain> {
        self.domains.get(id)
    }

    /// All domains.
    pub fn domains(&self) -> impl Iterator<Item = (DomainId, &Domain)> {
        self.domains.iter()
    }

    /// The domains right inside one.
    pub fn inside(&self, id: DomainId) -> impl Iterator<Item = DomainId> {
        let first = (Some(id), 0, String::new());
        let inside = self.by_path.range(first..);
        inside
            .take_while(move |((parent, ..), _)| *parent == Some(id))
            .map(|(_, id)| *id)
    }

    /// Whether no node is in a domain.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_path.is_empty()
    }

    /// How many nodes are in a domain.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        let widest = self.domains.iter().filter(|(_, one)| one.parent.is_none());
        widest.map(|(_, one)| one.size).sum()
    }

    /// A domain and those it is in, the narrowest first.
    pub fn above(&self, id: DomainId) -> impl Iterator<Item = (DomainId, &Domain)> {
        let with = |id| self.domains.get(id).map(|domain| (id, domain));
        std::iter::successors(with(id), move |(_, domain)| domain.parent.and_then(with))
    }

    /// The narrowest domain of a node.
    #[must_use]
    pub fn narrowest(&self, node: NodeId) -> Option<DomainId> {
        self.narrowest.get(node.index()).copied().flatten()
    }

    /// The labels of a domain, from the widest level on: `zone=a/rack=r7`.
    #[must_use]
    pub fn path(&self, id: DomainId) -> String {
        let label = |level: usize| self.levels.get(level).map_or("", |one| one.label.as_str());
        let pair = |(_, one): (DomainId, &Domain)| format!("{}={}", label(one.level), one.value);
        let mut pairs: Vec<String> = self.above(id).map(pair).collect();
        pairs.reverse();
        pairs.join(",")
    }

    /// The height of a level: how many levels are narrower, the single node among them.
    #[must_use]
    pub fn height(&self, level: usize) -> usize {
        self.levels.len().saturating_sub(level)
    }

    /// How far two nodes may be from each other in a domain of this height.
    #[must_use]
    pub fn hops_at(&self, height: usize) -> u32 {
        let level = self.levels.len().checked_sub(height);
        let level = level.and_then(|level| self.levels.get(level));
        level.map_or(0, |level| level.hops)
    }

    /// The narrowest domain that has all of some nodes.
    #[must_use]
    pub fn common(&self, nodes: impl IntoIterator<Item = NodeId>) -> Common {
        let mut nodes = nodes.into_iter();
        let Some(first) = nodes.next() else {
            return Common::Anywhere;
        };
        let mut common = Common::Node(first);
        for node in nodes {
            let in_it = |common: &Common| match common {
                Common::Node(one) => *one == node,
                Common::Domain(id) => self.has(*id, node),
                Common::Anywhere | Common::Nowhere => true,
            };
            if in_it(&common) {
                continue;
            }
            let from = match common {
                Common::Node(one) => self.narrowest(one),
                Common::Domain(id) => self.domain(id).and_then(|domain| domain.parent),
                _ => None,
            };
            let above = from.into_iter().flat_map(|id| self.above(id));
            let mut with_both = above.filter(|(_, domain)| domain.nodes.contains(node));
            common = match with_both.next() {
                Some((id, _)) => Common::Domain(id),
                None => return Common::Nowhere,
            };
        }
        common
    }

    fn has(&self, id: DomainId, node: NodeId) -> bool {
        self.domain(id)
            .is_some_and(|domain| domain.nodes.contains(node))
    }

    /// The largest number of hops between two of some nodes; `None` where no domain has all.
    #[must_use]
    pub fn hops(&self, nodes: impl IntoIterator<Item = NodeId>) -> Option<u32> {
        match self.common(nodes) {
            Common::Anywhere | Common::Node(_) => Some(0),
            Common::Domain(id) => {
                let level = self.domain(id)?.level;
                Some(self.levels.get(level)?.hops)
            }
            Common::Nowhere => None,
        }
    }

    /// The nodes of every domain, by its path.
    pub(super) fn described(&self) -> BTreeMap<String, Vec<NodeId>> {
        let domains = self.domains.iter();
        let domains = domains.map(|(id, one)| (self.path(id), one.nodes.iter().collect()));
        domains.collect()
    }

    /// A value that one level has in several domains of the level above: `rack r1 is in 2 domains of
    /// zone: a, b`.
    #[must_use]
    pub fn not_nested(&self) -> Option<String> {
        let mut parents: BTreeMap<(usize, &str), BTreeSet<&str>> = BTreeMap::new();
        for (_, domain) in self.domains.iter() {
            let parent = domain.parent.and_then(|id| self.domain(id));
            let parent = parent.map_or("", |parent| parent.value.as_str());
            let of_value = parents.entry((domain.level, &domain.value)).or_default();
            of_value.insert(parent);
        }
        let several = parents.into_iter().find(|(_, parents)| parents.len() > 1);
        let ((level, value), parents) = several?;
        let (label, above) = (
            &self.levels.get(level)?.label,
            &self.levels.get(level.checked_sub(1)?)?.label,
        );
        let names: Vec<&str> = parents.iter().copied().take(3).collect();
        Some(format!(
            "{label}={value} is in {} domains of {above} ({}): each counts as a domain of its own",
            parents.len(),
            names.join(", ")
        ))
    }
}

/// What some nodes have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Common {
    /// There are none.
    Anywhere,
    /// They are one node.
    Node(NodeId),
    /// The narrowest domain that has all.
    Domain(DomainId),
    /// No domain has all.
    Nowhere,
}
