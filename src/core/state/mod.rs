//! The cluster as the core knows it, changed in place by events.
//!
//! Events may come in any order between kinds: what names something unknown waits for it. Usage
//! is derived from pods, event by event; [`ClusterState::audit`] derives it anew from scratch.
//!
//! **Invariant:** only [`ClusterState::apply`] and the few setters for the engine (`assume`,
//! `unassume`, `mark_evicting`, ...) change it. Nothing here decides.

mod advice;
mod appeal;
mod audit;
mod budgets;
mod changes;
mod claim_news;
mod closeness;
mod column;
mod default_spread;
mod gangs;
mod held;
mod holders;
mod ids;
mod interner;
mod kept;
mod label_domains;
mod label_index;
mod log;
mod membership;
mod near;
mod node_facts;
mod node_set;
mod nodes;
mod nominations;
mod objects;
mod others;
mod pending;
mod pod_counts;
mod pod_events;
mod pod_facts;
mod pod_rules;
mod pods;
mod priorities;
mod queue_wishes;
mod queues;
mod retired;
mod settle;
mod shapes;
mod slots;
mod spreads;
mod terms;
mod topologies;
mod unknown;
mod volumes;
mod writes;

pub use advice::{Advice, Asking, Said};
pub use appeal::{Appeal, Image};
pub use budgets::DisruptionBudget;
pub use changes::Changes;
pub use gangs::{Counts, Gang, Loss, Shortfall, Subgroup};
pub use held::{Held, RoomOn};
pub use ids::{
    ConstraintsId, DomainId, GangId, Id, KeyId, NodeId, PodId, PortId, QueryId, QueueId, ShapeId,
    Slab, SpreadId, TermId, TopologyId, ValueId,
};
pub use interner::Gone;
pub use kept::{HOLDS, Kept, SLOTS, View};
pub use label_domains::LabelDomains;
pub use log::{Log, Touched};
pub use node_facts::NodeFacts;
pub use node_set::NodeSet;
pub use nodes::Nodes;
pub use pending::{Class, Pending, Turn, take_turns};
pub use pod_counts::{NearPods, PodCounts, Pull, Rules};
pub use pod_facts::PodFacts;
pub use pods::{Eviction, MAX_SETBACKS, Place, Pod, Setback, Standing};
pub use priorities::Priorities;
pub use queues::{
    Account, Charge, DEFAULT_HALF_LIFE, Eased, Flow, Holdings, MAX_DEPTH, Misplaced, Queue, Queues,
};
pub use shapes::{Shape, Shapes};
pub use slots::{NoSlot, Slot, SlotId};
pub use spreads::{Evenness, Spread, Spreads};
pub use terms::Terms;
pub use topologies::{
    Closeness, Common, Domain, Graph, Limit, NO_PATH, Network, Port, Reach, Topologies, Topology,
    Tree, WishError,
};
pub use volumes::{Chosen, Source as VolumeSource, Unmet, Volumes};
pub use writes::{Outage, WritesKnown};

use advice::AdviceBook;
use budgets::{Budgets, LabelTexts};
use claim_news::ClaimsChanged;
use default_spread::DefaultSpreads;
use held::HeldRoom;
use indexmap::IndexMap;
use kept::KeptRoom;
use muster_model::resources::{Dimensions, Tally, Weights, Worth};
use muster_model::units::{Millis, Time};
use muster_model::{
    Answer, Event, GangKey, GangSpec, NamespaceSpec, NodeSpec, PriorityClassSpec, ProfileId,
    QuestionId, Recalled, RemotePoint, Source, Table, Tables,
};
use nodes::{NodeChange, Occupant};
use others::{Others, define};
use pod_events::PodNames;
use slots::Slots;
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
    /// How many pods there ever were, one that comes to need something else counted anew.
    editions: u64,
    pod_names: PodNames,
    /// Pods that are being deleted, or whose eviction is under way.
    departing: BTreeSet<PodId>,
    /// Who asks for resources that no node has.
    unknown: unknown::Unknown,
    /// Who names queues in the words of other schedulers.
    queue_wishes: queue_wishes::QueueWishes,
    gangs: Slab<GangId, Gang>,
    gangs_by_key: IndexMap<GangKey, GangId>,
    others: Others,
    /// How many pods of gangs take room on a node.
    held: u32,
    arrivals: u64,
    held_room: HeldRoom,
    slots: Slots,
    kept: KeptRoom,
    queues: Queues,
    /// What amounts are worth.
    weights: Weights,
    worth: Worth,
    /// What the nodes offered when the weights were found.
    weighed: Option<u64>,
    priority_classes: BTreeMap<String, PriorityClassSpec>,
    /// How far what PodGroups say of their priority counts.
    priorities: Priorities,
    namespaces: BTreeMap<String, NamespaceSpec>,
    budgets: Budgets,
    counts: PodCounts,
    topologies: Topologies,
    default_spreads: DefaultSpreads,
    volumes: Volumes,
    /// What plugins in other processes said.
    advice: AdviceBook,
    label_texts: LabelTexts,
    writes: WritesKnown,
    /// Those who are on nodes were looked at for the first time.
    has_begun: bool,
    changes: Changes,
    claims_changed: ClaimsChanged,
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

