//! The simulated API server: objects, verbs, and the news that watches would deliver.
//!
//! It answers as kube-apiserver does, down to what a bind does not check: whether the node exists
//! and whether the pod fits. It knows no time but what it is told.

use super::disruption;
use super::scenario::{BudgetPlan, PodPlan, Run};
use super::storage::Storage;
use super::whole::Wholes;
use muster_api::crd;
use muster_api::kinds::Subject;
use muster_api::said::Said;
use muster_api::slices::{Sizes, Slices};
use muster_cluster::attempt::Answer;
use muster_controllers::{ObjectName, Resource};
use muster_core::implied::ImpliedGangs;
use muster_model::units::Time;
use muster_model::{
    ClaimRef, ClaimSpec, Event, GangKey, GangSpec, HyperNodeSpec, NamespaceSpec, NodeSpec, Object,
    ObjectKey, ObjectKind, Objects, PodKey, PodSpec, QueueSpec, Recalled, Source, TopologySpec,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Namespace and name.
pub type PodName = (String, String);

/// A pod that exists.
#[derive(Clone, Debug)]
pub struct Pod {
    /// As the API shows it.
    pub spec: PodSpec,
    /// How it behaves.
    pub run: Run,
    /// Its line in the ledger, the same for all pods that follow each other under its name.
    pub line: usize,
    /// Whether a pod of the same name is made when this one is gone.
    pub comes_back: bool,
}

/// One piece of what a watch tells.
#[derive(Clone, Debug)]
pub struct Told {
    /// What happened.
    pub event: Event,
    /// What the object says of what schedulers write on it; `None` in it: it is gone.
    pub says: Option<(Subject, Option<Said>)>,
}

impl Told {
    fn plain(event: Event) -> Self {
        Self { event, says: None }
    }
}

/// One of the watches a scheduler holds; the order within one is kept, between them it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Nodes.
    Nodes,
    /// Pods.
    Pods,
    /// PodGroups of all kinds.
    Gangs,
    /// Queues.
    Queues,
    /// All other kinds.
    Others,
}

impl Stream {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Nodes,
        Self::Pods,
        Self::Gangs,
        Self::Queues,
        Self::Others,
    ];
}

/// What the API server holds.
#[derive(Debug, Default)]
pub struct Server {
    pods: BTreeMap<PodName, Pod>,
    budgets: BTreeMap<(String, String), BudgetPlan>,
    storage: Storage,
    /// Those that controllers write.
    wholes: Wholes,
    /// All other objects.
    objects: Objects,
    /// What pods say of gangs that no PodGroup defines.
    implied: ImpliedGangs,
    /// What that makes of them.
    by_pods: BTreeMap<GangKey, GangSpec>,
    /// Those of which it makes something else than before.
    redefined: BTreeSet<GangKey>,
    /// Pods changed since it was last found out how many of them may go.
    budgets_are_old: bool,
    /// What objects say of what schedulers write on them.
    said: BTreeMap<Subject, Said>,
    /// The objects on which schedulers write.
    by_uid: BTreeMap<String, ObjectKey>,
    uids: u64,
    news: Vec<(Stream, Told)>,
    /// How many slots are in the status of a Testbed, and in a slice.
    sizes: Sizes,
}

/// Under what it is kept what an object says, where schedulers write on it.
fn subject_of(object: &Object) -> Option<Subject> {
    match object {
        Object::Gang(gang) => Some(Subject::Gang(gang.source, gang.uid.clone())),
        Object::Queue(queue) => Some(Subject::Queue(queue.uid.clone())),
        Object::Topology(topology) => {
            let ours = topology.origin.is_ours();
            ours.then(|| Subject::Topology(topology.uid.clone()))
        }
        _ => None,
    }
}

/// Which watch tells of an object.
const fn stream_of(kind: ObjectKind) -> Stream {
    match kind {
        ObjectKind::Node => Stream::Nodes,
        ObjectKind::Pod => Stream::Pods,
        ObjectKind::Gang => Stream::Gangs,
        ObjectKind::Queue => Stream::Queues,
        _ => Stream::Others,
    }
}

