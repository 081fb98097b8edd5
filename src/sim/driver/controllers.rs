//! The controllers of our kinds, on virtual time: the same machines as on a cluster, told what the simulated
//! API server holds. While there are faults their news is late, their writes are refused and lost as all others
//! are, and they die and start anew.

use super::written::{observed, pod, quantities};
use super::{Driver, Happening};
use crate::network::Request;
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
    /// News arrives in its order, the last by then.
    news_until: Time,
    /// How much of it is on its way.
    news_under_way: u64,
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
    News(Observation),
    /// A write, and when its sender hears what came of it, if at all.
    Write(Write, Option<Time>),
    Answer(Ticket, Answer),
}

impl std::fmt::Debug for Controllers {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Controllers")
            .field("starts", &self.starts)
            .finish_non_exhaustive()
    }
}

impl Controllers {
    pub(super) fn new(reading: &Reading) -> Self {
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
            told: BTreeSet::new(),
            to_go: BTreeSet::new(),
            groups: BTreeMap::new(),
            version: 0,
            planned: None,
            starts: 0,
            news_until: Time::ZERO,
            news_under_way: 0,
        }
    }

    /// Notes how a pod was made.
    pub(super) fn note(&mut self, name: PodName, value: Value) {
        self.made.insert(name, value);
    }

    /// What a watch would deliver.
    fn news(&mut self, event: &Event, wholes: &Wholes) -> Option<Observation> {
        match event {
            Event::Is(Object::Pod(spec)) => {
                let name = (spec.key.namespace.clone(), spec.key.name.clone());
                let concerns = spec.ghost_of.is_some() || spec.shape.claim.is_some();
                let concerns = concerns || self.made.contains_key(&name);
                if !concerns && !self.told.contains(&name) {
                    return None;
                }
                self.told.insert(name);
                self.pod(spec)
            }
            Event::Is(Object::Node(spec)) => {
                let node = json!({
                    "metadata": {"name": spec.name, "uid": spec.name, "labels": spec.labels},
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
            ObjectKey::Node(name) => Observation::Gone(Resource::Nodes, of("", name, name)),
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
        self.controllers = Some(Box::new(Controllers::new(&self.reading)));
        self.list_for_controllers();
        for at in self.network.deaths_of_controllers(self.now) {
            self.heap.push(at, Happening::RestartControllers);
        }
    }

    /// Controllers start anew, and know nothing.
    pub(super) fn restart_controllers(&mut self) {
        if let Some(before) = self.controllers.take() {
            let mut anew = Box::new(Controllers::new(&self.reading));
            // What it made is a part of what is observed.
            anew.made = before.made;
            anew.to_go = before.to_go;
            anew.version = before.version;
            anew.starts = before.starts + 1;
            self.controllers = Some(anew);
            self.list_for_controllers();
        }
    }

    /// Controllers that start are told what there is.
    fn list_for_controllers(&mut self) {
        let Some(controllers) = &mut self.controllers else {
            return;
        };
        for told in Stream::ALL
            .into_iter()
            .flat_map(|stream| self.server.list(stream))
        {
            if let Some(news) = controllers.news(&told.event, self.server.wholes()) {
                controllers.machine.observe(news, self.now);
            }
        }
        for news in self.server.wholes().list() {
            controllers.machine.observe(news, self.now);
        }
        for resource in controllers.machine.needs() {
            let synced = Observation::Synced(resource);
            controllers.machine.observe(synced, self.now);
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
        let at = self.now + self.network.lag(Stream::Others, self.now);
        let at = at.max(controllers.news_until);
        controllers.news_until = at;
        // What is to arrive at this moment may not have arrived yet.
        if at <= self.now && controllers.news_under_way == 0 {
            return controllers.machine.observe(news, self.now);
        }
        controllers.news_under_way += 1;
        let courier = Courier {
            starts: controllers.starts,
            what: Errand::News(news),
        };
        self.heap
            .push(at, Happening::ForControllers(Box::new(courier)));
    }

    /// Has controllers say what they want now; whether that was anything.
    pub(super) fn control(&mut self) -> bool {
        let Some(controllers) = &mut self.controllers else {
            return false;
        };
        let writes = controllers.machine.due(self.now, WRITES);
        let acts = !writes.is_empty();
        let starts = controllers.starts;
        for write in writes {
            if self.trace {
                eprintln!("{:>9} controllers: {write:?}", self.now.0);
            }
            self.send_for_controllers(starts, write);
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
        let any = Request::Read(PodKey::default());
        let fate = self.network.fate(&any, self.now);
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
                let Some(mut controllers) = self.controllers.take() else {
                    return;
                };
                let answer = self.carry_out_write(write, &mut controllers);
                self.controllers = Some(controllers);
                let Some(at) = answers else { return };
                let what = Errand::Answer(ticket, answer);
                let courier = Courier { starts, what };
                if at <= self.now {
                    return self.run_for_controllers(courier);
                }
                self.heap
                    .push(at, Happening::ForControllers(Box::new(courier)));
            }
            Errand::News(news) => {
                if let Some(controllers) = self.controllers.as_mut().filter(|_| same) {
                    controllers.news_under_way -= 1;
                    controllers.machine.observe(news, self.now);
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
        attempt::Answer::Status { code, message, .. } if code < 500 => Answer::Refused { message },
        _ => Answer::Lost,
    }
}
