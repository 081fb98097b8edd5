//! Volcano's HyperNodes: which nodes are in which, and what is odd about them.
//!
//! A node is in the HyperNodes that choose it, and in those of which these are members, as far as
//! tiers rise: so there are no circles. Of each tier one counts, that of the lowest name; these are
//! the node's values of the levels, as labels are elsewhere. What a HyperNode or a node changes is
//! looked at, and no more.

use super::by_label::ByLabel;
use crate::state::ids::NodeId;
use crate::state::nodes::Nodes;
use muster_model::{HyperNodeSpec, Labels, Level, MAX_TIERS, NodeChoice, level_of_tier};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// The names of HyperNodes.
type Names = BTreeSet<String>;

/// All HyperNodes.
#[derive(Clone, Debug, Default)]
pub(super) struct HyperNodes {
    all: BTreeMap<String, HyperNode>,
    /// Those that say that one is their member, whether it is there or not.
    parents: BTreeMap<String, Names>,
    /// Those that choose a node by its name, whether it is there or not.
    by_name: BTreeMap<String, Names>,
    /// Those that choose nodes with this label and value.
    by_label: BTreeMap<String, BTreeMap<String, Names>>,
    /// The nodes that have such labels.
    labelled: ByLabel,
    /// Those that have to be asked about every node.
    by_asking: Names,
    /// Those that choose a node themselves.
    choosers: BTreeMap<NodeId, Names>,
    /// Nodes that are in two of one tier.
    in_two: BTreeMap<NodeId, InTwo>,
    /// How many there are of each tier, by the names they give it.
    tiers: BTreeMap<u32, BTreeMap<Option<String>, u32>>,
    /// Rises when something odd may have come or gone.
    version: u64,
    /// What is odd, once somebody asked for it.
    doubts: OnceLock<Vec<String>>,
}

#[derive(Clone, Debug)]
struct HyperNode {
    spec: HyperNodeSpec,
    /// The nodes that it chooses itself.
    nodes: BTreeSet<NodeId>,
}

/// A node is in two HyperNodes of one tier, and the first counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InTwo {
    tier: u32,
    counts: String,
    other: String,
}

impl HyperNodes {
    /// Takes over a declaration. Returns the nodes whose place may be another; `None` if it is the same
    /// declaration as before.
    pub(super) fn upsert(
        &mut self,
        spec: HyperNodeSpec,
        nodes: &Nodes,
    ) -> Option<BTreeSet<NodeId>> {
        if self.all.get(&spec.name).is_some_and(|one| one.spec == spec) {
            return None;
        }
        let mut moved = self.remove(&spec.name).unwrap_or_default();
        let name = spec.name.clone();
        self.note_odd();
        self.index(&spec, true);
        for (key, _) in spec.nodes.iter().filter_map(NodeChoice::label) {
            self.labelled.follow(key, nodes);
        }
        let chosen = self.chosen(&spec, nodes);
        for node in &chosen {
            self.choosers.entry(*node).or_default().insert(name.clone());
        }
        let one = HyperNode {
            spec,
            nodes: chosen,
        };
        self.all.insert(name.clone(), one);
        moved.extend(self.nodes_within(&name));
        Some(moved)
    }

    /// It is gone. Returns the nodes that were in it; `None` if it was not there.
    pub(super) fn remove(&mut self, name: &str) -> Option<BTreeSet<NodeId>> {
        let moved = self.nodes_within(name);
        let gone = self.all.remove(name)?;
        self.note_odd();
        self.index(&gone.spec, false);
        for node in gone.nodes {
            take(&mut self.choosers, &node, name);
        }
        Some(moved)
    }

    /// Notes by what it is found, or forgets it.
    fn index(&mut self, spec: &HyperNodeSpec, is_there: bool) {
        let name = &spec.name;
        let put = |names: &mut BTreeMap<String, Names>, key: &str| {
            if is_there {
                names
                    .entry(key.to_owned())
                    .or_default()
                    .insert(name.clone());
            } else {
                take(names, key, name);
            }
        };
        for member in &spec.members {
            put(&mut self.parents, member);
        }
        for choice in &spec.nodes {
            if let NodeChoice::Named(node) = choice {
                put(&mut self.by_name, node);
            } else if let Some((key, value)) = choice.label() {
                let values = self.by_label.entry(key.to_owned()).or_default();
                put(values, value);
                if values.is_empty() {
                    self.by_label.remove(key);
                    self.labelled.forget(key);
                }
            } else if is_there {
                self.by_asking.insert(name.clone());
            } else {
                self.by_asking.remove(name);
            }
        }
        let of_tier = self.tiers.entry(spec.tier).or_default();
        let count = of_tier.entry(spec.tier_name.clone()).or_default();
        if is_there {
            *count += 1;
            return;
        }
        *count = count.saturating_sub(1);
        if *count == 0 {
            of_tier.remove(&spec.tier_name);
        }
        if of_tier.is_empty() {
            self.tiers.remove(&spec.tier);
        }
    }

