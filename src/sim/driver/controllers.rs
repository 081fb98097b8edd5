//! The controllers of our kinds, on virtual time: the same machines as on a cluster, told what the simulated
//! API server holds. While there are faults their news is late or lost with its watch, their writes are refused and
//! lost as all others are, and they die and start anew.

use super::hearing::{Ears, Way};
use super::written::{observed, pod, quantities};
use super::{Driver, Happening};
use crate::server::{Pod, PodName, Stream};
use crate::whole::Wholes;
use muster_api::convert::Reading;
use muster_api::kinds::Identity;
use muster_cluster::attempt;
use muster_controllers::batch_job::{self, BatchJobs};
use muster_controllers::job::{self, Jobs};
use muster_controllers::queue_job::QueueJobs;
use muster_controllers::scheduling::Schedulings;
use muster_controllers::testbed::{self, Testbeds};
use muster_controllers::{All, Answer, Machine, ObjectName, Observation, Resource, Ticket, Write};
use muster_model::units::{Millis, Time};
use muster_model::{Event, GangKey, Object, ObjectKey, PodKey, PodSpec, Source};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// So many writes are taken from a machine at once.
const WRITES: usize = 100;

/// The controllers, from when there is something for them on.
pub(super) struct Controllers {
    machine: All,
    /// The pods that it made, as it made them, by namespace and name.
    made: BTreeMap<(String, String), Value>,
    /// The uids of nodes, where these are not their names.
    node_uids: BTreeMap<String, String>,
    /// The pods that it was told of.
    told: BTreeSet<(String, String)>,
    /// The uids of ghosts that were told to go.
    to_go: BTreeSet<String>,
    /// The PodGroups of the scenario that it was told of, and their uids.
    groups: BTreeMap<GangKey, String>,
    /// What was said of a pod last has this version. Versions grow as pods change, so an answer that comes late
    /// is seen to be older than news.
    version: u64,
    /// Its next look is foreseen.
    planned: Option<Time>,
    /// How often it started: what was on its way for another goes nowhere.
    starts: u64,
    /// How it hears of what there is.
    ears: Ears,
    /// Names of pods that it found to be taken: of these it is told as well.
    taken: BTreeSet<(String, String)>,
}

/// Something on its way to or from the controllers.
#[derive(Debug)]
pub(super) struct Courier {
    /// To which start of them.
    starts: u64,
    what: Errand,
}

#[derive(Debug)]
enum Errand {
    /// With the watch of this generation.
    News(u64, Observation),
    /// A write, and when its sender hears what came of it, if at all.
    Write(Write, Option<Time>),
    Answer(Ticket, Answer),
}

impl std::fmt::Debug for Controllers {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Controllers")
            .field("starts", &self.starts)
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

impl Controllers {
    pub(super) fn new(reading: &Reading, node_uids: &BTreeMap<String, String>) -> Self {
        let mut settings = testbed::Settings {
            sizes: reading.sizes,
            ..testbed::Settings::default()
        };
        settings
            .ghost_namespace
            .clone_from(&reading.ghost_namespace);
        let mut batch_jobs = batch_job::Settings::default();
        if let Some(name) = reading.scheduler_names.first() {
            settings.scheduler_name.clone_from(name);
            batch_jobs.scheduler_name.clone_from(name);
        }
        Self {
            machine: All::of(vec![
                Box::new(Testbeds::new(settings)),
                Box::new(BatchJobs::new(batch_jobs)),
                Box::new(Schedulings::with(reading.sizes)),
                Box::new(Jobs::new(&job::Settings::default())),
                Box::new(QueueJobs::new()),
            ]),
            made: BTreeMap::new(),
            node_uids: node_uids.clone(),
            told: BTreeSet::new(),
            to_go: BTreeSet::new(),
            groups: BTreeMap::new(),
            version: 0,
            planned: None,
            starts: 0,
            ears: Ears::default(),
            taken: BTreeSet::new(),
        }
    }

