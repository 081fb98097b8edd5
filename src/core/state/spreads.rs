//! Spread over domains: how many of those whom a rule counts are in each domain, and in which domains
//! there may be one more.
//!
//! What a rule says depends on the nodes that count for it, which a pod's constraints may decide, so it
//! belongs to a shape. Equal ones are kept once. A pod that is placed or taken off changes one number;
//! where that turns the verdict on a domain, its nodes are taken in or out as a whole. So there is always
//! a set of the nodes that suit, and a shape without rules costs nothing.

use super::ClusterState;
use super::ids::{ConstraintsId, Id, KeyId, NodeId, QueryId, SpreadId, ValueId};
use super::interner::Interner;
use super::label_domains::LabelDomains;
use super::node_set::NodeSet;
use super::pod_counts::PodCounts;
use muster_model::{HOSTNAME, SpreadRule, digest, labels_match};
use std::collections::BTreeMap;

/// A rule as a shape has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SpreadSpec {
    pub(super) rule: SpreadRule,
    /// The labels without which a node does not count: those of all rules of the shape but of such as nodes
    /// may lack.
    pub(super) keys: Vec<String>,
    /// Whose affinity or tolerations say which nodes count, if any do.
    pub(super) constraints: Option<ConstraintsId>,
    /// Whether it decides on nodes; the others are for scores, and only count.
    pub(super) required: bool,
}

/// All rules in use.
#[derive(Clone, Debug, Default)]
pub struct Spreads {
    specs: Interner<SpreadId, SpreadSpec>,
    /// What is known of each.
    known: Vec<Option<Spread>>,
    /// Those of which nothing is known yet.
    new: Vec<SpreadId>,
    /// What was known of those that nobody uses any more.
    dropped: Vec<Spread>,
    by_query: BTreeMap<QueryId, Vec<SpreadId>>,
}

/// What a node says to a pod with a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evenness {
    /// There may be one more.
    Even,
    /// One more would be too many in its domain.
    Uneven,
    /// It has no such label.
    NoDomain,
}

/// What is known of a rule.
#[derive(Clone, Debug)]
pub struct Spread {
    key: KeyId,
    /// All labels that a node must have to count.
    keys: Vec<KeyId>,
    query: Option<QueryId>,
    max_skew: u32,
    min_domains: u32,
    counts_itself: bool,
    required: bool,
    sums: Sums,
    /// Where it is required: the nodes in whose domain there may be one more, whether they count or not.
    suits: NodeSet,
    /// Another whenever a domain has other pods, comes or goes; the same again when that is undone.
    mark: u64,
}

/// How many there are, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sums {
    /// The nodes that count.
    counted: NodeSet,
    domains: Vec<Domain>,
    /// How many domains with nodes that count have so many pods.
    by_pods: BTreeMap<u32, u32>,
}

/// A domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Domain {
    /// How many of its nodes count.
    nodes: u32,
    /// How many pods there are on those.
    pods: u32,
}

impl Sums {
    fn of(&self, value: ValueId) -> Domain {
        self.domains.get(value.index()).copied().unwrap_or_default()
    }

    fn set(&mut self, value: ValueId, to: Domain) {
        let before = self.of(value);
        if before.nodes > 0 {
            let left = self.by_pods.get_mut(&before.pods);
            let left = left.map(|count| {
                *count -= 1;
                *count
            });
            if left == Some(0) {
                self.by_pods.remove(&before.pods);
            }
        }
        if to.nodes > 0 {
            *self.by_pods.entry(to.pods).or_default() += 1;
        }
        if self.domains.len() <= value.index() {
            self.domains.resize(value.index() + 1, Domain::default());
        }
        self.domains[value.index()] = to;
    }

    /// Whether these are the same: domains without nodes that count are none.
    fn are(&self, other: &Self) -> bool {
        let domains = self.domains.len().max(other.domains.len());
        let mut domains = (0..domains).map(ValueId::from_index);
        self.counted.count_differences(&other.counted) == 0
            && self.by_pods == other.by_pods
            && domains.all(|value| self.of(value) == other.of(value))
    }

    /// How few any domain has; with too few domains none.
    fn fewest(&self, min_domains: u32) -> u32 {
        let domains: u32 = if min_domains > 1 {
            self.by_pods.values().sum()
        } else {
            min_domains
        };
        let fewest = self.by_pods.first_key_value();
        fewest
            .filter(|_| domains >= min_domains)
            .map_or(0, |(pods, _)| *pods)
    }
}

impl Spread {
    /// How many pods a domain may have for one more to be let in (source: kube-scheduler's Filter: those
    /// there, with the pod itself if it is one of them, are at most `maxSkew` ahead of the fewest).
    fn most(&self) -> u32 {
        self.most_with(&self.sums)
    }

