//! How many of the pods that somebody asks about are where: on each node, and on the nodes with each
//! value of a label.
//!
//! Counts follow every pod that takes room or leaves it, so what a transaction takes back is taken back
//! here as well. A choice of pods is counted as long as a pod in the cluster asks about it; where nobody
//! does, nothing is counted and nothing is compared.

mod finder;
mod rules;
mod sparse;

pub use rules::{NearPods, Pull, Rules};

use super::ids::{Id, KeyId, NodeId, PodId, QueryId, Slab, TermId, ValueId};
use super::label_domains::LabelDomains;
use super::nodes::Nodes;
use finder::Finder;
use muster_model::{Counted, PodQuery};
use sparse::Sparse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All counts.
#[derive(Clone, Debug, Default)]
pub struct PodCounts {
    domains: LabelDomains,
    ids: BTreeMap<PodQuery, QueryId>,
    queries: Slab<QueryId, Query>,
    term_ids: BTreeMap<(QueryId, KeyId, Option<Pull>), TermId>,
    terms: Slab<TermId, Term>,
    finder: Finder,
    /// How many queries depend on the labels of namespaces.
    reading_namespaces: u32,
}

/// A choice of pods, and where they are.
#[derive(Clone, Debug, Default)]
struct Query {
    what: PodQuery,
    users: u32,
    /// All that match, with a node or without.
    pods: BTreeSet<PodId>,
    on_node: Sparse,
    sums: Vec<Sums>,
    /// By which of its terms somebody keeps such pods away.
    terms: Vec<TermId>,
    /// By which somebody draws them.
    draws: Vec<TermId>,
}

/// Pods that somebody keeps away from himself or draws, and where those are who do.
#[derive(Clone, Debug)]
struct Term {
    query: QueryId,
    key: KeyId,
    /// How they are drawn; `None` where they are kept away.
    pull: Option<Pull>,
    users: u32,
    holders: Sums,
}

/// Counts by the values of one label.
#[derive(Clone, Debug)]
struct Sums {
    key: KeyId,
    users: u32,
    by_value: Sparse,
    /// How many values have any.
    there: u32,
    /// Another whenever a value that several nodes have gets its first or loses its last; the same again
    /// when that is undone.
    mark: u64,
    /// The same of all values.
    mark_of_all: u64,
}

/// How far a pod is that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Presence {
    /// Room is only held for it.
    pub(super) held: bool,
    /// It is being deleted.
    pub(super) terminating: bool,
}

impl Sums {
    const fn of(key: KeyId) -> Self {
        Self {
            key,
            users: 1,
            by_value: Sparse::new(),
            there: 0,
            mark: 0,
            mark_of_all: 0,
        }
    }

    /// Counts so many pods on a node; says whether a value got its first or lost its last.
    fn change(&mut self, domains: &LabelDomains, node: NodeId, by: u32, more: bool) -> bool {
        let Some(value) = domains.value_of(self.key, node) else {
            return false;
        };
        let now = self.by_value.change(value.index(), by, more);
        let crosses = if more { now == by } else { now == 0 };
        if !crosses {
            return false;
        }
        self.there = if more { self.there + 1 } else { self.there - 1 };
        let digest = digest_of(value);
        self.mark_of_all ^= digest;
        if domains.size(self.key, value) > 1 {
            self.mark ^= digest;
        }
        true
    }

    /// The mark, with whether there is any at all.
    const fn mark_with_any(&self, mark: u64) -> u64 {
        const ANY: u64 = 0x5bd1_e995_7b7d_159d;
        if self.there > 0 { mark ^ ANY } else { mark }
    }
}