    /// Notes how a pod was made.
    pub(super) fn note(&mut self, name: PodName, value: Value) {
        self.made.insert(name, value);
    }

    /// How a pod was made.
    pub(super) fn how_made(&self, name: &PodName) -> Option<&Value> {
        self.made.get(name)
    }

    /// Whether a QueueJob made the pod of this name: it makes it anew, and nobody else does.
    pub(super) fn is_of_queue_job(&self, name: &PodName) -> bool {
        let made = self.made.get(name);
        made.is_some_and(|made| made["metadata"]["ownerReferences"][0]["kind"] == "QueueJob")
    }

    /// Hears a piece of news.
    fn hear(&mut self, news: Observation, now: Time) {
        self.ears.note(&news);
        self.machine.observe(news, now);
    }

    /// What a watch would deliver.
    fn news(&mut self, event: &Event, wholes: &Wholes) -> Option<Observation> {
        match event {
            Event::Is(Object::Pod(spec)) => {
                let name = (spec.key.namespace.clone(), spec.key.name.clone());
                let concerns = spec.ghost_of.is_some() || spec.shape.claim.is_some();
                let concerns = concerns || self.made.contains_key(&name);
                let concerns = concerns || self.taken.contains(&name);
                if !concerns && !self.told.contains(&name) {
                    return None;
                }
                self.told.insert(name);
                self.pod(spec)
            }
            Event::Is(Object::Node(spec)) => {
                let node = json!({
                    "metadata": {"name": spec.name, "uid": self.uid_of_node(&spec.name), "labels": spec.labels},
                    "status": {"allocatable": quantities(&spec.allocatable)},
                });
                observed(&node).map(|node| Observation::Node(Box::new(node)))
            }
            Event::Is(Object::Namespace(spec)) => {
                let metadata = json!({"name": spec.name, "uid": spec.name, "labels": spec.labels});
                let namespace = json!({"metadata": metadata});
                observed(&namespace).map(|one| Observation::Namespace(Box::new(one)))
            }
            Event::Is(Object::Gang(spec)) if spec.source == Source::Muster => {
                if wholes.get(&group_named(&spec.key)).is_some() {
                    return None;
                }
                self.groups.insert(spec.key.clone(), spec.uid.clone());
                let (namespace, name) = (&spec.key.namespace, &spec.key.name);
                let group =
                    json!({"metadata": {"namespace": namespace, "name": name, "uid": spec.uid}});
                Observation::read(Resource::PodGroups, group)
            }
            Event::Gone(key) => self.gone(key),
            _ => None,
        }
    }

    fn uid_of_node<'a>(&'a self, name: &'a str) -> &'a str {
        self.node_uids.get(name).map_or(name, String::as_str)
    }

    /// A pod as it is now.
    pub(super) fn told(&mut self, found: &Pod) -> Option<Observation> {
        self.pod(&found.spec)
    }

    fn pod(&mut self, spec: &PodSpec) -> Option<Observation> {
        self.version += 1;
        let name = (spec.key.namespace.clone(), spec.key.name.clone());
        let to_go = self.to_go.contains(&spec.key.uid);
        let pod = observed(&pod(spec, self.made.get(&name), self.version, to_go))?;
        Some(Observation::Pod(Box::new(pod)))
    }

