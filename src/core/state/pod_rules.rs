//! Rules about other pods, as shapes have them: whom a pod asks about, and who asks about it.
//!
//! Which pods a query is about hangs on their labels and on those of their namespaces. A pod that a
//! query in use is about has that in its shape: so who asks for nothing, and about whom nobody asks, has
//! the shape he would have without any of this.

use super::ClusterState;
use super::ids::{KeyId, NodeId, PodId, QueryId, ShapeId, TermId};
use super::label_domains::LabelDomains;
use super::pod_counts::{NearPods, PodCounts, Presence, Pull, Rules};
use super::pods::Pod;
use muster_model::{Counted, METADATA_NAME, NamespaceSpec, PodQuery, PodRules, PodSpec, PodTerm};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The value of a label of a namespace. One that was not heard of yet has the label that all have.
fn label_of<'a>(name: &'a str, spec: Option<&'a NamespaceSpec>, key: &str) -> Option<&'a str> {
    if key == METADATA_NAME {
        return Some(name);
    }
    spec?.labels.get(key).map(String::as_str)
}

impl ClusterState {
    /// How many pods that somebody asks about are where.
    #[must_use]
    pub const fn counts(&self) -> &PodCounts {
        &self.counts
    }

    /// Which nodes are together by the labels that somebody asks about.
    #[must_use]
    pub const fn label_domains(&self) -> &LabelDomains {
        self.counts.domains()
    }

    /// Whether pods that somebody asks about are in other domains than when this was last asked.
    pub fn take_pods_changed(&mut self) -> bool {
        std::mem::take(&mut self.changes.pods)
    }

    /// Has it looked at again.
    pub fn note_pods_changed(&mut self) {
        self.changes.pods = true;
    }

    /// What a pod asks of others, with one more user each, and who asks about it.
    pub(super) fn rules_of(&mut self, spec: &PodSpec) -> Option<Arc<Rules>> {
        if spec.shape.pods.is_empty() && self.counts.is_empty() {
            return None;
        }
        let (affinity, anti_affinity) = (
            spec.shape.pods.affinity.clone(),
            spec.shape.pods.anti_affinity.clone(),
        );
        let near = (!affinity.is_empty()).then(|| {
            let query = self.hold_query(PodQuery::of_all(&affinity, Counted::Placed));
            let labels: BTreeSet<&str> = affinity
                .iter()
                .map(|term| term.topology_key.as_str())
                .collect();
            let sum_up = |label: &str| self.counts.sum_up(query, label, &self.nodes);
            let mut keys: Vec<KeyId> = labels.into_iter().map(sum_up).collect();
            keys.sort_unstable();
            NearPods { query, keys }
        });
        let terms: BTreeSet<_> = anti_affinity.into_iter().collect();
        let mut apart: Vec<TermId> = Vec::new();
        for term in &terms {
            let id = self.term_of(term, Counted::All, None);
            // Terms that are written differently may come to the same.
            if apart.contains(&id) {
                self.release_term(id);
            } else {
                apart.push(id);
            }
        }
        apart.sort_unstable();
        let own = Rules {
            near,
            apart,
            likes: self.likes_of(&spec.shape.pods),
            draws: self.draws_of(&spec.shape.pods),
            ..Rules::default()
        };
        let counted_in = self.queries_about(&spec.key.namespace, spec.labels.text());
        let rules = self.about(counted_in, own);
        (!rules.is_empty()).then(|| Arc::new(rules))
    }

    /// Rules with the queries about those who have them.
    fn about(&self, counted_in: Vec<QueryId>, own: Rules) -> Rules {
        Rules {
            repelled_by: self.counts.repelling(&counted_in),
            counted_in,
            ..own
        }
    }

    /// Beside whom a pod had better be, with one more user of each query and its sums.
    fn likes_of(&mut self, rules: &PodRules) -> Vec<(QueryId, KeyId, i64)> {
        let mut likes: Vec<(QueryId, KeyId, i64)> = Vec::new();
        for one in &rules.preferred {
            let query = self.hold_query(PodQuery::of_all([&one.term], Counted::Scored));
            let key = self
                .counts
                .sum_up(query, &one.term.topology_key, &self.nodes);
            let weight = i64::from(one.weight);
            let known = likes
                .iter_mut()
                .find(|like| (like.0, like.1) == (query, key));
            if let Some(known) = known {
                known.2 += weight;
                self.counts.stop_summing(query, key);
                self.release_query(query);
            } else {
                likes.push((query, key, weight));
            }
        }
        likes.sort_unstable();
        likes
    }

