//! Topologies: how far nodes are from each other.

mod tree;

pub use tree::{Common, Domain, Tree};

use super::ids::{NodeId, Slab, TopologyId};
use super::nodes::Nodes;
use crate::core::model::{HOSTNAME, TopologySpec, TopologyWish};
use std::collections::BTreeMap;

/// A topology.
#[derive(Clone, Debug)]
pub struct Topology {
    /// What it was declared as.
    pub spec: TopologySpec,
    tree: Tree,
}

/// Why a wish cannot be granted by any place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WishError {
    /// There is no Topology of this name.
    NotFound(String),
    /// The Topology cannot be valid.
    Invalid(String),
    /// Something is wished, without a name, and there is not one Topology but so many.
    Unnamed(usize),
    /// The Topology has no level of this label; the ones it has.
    NoLevel(String, String, Vec<String>),
}

/// The most that pods may be apart: one domain of this height or less, in this topology; at height 0
/// that is a single node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Limit {
    /// The topology.
    pub topology: TopologyId,
    /// The height.
    pub height: usize,
}

impl Limit {
    /// Wider than any.
    pub const LAST: Self = Self {
        topology: TopologyId::LAST,
        height: usize::MAX,
    };
}

/// Where the pods of a gang or of a subgroup should be, and where they have to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closeness {
    /// By which topology.
    pub topology: TopologyId,
    /// The greatest height of a domain that may hold them; `None`: anywhere.
    pub at_most: Option<usize>,
}

impl Closeness {
    /// The limit, if there is one.
    #[must_use]
    pub fn limit(self) -> Option<Limit> {
        let topology = self.topology;
        self.at_most.map(|height| Limit { topology, height })
    }
}

/// All topologies.
#[derive(Clone, Debug, Default)]
pub struct Topologies {
    all: Slab<TopologyId, Topology>,
    by_name: BTreeMap<String, TopologyId>,
    /// Those that can be valid.
    valid: usize,
    /// How many trees there ever were: ids are given out again.
    made: u32,
}

impl Topologies {
    /// Takes over a declaration. Says whether it is another than before.
    pub(super) fn upsert(&mut self, spec: TopologySpec, nodes: &Nodes) -> bool {
        let known = self.by_name.get(&spec.name).copied();
        let before = known.and_then(|id| self.all.get_mut(id));
        if let Some(before) = before {
            if before.spec == spec {
                return false;
            }
            if before.spec.levels == spec.levels {
                before.spec = spec;
                self.recount();
                return true;
            }
        }
        if let Some(id) = known {
            self.all.remove(id);
        }
        let name = spec.name.clone();
        self.made += 1;
        let mut tree = Tree::new(&spec.levels, self.made);
        for node in nodes.present().iter() {
            tree.set(node, Some(&nodes.facts(node).labels));
        }
        let id = self.all.insert(Topology { spec, tree });
        self.by_name.insert(name, id);
        self.recount();
        true
    }