    fn gone(&mut self, key: &ObjectKey) -> Option<Observation> {
        let of = |namespace: &str, name: &str, uid: &str| Identity {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
        };
        Some(match key {
            ObjectKey::Pod(key) => {
                let name = (key.namespace.clone(), key.name.clone());
                self.made.remove(&name);
                self.to_go.remove(&key.uid);
                if !self.told.remove(&name) {
                    return None;
                }
                Observation::Gone(Resource::Pods, of(&key.namespace, &key.name, &key.uid))
            }
            ObjectKey::Node(name) => {
                Observation::Gone(Resource::Nodes, of("", name, self.uid_of_node(name)))
            }
            ObjectKey::Namespace(name) => {
                Observation::Gone(Resource::Namespaces, of("", name, name))
            }
            ObjectKey::Gang(key, Source::Muster) => {
                let uid = self.groups.remove(key)?;
                Observation::Gone(Resource::PodGroups, of(&key.namespace, &key.name, &uid))
            }
            _ => return None,
        })
    }
}

impl Driver {
    /// There is something for controllers from now on: they start, and may die on the way.
    pub(super) fn begin_to_control(&mut self) {
        if self.controllers.is_some() {
            return;
        }
        self.controllers = Some(Box::new(Controllers::new(&self.reading, &self.node_uids)));
        self.list_for_controllers();
        for at in self.network.deaths_of_controllers(self.now) {
            self.heap.push(at, Happening::RestartControllers);
        }
        let needs = self.needs_of_controllers();
        for (at, index) in self.network.breaks_of_watches(needs.len(), self.now) {
            let broken = Happening::BreakWatchOfControllers(needs[index]);
            self.heap.push(at, broken);
        }
        for at in self.network.failures_of_pods(self.now) {
            self.heap.push(at, Happening::FailPod);
        }
    }

    fn needs_of_controllers(&self) -> Vec<Resource> {
        let controllers = self.controllers.as_ref();
        controllers.map_or_else(Vec::new, |one| one.machine.needs())
    }

    /// Controllers start anew, and know nothing.
    pub(super) fn restart_controllers(&mut self) {
        if let Some(before) = self.controllers.take() {
            let mut anew = Box::new(Controllers::new(&self.reading, &self.node_uids));
            // What it made is a part of what is observed.
            anew.made = before.made;
            anew.to_go = before.to_go;
            anew.taken = before.taken;
            anew.version = before.version;
            anew.starts = before.starts + 1;
            self.controllers = Some(anew);
            self.list_for_controllers();
        }
    }

    /// Controllers that start are told what there is.
    fn list_for_controllers(&mut self) {
        let list = self.list_of_controllers();
        let Some(controllers) = &mut self.controllers else {
            return;
        };
        for news in list {
            controllers.hear(news, self.now);
        }
        for resource in controllers.machine.needs() {
            let synced = Observation::Synced(resource);
            controllers.machine.observe(synced, self.now);
        }
    }

    /// All there is that concerns controllers.
    fn list_of_controllers(&mut self) -> Vec<Observation> {
        let Some(controllers) = &mut self.controllers else {
            return Vec::new();
        };
        let wholes = self.server.wholes();
        let told = Stream::ALL
            .into_iter()
            .flat_map(|stream| self.server.list(stream));
        let told = told.filter_map(|told| controllers.news(&told.event, wholes));
        told.chain(wholes.list()).collect()
    }

    /// A watch of controllers breaks, and a list follows.
    pub(super) fn break_watch_of_controllers(&mut self, resource: Resource) {
        let controllers = self.controllers.as_mut();
        if controllers.is_some_and(|controllers| controllers.ears.cut(resource)) {
            self.network.count(|met| met.controllers_relists += 1);
            let at = self.now + self.network.pause();
            self.heap.push(at, Happening::ListForControllers(resource));
        }
    }

    /// A list follows a watch that broke.
    pub(super) fn list_anew_for_controllers(&mut self, resource: Resource) {
        let mut list = self.list_of_controllers();
        list.retain(|news| news.resource() == resource);
        let Some(controllers) = &mut self.controllers else {
            return;
        };
        for news in controllers.ears.mend(resource, list).into_iter().flatten() {
            controllers.hear(news, self.now);
        }
    }