    /// Hears of a node that came, changed or went.
    pub(super) fn hear(&mut self, node: NodeId, name: &str, labels: Option<&Labels>) {
        if self.all.is_empty() {
            return;
        }
        self.labelled.hear(node, labels);
        let now = labels.map_or_else(Names::new, |labels| self.who_chooses(name, labels));
        let before = self.choosers.remove(&node).unwrap_or_default();
        for left in before.difference(&now) {
            if let Some(one) = self.all.get_mut(left) {
                one.nodes.remove(&node);
            }
        }
        for joined in now.difference(&before) {
            if let Some(one) = self.all.get_mut(joined) {
                one.nodes.insert(node);
            }
        }
        // Whether a node is there matters to those that name it. Of one that is gone the name may be.
        if before != now && (labels.is_none() || self.by_name.contains_key(name)) {
            self.note_odd();
        }
        if !now.is_empty() {
            self.choosers.insert(node, now);
        }
    }

    /// The HyperNodes that choose a node of this name and these labels.
    fn who_chooses(&self, name: &str, labels: &Labels) -> Names {
        let by_name = self.by_name.get(name).into_iter().flatten();
        let by_label = labels.iter().filter_map(|(key, value)| {
            let values = self.by_label.get(key)?;
            values.get(value)
        });
        let asked = by_name.chain(by_label.flatten()).chain(&self.by_asking);
        let asked: BTreeSet<&String> = asked.collect();
        let chooses = |one: &&String| {
            let found = self.all.get(*one);
            found.is_some_and(|one| one.spec.chooses(name, labels))
        };
        asked.into_iter().filter(chooses).cloned().collect()
    }

    /// The nodes in it and in its members.
    fn nodes_within(&self, name: &str) -> BTreeSet<NodeId> {
        let mut nodes = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut next: Vec<&str> = vec![name];
        while let Some(name) = next.pop() {
            let Some(one) = self.all.get(name).filter(|_| seen.insert(name)) else {
                continue;
            };
            nodes.extend(&one.nodes);
            let members = one.spec.members.iter().map(String::as_str);
            next.extend(members.filter(|member| self.is_within(member, &one.spec)));
        }
        nodes
    }

    /// Whether a member is there and of a lower tier.
    fn is_within(&self, member: &str, parent: &HyperNodeSpec) -> bool {
        let member = self.all.get(member);
        member.is_some_and(|member| member.spec.tier < parent.tier)
    }

    /// The levels, from the widest on.
    pub(super) fn levels(&self) -> Vec<Level> {
        let lowest = self.tiers.iter().take(MAX_TIERS);
        let levels = lowest.map(|(tier, names)| {
            let names = names.keys().flatten().cloned().collect();
            level_of_tier(*tier, names)
        });
        let mut levels: Vec<Level> = levels.collect();
        levels.reverse();
        levels
    }

    /// The HyperNodes of a node: their levels and names, from the widest on.
    pub(super) fn path(&mut self, node: NodeId) -> Vec<(usize, &str)> {
        let (by_tier, in_two) = self.found(node);
        let known = self.in_two.get(&node);
        if known != in_two.as_ref() {
            self.note_odd();
            match in_two {
                Some(in_two) => _ = self.in_two.insert(node, in_two),
                None => _ = self.in_two.remove(&node),
            }
        }
        let widest = self.tiers.len().min(MAX_TIERS);
        let tiers = self.tiers.keys().take(MAX_TIERS).enumerate();
        let named = tiers.filter_map(|(index, tier)| {
            let (name, _) = self.all.get_key_value(by_tier.get(tier)?)?;
            Some((widest - 1 - index, name.as_str()))
        });
        let mut path: Vec<(usize, &str)> = named.collect();
        path.reverse();
        path
    }

    /// Of each tier the HyperNode that counts for a node; and of the lowest tier with two of them, these.
    fn found(&self, node: NodeId) -> (BTreeMap<u32, String>, Option<InTwo>) {
        let mut by_tier: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
        let choosers = self.choosers.get(&node).into_iter().flatten();
        let mut next: Vec<&str> = choosers.map(String::as_str).collect();
        while let Some(name) = next.pop() {
            let Some(one) = self.all.get(name) else {
                continue;
            };
            let tier = one.spec.tier;
            if !by_tier.entry(tier).or_default().insert(&one.spec.name) {
                continue;
            }
            let parents = self.parents.get(name).into_iter().flatten();
            let higher = |parent: &&String| {
                let parent = self.all.get(*parent);
                parent.is_some_and(|parent| parent.spec.tier > tier)
            };
            next.extend(parents.filter(higher).map(String::as_str));
        }
        let mut two = by_tier.iter().filter_map(|(tier, names)| {
            let mut names = names.iter();
            Some(InTwo {
                tier: *tier,
                counts: (*names.next()?).to_owned(),
                other: (*names.next()?).to_owned(),
            })
        });
        let two = two.next();
        let first = |(tier, names): (u32, BTreeSet<&str>)| {
            let name = names.first()?;
            Some((tier, (*name).to_owned()))
        };
        (by_tier.into_iter().filter_map(first).collect(), two)
    }

