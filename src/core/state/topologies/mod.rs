//! Topologies: how far nodes are from each other.

mod by_label;
mod graph;
mod hyper_nodes;
mod links;
mod order;
mod tree;

pub use graph::{Graph, Port};
pub use links::NO_PATH;
pub use tree::{Common, Domain, Tree};

use super::ids::{Id, NodeId, Slab, TopologyId};
use super::nodes::Nodes;
use hyper_nodes::HyperNodes;
use muster_model::{
    HOSTNAME, HYPER_NODES, HyperNodeSpec, Origin, TopologySpec, TopologyWish, counted,
    level_of_tier,
};
use std::collections::{BTreeMap, BTreeSet};

/// A topology.
#[derive(Clone, Debug)]
pub struct Topology {
    /// What it was declared as.
    pub spec: TopologySpec,
    network: Network,
}

/// How far nodes are from each other, by levels or by links.
#[derive(Clone, Debug)]
pub enum Network {
    /// Domains inside domains.
    Tree(Tree),
    /// Nodes, switches, and the shortest paths over them.
    Graph(Graph),
}

/// How far a set of nodes reaches: in a tree the height of a domain that has all of them, in a graph the
/// largest number of hops between two. A single node has 0. Reaches in one network can be compared.
pub type Reach = u32;

/// Why a wish cannot be granted by any place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WishError {
    /// There is no Topology of this name.
    NotFound(String),
    /// The Topology cannot be valid. Why, where it has no condition that says so.
    Invalid(String, Option<String>),
    /// Something is wished, without a name, and there is not one Topology but so many.
    Unnamed(usize),
    /// The Topology has no level of this label; the ones it has.
    NoLevel(String, String, Vec<String>),
    /// The Topology is made of links, so that there is no level of this label.
    NoLevels(String, String),
}

/// The most that pods may be apart in a topology; at 0 that is a single node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Limit {
    /// The topology.
    pub topology: TopologyId,
    /// How far.
    pub reach: Reach,
}

impl Limit {
    /// Wider than any.
    pub const LAST: Self = Self {
        topology: TopologyId::LAST,
        reach: Reach::MAX,
    };
}

/// Where the pods of a gang or of a subgroup should be, and where they have to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closeness {
    /// By which topology.
    pub topology: TopologyId,
    /// How far they may reach; `None`: anywhere.
    pub at_most: Option<Reach>,
}

impl Closeness {
    /// The limit, if there is one.
    #[must_use]
    pub fn limit(self) -> Option<Limit> {
        let topology = self.topology;
        self.at_most.map(|reach| Limit { topology, reach })
    }
}

/// All topologies.
#[derive(Clone, Debug, Default)]
pub struct Topologies {
    all: Slab<TopologyId, Topology>,
    by_name: BTreeMap<String, TopologyId>,
    /// Those of ours that can be valid, and those of others; who names none does not mean what is no object.
    valid: [usize; 2],
    hyper_nodes: HyperNodes,
    /// How many networks there ever were: ids are given out again.
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
            let same = before.spec.levels == spec.levels && before.spec.links == spec.links;
            if same && before.spec.origin == spec.origin {
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
        let mut network = Network::new(&spec, self.made);
        for node in nodes.present().iter() {
            network.seat(spec.origin, &mut self.hyper_nodes, node, nodes);
        }
        let id = self.all.insert(Topology { spec, network });
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
        self.valid = [0; 2];
        for (_, one) in self.all.iter() {
            if counts(&one.spec) {
                self.valid[usize::from(!one.spec.origin.is_ours())] += 1;
            }
        }
    }

    /// Takes over the declaration of a HyperNode; `None` if it is the same as before.
    pub(super) fn upsert_hyper_node(
        &mut self,
        spec: HyperNodeSpec,
        nodes: &Nodes,
    ) -> Option<Moved> {
        let touched = self.hyper_nodes.upsert(spec, nodes)?;
        Some(self.follow_hyper_nodes(&touched, nodes))
    }

    /// The HyperNode of this name is gone; `None` if it was not there.
    pub(super) fn remove_hyper_node(&mut self, name: &str, nodes: &Nodes) -> Option<Moved> {
        let touched = self.hyper_nodes.remove(name)?;
        Some(self.follow_hyper_nodes(&touched, nodes))
    }