    /// A pod that a QueueJob made, and that runs, fails.
    pub(super) fn fail_pod(&mut self) {
        let Some(controllers) = &self.controllers else {
            return;
        };
        let runs = self.server.pods().filter(|pod| pod.is_bound());
        let ours = runs.filter(|pod| {
            let key = &pod.spec.key;
            controllers.is_of_queue_job(&(key.namespace.clone(), key.name.clone()))
        });
        let ours: Vec<PodKey> = ours.map(|pod| pod.spec.key.clone()).collect();
        if let Some(key) = ours.get(self.network.pick(ours.len())) {
            self.network.count(|met| met.pods_failed += 1);
            self.server.change_pod(key, |pod| pod.run.fails = true);
            self.finish(key);
        }
    }

    /// Controllers take news, late while there are faults.
    pub(super) fn tell_controllers(&mut self, event: &Event) {
        let Some(controllers) = &mut self.controllers else {
            return;
        };
        if let Some(news) = controllers.news(event, self.server.wholes()) {
            self.tell_controllers_of(news);
        }
    }

    /// A scheduler told a pod that it is to go: of ghosts it is known why they do.
    pub(super) fn tell_to_go(&mut self, pod: &PodKey) {
        let found = self.server.pod(pod).filter(|found| found.is_ghost());
        let Some(spec) = found.map(|found| found.spec.clone()) else {
            return;
        };
        if let Some(controllers) = &mut self.controllers
            && controllers.to_go.insert(pod.uid.clone())
        {
            self.tell_controllers(&Event::Is(Object::Pod(Box::new(spec))));
        }
    }

    /// The same of what was found out already.
    pub(super) fn tell_controllers_of(&mut self, news: Observation) {
        let Some(controllers) = &mut self.controllers else {
            return;
        };
        let (resource, now) = (news.resource(), self.now);
        let at = now + self.network.lag(Stream::Others, now);
        match controllers.ears.way(resource, at, now) {
            Way::Now => controllers.hear(news, now),
            Way::At(at, generation) => {
                let courier = Courier {
                    starts: controllers.starts,
                    what: Errand::News(generation, news),
                };
                self.heap
                    .push(at, Happening::ForControllers(Box::new(courier)));
            }
            Way::Lost => {}
        }
    }

    /// Has controllers say what they want now; whether that was anything.
    pub(super) fn control(&mut self) -> bool {
        let Some(controllers) = &mut self.controllers else {
            return false;
        };
        if self.still_to_keep > 0 {
            return false;
        }
        let writes = controllers.machine.due(self.now, WRITES);
        let acts = !writes.is_empty();
        let starts = controllers.starts;
        for write in writes {
            if self.trace {
                eprintln!("{:>9} controllers: {write:?}", self.now.0);
            }
            self.send_for_controllers(starts, write);
            if self
                .controllers
                .as_ref()
                .is_some_and(|one| one.starts != starts)
            {
                // They died between two writes.
                return true;
            }
        }
        if let Some(controllers) = &mut self.controllers
            && let Some(at) = controllers.machine.wakes_at().filter(|_| !acts)
        {
            let at = at.max(self.now + Millis(1));
            let planned = controllers.planned.filter(|planned| *planned > self.now);
            if planned.is_none_or(|planned| at < planned) {
                controllers.planned = Some(at);
                self.heap.push(at, Happening::Control);
            }
        }
        acts
    }

    /// Sends a write, of which anything may become while there are faults.
    fn send_for_controllers(&mut self, starts: u64, write: Write) {
        let fate = self.network.fate_of_write(&write.on, self.now);
        let at = |span: Millis| self.now + span;
        let ticket = write.ticket;
        let (answers_at, instead) = (
            at(fate.answers_in),
            fate.instead.map(|one| heard(one, self.now)),
        );
        let Some(lands_at) = fate.lands_in.map(at) else {
            let answer = instead.unwrap_or(Answer::Lost);
            let what = Errand::Answer(ticket, answer);
            let courier = Box::new(Courier { starts, what });
            return self
                .heap
                .push(answers_at, Happening::ForControllers(courier));
        };
        let mut answers = Some(answers_at.max(lands_at));
        if let Some(answer) = instead {
            // Nobody hears what came of it.
            let what = Errand::Answer(ticket, answer);
            let courier = Box::new(Courier { starts, what });
            self.heap
                .push(answers_at, Happening::ForControllers(courier));
            answers = None;
        }
        let what = Errand::Write(write, answers);
        let courier = Courier { starts, what };
        if lands_at <= self.now {
            return self.run_for_controllers(courier);
        }
        self.heap
            .push(lands_at, Happening::ForControllers(Box::new(courier)));
    }