    fn most_with(&self, sums: &Sums) -> u32 {
        let fewest = sums.fewest(self.min_domains);
        (self.max_skew + fewest).saturating_sub(u32::from(self.counts_itself))
    }

    /// The nodes in whose domain there may be one more.
    #[must_use]
    pub const fn suits(&self) -> &NodeSet {
        &self.suits
    }

    /// The label whose values are its domains.
    #[must_use]
    pub const fn key(&self) -> KeyId {
        self.key
    }

    /// All labels without which a node does not count.
    #[must_use]
    pub fn keys(&self) -> &[KeyId] {
        &self.keys
    }

    /// Whom it counts; `None` where nobody is.
    #[must_use]
    pub const fn query(&self) -> Option<QueryId> {
        self.query
    }

    /// How many more pods a domain may have than the one with fewest.
    #[must_use]
    pub const fn max_skew(&self) -> u32 {
        self.max_skew
    }

    /// How many pods there are in a domain, on nodes that count.
    #[must_use]
    pub fn pods_in(&self, value: ValueId) -> u32 {
        self.sums.of(value).pods
    }

    /// Gives a domain another number of nodes or pods; says whether that may make a difference to others.
    fn set(&mut self, value: ValueId, to: Domain, labels: &LabelDomains) -> bool {
        if !self.required {
            self.sums.set(value, to);
            return false;
        }
        let (before, most_before) = (self.sums.of(value), self.most());
        self.sums.set(value, to);
        let most = self.most();
        let there = |one: Domain| (one.nodes > 0).then_some(one.pods);
        if there(before) == there(to) {
            return false;
        }
        let digest = |one| there(one).map_or(0, |pods| digest::of(&(value.index(), pods)));
        self.mark ^= digest(before) ^ digest(to);
        if most == most_before {
            if (before.pods <= most) != (to.pods <= most) {
                self.turn(value, to.pods <= most, labels);
            }
            return true;
        }
        for index in 0..self.sums.domains.len() {
            let other = ValueId::from_index(index);
            let pods = self.sums.domains[index].pods;
            let pods_before = if other == value { before.pods } else { pods };
            if (pods_before <= most_before) != (pods <= most) {
                self.turn(other, pods <= most, labels);
            }
        }
        true
    }

    /// Takes the nodes of a domain in or out.
    fn turn(&mut self, value: ValueId, suits: bool, labels: &LabelDomains) {
        let nodes = labels.nodes_with(self.key, value);
        if suits {
            self.suits.add_all(nodes);
        } else {
            self.suits.subtract(nodes);
        }
    }

    /// One pod more on a node, or one less; says whether that may make a difference to others.
    fn count(&mut self, node: NodeId, more: bool, labels: &LabelDomains) -> bool {
        let value = labels.value_of(self.key, node);
        let Some(value) = value.filter(|_| self.sums.counted.contains(node)) else {
            return false;
        };
        let before = self.sums.of(value);
        let pods = match more {
            true => before.pods + 1,
            false => before.pods - 1,
        };
        self.set(value, Domain { pods, ..before }, labels)
    }

    /// A node that was there is not any more, or will be another; says whether that may make a difference to others.
    fn leave(&mut self, node: NodeId, counts: &PodCounts) -> bool {
        let labels = counts.domains();
        let value = labels.value_of(self.key, node);
        let value = value.filter(|_| self.sums.counted.contains(node));
        let turns = value.is_some_and(|value| {
            self.sums.counted.remove(node);
            let before = self.sums.of(value);
            let to = Domain {
                nodes: before.nodes - 1,
                pods: before.pods - self.pods_on(node, counts),
            };
            self.set(value, to, labels)
        });
        self.suits.remove(node);
        turns
    }

    /// A node is there, and counts or not; says whether that may make a difference to others.
    fn join(&mut self, node: NodeId, counted: bool, counts: &PodCounts) -> bool {
        let labels = counts.domains();
        let Some(value) = labels.value_of(self.key, node) else {
            return false;
        };
        let before = self.sums.of(value);
        let turns = counted && {
            self.sums.counted.insert(node);
            let to = Domain {
                nodes: before.nodes + 1,
                pods: before.pods + self.pods_on(node, counts),
            };
            self.set(value, to, labels)
        };
        if self.required {
            let suits = self.sums.of(value).pods <= self.most();
            self.suits.set(node, suits);
        }
        turns
    }

    fn pods_on(&self, node: NodeId, counts: &PodCounts) -> u32 {
        self.query.map_or(0, |query| counts.on_node(query, node))
    }
}

impl Spreads {
    /// What is known of a rule.
    #[must_use]
    pub fn get(&self, id: SpreadId) -> Option<&Spread> {
        self.known.get(id.index())?.as_ref()
    }