/// The kinds in the order in which a list has them, where one watch tells of several: a part of what a
/// seed stands for.
const LISTED: [ObjectKind; ObjectKind::ALL.len()] = [
    ObjectKind::Node,
    ObjectKind::Pod,
    ObjectKind::Gang,
    ObjectKind::Queue,
    ObjectKind::PriorityClass,
    ObjectKind::Namespace,
    ObjectKind::DisruptionBudget,
    ObjectKind::HyperNode,
    ObjectKind::StorageClass,
    ObjectKind::Volume,
    ObjectKind::Claim,
    ObjectKind::CsiNode,
    ObjectKind::CsiDriver,
    ObjectKind::VolumeAttachment,
    ObjectKind::StorageCapacity,
    ObjectKind::Topology,
    ObjectKind::Testbed,
    ObjectKind::TestbedSlice,
    ObjectKind::VolcanoQueue,
    ObjectKind::MpiJob,
    ObjectKind::PodSelector,
];

/// The uid of what something is said of.
fn uid_of(subject: &Subject) -> &str {
    let (Subject::Pod(uid) | Subject::Gang(_, uid) | Subject::Queue(uid) | Subject::Topology(uid)) =
        subject;
    uid
}

impl Server {
    /// Takes what watches would deliver since this was last called, in the order of the writes.
    pub fn take_news(&mut self) -> Vec<(Stream, Told)> {
        self.update_budgets();
        self.tell_of_storage();
        std::mem::take(&mut self.news)
    }

    /// What a list returns now, of every kind that this watch tells of.
    #[must_use]
    pub fn list(&self, stream: Stream) -> Vec<Told> {
        let told_of = LISTED.into_iter().filter(|kind| stream_of(*kind) == stream);
        told_of.flat_map(|kind| self.all_of(kind)).collect()
    }

    fn all_of(&self, kind: ObjectKind) -> Vec<Told> {
        match kind {
            ObjectKind::Pod => self.pods.values().map(|pod| self.of_pod(pod)).collect(),
            ObjectKind::DisruptionBudget => {
                let budgets = self.budgets.values();
                let budgets = budgets.map(|budget| Event::is(budget.spec.clone()));
                budgets.map(Told::plain).collect()
            }
            kind => {
                let stored = self.storage.of_kind(kind);
                let all = self.objects.of_kind(kind).chain(stored);
                all.map(|object| self.of(object)).collect()
            }
        }
    }

    /// What a watch tells of an object.
    fn of(&self, object: &Object) -> Told {
        let says = subject_of(object).map(|subject| {
            let said = self.said_of(&subject);
            (subject, Some(said))
        });
        Told {
            event: Event::Is(object.clone()),
            says,
        }
    }

    fn of_pod(&self, pod: &Pod) -> Told {
        let spec = &pod.spec;
        let subject = Subject::Pod(spec.key.uid.clone());
        let said = self.said_of(&subject);
        let waits = spec.ours && spec.node.is_none();
        Told {
            event: Event::is(spec.clone()),
            says: waits.then_some((subject, Some(said))),
        }
    }

    /// The objects of which something is said.
    #[must_use]
    pub fn subjects(&self) -> Vec<Subject> {
        self.said.keys().cloned().collect()
    }

    /// What an object says.
    #[must_use]
    pub fn said_of(&self, subject: &Subject) -> Said {
        self.said.get(subject).cloned().unwrap_or_default()
    }

    fn tell(&mut self, stream: Stream, told: Told) {
        self.budgets_are_old |= stream == Stream::Pods;
        self.news.push((stream, told));
    }

    fn tell_plain(&mut self, stream: Stream, event: Event) {
        self.tell(stream, Told::plain(event));
    }

    fn tell_gone(&mut self, stream: Stream, event: Event, subject: Subject) {
        self.by_uid.remove(uid_of(&subject));
        self.said.remove(&subject);
        let says = Some((subject, None));
        self.tell(stream, Told { event, says });
    }

    /// `PATCH` of a status: what an object says from now on.
    pub fn say(&mut self, subject: &Subject, said: Said, recalled: Recalled) -> Answer {
        let uid = uid_of(subject);
        let Some(key) = self.by_uid.get(uid).cloned() else {
            return status(404, "not found".to_owned());
        };
        self.said.insert(subject.clone(), said);
        if let Some(Object::Gang(gang)) = self.objects.get_mut(&key) {
            gang.recalled = recalled;
        }
        let told = match &key {
            ObjectKey::Pod(key) => self
                .pod_named(&key.namespace, &key.name)
                .map(|pod| self.of_pod(pod)),
            key => self.objects.get(key).map(|object| self.of(object)),
        };
        if let Some(told) = told {
            self.tell(stream_of(key.kind()), told);
        }
        Answer::Accepted
    }