/// A number of 64 bits for a value (source: the finaliser of SplitMix64).
const fn digest_of(value: ValueId) -> u64 {
    let mixed = (value.number() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Query {
    const fn counts(&self, presence: Presence) -> bool {
        match self.what.counted {
            Counted::All => true,
            Counted::Placed | Counted::Scored => !presence.held,
            Counted::Staying => !presence.held && !presence.terminating,
        }
    }

    /// The terms of a sort that it has.
    const fn list_of(&mut self, pull: Option<Pull>) -> &mut Vec<TermId> {
        match pull {
            Some(_) => &mut self.draws,
            None => &mut self.terms,
        }
    }

    fn sums(&self, key: KeyId) -> Option<&Sums> {
        self.sums.iter().find(|one| one.key == key)
    }
}

impl PodCounts {
    /// Whether nobody asks about anybody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// The domains of the labels in use.
    #[must_use]
    pub const fn domains(&self) -> &LabelDomains {
        &self.domains
    }

    /// How many of the pods are on a node.
    #[must_use]
    pub fn on_node(&self, query: QueryId, node: NodeId) -> u32 {
        let query = self.queries.get(query);
        query.map_or(0, |query| query.on_node.get(node.index()))
    }

    /// How many are on the nodes with a value of a label.
    #[must_use]
    pub fn in_domain(&self, query: QueryId, key: KeyId, value: ValueId) -> u32 {
        let sums = self.queries.get(query).and_then(|query| query.sums(key));
        sums.map_or(0, |sums| sums.by_value.get(value.index()))
    }

    /// Whether any is on a node that has the label at all.
    #[must_use]
    pub fn is_anywhere(&self, query: QueryId, key: KeyId) -> bool {
        let sums = self.queries.get(query).and_then(|query| query.sums(key));
        sums.is_some_and(|sums| sums.there > 0)
    }

    /// The values of a label with which any is.
    pub fn values_with_any(&self, query: QueryId, key: KeyId) -> impl Iterator<Item = ValueId> {
        self.by_value(query, key).map(|(value, _)| value)
    }

    /// Whom a term keeps away, and within the values of which label.
    #[must_use]
    pub fn term(&self, term: TermId) -> Option<(QueryId, KeyId)> {
        self.terms.get(term).map(|one| (one.query, one.key))
    }

    /// The terms that keep pods of a query away from those who have them.
    #[must_use]
    pub fn terms_of(&self, query: QueryId) -> &[TermId] {
        self.queries.get(query).map_or(&[], |one| &one.terms)
    }

    /// The terms by which pods of a query are drawn to those who have them.
    #[must_use]
    pub fn draws_of(&self, query: QueryId) -> &[TermId] {
        self.queries.get(query).map_or(&[], |one| &one.draws)
    }

    /// How a term draws pods, and within the values of which label.
    #[must_use]
    pub fn pull(&self, term: TermId) -> Option<(Pull, KeyId)> {
        let term = self.terms.get(term)?;
        Some((term.pull?, term.key))
    }

    /// How many pods with a term are on the nodes with each value of its label.
    pub fn holders(&self, term: TermId) -> impl Iterator<Item = (ValueId, u32)> {
        let holders = self.terms.get(term).map(|term| &term.holders);
        let values = holders.into_iter().flat_map(|sums| sums.by_value.iter());
        values.map(|(value, count)| (ValueId::from_index(value), count))
    }

    /// How many pods of a query are on the nodes with each value of a label.
    pub fn by_value(&self, query: QueryId, key: KeyId) -> impl Iterator<Item = (ValueId, u32)> {
        let sums = self.queries.get(query).and_then(|query| query.sums(key));
        let values = sums.into_iter().flat_map(|sums| sums.by_value.iter());
        values.map(|(value, count)| (ValueId::from_index(value), count))
    }

    /// How many pods with a term are on the nodes with a value of its label.
    #[must_use]
    pub fn holders_in(&self, term: TermId, value: ValueId) -> u32 {
        let term = self.terms.get(term);
        term.map_or(0, |term| term.holders.by_value.get(value.index()))
    }

    /// The values with which any pod with a term is.
    pub fn values_with_holders(&self, term: TermId) -> impl Iterator<Item = ValueId> {
        self.holders(term).map(|(value, _)| value)
    }

    /// Another number whenever a node may suit pods with these rules otherwise than before, but for the
    /// nodes that were touched meanwhile; the same again when that is undone.
    #[must_use]
    pub fn basis(&self, rules: &Rules) -> u64 {
        let apart = self.mark_of_apart(rules);
        let near = self.marks_of_near(rules, |sums| sums.mark);
        near.fold(apart, mixed)
    }

    /// Another number whenever pods with these rules may fit where they did not, but for nodes on which
    /// room became free; the same again when that is undone.
    #[must_use]
    pub fn hope(&self, rules: &Rules) -> u64 {
        mixed(self.mark_of_apart(rules), self.hope_by_others(rules))
    }

    /// The same as far as others who get a place can help.
    #[must_use]
    pub fn hope_by_others(&self, rules: &Rules) -> u64 {
        let near = self.marks_of_near(rules, |sums| sums.mark_of_all);
        near.fold(0, mixed)
    }

    fn marks_of_near(
        &self,
        rules: &Rules,
        mark: fn(&Sums) -> u64,
    ) -> impl Iterator<Item = u64> + use<'_> {
        let near = rules.near.iter();
        let sums: Vec<&Sums> = near
            .filter_map(|near| Some((self.queries.get(near.query)?, near)))
            .flat_map(|(query, near)| near.keys.iter().filter_map(|key| query.sums(*key)))
            .collect();
        sums.into_iter()
            .map(move |sums| sums.mark_with_any(mark(sums)))
    }

    fn mark_of_apart(&self, rules: &Rules) -> u64 {
        let apart = rules.apart.iter().filter_map(|term| {
            let (query, key) = self.term(*term)?;
            let sums = self.queries.get(query)?.sums(key)?;
            Some(sums.mark)
        });
        let repelled = rules.repelled_by.iter();
        let repelled = repelled.flat_map(|query| self.terms_of(*query));
        let repelled = repelled.filter_map(|term| Some(self.terms.get(*term)?.holders.mark));
        apart.chain(repelled).fold(0, mixed)
    }

    /// The queries that a pod matches, by its namespace, its labels as text and the values of its
    /// namespace's labels; sorted.
    pub(super) fn matching<'a>(
        &self,
        namespace: &str,
        labels: &str,
        of_namespace: impl Fn(&str) -> Option<&'a str> + Copy,
    ) -> Vec<QueryId> {
        let mut found: Vec<QueryId> = self
            .finder
            .candidates(namespace, labels)
            .into_iter()
            .collect();
        found.retain(|id| {
            let query = self.queries.get(*id);
            query.is_some_and(|query| query.what.matches(namespace, labels, of_namespace))
        });
        found
    }

    /// Those of some queries by which pods are kept away.
    pub(super) fn repelling(&self, queries: &[QueryId]) -> Vec<QueryId> {
        let of_all = |id: &&QueryId| {
            let query = self.queries.get(**id);
            query.is_some_and(|query| query.what.counted == Counted::All)
        };
        queries.iter().filter(of_all).copied().collect()
    }

    /// Whether labels of namespaces decide what is counted.
    pub(super) const fn reads_namespaces(&self) -> bool {
        self.reading_namespaces > 0
    }

    /// What a query asks for.
    pub(super) fn what(&self, query: QueryId) -> Option<&PodQuery> {
        self.queries.get(query).map(|query| &query.what)
    }

    /// The id of a query with one more user, if it is in use.
    pub(super) fn hold(&mut self, what: &PodQuery) -> Option<QueryId> {
        let id = *self.ids.get(what)?;
        self.queries[id].users += 1;
        Some(id)
    }

    /// Begins to count a query, of which nobody is counted yet.
    pub(super) fn introduce(&mut self, what: PodQuery) -> QueryId {
        self.reading_namespaces += u32::from(what.reads_namespaces());
        let id = self.queries.insert(Query {
            what: what.clone(),
            users: 1,
            ..Query::default()
        });
        self.finder.insert(id, &what);
        self.ids.insert(what, id);
        id
    }

    /// One user of a query less. If it was the last, the pods that were counted in it: they are not to
    /// be any more, before the id is given out again by [`PodCounts::forget`].
    pub(super) fn release(&mut self, id: QueryId) -> Option<Vec<PodId>> {
        let query = &mut self.queries[id];
        query.users -= 1;
        if query.users > 0 {
            return None;
        }
        let pods = query.pods.iter().copied().collect();
        let what = query.what.clone();
        self.reading_namespaces -= u32::from(what.reads_namespaces());
        self.finder.remove(id, &what);
        self.ids.remove(&what);
        Some(pods)
    }

    /// A query that nobody asks any more is gone.
    pub(super) fn forget(&mut self, id: QueryId) {
        self.queries.remove(id);
    }

    /// Whether a query counts pods that are so far.
    pub(super) fn counts_such(&self, id: QueryId, presence: Presence) -> bool {
        let query = self.queries.get(id);
        query.is_some_and(|query| query.counts(presence))
    }

    /// Keeps the domains of a label, for one more user.
    pub(super) fn hold_label(&mut self, label: &str, nodes: &Nodes) -> KeyId {
        self.domains.acquire(label, nodes)
    }

    /// One user of a label less.
    pub(super) fn release_label(&mut self, key: KeyId) {
        self.domains.release(key);
    }

    /// Sums a query up by a label's values, for one more user.
    pub(super) fn sum_up(&mut self, id: QueryId, label: &str, nodes: &Nodes) -> KeyId {
        let key = self.domains.acquire(label, nodes);
        let query = &mut self.queries[id];
        if let Some(sums) = query.sums.iter_mut().find(|one| one.key == key) {
            sums.users += 1;
            return key;
        }
        let mut sums = Sums::of(key);
        for (node, count) in query.on_node.iter() {
            sums.change(&self.domains, NodeId::from_index(node), count, true);
        }
        query.sums.push(sums);
        key
    }

    /// One user of such sums less.
    pub(super) fn stop_summing(&mut self, id: QueryId, key: KeyId) {
        let query = &mut self.queries[id];
        if let Some(sums) = query.sums.iter_mut().find(|one| one.key == key) {
            sums.users -= 1;
        }
        query.sums.retain(|one| one.users > 0);
        self.domains.release(key);
    }

    /// The id of a term, with one more user; the term itself keeps the query and its sums in use. `true`
    /// where it is known already, so that the caller's own use of these is one too many.
    pub(super) fn hold_term(
        &mut self,
        query: QueryId,
        key: KeyId,
        pull: Option<Pull>,
    ) -> (TermId, bool) {
        if let Some(id) = self.term_ids.get(&(query, key, pull)) {
            self.terms[*id].users += 1;
            return (*id, true);
        }
        let id = self.terms.insert(Term {
            query,
            key,
            pull,
            users: 1,
            holders: Sums::of(key),
        });
        self.term_ids.insert((query, key, pull), id);
        self.queries[query].list_of(pull).push(id);
        (id, false)
    }

    /// One user of a term less; if it was the last, what it kept in use.
    pub(super) fn release_term(&mut self, id: TermId) -> Option<(QueryId, KeyId)> {
        let term = &mut self.terms[id];
        term.users -= 1;
        if term.users > 0 {
            return None;
        }
        let (query, key, pull) = (term.query, term.key, term.pull);
        self.terms.remove(id);
        self.term_ids.remove(&(query, key, pull));
        let list = self.queries[query].list_of(pull);
        list.retain(|one| *one != id);
        Some((query, key))
    }

    /// Lists a pod with the queries that it matches, or takes it off the list.
    pub(super) fn list(&mut self, pod: PodId, rules: &Rules, listed: bool) {
        for id in &rules.counted_in {
            let Some(query) = self.queries.get_mut(*id) else {
                continue;
            };
            if listed {
                query.pods.insert(pod);
            } else {
                query.pods.remove(&pod);
            }
        }
    }

    /// Counts a pod on a node, or takes it off; says whether that may make a difference elsewhere.
    pub(super) fn count(
        &mut self,
        rules: &Rules,
        node: NodeId,
        presence: Presence,
        more: bool,
    ) -> bool {
        let mut differs = false;
        for id in &rules.counted_in {
            let Some(query) = self.queries.get_mut(*id) else {
                continue;
            };
            if !query.counts(presence) {
                continue;
            }
            query.on_node.change(node.index(), 1, more);
            let decides = query.what.counted != Counted::Scored;
            for sums in &mut query.sums {
                differs |= sums.change(&self.domains, node, 1, more) && decides;
            }
        }
        // Whom room is only held for draws nobody.
        for id in rules.draws.iter().filter(|_| !presence.held) {
            if let Some(term) = self.terms.get_mut(*id) {
                term.holders.change(&self.domains, node, 1, more);
            }
        }
        for id in &rules.apart {
            if let Some(term) = self.terms.get_mut(*id) {
                differs |= term.holders.change(&self.domains, node, 1, more);
            }
        }
        differs
    }

    /// Whether a node has another value of a label in use than is known.
    pub(super) fn differs(&self, node: NodeId, nodes: &Nodes) -> bool {
        self.domains.differs(node, nodes)
    }

    /// Takes over a node's labels, while no pod on it is counted.
    pub(super) fn follow(&mut self, node: NodeId, nodes: &Nodes) {
        self.domains.follow(node, nodes);
    }
}

