//! The controllers of our kinds, on virtual time: the same machines as on a cluster, told what the simulated
//! API server holds. While there are faults their news is late, their writes are refused and lost as all others
//! are, and they die and start anew.

use super::{Driver, Happening};
use crate::network::Request;
use crate::scenario::{OnEviction, PodPlan, Run};
use crate::server::{Pod, Stream};
use muster_api::convert::{self, Reading};
use muster_api::kinds::Identity;
use muster_api::{names, slim};
use muster_cluster::attempt;
use muster_controllers::testbed::{Settings, Testbeds};
use muster_controllers::{Answer, Deed, Machine, Observation, Resource, Ticket, Write};
use muster_model::units::{Millis, Time};
use muster_model::{Amounts, Event, Object, ObjectKey, PodKey, PodPhase, PodSpec};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// So many writes are taken from a machine at once.
const WRITES: usize = 100;

/// The controllers, from when there is something for them on.
#[derive(Debug)]
pub(super) struct Controllers {
    machine: Testbeds,
    reading: Reading,
    /// The uids of Testbeds, by name.
    testbeds: BTreeMap<String, String>,
    /// The pods that it made, as it made them, by namespace and name.
    made: BTreeMap<(String, String), Value>,
    /// The pods that it was told of.
    told: BTreeSet<(String, String)>,
    /// Its next look is foreseen.
    planned: Option<Time>,
    /// How often it started: what was on its way for another goes nowhere.
    starts: u64,
    /// News arrives in its order, the last by then.
    news_until: Time,
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

impl Controllers {
    pub(super) fn new(ghost_namespace: &str) -> Self {
        let mut settings = Settings::default();
        if !ghost_namespace.is_empty() {
            ghost_namespace.clone_into(&mut settings.ghost_namespace);
        }
        Self {
            reading: Reading {
                scheduler_names: vec![settings.scheduler_name.clone()],
                ghost_namespace: settings.ghost_namespace.clone(),
                ..Reading::default()
            },
            machine: Testbeds::new(settings),
            testbeds: BTreeMap::new(),
            made: BTreeMap::new(),
            told: BTreeSet::new(),
            planned: None,
            starts: 0,
            news_until: Time::ZERO,
        }
    }

    /// What a watch would deliver.
    fn news(
        &mut self,
        event: &Event,
        testbed: impl Fn(&str) -> Option<Value>,
    ) -> Option<Observation> {
        match event {
            Event::Is(Object::Pod(spec)) => {
                let name = (spec.key.namespace.clone(), spec.key.name.clone());
                let concerns = spec.ghost_of.is_some() || spec.shape.claim.is_some();
                if !concerns && !self.told.contains(&name) {
                    return None;
                }
                let made = self.made.get(&name);
                let pod = observed(&pod(spec, made));
                self.told.insert(name);
                pod.map(|pod| Observation::Pod(Box::new(pod)))
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
            Event::Is(Object::Testbed(spec)) => {
                self.testbeds.insert(spec.name.clone(), spec.uid.clone());
                let found = testbed(&spec.name).and_then(|value| observed(&value));
                found.map(|one| Observation::Testbed(Box::new(one)))
            }
            Event::Gone(key) => self.gone(key),
            _ => None,
        }
    }

    /// A pod as it is now.
    fn told(&self, found: &Pod) -> Option<Observation> {
        let spec = &found.spec;
        let name = (spec.key.namespace.clone(), spec.key.name.clone());
        let pod = observed(&pod(spec, self.made.get(&name)))?;
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
                if !self.told.remove(&name) {
                    return None;
                }
                Observation::Gone(Resource::Pods, of(&key.namespace, &key.name, &key.uid))
            }
            ObjectKey::Node(name) => Observation::Gone(Resource::Nodes, of("", name, name)),
            ObjectKey::Namespace(name) => {
                Observation::Gone(Resource::Namespaces, of("", name, name))
            }
            ObjectKey::Testbed(name) => {
                let uid = self.testbeds.remove(name).unwrap_or_default();
                Observation::Gone(Resource::Testbeds, of("", name, &uid))
            }
            _ => return None,
        })
    }
}

/// An object as a watch has it.
fn observed<T: for<'de> Deserialize<'de>>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

/// Amounts of the core as quantities.
fn quantities(amounts: &Amounts) -> Map<String, Value> {
    let quantity = |(name, amount): &(String, i64)| {
        let milli = if name == "cpu" { "m" } else { "" };
        (name.clone(), Value::String(format!("{amount}{milli}")))
    };
    amounts.iter().map(quantity).collect()
}

/// A pod, as it was made, or else as far as controllers read one.
fn pod(spec: &PodSpec, made: Option<&Value>) -> Value {
    if let Some(made) = made {
        return told_of(made.clone(), spec);
    }
    let mut metadata = json!({
        "namespace": spec.key.namespace, "name": spec.key.name, "uid": spec.key.uid,
    });
    if let Some(claim) = &spec.shape.claim {
        let positions: Vec<String> = claim.positions.iter().map(u32::to_string).collect();
        metadata["labels"] = json!({
            names::TESTBED: claim.testbed, names::SLOTS: positions.join("_"),
        });
    }
    if let Some(slot) = spec.slot {
        metadata["annotations"] = json!({names::SLOT: slot.to_string()});
    }
    if let Some(of) = &spec.ghost_of {
        metadata["ownerReferences"] = json!([{
            "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "name": "", "uid": of.testbed,
            "controller": true,
        }]);
    }
    let requests = quantities(&spec.shape.requests);
    let pod = json!({
        "metadata": metadata,
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": requests}}],
        },
    });
    told_of(pod, spec)
}

