//! What may be written, and what is made of it: objects are read as those of a scenario are.

use crate::failure::Failure;
use crate::resources::{self, ALL, Id, ResourceId};
use crate::roles::{Role, role};
use crate::shown::date;
use crate::world::{Deed, MAX_OBJECTS, World};
use muster_controllers::Resource as Controlled;
use muster_model::units::Time;
use muster_sim::scenario::{Entry, Played, ScenarioError, Source, load, refused_edit, stamped};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What is written on objects for the simulator.
const BEHAVIOUR: &str = "simulate.muster.dev/";
const REPLICAS: &str = "simulate.muster.dev/replicas";

/// What of an object's metadata the API server writes.
const GIVEN: [&str; 8] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// What a node says of itself.
const NODE_INFO: [&str; 10] = [
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
];

/// How a write is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How {
    /// A field that is not known is an error, and no warning.
    pub(crate) strict: bool,
    /// Nothing is to come of it.
    pub(crate) dry: bool,
}

/// What came of a write.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) object: Arc<Value>,
    pub(crate) warnings: Vec<String>,
}

/// An object that was read.
struct Admitted {
    entries: Vec<Entry>,
    warnings: Vec<String>,
}

impl World {
    /// Creates an object, or all copies that it asks for.
    pub(crate) fn create(
        &mut self,
        resource: ResourceId,
        namespace: Option<&str>,
        mut value: Value,
        how: How,
    ) -> Result<Done, Failure> {
        self.complete(resource, namespace, &mut value)?;
        let clean = clean(resource, &value);
        let id = Id::of(resource, &clean);
        self.must_have_room(objects_asked(&clean))?;
        let admitted = self.admit(&clean, how)?;
        let annotations = &clean["metadata"]["annotations"];
        let is_to_come = admitted.entries.iter().any(|entry| entry.at > Time::ZERO);
        if !annotations[REPLICAS].is_null() || is_to_come {
            if !how.dry {
                let copies = self.add(&clean)?;
                if !copies.is_empty() {
                    self.copies.insert(id, copies);
                }
            }
            let mut object = clean;
            object["metadata"]["creationTimestamp"] = json!(date(self.now()));
            return Ok(Done {
                object: Arc::new(object),
                warnings: admitted.warnings,
            });
        }
        check_name(&id)?;
        if self.objects.contains_key(&id) {
            return Err(Failure::exists(id.kind(), &id.name));
        }
        if how.dry {
            let object = Arc::new(clean);
            let warnings = admitted.warnings;
            return Ok(Done { object, warnings });
        }
        self.put(&id, clean)?;
        self.plan_end(&id, &admitted.entries);
        Ok(Done {
            object: Arc::clone(self.get(&id)?),
            warnings: admitted.warnings,
        })
    }

    /// Adds what an object of a file asks for: each copy, now or when it is to come.
    pub(crate) fn add(&mut self, value: &Value) -> Result<Vec<Id>, Failure> {
        let resource = resources::of_object(value);
        let value = resource.map_or_else(|| value.clone(), |resource| clean(resource, value));
        self.must_have_room(objects_asked(&value))?;
        let copies = stamped(&[source(&value)], &self.reading).map_err(unreadable)?;
        let (now, mut ids) = (self.now(), Vec::new());
        for mut copy in copies {
            if let Some(annotations) = copy["metadata"]["annotations"].as_object_mut() {
                annotations.remove(REPLICAS);
            }
            let entries = self.admit(&copy, How::default())?.entries;
            let at = entries.first().map_or(Time::ZERO, |entry| entry.at);
            let at = now + at.since(Time::ZERO);
            if let Some(resource) = resources::of_object(&copy) {
                let id = Id::of(resource, &copy);
                check_name(&id)?;
                self.plan_end(&id, &entries);
                ids.push(id);
            }
            let number = self.next_number();
            self.to_come.insert((at, number), Deed::Put(copy));
        }
        self.advance(now);
        Ok(ids)
    }

    /// Creates or changes an object whose time has come.
    pub(crate) fn put_again(&mut self, value: &Value) -> Result<(), Failure> {
        let Some(resource) = resources::of_object(value) else {
            // No object of the cluster, but a word about it.
            for entry in self.admit(value, How::default())?.entries {
                self.driver.add(entry.object, false);
            }
            self.play(self.now());
            return Ok(());
        };
        let value = clean(resource, value);
        self.put(&Id::of(resource, &value), value)
    }

