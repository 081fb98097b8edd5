//! The controllers of our kinds, on virtual time: the same machines as on a cluster, told what the simulated
//! API server holds, and what they write is carried out at once.

use super::{Driver, Happening};
use crate::scenario::{OnEviction, PodPlan, Run};
use crate::server::{Pod, Stream};
use muster_api::convert::{self, Reading};
use muster_api::kinds::Identity;
use muster_api::{names, slim};
use muster_controllers::testbed::{Settings, Testbeds};
use muster_controllers::{Answer, Deed, Machine, Observation, Resource, Write};
use muster_model::units::Time;
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
        }
    }

    /// Takes what a watch would deliver.
    fn hear(&mut self, event: &Event, testbed: impl Fn(&str) -> Option<Value>, now: Time) {
        let news = match event {
            Event::Is(Object::Pod(spec)) => {
                let name = (spec.key.namespace.clone(), spec.key.name.clone());
                let concerns = spec.ghost_of.is_some() || spec.shape.claim.is_some();
                if !concerns && !self.told.contains(&name) {
                    return;
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
        };
        if let Some(news) = news {
            self.machine.observe(news, now);
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
    /// There is something for controllers from now on: they are told what there is.
    fn begin_to_control(&mut self) {
        if self.controllers.is_some() {
            return;
        }
        let mut controllers = Box::new(Controllers::new(&self.ghost_namespace));
        for told in Stream::ALL
            .into_iter()
            .flat_map(|stream| self.server.list(stream))
        {
            controllers.hear(
                &told.event,
                |name| self.server.testbed(name).cloned(),
                self.now,
            );
        }
        for resource in controllers.machine.needs() {
            let synced = Observation::Synced(*resource);
            controllers.machine.observe(synced, self.now);
        }
        self.controllers = Some(controllers);
    }

    /// A Testbed is created, or changed but for its status.
    pub(super) fn put_testbed(&mut self, testbed: Value) {
        self.begin_to_control();
        self.server.put_testbed(testbed, self.now);
    }

    /// Controllers take news.
    pub(super) fn tell_controllers(&mut self, event: &Event) {
        if let Some(controllers) = &mut self.controllers {
            let testbed = |name: &str| self.server.testbed(name).cloned();
            controllers.hear(event, testbed, self.now);
        }
    }

    /// Carries out what controllers want now; whether that was anything.
    pub(super) fn control(&mut self) -> bool {
        let Some(mut controllers) = self.controllers.take() else {
            return false;
        };
        let writes = controllers.machine.due(self.now, WRITES);
        let acts = !writes.is_empty();
        for write in writes {
            let ticket = write.ticket;
            if self.trace {
                eprintln!("{:>9} controllers: {write:?}", self.now.0);
            }
            let answer = self.carry_out_write(write, &mut controllers);
            controllers.machine.answered(ticket, answer, self.now);
        }
        let wakes_at = controllers.machine.wakes_at().map(|at| at.max(self.now));
        if let Some(at) = wakes_at.filter(|_| !acts)
            && controllers
                .planned
                .is_none_or(|planned| planned > at || planned < self.now)
        {
            controllers.planned = Some(at);
            self.heap.push(at, Happening::Control);
        }
        self.controllers = Some(controllers);
        acts
    }

    /// It is time for controllers to look.
    pub(super) fn control_in_time(&mut self) {
        if let Some(controllers) = &mut self.controllers {
            controllers.planned = None;
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