    /// The ids of rules that pods with these constraints have, with one more user: of those that decide on
    /// nodes, or of the others.
    pub(super) fn acquire(
        &mut self,
        rules: &[SpreadRule],
        constraints: ConstraintsId,
        required: bool,
    ) -> Vec<SpreadId> {
        let needed = rules.iter().filter(|rule| !rule.label_optional);
        let mut keys: Vec<String> = needed.map(|rule| rule.key.clone()).collect();
        keys.sort();
        keys.dedup();
        let acquire = |rule: &SpreadRule| {
            let honors = rule.honors_affinity || rule.honors_taints;
            let (id, is_new) = self.specs.acquire(&SpreadSpec {
                rule: rule.clone(),
                keys: keys.clone(),
                constraints: honors.then_some(constraints),
                required,
            });
            if is_new {
                self.new.push(id);
            }
            id
        };
        rules.iter().map(acquire).collect()
    }

    /// One user of a rule less.
    pub(super) fn release(&mut self, id: SpreadId) {
        if self.specs.release(id).is_none() {
            return;
        }
        let known = self.known.get_mut(id.index()).and_then(Option::take);
        if let Some(known) = known {
            if let Some(query) = known.query
                && let Some(others) = self.by_query.get_mut(&query)
            {
                others.retain(|other| *other != id);
                if others.is_empty() {
                    self.by_query.remove(&query);
                }
            }
            self.dropped.push(known);
        }
    }

    /// The rule as its pods have it.
    pub(super) fn rule(&self, id: SpreadId) -> Option<&SpreadRule> {
        self.specs.get(id).map(|spec| &spec.rule)
    }

    /// One more of those whom a query counts is on a node, or one less; says whether that may make a difference to others.
    pub(super) fn count(
        &mut self,
        query: QueryId,
        node: NodeId,
        more: bool,
        labels: &LabelDomains,
    ) -> bool {
        let mut turns = false;
        for id in self.by_query.get(&query).into_iter().flatten() {
            if let Some(Some(known)) = self.known.get_mut(id.index()) {
                turns |= known.count(node, more, labels);
            }
        }
        turns
    }

    /// Whether nobody has a rule.
    pub(super) fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    fn mark(&self, rules: &[SpreadId]) -> u64 {
        let marks = rules.iter().filter_map(|id| self.get(*id));
        marks.fold(0, |sum: u64, known| sum.rotate_left(7) ^ known.mark)
    }

    fn keep(&mut self, id: SpreadId, known: Spread) {
        if let Some(query) = known.query {
            self.by_query.entry(query).or_default().push(id);
        }
        if self.known.len() <= id.index() {
            self.known.resize_with(id.index() + 1, || None);
        }
        self.known[id.index()] = Some(known);
    }
}

impl ClusterState {
    /// What is known of a rule that pods of a shape have.
    #[must_use]
    pub fn spread(&self, id: SpreadId) -> Option<&Spread> {
        self.shapes.spreads().get(id)
    }

    /// Another number whenever one of these rules may say something else of a node; the same again when
    /// that is undone.
    #[must_use]
    pub fn mark_of_spread(&self, rules: &[SpreadId]) -> u64 {
        self.shapes.spreads().mark(rules)
    }

    /// What a node says to a pod with a rule.
    #[must_use]
    pub fn evenness(&self, id: SpreadId, node: NodeId) -> Evenness {
        let Some(known) = self.spread(id) else {
            return Evenness::Even;
        };
        if self.label_domains().value_of(known.key, node).is_none() {
            Evenness::NoDomain
        } else if known.suits.contains(node) {
            Evenness::Even
        } else {
            Evenness::Uneven
        }
    }

    /// One more of those whom a query counts is on a node, or one less.
    pub(super) fn count_for_spreads(&mut self, query: QueryId, node: NodeId, more: bool) {
        let spreads = self.shapes.spreads_mut();
        self.changes.pods |= spreads.count(query, node, more, self.counts.domains());
    }

    /// Finds out what there is to know of rules that came into use, and forgets those that went out of it.
    pub(super) fn settle_spreads(&mut self) {
        while let Some(id) = self.shapes.spreads_mut().new.pop() {
            let spreads = self.shapes.spreads();
            let unknown = spreads.get(id).is_none();
            if let Some(spec) = spreads.specs.get(id).filter(|_| unknown).cloned() {
                let known = self.found_spread(&spec);
                self.shapes.spreads_mut().keep(id, known);
            }
        }
        while let Some(known) = self.shapes.spreads_mut().dropped.pop() {
            for key in known.keys.into_iter().chain([known.key]) {
                self.counts.release_label(key);
            }
            if let Some(query) = known.query {
                self.release_query(query);
            }
        }
    }

