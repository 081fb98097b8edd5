//! The cluster as the core knows it, changed in place by events.
//!
//! Events may come in any order between kinds: what names something unknown waits for it. Usage
//! is derived from pods, event by event; [`ClusterState::audit`] derives it anew from scratch.
//!
//! **Invariant:** only [`ClusterState::apply`] and the few setters for the engine (`assume`,
//! `unassume`, `mark_evicting`, ...) change it. Nothing here decides.

mod admission;
mod advice;
mod appeal;
mod audit;
mod budgets;
mod changes;
mod closeness;
mod gangs;
mod ids;
mod kept;
mod label_domains;
mod label_index;
mod membership;
mod near;
mod node_facts;
mod node_set;
mod nodes;
mod nominations;
mod objects;
mod pending;
mod pod_counts;
mod pod_events;
mod pod_facts;
mod pod_rules;
mod pods;
mod queues;
mod settle;
mod shapes;
mod spreads;
mod topologies;
mod touched;
mod volumes;

pub use advice::{Advice, Asking, Said};
pub use appeal::{Appeal, Image};
pub use budgets::DisruptionBudget;
pub use changes::Changes;
pub use gangs::{Counts, Gang, Loss, Shortfall, Subgroup};
pub use ids::{
    ConstraintsId, DomainId, GangId, Id, KeyId, NodeId, PodId, PortId, QueryId, QueueId, ShapeId,
    Slab, SpreadId, TermId, TopologyId, ValueId,
};
pub use kept::{HOLDS, Kept, SLOTS, View};
pub use label_domains::LabelDomains;
pub use node_facts::NodeFacts;
pub use node_set::NodeSet;
pub use nodes::Nodes;
pub use pending::{Class, Pending, Turn, take_turns};
pub use pod_counts::{NearPods, PodCounts, Pull, Rules};
pub use pod_facts::PodFacts;
pub use pods::{Eviction, MAX_SETBACKS, Place, Pod, Setback, Standing};
pub use queues::{
    Account, DEFAULT_HALF_LIFE, Eased, Flow, Holdings, MAX_DEPTH, Misplaced, Queue, Queues,
};
pub use shapes::{Shape, Shapes};
pub use spreads::{Evenness, Spread, Spreads};
pub use topologies::{
    Closeness, Common, Domain, Graph, Limit, NO_PATH, Network, Port, Reach, Topologies, Topology,
    Tree, WishError,
};
pub use touched::Touched;
pub use volumes::{Chosen, Source as VolumeSource, Unmet, Volumes};

use admission::Admission;
use advice::AdviceBook;
use budgets::{Budgets, LabelTexts};
use indexmap::IndexMap;
use kept::KeptRoom;
use muster_model::resources::{Dimension, Dimensions, Request, Tally, Weights, Worth};
use muster_model::units::Time;
use muster_model::{
    Answer, DEFAULT_QUEUE, Event, GangKey, GangSpec, NamespaceSpec, NodeSpec, PriorityClassSpec,
    ProfileId, QuestionId, RemotePoint, Source,
};
use nodes::{NodeChange, Occupant};
use pod_events::PodNames;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Index;

/// All that is known of the cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterState {
    /// When the latest news came.
    now: Time,
    dimensions: Dimensions,
    nodes: Nodes,
    shapes: Shapes,
    pods: Slab<PodId, Pod>,
    pod_names: PodNames,
    /// Pods that are being deleted, or whose eviction is under way.
    departing: BTreeSet<PodId>,
    gangs: Slab<GangId, Gang>,
    gangs_by_key: IndexMap<GangKey, GangId>,
    /// How many pods of gangs take room on a node.
    held: u32,
    arrivals: u64,
    admission: Admission,
    kept: KeptRoom,
    queues: Queues,
    /// What amounts are worth.
    weights: Weights,
    worth: Worth,
    /// What the nodes offered when the weights were found.
    weighed: Option<u64>,
    priority_classes: BTreeMap<String, PriorityClassSpec>,
    namespaces: BTreeMap<String, NamespaceSpec>,
    budgets: Budgets,
    counts: PodCounts,
    topologies: Topologies,
    volumes: Volumes,
    /// What plugins in other processes said.
    advice: AdviceBook,
    label_texts: LabelTexts,
    changes: Changes,
}

/// A gang that must be there.
impl Index<GangId> for ClusterState {
    type Output = Gang;

    fn index(&self, id: GangId) -> &Gang {
        match self.gangs.get(id) {
            Some(gang) => gang,
            None => panic!("{id:?} is gone, and somebody still counts on it"),
        }
    }
}