    /// Some HyperNodes are other than they were, and these nodes may be elsewhere.
    fn follow_hyper_nodes(&mut self, touched: &BTreeSet<NodeId>, nodes: &Nodes) -> Moved {
        let levels = self.hyper_nodes.levels();
        let known = self.by_name.get(HYPER_NODES).copied();
        let known = known.and_then(|id| self.all.get_mut(id));
        let declared = match known {
            Some(known) if known.spec.levels == levels => {
                let mut moved = Vec::new();
                for node in touched {
                    let before = known.network.version();
                    let hyper_nodes = &mut self.hyper_nodes;
                    let network = &mut known.network;
                    network.seat(Origin::Volcano, hyper_nodes, *node, nodes);
                    if known.network.version() != before {
                        moved.push(*node);
                    }
                }
                return Moved {
                    declared: false,
                    nodes: moved,
                };
            }
            _ if levels.is_empty() => self.remove(HYPER_NODES),
            _ => {
                let spec = TopologySpec {
                    name: HYPER_NODES.to_owned(),
                    origin: Origin::Volcano,
                    levels,
                    ..TopologySpec::default()
                };
                self.upsert(spec, nodes)
            }
        };
        Moved {
            declared,
            nodes: Vec::new(),
        }
    }

    /// Hears of a node that came, changed or went. Says which networks have other nodes now.
    pub(super) fn hear(&mut self, node: NodeId, nodes: &Nodes) -> Heard {
        let here = nodes.present().contains(node);
        let labels = here.then(|| &nodes.facts(node).labels);
        let odd = self.hyper_nodes.version();
        self.hyper_nodes.hear(node, nodes.name(node), labels);
        let mut heard = Heard::default();
        for (_, one) in self.all.iter_mut() {
            let before = one.network.version();
            let was_there = one.is_there();
            let origin = one.spec.origin;
            one.network.seat(origin, &mut self.hyper_nodes, node, nodes);
            heard.moved |= one.network.version() != before;
            heard.declared |= one.is_there() != was_there;
        }
        heard.moved |= self.hyper_nodes.version() != odd;
        heard
    }