    /// Brings what is on its way to or from controllers where it goes.
    pub(super) fn run_for_controllers(&mut self, courier: Courier) {
        let Courier { starts, what } = courier;
        let same = self
            .controllers
            .as_ref()
            .is_some_and(|one| one.starts == starts);
        match what {
            // It is carried out, whoever sent it is dead.
            Errand::Write(write, answers) => {
                let ticket = write.ticket;
                let answer = self.carry_out_for_controllers(write);
                if same && self.network.dies_after_a_write(self.now) {
                    return self.restart_controllers();
                }
                let Some(at) = answers else { return };
                let what = Errand::Answer(ticket, answer);
                let courier = Courier { starts, what };
                if at <= self.now {
                    return self.run_for_controllers(courier);
                }
                self.heap
                    .push(at, Happening::ForControllers(Box::new(courier)));
            }
            Errand::News(generation, news) => {
                if let Some(controllers) = self.controllers.as_mut().filter(|_| same)
                    && controllers.ears.arrives(news.resource(), generation)
                {
                    controllers.hear(news, self.now);
                }
            }
            Errand::Answer(ticket, answer) => {
                if let Some(controllers) = self.controllers.as_mut().filter(|_| same) {
                    controllers.machine.answered(ticket, answer, self.now);
                }
            }
        }
    }
}

impl Driver {
    /// Carries out a write, before the eyes of whoever looks on.
    fn carry_out_for_controllers(&mut self, write: Write) -> Answer {
        let now = self.now;
        self.witness(|witness, server| witness.before(&write, server, now));
        let Some(mut controllers) = self.controllers.take() else {
            return Answer::Lost;
        };
        let answer = self.carry_out_write(write.clone(), &mut controllers);
        self.controllers = Some(controllers);
        self.witness(|witness, server| witness.after(&write, &answer, server));
        if matches!(answer, Answer::AlreadyExists) && write.on.resource == Resource::Pods {
            self.tell_whose_a_name_is((write.on.namespace, write.on.name));
        }
        answer
    }

    /// Controllers wanted a name that a pod has: on a cluster they hear of all pods.
    fn tell_whose_a_name_is(&mut self, name: PodName) {
        let found = self.server.pod_named(&name.0, &name.1);
        let found = found.map(|pod| Event::Is(Object::Pod(Box::new(pod.spec.clone()))));
        if let (Some(controllers), Some(event)) = (&mut self.controllers, found)
            && controllers.taken.insert(name)
        {
            self.tell_controllers(&event);
        }
    }
}

/// Fills in what is not said of how pods are read.
pub(super) fn complete(mut reading: Reading) -> Reading {
    let defaults = testbed::Settings::default();
    if reading.ghost_namespace.is_empty() {
        reading.ghost_namespace = defaults.ghost_namespace;
    }
    if reading.scheduler_names.is_empty() {
        reading.scheduler_names.push(defaults.scheduler_name);
    }
    reading
}

/// The PodGroup of this name.
fn group_named(key: &GangKey) -> ObjectName {
    ObjectName {
        resource: Resource::PodGroups,
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}

/// What a client makes of an answer.
fn heard(answer: attempt::Answer, now: Time) -> Answer {
    match answer {
        attempt::Answer::Status { code: 429, .. } => Answer::Throttled {
            until: now + Millis(1_000),
        },
        attempt::Answer::Status { code: 409, .. } => Answer::Conflict,
        attempt::Answer::Status { code, message, .. } if code < 500 => Answer::Refused { message },
        _ => Answer::Lost,
    }
}