impl ClusterState {
    /// Takes one piece of news that came at `now`.
    pub fn apply(&mut self, now: Time, event: Event) {
        self.go_on(now);
        match event {
            Event::Is(object) => self.take_object(object),
            Event::Gone(key) => self.forget_object(&key),
            Event::BindResult(key, outcome) => self.bind_result(&key, outcome),
            Event::EvictResult(key, outcome) => self.evict_result(&key, outcome),
            Event::Answer(id, answer) => self.hear_advice(id, answer),
        }
        self.settle_spreads();
    }

    /// What changed since the last call. Only now the ids of what is gone may be given out again.
    pub fn take_changes(&mut self) -> Changes {
        let changes = std::mem::take(&mut self.changes);
        for id in &changes.removed {
            self.gangs.release(*id);
        }
        changes
    }

    /// What changed since it was last taken.
    #[must_use]
    pub const fn changes(&self) -> &Changes {
        &self.changes
    }

    /// The registry of resources.
    #[must_use]
    pub const fn dimensions(&self) -> &Dimensions {
        &self.dimensions
    }

    /// The nodes.
    #[must_use]
    pub const fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The pod shapes in use.
    #[must_use]
    pub const fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// The topologies.
    #[must_use]
    pub const fn topologies(&self) -> &Topologies {
        &self.topologies
    }

    /// The queues.
    #[must_use]
    pub const fn queues(&self) -> &Queues {
        &self.queues
    }

    /// A pod.
    #[must_use]
    pub fn pod(&self, id: PodId) -> Option<&Pod> {
        self.pods.get(id)
    }

    /// All pods.
    pub fn pods(&self) -> impl Iterator<Item = (PodId, &Pod)> {
        self.pods.iter()
    }

    /// A gang.
    #[must_use]
    pub fn gang(&self, id: GangId) -> Option<&Gang> {
        self.gangs.get(id)
    }

    /// All gangs.
    pub fn gangs(&self) -> impl Iterator<Item = (GangId, &Gang)> {
        self.gangs.iter()
    }

    /// How many pods that are not ours take room on a node: they are never asked to leave it.
    #[must_use]
    pub const fn foreign_pods(&self) -> u32 {
        self.nodes.pod_count().saturating_sub(self.held)
    }

    /// Pods that are being deleted, or whose eviction is under way.
    pub fn departing(&self) -> impl Iterator<Item = PodId> {
        self.departing.iter().copied()
    }

    /// What people call a gang: namespace and name of its PodGroup, or of the pod that is a gang
    /// of its own (whose key has the uid for a name).
    #[must_use]
    pub fn gang_title(&self, id: GangId) -> String {
        let Some(gang) = self.gang(id) else {
            return String::new();
        };
        format!("{}/{}", gang.key.namespace, self.gang_name(id))
    }

    /// What it is called in its namespace.
    #[must_use]
    pub fn gang_name(&self, id: GangId) -> &str {
        let Some(gang) = self.gang(id) else {
            return "";
        };
        let single = gang.members.first().filter(|_| gang.is_single());
        let pod = single.and_then(|id| self.pod(*id));
        pod.map_or(&gang.key.name, |pod| &pod.key.name)
    }

    /// The gang of a key.
    #[must_use]
    pub fn find_gang(&self, key: &GangKey) -> Option<GangId> {
        self.gangs_by_key.get(key).copied()
    }

    /// The queue of a gang that was resolved.
    #[must_use]
    pub fn queue_of(&self, id: GangId) -> QueueId {
        match self[id].queue {
            Some(queue) => queue,
            None => panic!("{id:?} has no queue yet"),
        }
    }

    /// The name of a gang's queue.
    #[must_use]
    pub fn queue_name(&self, id: GangId) -> &str {
        let queue = self.gangs.get(id).and_then(|gang| gang.queue);
        let queue = queue.and_then(|queue| self.queues.get(queue));
        queue.map_or("", |queue| &queue.name)
    }

    /// The shape of a pod.
    #[must_use]
    pub fn shape_of(&self, pod: PodId) -> Option<&Shape> {
        self.shapes.get(self.pod(pod)?.shape)
    }

    /// By which profile a gang is scheduled: that of its first member. Others of another profile hold it
    /// back (`MixedProfiles`).
    #[must_use]
    pub fn profile_of(&self, gang: &Gang) -> ProfileId {
        let first = gang.members.first().copied();
        first
            .map(|pod| self.profile_of_pod(pod))
            .unwrap_or_default()
    }