    /// All that is known of a rule, from scratch. It takes its labels and its query into use.
    fn found_spread(&mut self, spec: &SpreadSpec) -> Spread {
        let rule = &spec.rule;
        let hold = |key: &String| self.counts.hold_label(key, &self.nodes);
        let keys = spec.keys.iter().map(hold).collect();
        let mut known = Spread {
            key: self.counts.hold_label(&rule.key, &self.nodes),
            keys,
            query: rule.pods.clone().map(|pods| self.hold_query(pods)),
            max_skew: rule.max_skew,
            min_domains: rule.min_domains,
            counts_itself: rule.counts_itself,
            required: spec.required,
            sums: Sums::default(),
            suits: NodeSet::default(),
            mark: 0,
        };
        self.sum_up(spec, &mut known);
        known
    }

    /// Counts everything that a rule counts.
    fn sum_up(&self, spec: &SpreadSpec, known: &mut Spread) {
        let labels = self.label_domains();
        let with_label = || {
            let nodes = self.nodes.present().iter();
            nodes.filter_map(|node| Some((node, labels.value_of(known.key, node)?)))
        };
        let mut sums = Sums::default();
        for (node, value) in with_label() {
            if self.counts_for(spec, known, node) {
                sums.counted.insert(node);
                let before = sums.of(value);
                let to = Domain {
                    nodes: before.nodes + 1,
                    pods: before.pods + known.pods_on(node, &self.counts),
                };
                sums.set(value, to);
            }
        }
        let most = known.most_with(&sums);
        let suits = with_label().filter(|_| spec.required);
        let suits = suits.filter(|(_, value)| sums.of(*value).pods <= most);
        let suits = suits.map(|(node, _)| node).collect();
        (known.sums, known.suits) = (sums, suits);
    }

    /// Whether a node counts for a rule (source: kube-scheduler's `calPreFilterState`: it has the labels of
    /// all rules, and the pod's affinity and tolerations allow it, where they are honoured).
    fn counts_for(&self, spec: &SpreadSpec, known: &Spread, node: NodeId) -> bool {
        // Where each node is a domain of its own, scores count its pods themselves.
        if !spec.required && spec.rule.key == HOSTNAME {
            return false;
        }
        let labels = self.label_domains();
        let mut keys = known.keys.iter();
        if !self.nodes.present().contains(node)
            || keys.any(|key| labels.value_of(*key, node).is_none())
        {
            return false;
        }
        let constraints = spec.constraints;
        let constraints = constraints.and_then(|id| self.shapes.constraints(id));
        constraints.is_none_or(|wanted| {
            let (name, facts) = (self.nodes.name(node), self.nodes.facts(node));
            let selected = || {
                wanted.select(name, &facts.labels)
                    && labels_match(&wanted.gang.selector, &facts.labels)
            };
            (!spec.rule.honors_affinity || selected())
                && (!spec.rule.honors_taints || wanted.tolerate(&facts.taints))
        })
    }

    /// A node is about to be another, or to go.
    pub(super) fn leave_spreads(&mut self, node: Option<NodeId>) {
        let Some(node) = node else { return };
        for known in self.shapes.spreads_mut().known.iter_mut().flatten() {
            self.changes.pods |= known.leave(node, &self.counts);
        }
    }

    /// A node is there now, or is another.
    pub(super) fn join_spreads(&mut self, node: NodeId) {
        if self.shapes.spreads().is_empty() {
            return;
        }
        let mut spreads = std::mem::take(self.shapes.spreads_mut());
        for index in 0..spreads.known.len() {
            let spec = spreads.specs.get(SpreadId::from_index(index));
            if let Some((spec, known)) = spec.zip(spreads.known[index].as_mut()) {
                let counted = self.counts_for(spec, known, node);
                self.changes.pods |= known.join(node, counted, &self.counts);
            }
        }
        *self.shapes.spreads_mut() = spreads;
    }

    /// Counts everything anew and compares.
    pub(super) fn audit_spreads(&self) -> Result<(), String> {
        let spreads = self.shapes.spreads();
        for (index, known) in spreads.known.iter().enumerate() {
            let spec = spreads.specs.get(SpreadId::from_index(index));
            let Some((spec, known)) = spec.zip(known.as_ref()) else {
                continue;
            };
            let mut anew = known.clone();
            self.sum_up(spec, &mut anew);
            let key = &spec.rule.key;
            if !anew.sums.are(&known.sums) {
                let (sums, noted) = (&anew.sums, &known.sums);
                return Err(format!(
                    "spread over {key}: sums are {noted:?}, not {sums:?}"
                ));
            }
            if anew.suits.count_differences(&known.suits) > 0 {
                let (suits, noted) = (&anew.suits, &known.suits);
                return Err(format!("spread over {key}: suits {noted:?}, not {suits:?}"));
            }
        }
        Ok(())
    }
}