    /// Changes an object to what it is to be.
    pub(crate) fn update(&mut self, id: &Id, mut value: Value, how: How) -> Result<Done, Failure> {
        let before = Arc::clone(self.get(id)?);
        let (metadata, held) = (&value["metadata"], &before["metadata"]);
        for field in ["uid", "resourceVersion"] {
            let asked = &metadata[field];
            if !asked.is_null() && asked != &held[field] && asked != "" {
                let why = match field {
                    "uid" => "the object of this name has another uid",
                    _ => {
                        "the object has been modified; please apply your changes to the latest version and try again"
                    }
                };
                return Err(Failure::conflict(id.kind(), &id.name, why));
            }
        }
        self.complete(id.resource, Some(&id.namespace), &mut value)?;
        if Id::of(id.resource, &value) != *id {
            return Err(Failure::bad_request(format!(
                "the object is named {:?}, and the path {:?}",
                value["metadata"]["name"].as_str().unwrap_or_default(),
                id.name
            )));
        }
        let (old, new) = (clean(id.resource, &before), clean(id.resource, &value));
        let warnings = self.admit(&new, how)?.warnings;
        if let Some(why) = refused_edit(&old, &new) {
            return Err(Failure::invalid(id.kind(), &id.name, &why));
        }
        if !how.dry && old != new {
            self.put(id, new)?;
        }
        let object = if how.dry {
            Arc::new(value)
        } else {
            Arc::clone(self.get(id)?)
        };
        Ok(Done { object, warnings })
    }

    /// Deletes an object; what is left of it, which may go on for a while.
    pub(crate) fn delete(
        &mut self,
        id: &Id,
        uid: Option<&str>,
    ) -> Result<Option<Arc<Value>>, Failure> {
        if let (false, Some(copies)) = (self.objects.contains_key(id), self.copies.remove(id)) {
            return Ok(self.delete_copies(&copies));
        }
        let object = Arc::clone(self.get(id)?);
        if uid.is_some_and(|uid| object["metadata"]["uid"] != uid) {
            let why = "Precondition failed: UID in precondition";
            return Err(Failure::conflict(id.kind(), &id.name, why));
        }
        if id.kind().group.is_empty() && id.kind().plural == "namespaces" {
            let inside = self.objects.keys().filter(|one| one.namespace == id.name);
            for one in inside.cloned().collect::<Vec<Id>>() {
                // It may have gone with another one.
                let _ = self.delete(&one, None);
            }
        }
        let admitted = self.admit(&clean(id.resource, &object), How::default());
        for entry in admitted.map(|one| one.entries).unwrap_or_default() {
            self.driver
                .add(played(id, entry.object, &object, true), true);
        }
        if role(id.resource) == Role::Stored {
            self.forget(id);
        }
        self.play(self.now());
        self.show(id);
        Ok(self.objects.get(id).cloned())
    }

    /// Deletes what was made of an object that asked for copies, or for later.
    fn delete_copies(&mut self, copies: &[Id]) -> Option<Arc<Value>> {
        let is_one = |deed: &Deed| match deed {
            Deed::Put(value) => {
                let id = resources::of_object(value).map(|resource| Id::of(resource, value));
                id.is_some_and(|id| copies.contains(&id))
            }
            Deed::Delete(_) => false,
        };
        self.to_come.retain(|_, deed| !is_one(deed));
        for id in copies {
            // One may have gone before.
            let _ = self.delete(id, None);
        }
        None
    }

    /// Has the simulator take an object as it was written.
    pub(crate) fn put(&mut self, id: &Id, mut value: Value) -> Result<(), Failure> {
        let entries = self.admit(&value, How::default())?.entries;
        if ALL[id.resource].is_namespaced {
            self.ensure_namespace(&id.namespace);
        }
        let before = self.objects.get(id).cloned();
        match &before {
            Some(before) => {
                for field in GIVEN {
                    if !before["metadata"][field].is_null() {
                        value["metadata"][field] = before["metadata"][field].clone();
                    }
                }
                if value["status"].is_null() && !before["status"].is_null() {
                    value["status"] = before["status"].clone();
                }
                if role(id.resource) == Role::Stored && value["spec"] != before["spec"] {
                    let generation = before["metadata"]["generation"].as_i64().unwrap_or(1);
                    value["metadata"]["generation"] = json!(generation + 1);
                }
            }
            None => self.begin(id, &mut value),
        }
        let is_new = before.is_none();
        for entry in entries {
            self.driver
                .add(played(id, entry.object, &value, is_new), false);
        }
        self.written.insert(id.clone(), value);
        self.play(self.now());
        if self.written.contains_key(id) {
            self.show(id);
        }
        Ok(())
    }