    /// Makes all networks anew and compares.
    pub(super) fn audit(&self, nodes: &Nodes) -> Result<(), String> {
        let mut hyper_nodes = self.hyper_nodes.anew(nodes);
        let (known, anew) = (self.hyper_nodes.described(), hyper_nodes.described());
        if known != anew {
            return Err(format!("HyperNodes: {known}, not {anew}"));
        }
        let levels = self.by_name.get(HYPER_NODES).and_then(|id| self.get(*id));
        let levels = levels.map(|one| one.spec.levels.clone());
        if levels.unwrap_or_default() != hyper_nodes.levels() {
            return Err("HyperNodes: other tiers than their topology has levels".to_owned());
        }
        for (_, one) in self.iter() {
            let mut anew = Network::new(&one.spec, 0);
            for node in nodes.present().iter() {
                anew.seat(one.spec.origin, &mut hyper_nodes, node, nodes);
            }
            let (known, anew) = (one.network.described(), anew.described());
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
        self.valid[0] == 0 && self.valid[1] == 0
    }

    /// Between how many one that names none would have to choose: ours, and only where there is none of
    /// ours, those of others.
    #[must_use]
    pub const fn count(&self) -> usize {
        match self.valid {
            [0, of_others] => of_others,
            [ours, _] => ours,
        }
    }

    /// The only one that counts, if there is one: of who names none, it says what is near.
    #[must_use]
    pub fn only(&self) -> Option<TopologyId> {
        if self.count() != 1 {
            return None;
        }
        let ours = self.valid[0] > 0;
        let is_it = |one: &Topology| counts(&one.spec) && one.spec.origin.is_ours() == ours;
        let mut valid = self.iter().filter(|(_, one)| is_it(one));
        valid.next().map(|(id, _)| id)
    }

    /// What an admin may not have meant of a topology on which nothing is written.
    #[must_use]
    pub fn doubts(&self, id: TopologyId, nodes: &Nodes) -> &[String] {
        let found = self.get(id).map(|one| one.spec.origin);
        match found {
            Some(Origin::Volcano) => self.hyper_nodes.doubts(nodes),
            _ => &[],
        }
    }

    /// What an admin may not have meant of the topologies of others, by their names.
    #[must_use]
    pub fn doubts_of_others(&self, nodes: &Nodes) -> Vec<(&str, Vec<String>)> {
        let of_others = self.iter().filter(|(_, one)| !one.spec.origin.is_ours());
        let doubts = of_others.map(|(_, one)| {
            let mut doubts: Vec<String> = one.spec.invalid.clone().into_iter().collect();
            if one.spec.origin == Origin::Volcano {
                doubts.extend_from_slice(self.hyper_nodes.doubts(nodes));
            }
            if let Network::Tree(tree) = &one.network {
                doubts.extend(tree.not_nested());
            }
            (one.spec.name.as_str(), doubts)
        });
        doubts.collect()
    }

    /// What a wish means: a place in one domain no wider than it allows. Without a wish the only
    /// topology there is says what is near, if there is one.
    ///
    /// # Errors
    /// Why it means nothing.
    pub fn closeness(&self, wish: Option<&TopologyWish>) -> Result<Option<Closeness>, WishError> {
        let is_there = |name: &String| {
            let found = self.by_name.get(name).and_then(|id| self.get(*id));
            found.is_some_and(|one| one.spec.invalid.is_none())
        };
        let meant = |wish: &&TopologyWish| {
            let name = wish.name.as_ref().filter(|_| wish.if_there);
            name.is_none_or(is_there)
        };
        let Some(wish) = wish.filter(meant) else {
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
            None => self.only().ok_or(WishError::Unnamed(self.count()))?,
        };
        let name = || wish.name.clone().unwrap_or_default();
        let Some(found) = self.get(topology).filter(|one| one.is_there()) else {
            return Err(WishError::NotFound(name()));
        };
        if let Some(problem) = &found.spec.invalid {
            let unsaid = !found.spec.origin.is_ours();
            let problem = unsaid.then(|| problem.clone());
            return Err(WishError::Invalid(name(), problem));
        }
        let level_of = |label: &String| {
            let name = || found.spec.name.clone();
            match &found.network {
                Network::Tree(tree) => found.level(tree, label).ok_or_else(|| {
                    let levels = found.labels();
                    WishError::NoLevel(name(), label.clone(), levels)
                }),
                Network::Graph(_) => Err(WishError::NoLevels(name(), label.clone())),
            }
        };
        wish.preferred_level.as_ref().map(level_of).transpose()?;
        let required = wish.required_level.as_ref().map(level_of).transpose()?;
        let capped = wish.max_hops.map(|most| found.reach_within(most));
        let tier = wish.highest_tier.and_then(|tier| found.within_tier(tier));
        let at_most = required.into_iter().chain(capped).chain(tier).min();
        Ok(Some(Closeness { topology, at_most }))
    }
}

/// Whether who names none may mean this one.
fn counts(spec: &TopologySpec) -> bool {
    spec.invalid.is_none() && spec.origin != Origin::Label
}

impl Network {
    fn new(spec: &TopologySpec, serial: u32) -> Self {
        if spec.links.is_empty() {
            Self::Tree(Tree::new(&spec.levels, serial))
        } else {
            Self::Graph(Graph::new(&spec.links, serial))
        }
    }

    /// Takes over what a node is now: its labels, its HyperNodes or its name.
    fn seat(&mut self, origin: Origin, hyper_nodes: &mut HyperNodes, node: NodeId, nodes: &Nodes) {
        let here = nodes.present().contains(node);
        match self {
            Self::Tree(tree) if origin == Origin::Volcano => {
                let path = hyper_nodes.path(node);
                tree.place(node, Some(&path));
            }
            Self::Tree(tree) => tree.set(node, here.then(|| &nodes.facts(node).labels)),
            Self::Graph(graph) => graph.set(node, here.then(|| nodes.name(node))),
        }
    }

    /// Another whenever a node came into a domain or to a port, or left; no other network ever has the
    /// same.
    #[must_use]
    pub const fn version(&self) -> u64 {
        match self {
            Self::Tree(tree) => tree.version(),
            Self::Graph(graph) => graph.version(),
        }
    }

    /// The largest number of hops between two of some nodes; `None` where two have no path.
    #[must_use]
    pub fn hops(&self, nodes: impl IntoIterator<Item = NodeId>) -> Option<u32> {
        match self {
            Self::Tree(tree) => tree.hops(nodes),
            Self::Graph(graph) => graph.hops(nodes),
        }
    }

    /// Whether no node is anywhere in it.
    fn is_empty(&self) -> bool {
        match self {
            Self::Tree(tree) => tree.is_empty(),
            Self::Graph(graph) => graph.nodes() == 0,
        }
    }