/// Whether a running gang keeps less from others than before: fewer members, for less time, or by a lower
/// priority.
fn gives_way(before: &GangSpec, now: &GangSpec) -> bool {
    let needs = |spec: &GangSpec| {
        let subgroups = spec.subgroups.iter().map(|one| u64::from(one.min));
        subgroups.sum::<u64>().max(u64::from(spec.min_available))
    };
    let lasts = |spec: &GangSpec| spec.lifetime.unwrap_or(Millis(u64::MAX));
    needs(now) < needs(before)
        || lasts(now) < lasts(before)
        || now.priority < before.priority
        || now.priority_class != before.priority_class
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
            Event::Writes(writes) => self.writes.hear(writes, now),
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

    /// Whether anything comes of writes.
    #[must_use]
    pub const fn writes(&self) -> &WritesKnown {
        &self.writes
    }

    /// Counts what is kept of what comes and goes.
    pub fn count_tables(&self, tables: &mut Tables) {
        for (table, entries) in [
            (Table::Nodes, self.nodes.len()),
            (Table::Resources, self.dimensions.len()),
            (Table::ResourcesLeftOut, self.dimensions.left_out()),
            (Table::Pods, self.pods.len()),
            (Table::Gangs, self.gangs.len()),
            (Table::Others, self.others.len()),
            (Table::Queues, self.queues.len()),
            (Table::Shapes, self.shapes.len()),
            (Table::Constraints, self.shapes.constraints_len()),
            (Table::Advice, self.advice.len()),
        ] {
            tables.set(table, entries);
        }
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

    /// What a gang is called where a namespace's people read it, on objects there. Who another namespace has there is no
    /// business of theirs: it is called by its uid, by which an administrator finds it (as kube-scheduler's events of
    /// preemption do).
    #[must_use]
    pub fn gang_title_in(&self, namespace: &str, id: GangId) -> String {
        let Some(gang) = self.gang(id) else {
            return String::new();
        };
        if gang.key.namespace == namespace {
            return self.gang_title(id);
        }
        let of_group = gang.definitions.first().map(|one| one.uid.as_str());
        let of_pod = || gang.members.first().and_then(|id| self.pod(*id));
        let uid = of_group.or_else(|| Some(of_pod()?.key.uid.as_str()));
        match uid.filter(|uid| !uid.is_empty()) {
            Some(uid) => format!("a gang of another namespace (uid {uid})"),
            None => "a gang of another namespace".to_owned(),
        }
    }

    /// The same on what there is of a gang.
    #[must_use]
    pub fn gang_title_for(&self, reader: GangId, id: GangId) -> String {
        let reader = self.gang(reader);
        let namespace = reader.map_or("", |gang| gang.key.namespace.as_str());
        self.gang_title_in(namespace, id)
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
        self.find_numbers_for(spec.allocatable.iter().map(|(name, _)| name));
        let (id, change) = self.nodes.upsert(spec, &mut self.dimensions);
        self.know_more_resources();
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
        self.find_slots_on(id);
        if was_deleted.is_some() {
            self.node_came_or_went(id, true);
        }
    }

    fn remove_node(&mut self, name: &str) {
        let going = self.nodes.find(name);
        self.leave_spreads(going);
        if let Some(id) = going {
            self.lose_held(id);
            self.lose_slots_on(id);
        }
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

    fn upsert_definition(&mut self, mut spec: GangSpec) {
        let (key, recalled) = (spec.key.clone(), std::mem::take(&mut spec.recalled));
        let gang = match self.find_gang(&spec.key) {
            Some(id) => {
                self.define(id, spec);
                self.give_up_if_not_ours(id);
                self.find_gang(&key)
            }
            None => self.define_other(spec),
        };
        // What is said of it later we say ourselves.
        let recalled = if self.has_begun {
            Recalled::default()
        } else {
            recalled
        };
        match gang.and_then(|id| self.gangs.get_mut(id)) {
            Some(gang) => gang.recalled = recalled,
            None => self.others.recall(&key, recalled),
        }
    }

    pub(super) fn define(&mut self, id: GangId, spec: GangSpec) {
        let Some(gang) = self.gangs.get_mut(id) else {
            return;
        };
        gang.submitted_at(spec.created);
        let before = gang.definition().map(|one| (one.source, one.uid.clone()));
        let former = gang.definition().filter(|_| gang.holding > 0).cloned();
        if !define(&mut gang.definitions, spec) {
            return;
        }
        // Who waits may have it go now, or what it does not need any more.
        let now = gang.definition();
        self.changes.rules |= former
            .zip(now)
            .is_some_and(|(former, now)| gives_way(&former, now));
        // Another PodGroup may count now: what is said is said on that.
        let mut rest = gang.definitions.iter().skip(1);
        let source = before.as_ref().map(|(source, _)| *source);
        if let Some(one) = rest.find(|one| Some(one.source) == source) {
            self.changes.silent.push((one.source, one.uid.clone()));
        }
        let before = before.map(|(_, uid)| uid);
        self.forget_the_former(id, before.as_deref());
        self.redefine(id);
    }

    /// A PodGroup that was made again under its name has nothing of the former one but the members that
    /// are still there.
    fn forget_the_former(&mut self, id: GangId, before: Option<&str>) {
        let Some(gang) = self.gangs.get_mut(id) else {
            return;
        };
        let now = gang.definition().map(|spec| spec.uid.as_str());
        if before.is_some() && before != now {
            gang.retired.clear();
            self.changes.remade.push(id);
        }
    }

    fn remove_definition(&mut self, key: &GangKey, source: Source) {
        let Some(id) = self.find_gang(key) else {
            return self.undefine_other(key, source);
        };
        let Some(gang) = self.gangs.get_mut(id) else {
            return;
        };
        let before = gang.definition().map(|spec| spec.uid.clone());
        let count = gang.definitions.len();
        gang.definitions.retain(|one| one.source != source);
        if gang.definitions.len() != count {
            self.forget_the_former(id, before.as_deref());
            self.redefine(id);
            self.give_up_if_not_ours(id);
        }
    }

    /// Takes over what the definition that counts says now.
    fn redefine(&mut self, id: GangId) {
        let spec = self.gangs.get(id).and_then(Gang::definition);
        let amounts = spec.map(|spec| spec.min_resources.clone());
        let min_resources = self.asked_by(id, &amounts.unwrap_or_default());
        let Some(gang) = self.gangs.get_mut(id) else {
            return;
        };
        if gang.min_resources != min_resources {
            gang.min_resources = min_resources;
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
        match self.find_gang(key) {
            Some(id) => id,
            None => self.new_gang(key),
        }
    }

    /// The gang of a key, of which there is none.
    fn new_gang(&mut self, key: &GangKey) -> GangId {
        let id = self.gangs.insert(Gang::new(key.clone(), self.arrivals));
        self.arrivals += 1;
        self.gangs_by_key.insert(key.clone(), id);
        self.touch(id);
        let (definitions, recalled) = self.take_over(key);
        for spec in definitions {
            self.define(id, spec);
        }
        // Whose pods come later is new.
        if let Some(gang) = self.gangs.get_mut(id).filter(|_| !self.has_begun) {
            gang.recalled = recalled;
        }
        id
    }

    /// Finds a gang's queue, lifetime and priority from what names them now.
    pub fn resolve(&mut self, id: GangId) {
        if self.gangs.get(id).is_some() {
            self.resolve_terms(id);
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

    /// Whether it has a member that has not ended, or asks for room for such as are not there yet.
    fn has_work(&self, id: GangId) -> bool {
        let lives = |gang: &Gang| {
            let counts = gang.counts();
            counts.all() > counts.of(Standing::Succeeded) + counts.of(Standing::Failed)
        };
        self.gangs.get(id).is_some_and(lives) || self.room_wanted(id) != Tally::default()
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
        let claims = spec.as_ref().is_some_and(|one| one.claims);
        let before = match spec {
            Some(spec) => self.namespaces.insert(name.to_owned(), spec),
            None => self.namespaces.remove(name),
        };
        if before.is_some_and(|one| one.claims) != claims {
            self.claims_changed(name);
        }
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