/// The same with what became of it.
fn told_of(mut pod: Value, spec: &PodSpec) -> Value {
    pod["metadata"]["uid"] = json!(spec.key.uid);
    if spec.terminating {
        pod["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
    }
    pod["spec"]["nodeName"] = json!(spec.node.as_deref().unwrap_or_default());
    pod["status"] = json!({
        "phase": phase(spec.phase),
        "nominatedNodeName": spec.nominated.as_deref().unwrap_or_default(),
    });
    pod
}

const fn phase(phase: PodPhase) -> &'static str {
    match phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
    }
}

impl Driver {
    /// There is something for controllers from now on: they start, and may die on the way.
    fn begin_to_control(&mut self) {
        if self.controllers.is_some() {
            return;
        }
        self.controllers = Some(Box::new(Controllers::new(&self.ghost_namespace)));
        self.list_for_controllers();
        for at in self.network.deaths_of_controllers(self.now) {
            self.heap.push(at, Happening::RestartControllers);
        }
    }

    /// Controllers start anew, and know nothing.
    pub(super) fn restart_controllers(&mut self) {
        if let Some(before) = self.controllers.take() {
            let mut anew = Box::new(Controllers::new(&self.ghost_namespace));
            // What it made is a part of what is observed.
            anew.made = before.made;
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
            let testbed = |name: &str| self.server.testbed(name).cloned();
            if let Some(news) = controllers.news(&told.event, testbed) {
                controllers.machine.observe(news, self.now);
            }
        }
        for resource in controllers.machine.needs() {
            let synced = Observation::Synced(resource);
            controllers.machine.observe(synced, self.now);
        }
    }

    /// A Testbed is created, or changed but for its status.
    pub(super) fn put_testbed(&mut self, testbed: Value) {
        self.begin_to_control();
        self.server.put_testbed(testbed, self.now);
    }

    /// Controllers take news, late while there are faults.
    pub(super) fn tell_controllers(&mut self, event: &Event) {
        let Some(controllers) = &mut self.controllers else {
            return;
        };
        let testbed = |name: &str| self.server.testbed(name).cloned();
        let Some(news) = controllers.news(event, testbed) else {
            return;
        };
        let at = self.now + self.network.lag(Stream::Others, self.now);
        let at = at.max(controllers.news_until);
        controllers.news_until = at;
        if at <= self.now {
            return controllers.machine.observe(news, self.now);
        }
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

    fn carry_out_write(&mut self, write: Write, controllers: &mut Controllers) -> Answer {
        let name = write.on;
        match (name.resource, write.deed) {
            (Resource::Pods, Deed::Create(value)) => self.create_ghost(value, controllers),
            (Resource::Pods, Deed::Delete { uid }) => {
                let key = PodKey {
                    namespace: name.namespace,
                    name: name.name,
                    uid,
                };
                match self.server.pod_named(&key.namespace, &key.name) {
                    None => Answer::NotFound,
                    Some(found) if found.spec.key != key => Answer::Conflict,
                    Some(_) => {
                        self.terminate(&key, false);
                        let found = self.server.pod(&key);
                        Answer::Done(found.and_then(|found| controllers.told(found)))
                    }
                }
            }
            (
                Resource::Testbeds,
                Deed::PatchStatus {
                    uid,
                    version,
                    operations,
                },
            ) => {
                let patch = Deed::json_patch(&uid, &version, &operations);
                let done = self
                    .server
                    .patch_testbed(&name.name, &version, &patch, self.now);
                done.map_or_else(
                    |answer| answer,
                    |()| {
                        let found = self.server.testbed(&name.name).and_then(observed);
                        Answer::Done(found.map(|one| Observation::Testbed(Box::new(one))))
                    },
                )
            }
            (resource, deed) => Answer::Refused {
                message: format!("nobody writes {deed:?} on {resource:?} here"),
            },
        }
    }

    fn create_ghost(&mut self, value: Value, controllers: &mut Controllers) -> Answer {
        let found = match slim::Pod::deserialize(&value) {
            Ok(found) => found,
            Err(error) => {
                let message = error.to_string();
                return Answer::Refused { message };
            }
        };
        let spec = convert::pod(&found, &controllers.reading);
        let key = &spec.key;
        if self.server.pod_named(&key.namespace, &key.name).is_some() {
            return Answer::AlreadyExists;
        }
        let name = (key.namespace.clone(), key.name.clone());
        controllers.made.insert(name.clone(), value);
        self.add_ghost(PodPlan {
            spec,
            run: Run {
                on_eviction: OnEviction::Gone,
                ..Run::default()
            },
            claims: Vec::new(),
        });
        let made = self.server.pod_named(&name.0, &name.1);
        Answer::Done(made.and_then(|made| controllers.told(made)))
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