    /// By which profile a pod is scheduled.
    #[must_use]
    pub fn profile_of_pod(&self, pod: PodId) -> ProfileId {
        let shape = self.shape_of(pod);
        shape
            .map(|one| self.shapes.profile(one))
            .unwrap_or_default()
    }

    /// A namespace.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Option<&NamespaceSpec> {
        self.namespaces.get(name)
    }

    /// A priority class.
    #[must_use]
    pub fn priority_class(&self, name: &str) -> Option<&PriorityClassSpec> {
        self.priority_classes.get(name)
    }

    /// Notes the time of a cycle.
    pub fn set_now(&mut self, now: Time) {
        self.go_on(now);
        self.settle();
    }

    /// Has the engine look at a gang again.
    pub fn touch(&mut self, gang: GangId) {
        self.changes.gangs.insert(gang);
    }

    /// Notes nodes on which a pod may fit that did not before.
    pub fn note_room(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        self.changes.nodes.extend(nodes);
    }

    /// What the plugin at a place of the profile says to a gang about nodes for pods of a shape, by the
    /// shape's serial number.
    #[must_use]
    pub fn advice(&self, gang: GangId, shape: u64, plugin: usize) -> Option<&Advice> {
        self.advice.of(gang, shape, plugin)
    }

    /// Notes what a plugin is being asked about nodes.
    pub fn ask_about_nodes(&mut self, asking: Asking, questions: Vec<(QuestionId, RemotePoint)>) {
        self.advice.ask(self.now, &self.nodes, asking, questions);
    }

    /// Whether plugins may be asked for a gang now; else it is in line, and touched when it is its turn.
    pub fn may_ask(&mut self, gang: GangId) -> bool {
        self.advice.has_turn(gang)
    }

    /// No answer came in time.
    pub fn give_up_asking(&mut self, gang: GangId, shape: u64, plugin: usize) {
        self.advice.give_up(self.now, gang, shape, plugin);
    }

    /// Forgets what was said to a gang about other shapes than these.
    pub fn keep_advice(&mut self, gang: GangId, shapes: impl Fn(u64) -> bool) {
        self.advice.keep_only(gang, shapes);
    }

    /// Forgets all that was said to a gang.
    pub fn forget_advice(&mut self, gang: GangId) {
        self.advice.forget(gang);
    }

    /// Takes what a plugin says of nodes.
    fn hear_advice(&mut self, id: QuestionId, answer: Answer) {
        let told = self.advice.answer(self.now, &self.nodes, id, answer);
        let next = self.advice.next_in_line();
        for gang in told.into_iter().chain(next) {
            self.touch(gang);
        }
    }

    fn upsert_node(&mut self, spec: NodeSpec) {
        let was_deleted = self
            .nodes
            .find(&spec.name)
            .filter(|id| self.nodes.is_deleted(*id));
        let (offer, facts) = (self.nodes.offer_version(), self.nodes.version());
        self.leave_spreads(self.nodes.changing(&spec));
        let (id, change) = self.nodes.upsert(spec, &mut self.dimensions);
        if self.nodes.offer_version() != offer {
            self.disturb_kept(id);
        }
        if change == NodeChange::CanHelp {
            self.changes.nodes.insert(id);
        }
        if self.nodes.version() != facts {
            self.tell_topologies(id);
            self.follow_labels(id);
            self.join_spreads(id);
        }
        if was_deleted.is_some() {
            self.node_came_or_went(id, true);
        }
    }

    fn remove_node(&mut self, name: &str) {
        self.leave_spreads(self.nodes.find(name));
        if let Some(id) = self.nodes.remove(name) {
            self.changes.nodes.remove(&id);
            self.disturb_kept(id);
            self.tell_topologies(id);
            self.follow_labels(id);
            for pod in self.nodes.pods(id).to_vec() {
                let pod = self.pods.get(pod).filter(|pod| pod.nominated == Some(id));
                if let Some(gang) = pod.and_then(|pod| pod.gang) {
                    self.touch(gang);
                }
            }
            self.node_came_or_went(id, false);
        }
    }

    fn upsert_definition(&mut self, spec: GangSpec) {
        let id = self.gang_slot(&spec.key);
        let Some(gang) = self.gangs.get_mut(id) else {
            return;
        };
        gang.submitted_at(spec.created);
        match gang
            .definitions
            .binary_search_by_key(&spec.source, |one| one.source)
        {
            Ok(index) if gang.definitions[index] == spec => return,
            Ok(index) => gang.definitions[index] = spec,
            Err(index) => gang.definitions.insert(index, spec),
        }
        self.redefine(id);
    }

    fn remove_definition(&mut self, key: &GangKey, source: Source) {
        let Some(id) = self.find_gang(key) else {
            return;
        };
        let Some(gang) = self.gangs.get_mut(id) else {
            return;
        };
        let before = gang.definitions.len();
        gang.definitions.retain(|one| one.source != source);
        if gang.definitions.len() != before {
            self.redefine(id);
            self.forget_gang_if_unused(id);
        }
    }

    /// Takes over what the definition that counts says now.
    fn redefine(&mut self, id: GangId) {
        let spec = self.gangs.get(id).and_then(Gang::definition);
        let amounts = spec.map(|spec| spec.min_resources.clone());
        let min_resources = self.request_of(&amounts.unwrap_or_default());
        let Some(gang) = self.gangs.get_mut(id) else {
            return;
        };
        if gang.min_resources != min_resources {
            gang.min_resources = min_resources;
            self.book(id);
            self.changes.room_set_free = true;
        }
        self.regroup(id);
    }

    /// Sorts the members of a gang into its subgroups as its definition wants them now.
    fn regroup(&mut self, id: GangId) {
        self.touch(id);
        let account = self.close_account(id);
        let gang = &mut self.gangs[id];
        gang.subgroups = gang.subgroups_wanted();
        gang.strays = Counts::default();
        gang.in_use = Tally::default();
        self.held -= std::mem::take(&mut gang.holding);
        let gang = &mut self.gangs[id];
        let members: Vec<PodId> = std::mem::take(&mut gang.members).into_iter().collect();
        gang.pending = Pending::default();
        for member in members {
            self.join_gang(member, id, Some(id));
        }
        if let Some((queue, lifetime)) = account {
            self.open_account(id, queue, lifetime);
        }
    }

    /// The gang of a key, made now if need be.
    fn gang_slot(&mut self, key: &GangKey) -> GangId {
        if let Some(id) = self.find_gang(key) {
            return id;
        }
        let id = self.gangs.insert(Gang::new(key.clone(), self.arrivals));
        self.arrivals += 1;
        self.gangs_by_key.insert(key.clone(), id);
        self.touch(id);
        id
    }

    fn forget_gang_if_unused(&mut self, id: GangId) {
        let unused = |gang: &Gang| gang.members.is_empty() && gang.definitions.is_empty();
        if !self.gangs.get(id).is_some_and(unused) {
            return;
        }
        self.expel(id);
        self.advice.forget(id);
        if let Some(gang) = self.gangs.vacate(id) {
            if let Some(queue) = gang.queue {
                self.queues.leave(queue, id);
            }
            self.gangs_by_key.swap_remove(&gang.key);
            self.changes.gangs.remove(&id);
            self.changes.removed.push(id);
        }
    }

    fn request_of(&mut self, amounts: &[(String, i64)]) -> Request {
        let dimensions = &mut self.dimensions;
        let known = |(name, amount): &(String, i64)| {
            let checked = dimensions.is_checked(name);
            Some((checked.then(|| dimensions.register(name))??, *amount))
        };
        Request::new(
            amounts
                .iter()
                .filter_map(known)
                .collect::<Vec<(Dimension, i64)>>(),
        )
    }

    /// Finds a gang's queue, lifetime and priority from what names them now.
    pub fn resolve(&mut self, id: GangId) {
        if self.gangs.get(id).is_some() {
            self.resolve_queue(id);
            self.resolve_lifetime(id);
            self.resolve_priority(id);
            self.note_work(id);
        }
    }

    /// Notes whether a gang has work for its queue.
    fn note_work(&mut self, id: GangId) {
        let works = self.has_work(id);
        if let Some(queue) = self.gangs.get(id).and_then(|gang| gang.queue) {
            self.queues.note_work(queue, id, works);
        }
    }

    /// Whether it has a member that has not ended, or room is set aside for it.
    fn has_work(&self, id: GangId) -> bool {
        let lives = |gang: &Gang| {
            let counts = gang.counts();
            counts.all() > counts.of(Standing::Succeeded) + counts.of(Standing::Failed)
        };
        self.admission.has(id) || self.gangs.get(id).is_some_and(lives)
    }

    fn resolve_queue(&mut self, id: GangId) {
        let Some(gang) = self.gangs.get(id) else {
            return;
        };
        let label = gang
            .members
            .first()
            .and_then(|pod| self.pods.get(*pod)?.facts.queue.as_deref());
        let namespace = self.namespaces.get(&gang.key.namespace);
        let namespace = namespace.and_then(|one| one.queue.as_deref());
        let wanted = gang.queue_wanted(label, namespace);
        let wanted = wanted.unwrap_or(DEFAULT_QUEUE);
        let old = gang.queue;
        let known = old.and_then(|old| self.queues.get(old));
        if known.is_some_and(|queue| *queue.name == *wanted) {
            return;
        }
        let new = self.queues.join(wanted, id);
        self.close_account(id);
        if let Some(old) = old {
            self.queues.leave(old, id);
        }
        self.gangs[id].queue = Some(new);
    }

    /// A gang's own number, else its class, else the highest of its pods, else the cluster's
    /// default class, else zero.
    fn resolve_priority(&mut self, id: GangId) {
        let Some(gang) = self.gangs.get(id) else {
            return;
        };
        let spec = gang.definition();
        let class = spec.and_then(|spec| spec.priority_class.clone());
        let (priority, unknown) = match (spec.and_then(|spec| spec.priority), class) {
            (Some(number), _) => (number, None),
            (None, Some(class)) => match self.priority_class(&class) {
                Some(known) => (known.value, None),
                None => (0, Some(class)),
            },
            (None, None) => self.highest_priority(&gang.members),
        };
        if let Some(gang) = self.gangs.get_mut(id) {
            gang.priority = priority;
            gang.unknown_priority_class = unknown;
        }
    }

    /// Whether a gang makes nobody go: so says the class its PodGroup names, else one of its pods.
    #[must_use]
    pub fn never_preempts(&self, id: GangId) -> bool {
        let Some(gang) = self.gangs.get(id) else {
            return false;
        };
        let spec = gang.definition();
        if let Some(class) = spec.and_then(|spec| spec.priority_class.as_deref()) {
            return self
                .priority_class(class)
                .is_some_and(|class| class.never_preempts);
        }
        let mut classes = self.priority_classes.values();
        let default = classes.find(|class| class.global_default);
        let never = |pod: &Pod| {
            pod.facts.never_preempts.unwrap_or_else(|| {
                let class = pod.facts.priority_class.as_deref();
                let class = class.map_or(default, |name| self.priority_class(name));
                class.is_some_and(|class| class.never_preempts)
            })
        };
        let mut members = gang.members.iter().filter_map(|id| self.pods.get(*id));
        members.any(never)
    }

    fn highest_priority<'a>(
        &self,
        pods: impl IntoIterator<Item = &'a PodId>,
    ) -> (i32, Option<String>) {
        let default = self
            .priority_classes
            .values()
            .find(|class| class.global_default);
        let default = default.map_or(0, |class| class.value);
        let (mut highest, mut unknown) = (None, None);
        for pod in pods.into_iter().filter_map(|id| self.pods.get(*id)) {
            let class = pod.facts.priority_class.as_deref();
            let priority = match (pod.facts.priority, class) {
                (Some(number), _) => number,
                (None, None) => default,
                (None, Some(class)) => match self.priority_class(class) {
                    Some(known) => known.value,
                    None => {
                        unknown = Some(class.to_owned());
                        continue;
                    }
                },
            };
            highest = highest.max(Some(priority));
        }
        (highest.unwrap_or(default), unknown)
    }

    fn touch_queue(&mut self, id: QueueId) {
        if let Some(queue) = self.queues.get(id) {
            self.changes.gangs.extend(queue.gangs.iter().copied());
        }
    }

    fn touch_all_gangs(&mut self) {
        self.changes
            .gangs
            .extend(self.gangs.iter().map(|(id, _)| id));
    }

    fn touch_namespace(&mut self, name: &str, spec: Option<NamespaceSpec>) {
        let counts = |spec: Option<&NamespaceSpec>| {
            spec.map(|one| (one.queue.clone(), one.labels.clone()))
                .filter(|(queue, labels)| queue.is_some() || !labels.is_empty())
        };
        let changed = counts(self.namespaces.get(name)) != counts(spec.as_ref());
        match spec {
            Some(spec) => self.namespaces.insert(name.to_owned(), spec),
            None => self.namespaces.remove(name),
        };
        if changed {
            self.match_namespace_anew(name);
            let inside = self
                .gangs
                .iter()
                .filter(|(_, gang)| gang.key.namespace == name);
            self.changes.gangs.extend(inside.map(|(id, _)| id));
        }
    }
}