/// One number of several, in their order.
const fn mixed(sum: u64, one: u64) -> u64 {
    (sum.rotate_left(7) ^ one).wrapping_mul(0x0100_0000_01b3)
}

/// What is checked in tests.
impl PodCounts {
    /// All queries in use.
    pub(super) fn queries(&self) -> impl Iterator<Item = QueryId> {
        self.queries.iter().map(|(id, _)| id)
    }

    /// Whether a query has a pod on its list.
    pub(super) fn lists(&self, query: QueryId, pod: PodId) -> bool {
        let query = self.queries.get(query);
        query.is_some_and(|query| query.pods.contains(&pod))
    }

    /// Counts anew those that have these rules, are so far and on these nodes, and compares. So many
    /// pods ask for each query to be near, of so many nodes.
    pub(super) fn audit(
        &self,
        counted: &[(Arc<Rules>, Presence, NodeId)],
        near: &BTreeMap<QueryId, u32>,
        nodes: usize,
    ) -> Result<(), String> {
        for (id, query) in self.queries.iter() {
            let asked = near.get(&id).copied().unwrap_or(0);
            let terms = query.terms.len() + query.draws.len();
            let terms = u32::try_from(terms).unwrap_or(u32::MAX);
            if query.what.counted != Counted::Staying && query.users != asked + terms {
                let users = query.users;
                return Err(format!("{id:?} has {users} users, not {asked} and {terms}"));
            }
            let own = counted
                .iter()
                .filter(|(rules, presence, _)| rules.is_counted_in(id) && query.counts(*presence));
            let on: Vec<NodeId> = own.map(|(.., node)| *node).collect();
            let mut found: BTreeMap<usize, u32> = BTreeMap::new();
            for node in &on {
                *found.entry(node.index()).or_default() += 1;
            }
            let known: BTreeMap<usize, u32> = query.on_node.iter().collect();
            if known != found || known.keys().any(|node| *node >= nodes) {
                return Err(format!("{id:?}: on nodes {known:?}, not {found:?}"));
            }
            for sums in &query.sums {
                self.audit_sums(&format!("{id:?}"), sums, &on)?;
            }
        }
        for (id, term) in self.terms.iter() {
            let times = |rules: &Rules, presence: &Presence| {
                let drawn = rules.draws.iter().filter(|_| !presence.held);
                let all = rules.apart.iter().chain(drawn);
                all.filter(|one| **one == id).count()
            };
            let on: Vec<NodeId> = counted
                .iter()
                .flat_map(|(rules, presence, node)| {
                    std::iter::repeat_n(*node, times(rules, presence))
                })
                .collect();
            self.audit_sums(&format!("{id:?}"), &term.holders, &on)?;
        }
        Ok(())
    }

    fn audit_sums(&self, of: &str, sums: &Sums, on: &[NodeId]) -> Result<(), String> {
        let mut found: BTreeMap<usize, u32> = BTreeMap::new();
        for node in on {
            if let Some(value) = self.domains.value_of(sums.key, *node) {
                *found.entry(value.index()).or_default() += 1;
            }
        }
        let known: BTreeMap<usize, u32> = sums.by_value.iter().collect();
        if known == found && sums.there as usize == found.len() {
            return Ok(());
        }
        let (there, key) = (sums.there, self.domains.name(sums.key));
        Err(format!(
            "{of} by {key}: {there} of {known:?}, not {found:?}"
        ))
    }
}
