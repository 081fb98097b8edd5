//! The simulated API server: objects, verbs, and the news that watches would deliver.
//!
//! It answers as kube-apiserver does, down to what a bind does not check: whether the node exists
//! and whether the pod fits. It knows no time but what it is told.

use super::disruption;
use super::scenario::{BudgetPlan, PodPlan, Run};
use super::storage::Storage;
use muster_api::kinds::Subject;
use muster_api::said::Said;
use muster_cluster::attempt::Answer;
use muster_model::units::Time;
use muster_model::{
    ClaimRef, ClaimSpec, Event, GangKey, GangSpec, HyperNodeSpec, NamespaceSpec, NodeSpec, PodKey,
    PodSpec, PriorityClassSpec, QueueSpec, Source, StorageEvent, TopologySpec,
};
use std::collections::BTreeMap;

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
    /// Priority classes, namespaces, PodDisruptionBudgets, and all of storage.
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

/// Where an object on which schedulers write is found.
#[derive(Clone, Debug)]
enum Object {
    Pod(PodName),
    Gang(GangKey, Source),
    Queue(String),
    Topology(String),
}

/// What the API server holds.
#[derive(Debug, Default)]
pub struct Server {
    nodes: BTreeMap<String, NodeSpec>,
    pods: BTreeMap<PodName, Pod>,
    gangs: BTreeMap<(GangKey, Source), GangSpec>,
    queues: BTreeMap<String, QueueSpec>,
    topologies: BTreeMap<String, TopologySpec>,
    hyper_nodes: BTreeMap<String, HyperNodeSpec>,
    classes: BTreeMap<String, PriorityClassSpec>,
    namespaces: BTreeMap<String, NamespaceSpec>,
    budgets: BTreeMap<(String, String), BudgetPlan>,
    storage: Storage,
    /// Pods changed since it was last found out how many of them may go.
    budgets_are_old: bool,
    /// What objects say of what schedulers write on them.
    said: BTreeMap<Subject, Said>,
    by_uid: BTreeMap<String, Object>,
    uids: u64,
    news: Vec<(Stream, Told)>,
}

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

    /// What a list of this kind returns now.
    #[must_use]
    pub fn list(&self, stream: Stream) -> Vec<Told> {
        match stream {
            Stream::Nodes => {
                let nodes = self.nodes.values().cloned();
                nodes.map(|node| Told::plain(Event::Node(node))).collect()
            }
            Stream::Pods => self.pods.values().map(|pod| self.of_pod(pod)).collect(),
            Stream::Gangs => self.gangs.values().map(|gang| self.of_gang(gang)).collect(),
            Stream::Queues => {
                let queues = self.queues.values();
                queues.map(|queue| self.of_queue(queue)).collect()
            }
            Stream::Others => {
                let classes = self.classes.values().cloned().map(Event::PriorityClass);
                let namespaces = self.namespaces.values().cloned().map(Event::Namespace);
                let budgets = self.budgets.values();
                let budgets =
                    budgets.map(|budget| Event::DisruptionBudget(Box::new(budget.spec.clone())));
                let all = classes.chain(namespaces).chain(budgets);
                let topologies = self.topologies.values();
                let topologies = topologies.map(|topology| self.of_topology(topology));
                let hyper_nodes = self.hyper_nodes.values().cloned().map(Box::new);
                let all = all.chain(hyper_nodes.map(Event::HyperNode));
                let storage = self.storage.list().map(Box::new).map(Event::Storage);
                let all = all.chain(storage);
                all.map(Told::plain).chain(topologies).collect()
            }
        }
    }

    fn of_pod(&self, pod: &Pod) -> Told {
        let spec = &pod.spec;
        let subject = Subject::Pod(spec.key.uid.clone());
        let said = self.said_of(&subject);
        let waits = spec.ours && spec.node.is_none();
        Told {
            event: Event::Pod(Box::new(spec.clone())),
            says: waits.then_some((subject, Some(said))),
        }
    }

    fn of_gang(&self, gang: &GangSpec) -> Told {
        let subject = Subject::Gang(gang.source, gang.uid.clone());
        let said = self.said_of(&subject);
        Told {
            event: Event::Gang(Box::new(gang.clone())),
            says: Some((subject, Some(said))),
        }
    }

    fn of_queue(&self, queue: &QueueSpec) -> Told {
        let subject = Subject::Queue(queue.uid.clone());
        let said = self.said_of(&subject);
        Told {
            event: Event::Queue(Box::new(queue.clone())),
            says: Some((subject, Some(said))),
        }
    }

    fn of_topology(&self, topology: &TopologySpec) -> Told {
        let subject = Subject::Topology(topology.uid.clone());
        let said = self.said_of(&subject);
        let ours = topology.origin.is_ours();
        Told {
            event: Event::Topology(Box::new(topology.clone())),
            says: ours.then_some((subject, Some(said))),
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
    pub fn say(&mut self, subject: &Subject, said: Said) -> Answer {
        let uid = uid_of(subject);
        let Some(object) = self.by_uid.get(uid).cloned() else {
            return status(404, "not found".to_owned());
        };
        self.said.insert(subject.clone(), said);
        let told = match object {
            Object::Pod(name) => {
                let pod = self.pods.get(&name);
                pod.map(|pod| (Stream::Pods, self.of_pod(pod)))
            }
            Object::Gang(key, source) => {
                let gang = self.gangs.get(&(key, source));
                gang.map(|gang| (Stream::Gangs, self.of_gang(gang)))
            }
            Object::Queue(name) => {
                let queue = self.queues.get(&name);
                queue.map(|queue| (Stream::Queues, self.of_queue(queue)))
            }
            Object::Topology(name) => {
                let topology = self.topologies.get(&name);
                topology.map(|topology| (Stream::Others, self.of_topology(topology)))
            }
        };
        if let Some((stream, told)) = told {
            self.tell(stream, told);
        }
        Answer::Accepted
    }

    /// The nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeSpec> {
        self.nodes.values()
    }

    /// The node of this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeSpec> {
        self.nodes.get(name)
    }

    /// The pods.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.values()
    }

    /// The PodGroups, each kind for itself.
    pub fn gangs(&self) -> impl Iterator<Item = &GangSpec> {
        self.gangs.values()
    }

    /// Whether there is a PodGroup of this kind and name.
    #[must_use]
    pub fn has_gang(&self, key: &GangKey, source: Source) -> bool {
        self.gangs.contains_key(&(key.clone(), source))
    }

    /// The PodGroup that defines a gang.
    #[must_use]
    pub fn gang(&self, key: &GangKey) -> Option<&GangSpec> {
        let of = |source| self.gangs.get(&(key.clone(), source));
        of(Source::Muster)
            .or_else(|| of(Source::Volcano))
            .or_else(|| of(Source::Upstream))
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
        self.hyper_nodes.values()
    }

    /// The topologies.
    pub fn topologies(&self) -> impl Iterator<Item = &TopologySpec> {
        self.topologies.values()
    }

    /// The queues.
    pub fn queues(&self) -> impl Iterator<Item = &QueueSpec> {
        self.queues.values()
    }

    /// The namespace of this name.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Option<&NamespaceSpec> {
        self.namespaces.get(name)
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

    /// Creates or changes a node.
    pub fn put_node(&mut self, node: NodeSpec) {
        self.tell_plain(Stream::Nodes, Event::Node(node.clone()));
        self.nodes.insert(node.name.clone(), node);
    }

    /// Deletes a node; its pods stay until somebody collects them.
    pub fn delete_node(&mut self, name: &str) -> Option<NodeSpec> {
        let node = self.nodes.remove(name)?;
        self.tell_plain(Stream::Nodes, Event::NodeDeleted(name.to_owned()));
        Some(node)
    }

    /// Creates a PodGroup, or changes the one of this kind and name.
    pub fn put_gang(&mut self, mut gang: GangSpec, now: Time) {
        let key = (gang.key.clone(), gang.source);
        match self.gangs.get(&key) {
            Some(before) => {
                gang.created = before.created;
                gang.uid = before.uid.clone();
                gang.generation = before.generation + 1;
            }
            None => {
                gang.created = now;
                gang.uid = self.new_uid();
                gang.generation = 1;
            }
        }
        let told = self.of_gang(&gang);
        self.tell(Stream::Gangs, told);
        let object = Object::Gang(gang.key.clone(), gang.source);
        self.by_uid.insert(gang.uid.clone(), object);
        self.gangs.insert(key, gang);
    }

    /// Deletes a PodGroup.
    pub fn delete_gang(&mut self, key: &GangKey, source: Source) {
        if let Some(gang) = self.gangs.remove(&(key.clone(), source)) {
            let event = Event::GangDeleted(key.clone(), source);
            self.tell_gone(Stream::Gangs, event, Subject::Gang(source, gang.uid));
        }
    }

    /// Creates a queue, or changes the one of this name.
    pub fn put_queue(&mut self, mut queue: QueueSpec) {
        match self.queues.get(&queue.name) {
            Some(before) => {
                queue.uid = before.uid.clone();
                queue.generation = before.generation + 1;
            }
            None => {
                queue.uid = self.new_uid();
                queue.generation = 1;
            }
        }
        let told = self.of_queue(&queue);
        self.tell(Stream::Queues, told);
        let object = Object::Queue(queue.name.clone());
        self.by_uid.insert(queue.uid.clone(), object);
        self.queues.insert(queue.name.clone(), queue);
    }

    /// Deletes a queue.
    pub fn delete_queue(&mut self, name: &str) {
        if let Some(queue) = self.queues.remove(name) {
            let event = Event::QueueDeleted(name.to_owned());
            self.tell_gone(Stream::Queues, event, Subject::Queue(queue.uid));
        }
    }

    /// Creates or changes a topology.
    pub fn put_topology(&mut self, mut topology: TopologySpec) {
        match self.topologies.get(&topology.name) {
            Some(before) => {
                topology.uid = before.uid.clone();
                topology.generation = before.generation + 1;
            }
            None => {
                topology.uid = self.new_uid();
                topology.generation = 1;
            }
        }
        let told = self.of_topology(&topology);
        self.tell(Stream::Others, told);
        if !topology.origin.is_ours() {
            self.topologies.insert(topology.name.clone(), topology);
            return;
        }
        let object = Object::Topology(topology.name.clone());
        self.by_uid.insert(topology.uid.clone(), object);
        self.topologies.insert(topology.name.clone(), topology);
    }

    /// Deletes a topology.
    pub fn delete_topology(&mut self, name: &str) {
        if let Some(topology) = self.topologies.remove(name) {
            let event = Event::TopologyDeleted(name.to_owned());
            if !topology.origin.is_ours() {
                self.tell_plain(Stream::Others, event);
                return;
            }
            let subject = Subject::Topology(topology.uid);
            self.tell_gone(Stream::Others, event, subject);
        }
    }

    /// Creates or changes a HyperNode.
    pub fn put_hyper_node(&mut self, hyper_node: HyperNodeSpec) {
        let event = Event::HyperNode(Box::new(hyper_node.clone()));
        self.tell_plain(Stream::Others, event);
        self.hyper_nodes.insert(hyper_node.name.clone(), hyper_node);
    }

    /// Deletes a HyperNode.
    pub fn delete_hyper_node(&mut self, name: &str) {
        if self.hyper_nodes.remove(name).is_some() {
            let event = Event::HyperNodeDeleted(name.to_owned());
            self.tell_plain(Stream::Others, event);
        }
    }

    /// Creates or changes a priority class.
    pub fn put_class(&mut self, class: PriorityClassSpec) {
        self.tell_plain(Stream::Others, Event::PriorityClass(class.clone()));
        self.classes.insert(class.name.clone(), class);
    }

    /// Deletes a priority class.
    pub fn delete_class(&mut self, name: &str) {
        if self.classes.remove(name).is_some() {
            let event = Event::PriorityClassDeleted(name.to_owned());
            self.tell_plain(Stream::Others, event);
        }
    }

    /// Creates or changes a namespace.
    pub fn put_namespace(&mut self, namespace: NamespaceSpec) {
        self.tell_plain(Stream::Others, Event::Namespace(namespace.clone()));
        self.namespaces.insert(namespace.name.clone(), namespace);
    }

    /// Deletes a namespace (not what is in it).
    pub fn delete_namespace(&mut self, name: &str) {
        if self.namespaces.remove(name).is_some() {
            let event = Event::NamespaceDeleted(name.to_owned());
            self.tell_plain(Stream::Others, event);
        }
    }

    /// Creates or changes a PodDisruptionBudget.
    pub fn put_budget(&mut self, mut budget: BudgetPlan) {
        budget.spec.allowed = self.allowed_by(&budget);
        let event = Event::DisruptionBudget(Box::new(budget.spec.clone()));
        self.tell_plain(Stream::Others, event);
        let key = (budget.spec.namespace.clone(), budget.spec.name.clone());
        self.budgets.insert(key, budget);
    }

    /// Deletes a PodDisruptionBudget.
    pub fn delete_budget(&mut self, namespace: &str, name: &str) {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let removed = self.budgets.remove(&(namespace.clone(), name.clone()));
        if removed.is_some() {
            let event = Event::DisruptionBudgetDeleted(namespace, name);
            self.tell_plain(Stream::Others, event);
        }
    }

    /// What there is of storage.
    #[must_use]
    pub const fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Creates or changes something of storage.
    pub fn put_storage(&mut self, event: StorageEvent) {
        let uids = &mut self.uids;
        self.storage.put(event, || new_uid(uids));
    }

    /// Deletes something of storage.
    pub fn delete_storage(&mut self, event: &StorageEvent) {
        self.storage.delete(event);
    }

    /// The PV controller and the provisioner look; `fails` says whether making a volume does.
    pub fn settle_storage(&mut self, fails: impl FnMut() -> bool) {
        self.storage.settle(&self.nodes, fails);
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
            self.tell_plain(Stream::Others, Event::Storage(Box::new(event)));
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
        spec.key.uid = self.new_uid();
        spec.created = now;
        spec.bound_at = spec.node.is_some().then_some(now);
        let key = spec.key.clone();
        let pod = Pod {
            spec,
            run: plan.run,
            line,
            comes_back: false,
        };
        let told = self.of_pod(&pod);
        self.tell(Stream::Pods, told);
        self.by_uid
            .insert(key.uid.clone(), Object::Pod(name.clone()));
        self.pods.insert(name, pod);
        for claim in &plan.claims {
            let owner = Some(key.uid.clone());
            let claim = ClaimSpec {
                owner,
                ..claim.clone()
            };
            self.put_storage(StorageEvent::Claim(claim));
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
        self.tell(Stream::Pods, told);
        self.pods.get(&name)
    }

    /// Removes a pod for good.
    pub fn remove_pod(&mut self, key: &PodKey) -> Option<Pod> {
        self.pod(key)?;
        let name = (key.namespace.clone(), key.name.clone());
        let pod = self.pods.remove(&name)?;
        let event = Event::PodDeleted(key.clone());
        self.tell_gone(Stream::Pods, event, Subject::Pod(key.uid.clone()));
        self.storage.delete_claims_of(&key.uid);
        Some(pod)
    }

    /// `POST pods/binding`: 404 without such a pod; 409 for another uid, a bound, a terminating
    /// or a gated pod; else it is bound.
    pub fn bind(&mut self, key: &PodKey, node: &str, now: Time) -> Answer {
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