    /// Whom a pod draws, with one more user of each term.
    fn draws_of(&mut self, rules: &PodRules) -> Vec<TermId> {
        if !rules.draws {
            return Vec::new();
        }
        let mut pulls: BTreeMap<&PodTerm, Pull> = BTreeMap::new();
        for term in &rules.affinity {
            pulls.entry(term).or_default().required += 1;
        }
        for one in &rules.preferred {
            pulls.entry(&one.term).or_default().preferred += one.weight;
        }
        let mut draws: Vec<TermId> = pulls
            .into_iter()
            .map(|(term, pull)| self.term_of(term, Counted::Scored, Some(pull)))
            .collect();
        draws.sort_unstable();
        draws
    }

    /// The id of a term, with one more user.
    fn term_of(&mut self, term: &PodTerm, counted: Counted, pull: Option<Pull>) -> TermId {
        let query = self.hold_query(PodQuery::of_all([term], counted));
        let key = self.counts.sum_up(query, &term.topology_key, &self.nodes);
        let (id, known) = self.counts.hold_term(query, key, pull);
        if known {
            self.counts.stop_summing(query, key);
            self.release_query(query);
        }
        id
    }

    /// The queries in use that are about a pod with these labels.
    fn queries_about(&self, namespace: &str, labels: &str) -> Vec<QueryId> {
        let known = self.namespaces.get(namespace);
        let label = |key: &str| label_of(namespace, known, key);
        self.counts.matching(namespace, labels, label)
    }

    /// The id of a query, with one more user. Who matches one that is new gets it into his shape.
    pub(super) fn hold_query(&mut self, query: PodQuery) -> QueryId {
        if let Some(id) = self.counts.hold(&query) {
            return id;
        }
        let matches = |pod: &Pod| {
            let known = self.namespaces.get(&pod.key.namespace);
            let label = |key: &str| label_of(&pod.key.namespace, known, key);
            query.matches(&pod.key.namespace, &pod.labels, label)
        };
        let found = self.pods.iter().filter(|(_, pod)| matches(pod));
        let found: Vec<PodId> = found.map(|(id, _)| id).collect();
        let id = self.counts.introduce(query);
        for pod in found {
            self.change_queries(pod, |queries| _ = queries.insert(id));
        }
        id
    }

    pub(super) fn release_query(&mut self, id: QueryId) {
        let Some(pods) = self.counts.release(id) else {
            return;
        };
        for pod in pods {
            self.change_queries(pod, |queries| _ = queries.remove(&id));
        }
        self.counts.forget(id);
    }

    fn release_term(&mut self, id: TermId) {
        if let Some((query, key)) = self.counts.release_term(id) {
            self.counts.stop_summing(query, key);
            self.release_query(query);
        }
    }

    /// One user of a shape less, and of what it asks about.
    pub(super) fn let_go_of_shape(&mut self, id: ShapeId) {
        let rules = self.shapes.get(id).and_then(|shape| shape.rules.clone());
        self.shapes.release(id);
        let Some(rules) = rules else { return };
        if let Some(near) = &rules.near {
            for key in &near.keys {
                self.counts.stop_summing(near.query, *key);
            }
            self.release_query(near.query);
        }
        for (query, key, _) in &rules.likes {
            self.counts.stop_summing(*query, *key);
            self.release_query(*query);
        }
        for term in rules.apart.iter().chain(&rules.draws) {
            self.release_term(*term);
        }
    }

    /// Gives a pod the shape that it has with other queries about it.
    fn change_queries(&mut self, id: PodId, change: impl FnOnce(&mut BTreeSet<QueryId>)) {
        let Some(pod) = self.pods.get(id) else { return };
        let Some(shape) = self.shapes.get(pod.shape) else {
            return;
        };
        let waits = pod.place.node().is_none();
        let (before, old) = (pod.shape, shape.rules.clone());
        let mut queries: BTreeSet<QueryId> = old
            .iter()
            .flat_map(|one| one.counted_in.iter().copied())
            .collect();
        change(&mut queries);
        let queries: Vec<QueryId> = queries.into_iter().collect();
        let own = old.as_deref().cloned().unwrap_or_default();
        let rules = self.about(queries, own);
        let rules = (!rules.is_empty()).then(|| Arc::new(rules));
        if rules == old {
            return;
        }
        self.count_pod(id, false);
        self.list_for_queries(id, false);
        let after = self.shapes.with_rules(before, rules);
        self.change_in_gang(id, |pod| pod.shape = after);
        self.list_for_queries(id, true);
        self.count_pod(id, true);
        let gang = self.pods.get(id).and_then(|pod| pod.gang);
        if let Some(gang) = gang.filter(|_| waits) {
            self.touch(gang);
        }
    }