    /// The object of which something is said, while it is there.
    #[must_use]
    pub fn subject_key(&self, subject: &Subject) -> Option<&ObjectKey> {
        self.by_uid.get(uid_of(subject))
    }

    /// An object by what names it; of storage and of what is known by more than it says, nothing.
    #[must_use]
    pub fn object(&self, key: &ObjectKey) -> Option<&Object> {
        self.objects.get(key)
    }

    /// The nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeSpec> {
        self.objects.all()
    }

    /// The node of this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeSpec> {
        self.objects.spec(&ObjectKey::Node(name.to_owned()))
    }

    /// The pods.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.values()
    }

    /// The PodGroups, each kind for itself.
    pub fn gangs(&self) -> impl Iterator<Item = &GangSpec> {
        self.objects.all()
    }

    /// Whether there is a PodGroup of this kind and name.
    #[must_use]
    pub fn has_gang(&self, key: &GangKey, source: Source) -> bool {
        let key = ObjectKey::Gang(key.clone(), source);
        self.objects.get(&key).is_some()
    }

    /// The PodGroup that defines a gang.
    #[must_use]
    pub fn gang(&self, key: &GangKey) -> Option<&GangSpec> {
        let of = |source| self.objects.spec(&ObjectKey::Gang(key.clone(), source));
        let defined = Source::KINDS.into_iter().find_map(of);
        defined.or_else(|| self.by_pods.get(key))
    }

    /// Takes down what a pod that is there, or gone, makes of a gang.
    fn define_by_pods(&mut self, event: &Event, now: Time) {
        let says = matches!(event, Event::Is(Object::Pod(pod)) if pod.implied.is_some());
        if !says && self.implied.is_empty() {
            return;
        }
        let mut event = event.clone();
        for event in self.implied.hear(&mut event, now) {
            match event {
                Event::Is(Object::Gang(spec)) => {
                    self.redefined.insert(spec.key.clone());
                    self.by_pods.insert(spec.key.clone(), *spec);
                }
                Event::Gone(ObjectKey::Gang(key, _)) => {
                    self.by_pods.remove(&key);
                }
                _ => {}
            }
        }
    }

    /// Takes the gangs that pods define otherwise than before, and what by.
    pub fn take_redefined(&mut self) -> Vec<GangSpec> {
        let keys = std::mem::take(&mut self.redefined).into_iter();
        keys.filter_map(|key| self.by_pods.get(&key).cloned())
            .collect()
    }

    /// Whether a pod is of a gang or a subgroup that wants its nodes for itself.
    #[must_use]
    pub fn is_exclusive(&self, pod: &Pod) -> bool {
        let spec = self.gang(&pod.spec.gang_key());
        spec.is_some_and(|spec| {
            let mut subgroups = spec.subgroups.iter();
            let own = subgroups.find(|one| Some(&one.name) == pod.spec.subgroup.as_ref());
            spec.exclusive || own.is_some_and(|one| one.exclusive)
        })
    }

    /// The HyperNodes.
    pub fn hyper_nodes(&self) -> impl Iterator<Item = &HyperNodeSpec> {
        self.objects.all()
    }

    /// The topologies.
    pub fn topologies(&self) -> impl Iterator<Item = &TopologySpec> {
        self.objects.all()
    }

    /// The queues.
    pub fn queues(&self) -> impl Iterator<Item = &QueueSpec> {
        self.objects.all()
    }

    /// The namespace of this name.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Option<&NamespaceSpec> {
        self.objects.spec(&ObjectKey::Namespace(name.to_owned()))
    }

    /// The pod of this key, if it is still the same one.
    #[must_use]
    pub fn pod(&self, key: &PodKey) -> Option<&Pod> {
        let pod = self.pods.get(&(key.namespace.clone(), key.name.clone()))?;
        (pod.spec.key.uid == key.uid).then_some(pod)
    }

    /// The pod that has this name now.
    #[must_use]
    pub fn pod_named(&self, namespace: &str, name: &str) -> Option<&Pod> {
        self.pods.get(&(namespace.to_owned(), name.to_owned()))
    }

    /// Creates an object, or changes the one of its name: of all kinds but pods and
    /// PodDisruptionBudgets, of which more is known than they say.
    pub fn put(&mut self, mut object: Object, now: Time) {
        let key = object.key();
        if Storage::has_kind(key.kind()) {
            let uids = &mut self.uids;
            return self.storage.put(object, || new_uid(uids));
        }
        self.identify(&key, &mut object, now);
        self.hold(key, object);
    }

    /// Takes an object as it was on a cluster, with its uid and its age: of the kinds that [`put`](Self::put)
    /// takes.
    pub fn keep(&mut self, object: Object) {
        let key = object.key();
        if Storage::has_kind(key.kind()) {
            let uid = match &object {
                Object::Claim(claim) => claim.uid.clone(),
                _ => String::new(),
            };
            return self.storage.put(object, || uid);
        }
        self.hold(key, object);
    }

    fn hold(&mut self, key: ObjectKey, object: Object) {
        let told = self.of(&object);
        let stream = stream_of(key.kind());
        if let Some((subject, _)) = &told.says {
            self.by_uid.insert(uid_of(subject).to_owned(), key);
        }
        self.tell(stream, told);
        self.objects.put(object);
    }

    /// Gives an object that is made its uid, and one that is changed its next generation.
    fn identify(&mut self, key: &ObjectKey, object: &mut Object, now: Time) {
        let before = self.objects.get(key);
        let (uid, generation) = match (&before, &*object) {
            (Some(Object::Gang(before)), _) => (before.uid.clone(), before.generation + 1),
            (Some(Object::Queue(before)), _) => (before.uid.clone(), before.generation + 1),
            (Some(Object::Topology(before)), _) => (before.uid.clone(), before.generation + 1),
            (Some(Object::VolcanoQueue(before)), _) => {
                (before.queue.uid.clone(), before.queue.generation + 1)
            }
            (
                None,
                Object::Gang(_) | Object::Queue(_) | Object::VolcanoQueue(_) | Object::Topology(_),
            ) => (new_uid(&mut self.uids), 1),
            _ => return,
        };
        match object {
            Object::Gang(gang) => {
                (gang.created, gang.recalled) = match before {
                    Some(Object::Gang(before)) => (before.created, before.recalled.clone()),
                    _ => (now, Recalled::default()),
                };
                (gang.uid, gang.generation) = (uid, generation);
            }
            Object::Queue(queue) => (queue.uid, queue.generation) = (uid, generation),
            Object::VolcanoQueue(one) => {
                (one.queue.uid, one.queue.generation) = (uid, generation);
            }
            Object::Topology(topology) => {
                (topology.uid, topology.generation) = (uid, generation);
            }
            _ => {}
        }
    }

    /// Deletes an object, and returns it: of all kinds but pods and PodDisruptionBudgets. What lives on
    /// a node, or in a namespace, stays until somebody collects it.
    pub fn delete(&mut self, key: &ObjectKey) -> Option<Object> {
        if Storage::has_kind(key.kind()) {
            self.storage.delete(key);
            return None;
        }
        let object = self.objects.remove(key)?;
        let (stream, event) = (stream_of(key.kind()), Event::Gone(key.clone()));
        match subject_of(&object) {
            Some(subject) => self.tell_gone(stream, event, subject),
            None => self.tell_plain(stream, event),
        }
        Some(object)
    }

    /// Creates or changes a PodDisruptionBudget.
    pub fn put_budget(&mut self, mut budget: BudgetPlan) {
        budget.spec.allowed = self.allowed_by(&budget);
        let event = Event::is(budget.spec.clone());
        self.tell_plain(Stream::Others, event);
        let key = (budget.spec.namespace.clone(), budget.spec.name.clone());
        self.budgets.insert(key, budget);
    }

    /// Deletes a PodDisruptionBudget.
    pub fn delete_budget(&mut self, namespace: &str, name: &str) {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let removed = self.budgets.remove(&(namespace.clone(), name.clone()));
        if removed.is_some() {
            let event = Event::Gone(ObjectKey::DisruptionBudget(namespace, name));
            self.tell_plain(Stream::Others, event);
        }
    }

    /// The Testbeds, each with all its slots in its status.
    pub fn testbeds(&self) -> impl Iterator<Item = crd::Testbed> {
        let mut slices = Slices::new(self.sizes);
        for slice in self.whole_of(Resource::TestbedSlices) {
            slices.is(&slice);
        }
        let all = self.whole_of::<crd::Testbed>(Resource::Testbeds);
        all.map(move |testbed| slices.whole(&testbed))
    }

    /// Says how many slots are in the status of a Testbed, and in a slice.
    pub(super) const fn set_sizes(&mut self, sizes: Sizes) {
        self.sizes = sizes;
    }

    /// The objects of a resource that controllers write.
    pub fn whole_of<T: DeserializeOwned>(&self, resource: Resource) -> impl Iterator<Item = T> {
        let all = self.wholes.all(resource);
        all.filter_map(|value| T::deserialize(value).ok())
    }

    /// An object that controllers write, as it is now.
    #[must_use]
    pub fn whole(&self, on: &ObjectName) -> Option<&Value> {
        self.wholes.get(on)
    }

    /// The objects that controllers write.
    pub(super) const fn wholes(&self) -> &Wholes {
        &self.wholes
    }

    /// The same, to be written.
    pub(super) const fn wholes_mut(&mut self) -> &mut Wholes {
        &mut self.wholes
    }

    /// What there is of storage.
    #[must_use]
    pub const fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The PV controller and the provisioner look; `fails` says whether making a volume does.
    pub fn settle_storage(&mut self, fails: impl FnMut() -> bool) {
        self.storage.settle(&self.objects, fails);
    }

    /// Writes on a volume which claim it is for.
    ///
    /// # Errors
    /// Why the API server refuses.
    pub fn reserve_volume(&mut self, volume: &str, claim: &ClaimRef) -> Result<(), String> {
        self.storage.reserve(volume, claim)
    }

    /// Writes on a claim for which node its volume is to be made.
    ///
    /// # Errors
    /// Why the API server refuses.
    pub fn select_node(&mut self, claim: &ClaimRef, node: &str) -> Result<(), String> {
        self.storage.select_node(claim, node)
    }

    fn tell_of_storage(&mut self) {
        for event in self.storage.take_news() {
            self.tell_plain(Stream::Others, event);
        }
    }

    fn allowed_by(&self, budget: &BudgetPlan) -> u32 {
        disruption::allowed(budget, self.pods.values().map(|pod| &pod.spec))
    }

    /// Writes anew how many pods may go, where that changed.
    fn update_budgets(&mut self) {
        if !std::mem::take(&mut self.budgets_are_old) {
            return;
        }
        let changed = |budget: &&BudgetPlan| self.allowed_by(budget) != budget.spec.allowed;
        let changed: Vec<BudgetPlan> = self.budgets.values().filter(changed).cloned().collect();
        changed
            .into_iter()
            .for_each(|budget| self.put_budget(budget));
    }

    /// Creates a pod under a uid of its own; `None` if the name is taken.
    pub fn create_pod(&mut self, plan: &PodPlan, line: usize, now: Time) -> Option<PodKey> {
        let mut spec = plan.spec.clone();
        let name = (spec.key.namespace.clone(), spec.key.name.clone());
        if self.pods.contains_key(&name) {
            return None;
        }
        if plan.before.is_none() {
            spec.key.uid = self.new_uid();
            spec.created = now;
            spec.bound_at = spec.node.is_some().then_some(now);
        }
        let key = spec.key.clone();
        let pod = Pod {
            spec,
            run: plan.run,
            line,
            comes_back: false,
        };
        let told = self.of_pod(&pod);
        self.define_by_pods(&told.event, now);
        self.tell(Stream::Pods, told);
        self.by_uid
            .insert(key.uid.clone(), ObjectKey::Pod(key.clone()));
        self.pods.insert(name, pod);
        for claim in &plan.claims {
            if plan.before.is_some() && self.storage.claim(&claim.key).is_some() {
                continue;
            }
            let owner = Some(key.uid.clone());
            let claim = ClaimSpec {
                owner,
                ..claim.clone()
            };
            self.put(claim.into(), now);
        }
        Some(key)
    }

    /// Changes a pod that still exists and tells the watches; returns it as it is then.
    pub fn change_pod(&mut self, key: &PodKey, change: impl FnOnce(&mut Pod)) -> Option<&Pod> {
        let name = (key.namespace.clone(), key.name.clone());
        let pod = self.pods.get_mut(&name)?;
        if pod.spec.key.uid != key.uid {
            return None;
        }
        change(pod);
        let pod = self.pods.get(&name)?;
        let told = self.of_pod(pod);
        self.define_by_pods(&told.event, pod.spec.created);
        self.tell(Stream::Pods, told);
        self.pods.get(&name)
    }

    /// Removes a pod for good.
    pub fn remove_pod(&mut self, key: &PodKey) -> Option<Pod> {
        self.pod(key)?;
        let name = (key.namespace.clone(), key.name.clone());
        let pod = self.pods.remove(&name)?;
        let event = Event::Gone(ObjectKey::Pod(key.clone()));
        self.define_by_pods(&event, Time::ZERO);
        self.tell_gone(Stream::Pods, event, Subject::Pod(key.uid.clone()));
        self.storage.delete_claims_of(&key.uid);
        Some(pod)
    }

    /// `POST pods/binding`: 404 without such a pod; 409 for another uid, a bound, a terminating
    /// or a gated pod; else it is bound.
    pub fn bind(&mut self, key: &PodKey, (node, slot): (&str, Option<u32>), now: Time) -> Answer {
        let name = (key.namespace.clone(), key.name.clone());
        let Some(found) = self.pods.get(&name) else {
            return status(404, format!("pods \"{}\" not found", key.name));
        };
        let spec = &found.spec;
        if spec.key.uid != key.uid {
            return status(409, "Precondition failed: UID in precondition".to_owned());
        }
        if spec.terminating {
            return status(409, "pod is being deleted, cannot be assigned".to_owned());
        }
        if let Some(node) = &spec.node {
            return status(409, format!("pod is already assigned to node \"{node}\""));
        }
        if !spec.gates.is_empty() {
            return status(409, "pod has non-empty .spec.schedulingGates".to_owned());
        }
        self.change_pod(key, |pod| {
            pod.spec.node = Some(node.to_owned());
            pod.spec.bound_at = Some(now);
            pod.spec.slot = slot.or(pod.spec.slot);
        });
        Answer::Accepted
    }

    /// `DELETE` with the uid as precondition. A pod that has not started goes at once; another
    /// one is terminating until its kubelet is done.
    pub fn delete_pod(&mut self, key: &PodKey, comes_back: bool) -> Answer {
        let name = (key.namespace.clone(), key.name.clone());
        let Some(found) = self.pods.get(&name) else {
            return status(404, format!("pods \"{}\" not found", key.name));
        };
        if found.spec.key.uid != key.uid {
            return status(409, "Precondition failed: UID in precondition".to_owned());
        }
        self.change_pod(key, |pod| {
            pod.comes_back = comes_back && (!pod.spec.terminating || pod.comes_back);
            pod.spec.terminating = true;
        });
        Answer::Accepted
    }

    /// `GET` a pod.
    #[must_use]
    pub fn read(&self, key: &PodKey) -> Answer {
        let name = (key.namespace.clone(), key.name.clone());
        self.pods.get(&name).map_or_else(
            || status(404, format!("pods \"{}\" not found", key.name)),
            |pod| Answer::Pod {
                uid_matches: pod.spec.key.uid == key.uid,
                node: pod.spec.node.clone(),
                terminating: pod.spec.terminating,
            },
        )
    }

    fn new_uid(&mut self) -> String {
        new_uid(&mut self.uids)
    }
}

fn new_uid(uids: &mut u64) -> String {
    *uids += 1;
    format!("uid-{uids:08}")
}

fn status(code: u16, message: String) -> Answer {
    Answer::Status {
        code,
        message,
        retry_after: None,
    }
}

impl Pod {
    /// Whether it stands for a slot.
    #[must_use]
    pub const fn is_ghost(&self) -> bool {
        self.spec.ghost_of.is_some()
    }

    /// Whether it takes room on a node.
    #[must_use]
    pub fn takes_room(&self) -> bool {
        self.spec.node.is_some() && !self.spec.phase.is_terminal()
    }

    /// Whether it is on a node and neither ended nor leaving.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.takes_room() && !self.spec.terminating
    }
}

#[cfg(test)]
mod tests;