    /// Something odd may have come or gone.
    fn note_odd(&mut self) {
        self.version += 1;
        self.doubts = OnceLock::new();
    }

    /// Another whenever something odd may have come or gone.
    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    /// What an admin may not have meant: of each kind the first, and how many more there are.
    pub(super) fn doubts(&self, nodes: &Nodes) -> &[String] {
        self.doubts.get_or_init(|| self.find_doubts(nodes))
    }

    fn find_doubts(&self, nodes: &Nodes) -> Vec<String> {
        let all = || self.all.values().map(|one| &one.spec);
        let problems = all().flat_map(|one| {
            let of_one = one.problems.iter();
            of_one.map(move |problem| format!("HyperNode {}: {problem}", one.name))
        });
        let members = || all().flat_map(|one| one.members.iter().map(move |name| (one, name)));
        let missing = members().filter(|(_, name)| !self.all.contains_key(*name));
        let missing = missing.map(|(one, name)| {
            format!("HyperNode {name}, a member of {}, does not exist", one.name)
        });
        let not_lower = members().filter_map(|(one, name)| {
            let member = &self.all.get(name)?.spec;
            let (tier, of_one) = (member.tier, one.tier);
            (tier >= of_one).then(|| {
                format!(
                    "HyperNode {name} of tier {tier} is no member of {} of tier {of_one}, although that \
                     says so: a member's tier is lower",
                    one.name
                )
            })
        });
        let is_there = |name: &str| {
            let node = nodes.find(name);
            node.is_some_and(|node| nodes.present().contains(node))
        };
        let unknown = self.by_name.iter().filter(|(node, _)| !is_there(node));
        let unknown = unknown.filter_map(|(node, names)| {
            let name = names.first()?;
            Some(format!("node {node}, a member of {name}, does not exist"))
        });
        let in_two = self.in_two.iter().map(|(node, two)| {
            format!(
                "node {} is in two HyperNodes of tier {}, {} and {}: the first counts",
                nodes.name(*node),
                two.tier,
                two.counts,
                two.other
            )
        });
        let beyond = self.tiers.keys().skip(MAX_TIERS).map(|tier| {
            format!("tier {tier} is beyond the {MAX_TIERS} lowest: its HyperNodes do not count")
        });
        let kinds = [
            first_of(problems),
            first_of(missing),
            first_of(not_lower),
            first_of(unknown),
            first_of(in_two),
            first_of(beyond),
        ];
        kinds.into_iter().flatten().collect()
    }

    /// Makes all of it anew.
    pub(super) fn anew(&self, nodes: &Nodes) -> Self {
        let mut anew = Self::default();
        for one in self.all.values() {
            anew.upsert(one.spec.clone(), nodes);
        }
        for node in nodes.present().iter() {
            anew.path(node);
        }
        anew
    }

    /// What is derived, to be compared.
    pub(super) fn described(&self) -> String {
        let nodes = self.all.iter().map(|(name, one)| (name, &one.nodes));
        let nodes: Vec<_> = nodes.collect();
        let labelled = self.labelled.described();
        format!(
            "{nodes:?} {:?} {:?} {:?} {labelled}",
            self.choosers, self.in_two, self.tiers
        )
    }

    /// The nodes that a HyperNode chooses itself.
    fn chosen(&self, spec: &HyperNodeSpec, nodes: &Nodes) -> BTreeSet<NodeId> {
        let present = nodes.present();
        let chooses = |node: &NodeId| {
            let labels = &nodes.facts(*node).labels;
            present.contains(*node) && spec.chooses(nodes.name(*node), labels)
        };
        let mut candidates = BTreeSet::new();
        for choice in &spec.nodes {
            if let NodeChoice::Named(name) = choice {
                candidates.extend(nodes.find(name));
            } else if let Some((key, value)) = choice.label() {
                candidates.extend(self.labelled.with(key, value));
            } else {
                return present.iter().filter(chooses).collect();
            }
        }
        candidates.retain(chooses);
        candidates
    }
}

/// Takes a name out of those of a key.
fn take<K, Q>(names: &mut BTreeMap<K, Names>, key: &Q, name: &str)
where
    K: Ord + Borrow<Q>,
    Q: Ord + ?Sized,
{
    if let Some(of_key) = names.get_mut(key) {
        of_key.remove(name);
        if of_key.is_empty() {
            names.remove(key);
        }
    }
}

/// The first of some sentences, and how many more there are.
fn first_of(mut sentences: impl Iterator<Item = String>) -> Option<String> {
    let first = sentences.next()?;
    Some(match sentences.count() {
        0 => first,
        more => format!("{first} (and {more} more like that)"),
    })
}