    /// Lists a pod with the queries about it, or takes it off their lists.
    pub(super) fn list_for_queries(&mut self, id: PodId, listed: bool) {
        let shape = self.shape_of(id);
        if let Some(rules) = shape.and_then(|shape| shape.rules.clone()) {
            self.counts.list(id, &rules, listed);
        }
    }

    /// Counts a pod that takes room on the node where it does, or takes it out of the counts.
    pub(super) fn count_pod(&mut self, id: PodId, more: bool) {
        let Some((pod, node)) = self.pods.get(id).and_then(|pod| Some((pod, pod.room()?))) else {
            return;
        };
        let shape = self.shapes.get(pod.shape);
        let Some(rules) = shape.and_then(|shape| shape.rules.as_ref()) else {
            return;
        };
        let presence = presence_of(pod);
        let differs = self.counts.count(rules, node, presence, more);
        self.changes.pods |= differs;
        if !self.shapes.spreads().is_empty() {
            for query in Arc::clone(rules).counted_in.iter() {
                if self.counts.counts_such(*query, presence) {
                    self.count_for_spreads(*query, node, more);
                }
            }
        }
    }

    /// The labels of a node may be other than before, or it came or went.
    pub(super) fn follow_labels(&mut self, node: NodeId) {
        if !self.counts.differs(node, &self.nodes) {
            return;
        }
        let pods = self.nodes.pods(node).to_vec();
        for pod in &pods {
            self.count_pod(*pod, false);
        }
        self.counts.follow(node, &self.nodes);
        for pod in &pods {
            self.count_pod(*pod, true);
        }
    }

    /// The labels of a namespace are other than before.
    pub(super) fn match_namespace_anew(&mut self, name: &str) {
        if !self.counts.reads_namespaces() {
            return;
        }
        let here = self
            .pods
            .iter()
            .filter(|(_, pod)| pod.key.namespace == name);
        let here: Vec<PodId> = here.map(|(id, _)| id).collect();
        for id in here {
            let Some(labels) = self.pods.get(id).map(|pod| Arc::clone(&pod.labels)) else {
                continue;
            };
            let found = self.queries_about(name, &labels);
            self.change_queries(id, |queries| *queries = found.into_iter().collect());
        }
    }

    /// Derives which pods each query is about, and where they are, from scratch and compares.
    pub(super) fn audit_rules(&self) -> Result<(), String> {
        self.label_domains().audit(&self.nodes)?;
        let mut users: BTreeMap<QueryId, u32> = BTreeMap::new();
        for (id, pod) in self.pods.iter() {
            let key = &pod.key;
            let known = self.namespaces.get(&key.namespace);
            let label = |one: &str| label_of(&key.namespace, known, one);
            let about = self.counts.queries().filter(|id| {
                let what = self.counts.what(*id);
                what.is_some_and(|what| what.matches(&key.namespace, &pod.labels, label))
            });
            let about: Vec<QueryId> = about.collect();
            let rules = self.shapes.get(pod.shape).and_then(|one| one.rules.clone());
            let rules = rules.unwrap_or_default();
            if rules.counted_in != about {
                let noted = &rules.counted_in;
                return Err(format!("pod {key}: counted in {noted:?}, not {about:?}"));
            }
            if let Some(wrong) = about.iter().find(|one| !self.counts.lists(**one, id)) {
                return Err(format!("pod {key}: {wrong:?} does not list it"));
            }
            let asked = rules.near.iter().map(|near| near.query);
            for query in asked.chain(rules.likes.iter().map(|(query, ..)| *query)) {
                *users.entry(query).or_default() += 1;
            }
        }
        let present = |pod: &Pod| Some((presence_of(pod), pod.room()?));
        let counted: Vec<(Arc<Rules>, Presence, NodeId)> = self
            .pods
            .iter()
            .filter_map(|(_, pod)| {
                let (presence, node) = present(pod)?;
                let rules = self.shapes.get(pod.shape)?.rules.clone()?;
                Some((rules, presence, node))
            })
            .collect();
        self.counts.audit(&counted, &users, self.nodes.len())
    }
}

fn presence_of(pod: &Pod) -> Presence {
    Presence {
        held: pod.place.node().is_none(),
        terminating: pod.terminating,
    }
}