    /// What an object has from the beginning.
    fn begin(&mut self, id: &Id, value: &mut Value) {
        let number = self.next_number();
        let metadata = &mut value["metadata"];
        metadata["uid"] = json!(format!("stored-{number:08}"));
        metadata["creationTimestamp"] = json!(date(self.now()));
        metadata["generation"] = json!(1);
        match id.kind().plural.as_str() {
            "nodes" => {
                let ready = json!([{
                    "type": "Ready", "status": "True", "reason": "KubeletReady",
                    "message": "a simulated kubelet", "lastHeartbeatTime": date(self.now()),
                    "lastTransitionTime": date(self.now()),
                }]);
                let status = &mut value["status"];
                if status["conditions"].is_null() {
                    status["conditions"] = ready;
                }
                if status["capacity"].is_null() {
                    status["capacity"] = status["allocatable"].clone();
                }
                if status["nodeInfo"].is_null() {
                    status["nodeInfo"] = NODE_INFO
                        .map(|field| (field, json!("simulated")))
                        .into_iter()
                        .collect();
                }
            }
            "namespaces" => value["status"]["phase"] = json!("Active"),
            _ => {}
        }
    }

    fn plan_end(&mut self, id: &Id, entries: &[Entry]) {
        let ends = entries.iter().filter_map(|entry| entry.delete_at);
        for at in ends {
            let (at, number) = (self.now() + at.since(Time::ZERO), self.next_number());
            self.to_come.insert((at, number), Deed::Delete(id.clone()));
        }
    }

    fn must_have_room(&self, more: usize) -> Result<(), Failure> {
        let there = self.objects.len() + self.to_come.len() + self.copies.len();
        if there.saturating_add(more) > MAX_OBJECTS {
            return Err(too_many());
        }
        Ok(())
    }

    /// Fills in what the path says, and holds the object to it.
    fn complete(
        &mut self,
        resource: ResourceId,
        namespace: Option<&str>,
        value: &mut Value,
    ) -> Result<(), Failure> {
        let kind = &ALL[resource];
        if !value.is_object() || !(value["metadata"].is_object() || value["metadata"].is_null()) {
            let message = "not an object with apiVersion, kind and metadata";
            return Err(Failure::bad_request(message));
        }
        let given = [
            ("apiVersion", kind.api_version()),
            ("kind", kind.kind.clone()),
        ];
        for (field, wanted) in given {
            if value[field].is_null() {
                value[field] = json!(wanted);
            } else if value[field] != wanted.as_str() {
                let found = value[field].to_string();
                let message = format!("{field} is {found}, and the path is for {wanted:?}");
                return Err(Failure::bad_request(message));
            }
        }
        if value["metadata"].is_null() {
            value["metadata"] = Value::Object(Map::new());
        }
        let metadata = &mut value["metadata"];
        if metadata["name"].is_null()
            && let Some(prefix) = metadata["generateName"].as_str()
        {
            let name = format!("{prefix}{:05x}", self.next_number());
            metadata["name"] = json!(name);
        }
        if !kind.is_namespaced {
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.remove("namespace");
            }
            return Ok(());
        }
        let namespace = namespace.unwrap_or("default");
        if metadata["namespace"].is_null() || metadata["namespace"] == "" {
            metadata["namespace"] = json!(namespace);
        } else if metadata["namespace"] != namespace {
            return Err(Failure::bad_request(format!(
                "the namespace of the object ({}) is not that of the path ({namespace:?})",
                metadata["namespace"]
            )));
        }
        Ok(())
    }

    /// Reads an object as one of a scenario.
    fn admit(&self, value: &Value, how: How) -> Result<Admitted, Failure> {
        // Before so many are made.
        if objects_asked(value) > MAX_OBJECTS {
            return Err(too_many());
        }
        let scenario = load(&[source(value)], &self.reading).map_err(unreadable)?;
        let warnings = scenario.warnings.iter().map(|line| without_place(line));
        let (unknown, warnings): (Vec<String>, Vec<String>) =
            warnings.partition(|line| how.strict && line.contains(" is not known "));
        if !unknown.is_empty() {
            let message = format!("strict decoding error: {}", unknown.join("; "));
            return Err(Failure::bad_request(message));
        }
        Ok(Admitted {
            entries: scenario.entries,
            warnings,
        })
    }
}