    /// How many nodes are somewhere in it.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        match self {
            Self::Tree(tree) => tree.nodes(),
            Self::Graph(graph) => graph.nodes(),
        }
    }

    /// Calls with the index of each part that has a node and over which sums are kept: its domains, or
    /// its port.
    pub fn for_each_part_with(&self, node: NodeId, mut call: impl FnMut(usize)) {
        match self {
            Self::Tree(tree) => {
                let narrowest = tree.narrowest(node).into_iter();
                let domains = narrowest.flat_map(|id| tree.above(id));
                domains.for_each(|(id, _)| call(id.index()));
            }
            Self::Graph(graph) => graph.port_of(node).iter().for_each(|id| call(id.index())),
        }
    }

    fn described(&self) -> BTreeMap<String, Vec<NodeId>> {
        match self {
            Self::Tree(tree) => tree.described(),
            Self::Graph(graph) => graph.described(),
        }
    }
}

impl Topology {
    /// Its nodes and how far they are from each other.
    #[must_use]
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// The labels of its levels, from the widest on.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let levels = self.spec.levels.iter();
        levels.map(|one| one.label.clone()).collect()
    }

    /// The height of the level of a label.
    fn level(&self, tree: &Tree, label: &str) -> Option<Reach> {
        let mut levels = tree.levels().iter();
        let level = levels.position(|one| one.is_called(label));
        let host = self.spec.levels.last();
        let host = host.filter(|last| last.label == HOSTNAME && last.is_called(label));
        let height = level.map(|level| tree.height(level)).or(host.map(|_| 0))?;
        Reach::try_from(height).ok()
    }

    /// How far a set of nodes may reach of which no two are further apart.
    fn reach_within(&self, most: u32) -> Reach {
        match &self.network {
            Network::Tree(tree) => {
                let heights = (0..=tree.levels().len()).rev();
                let mut fit = heights.filter(|height| tree.hops_at(*height) <= most);
                fit.next()
                    .map_or(0, |height| Reach::try_from(height).unwrap_or(Reach::MAX))
            }
            Network::Graph(_) => most,
        }
    }

    /// How people call a domain of this height: the label of its level, or `node`.
    #[must_use]
    pub fn level_at(&self, height: Reach) -> &str {
        let levels: &[_] = match &self.network {
            Network::Tree(tree) => tree.levels(),
            Network::Graph(_) => &[],
        };
        let level = levels.len().checked_sub(height as usize);
        let level = level.and_then(|level| levels.get(level));
        level.map_or("node", |level| &level.label)
    }

    /// How far the nodes of a HyperNode of this tier or a lower one may reach; `None` where all are:
    /// beyond the highest tier there is, Volcano takes the whole cluster for one HyperNode.
    fn within_tier(&self, tier: u32) -> Option<Reach> {
        let most = level_of_tier(tier, Vec::new()).hops;
        let widest = self.spec.levels.first().map_or(0, |widest| widest.hops);
        (most <= widest).then(|| self.reach_within(most))
    }

    /// Whether it is one. That of a label is as long as a node has the label; each node has its name.
    fn is_there(&self) -> bool {
        let is_hosts = || self.spec.levels.iter().all(|level| level.label == HOSTNAME);
        self.spec.origin != Origin::Label || !self.network.is_empty() || is_hosts()
    }

    /// How people say that pods are that near: `in one rack of Topology fabric`.
    #[must_use]
    pub fn nearness(&self, reach: Reach) -> String {
        let name = &self.spec.name;
        match &self.network {
            _ if reach == 0 => "in one node".to_owned(),
            Network::Tree(_) if self.spec.origin == Origin::Label => {
                format!("in one {}", self.level_at(reach))
            }
            Network::Tree(_) => format!("in one {} of Topology {name}", self.level_at(reach)),
            Network::Graph(_) => format!(
                "within {} in Topology {name}",
                counted(reach as usize, "hop")
            ),
        }
    }
}

/// What news of a node changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    /// A domain has other nodes.
    pub(super) moved: bool,
    /// A topology is there that was not, or is not any more.
    pub(super) declared: bool,
}

/// What a change of HyperNodes moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// Whether there are other tiers than before: all nodes may be elsewhere.
    pub(super) declared: bool,
    /// If not, these nodes are in other domains.
    pub(super) nodes: Vec<NodeId>,
}