    /// It is gone. Says whether it was there.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Some(id) = self.by_name.remove(name) else {
            return false;
        };
        self.all.remove(id);
        self.recount();
        true
    }

    fn recount(&mut self) {
        let valid = self
            .all
            .iter()
            .filter(|(_, one)| one.spec.invalid.is_none());
        self.valid = valid.count();
    }

    /// Hears of a node that came, changed or went. Says whether a domain has other nodes now.
    pub(super) fn hear(&mut self, node: NodeId, nodes: &Nodes) -> bool {
        let here = nodes.present().contains(node);
        let labels = here.then(|| &nodes.facts(node).labels);
        let mut moved = false;
        for (_, one) in self.all.iter_mut() {
            let before = one.tree.version();
            one.tree.set(node, labels);
            moved |= one.tree.version() != before;
        }
        moved
    }

    /// Makes all trees anew and compares.
    pub(super) fn audit(&self, nodes: &Nodes) -> Result<(), String> {
        for (_, one) in self.iter() {
            let mut anew = Tree::new(&one.spec.levels, 0);
            for node in nodes.present().iter() {
                anew.set(node, Some(&nodes.facts(node).labels));
            }
            let (known, anew) = (one.tree.described(), anew.described());
            if known != anew {
                let name = &one.spec.name;
                return Err(format!("topology {name}: domains {known:?}, not {anew:?}"));
            }
        }
        Ok(())
    }

    /// A topology.
    #[must_use]
    pub fn get(&self, id: TopologyId) -> Option<&Topology> {
        self.all.get(id)
    }

    /// All of them by name.
    pub fn iter(&self) -> impl Iterator<Item = (TopologyId, &Topology)> {
        let of_name = self.by_name.values();
        of_name.filter_map(|id| Some((*id, self.all.get(*id)?)))
    }

    /// Whether there is none that counts.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.valid == 0
    }

    /// How many there are that count.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.valid
    }

    /// The only one that counts, if there is one: of who names none, it says what is near.
    #[must_use]
    pub fn only(&self) -> Option<TopologyId> {
        if self.valid != 1 {
            return None;
        }
        let mut valid = self.iter().filter(|(_, one)| one.spec.invalid.is_none());
        valid.next().map(|(id, _)| id)
    }

    /// What a wish means: a place in one domain no wider than it allows. Without a wish the only
    /// topology there is says what is near, if there is one.
    ///
    /// # Errors
    /// Why it means nothing.
    pub fn closeness(&self, wish: Option<&TopologyWish>) -> Result<Option<Closeness>, WishError> {
        let Some(wish) = wish else {
            let anywhere = |topology| Closeness {
                topology,
                at_most: None,
            };
            return Ok(self.only().map(anywhere));
        };
        let topology = match &wish.name {
            Some(name) => {
                let id = self.by_name.get(name).copied();
                id.ok_or_else(|| WishError::NotFound(name.clone()))?
            }
            None => self.only().ok_or(WishError::Unnamed(self.valid))?,
        };
        let found = self.get(topology);
        let Some(found) = found.filter(|one| one.spec.invalid.is_none()) else {
            return Err(WishError::Invalid(wish.name.clone().unwrap_or_default()));
        };
        let level_of = |label: &String| {
            found.level(label).ok_or_else(|| {
                let levels = found.labels();
                WishError::NoLevel(found.spec.name.clone(), label.clone(), levels)
            })
        };
        wish.preferred_level.as_ref().map(level_of).transpose()?;
        let required = wish.required_level.as_ref().map(level_of).transpose()?;
        let capped = wish.max_hops.map(|most| found.widest_within(most));
        let at_most = match (required, capped) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Ok(Some(Closeness { topology, at_most }))
    }
}

impl Topology {
    /// Its domains.
    #[must_use]
    pub const fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The labels of its levels, from the widest on.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let levels = self.spec.levels.iter();
        levels.map(|one| one.label.clone()).collect()
    }

    /// The height of the level of a label.
    fn level(&self, label: &str) -> Option<usize> {
        let mut levels = self.tree.levels().iter();
        let level = levels.position(|one| one.label == label);
        let host = self.spec.levels.last();
        let host = host.filter(|last| last.label == HOSTNAME && label == HOSTNAME);
        level
            .map(|level| self.tree.height(level))
            .or(host.map(|_| 0))
    }

    /// The greatest height at which no two nodes of a domain are further apart.
    fn widest_within(&self, most: u32) -> usize {
        let heights = (0..=self.tree.levels().len()).rev();
        let mut fit = heights.filter(|height| self.tree.hops_at(*height) <= most);
        fit.next().unwrap_or(0)
    }

    /// How a domain of this height is called by people: `rack`, or the label of the level.
    #[must_use]
    pub fn level_at(&self, height: usize) -> &str {
        let level = self.tree.levels().len().checked_sub(height);
        let level = level.and_then(|level| self.tree.levels().get(level));
        level.map_or("node", |level| &level.label)
    }
}