fn too_many() -> Failure {
    Failure::forbidden(format!(
        "the playground holds at most {MAX_OBJECTS} objects"
    ))
}

/// Where objects say how many others are made for them.
const COUNTS: [&str; 6] = [
    "/spec/completions",
    "/spec/parallelism",
    "/spec/job/spec/completions",
    "/spec/job/spec/parallelism",
    "/spec/creationRequest/replication",
    "/spec/slotsPerNode",
];

/// How many objects are made of one at least. What is no number is refused by who reads it.
fn objects_asked(value: &Value) -> usize {
    let number = |found: &Value| usize::try_from(found.as_u64()?).ok();
    let counts = COUNTS
        .iter()
        .filter_map(|path| number(value.pointer(path)?));
    let tasks = value["spec"]["taskSpecs"].as_array();
    let tasks = tasks.into_iter().flatten();
    let tasks = tasks.filter_map(|task| number(&task["replicas"]));
    let tasks = tasks.fold(0, usize::saturating_add);
    let made = counts.chain([tasks]).max().unwrap_or_default();
    let copies = value["metadata"]["annotations"][REPLICAS].as_str();
    let copies = copies.and_then(|text| text.parse::<usize>().ok());
    copies.unwrap_or(1).saturating_mul(made.max(1))
}

/// What is played of an object that is there, or is not.
fn played(id: &Id, object: Played, value: &Value, is_new: bool) -> Played {
    match object {
        Played::Pod(plan) if !is_new => Played::PodEdit(plan),
        // Its controller makes its pods, so that there is something to show of each.
        Played::Job(_) if role(id.resource) == Role::Whole(Controlled::Jobs) => {
            Played::Whole(Controlled::Jobs, Box::new(job(value)))
        }
        other => other,
    }
}

/// A Job whose pods behave as it says of itself.
fn job(value: &Value) -> Value {
    let mut job = value.clone();
    let own = value["metadata"]["annotations"].as_object();
    let timed = ["at", "delete-at", "replicas"].map(|name| format!("{BEHAVIOUR}{name}"));
    let own = own.into_iter().flatten();
    let own = own.filter(|(key, _)| key.starts_with(BEHAVIOUR) && !timed.contains(key));
    for (key, text) in own {
        let annotations = &mut job["spec"]["template"]["metadata"]["annotations"];
        if annotations[key].is_null() {
            annotations[key] = text.clone();
        }
    }
    job
}

/// An object without what the API server and others write on it.
fn clean(resource: ResourceId, value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        GIVEN.iter().for_each(|field| _ = metadata.remove(*field));
    }
    let is_said = ["nodes", "persistentvolumes"].contains(&ALL[resource].plural.as_str());
    if let (false, Some(object)) = (is_said, value.as_object_mut()) {
        object.remove("status");
    }
    value
}

fn source(value: &Value) -> Source {
    Source {
        name: String::new(),
        text: value.to_string(),
    }
}

fn unreadable(error: ScenarioError) -> Failure {
    let ScenarioError::Wrong(lines) = error;
    let lines: Vec<String> = lines.iter().map(|line| without_place(line)).collect();
    Failure::unprocessable(lines.join("; "))
}

/// A message without where in the request it is: it is one line.
fn without_place(line: &str) -> String {
    let (place, message) = line.split_once(": ").unwrap_or(("", line));
    let is_place = place.chars().all(|one| one == ':' || one.is_ascii_digit());
    if is_place { message } else { line }.to_owned()
}

/// Whether an object may have its name.
fn check_name(id: &Id) -> Result<(), Failure> {
    let is_part = |part: &str| {
        let inside = part
            .bytes()
            .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == b'-');
        !part.is_empty() && inside && !part.starts_with('-') && !part.ends_with('-')
    };
    let is_name = |name: &str| name.len() <= 253 && name.split('.').all(is_part);
    let (name, namespace) = (&id.name, &id.namespace);
    if !is_name(name) {
        let why = format!(
            "metadata.name: {name:?}: at most 253 of a-z, 0-9, '-' and '.', with a letter or a digit at each end"
        );
        return Err(Failure::invalid(id.kind(), name, &why));
    }
    if id.kind().is_namespaced && !(namespace.len() <= 63 && is_part(namespace)) {
        let why = format!("metadata.namespace: {namespace:?}: at most 63 of a-z, 0-9 and '-'");
        return Err(Failure::invalid(id.kind(), name, &why));
    }
    Ok(())
}
