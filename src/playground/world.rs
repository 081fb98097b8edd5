//! The simulated cluster, and its objects as an API server has them.
//!
//! The simulator decides what becomes of an object; here stands how it is shown, with a version for each change.

use crate::failure::Failure;
use crate::log::{Kind, Log};
use crate::resources::{self, Id, ResourceId};
use crate::roles::{Role, id_of_key, id_of_whole, role};
use crate::shown;
use muster_api::convert::Reading;
use muster_api::status::Status;
use muster_core::engine::Policy;
use muster_model::units::Time;
use muster_sim::driver::Driver;
use muster_sim::network::Network;
use muster_sim::page::live_page;
use muster_sim::picture::Subject;
use muster_sim::report::report;
use muster_sim::scenario::Scenario;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// So many objects are held at most, events apart.
pub(crate) const MAX_OBJECTS: usize = 20_000;
/// And so many events: the oldest go.
const MAX_EVENTS: usize = 1_000;

/// What is to be done at a time.
#[derive(Debug)]
pub(crate) enum Deed {
    Put(Value),
    Delete(Id),
}

/// All of it.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) driver: Driver,
    pub(crate) reading: Reading,
    pub(crate) objects: BTreeMap<Id, Arc<Value>>,
    pub(crate) log: Log,
    /// Objects as they were written, until the simulator has them.
    pub(crate) written: BTreeMap<Id, Value>,
    /// What was made of objects that asked for copies, or for later.
    pub(crate) copies: BTreeMap<Id, Vec<Id>>,
    pub(crate) to_come: BTreeMap<(Time, u64), Deed>,
    /// The last number that was given to an object, a deed or an event.
    pub(crate) number: u64,
    events: VecDeque<Id>,
    /// The uids of objects that are gone, whose own are to go.
    gone: BTreeSet<String>,
    title: String,
}

impl World {
    /// An empty cluster that begins at a time.
    pub(crate) fn new(policy: Policy, reading: Reading, begin: Time, title: String) -> Self {
        let scenario = Scenario {
            reading: reading.clone(),
            begin,
            ..Scenario::default()
        };
        let driver = Driver::new(scenario, policy, Network::calm(0));
        let mut world = Self {
            driver: driver.with_story().with_changes(),
            reading,
            objects: BTreeMap::new(),
            log: Log::default(),
            written: BTreeMap::new(),
            copies: BTreeMap::new(),
            to_come: BTreeMap::new(),
            number: 0,
            events: VecDeque::new(),
            gone: BTreeSet::new(),
            title,
        };
        world.ensure_namespace("default");
        world
    }

    /// The present.
    pub(crate) const fn now(&self) -> Time {
        self.driver.now()
    }

    /// A number that no other has.
    pub(crate) const fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Has all happen that is due by a time, which is the present then.
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(entry) = self.to_come.first_entry()
            && entry.key().0 <= now
        {
            let ((at, _), deed) = entry.remove_entry();
            self.play(at);
            // Whoever asked for it has an answer already; of what is refused now nothing comes.
            let _ = match deed {
                Deed::Put(value) => self.put_again(&value),
                Deed::Delete(id) => self.delete(&id, None).map(|_| ()),
            };
        }
        self.play(now);
    }

    /// Plays on until a time, and shows what changed.
    pub(crate) fn play(&mut self, until: Time) {
        self.driver.play_on(until);
        self.show_changes();
        self.collect();
    }

    /// The objects of a resource, in a namespace or in all, by their names.
    pub(crate) fn list<'a>(
        &'a self,
        resource: ResourceId,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<Value>> {
        let first = Id {
            resource,
            namespace: namespace.unwrap_or_default().to_owned(),
            name: String::new(),
        };
        let all = self.objects.range(first..);
        let all = all.take_while(move |(id, _)| {
            id.resource == resource && namespace.is_none_or(|one| id.namespace == one)
        });
        all.map(|(_, object)| object)
    }

    /// An object.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn get(&self, id: &Id) -> Result<&Arc<Value>, Failure> {
        let found = self.objects.get(id);
        found.ok_or_else(|| Failure::not_found(id.kind(), &id.name))
    }

    /// The page of what has happened until now.
    pub(crate) fn page(&mut self) -> String {
        let now = self.now();
        let report = report(&mut self.driver, now);
        self.driver.end_story();
        let subject = Subject {
            files: self.title.clone(),
            seed: 0,
            topology: None,
        };
        live_page(&self.driver, &report, &subject)
    }

    /// There is a namespace of this name from now on.
    pub(crate) fn ensure_namespace(&mut self, name: &str) {
        let Some(resource) = resources::of_plural("", "namespaces") else {
            return;
        };
        let value = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        });
        let id = Id::of(resource, &value);
        if !name.is_empty() && !self.objects.contains_key(&id) {
            // A name that can be none was refused before.
            let _ = self.put(&id, value);
        }
    }

    /// Shows what changed in the simulator.
    fn show_changes(&mut self) {
        let changes = self.driver.take_changes();
        let objects = changes.objects.iter().filter_map(id_of_key);
        let wholes = changes.wholes.iter().filter_map(id_of_whole);
        let ids: BTreeSet<Id> = objects.chain(wholes).collect();
        for id in ids {
            self.show(&id);
        }
        for (key, status) in changes.words {
            if let Some(id) = id_of_key(&key) {
                self.show_word(&id, &status);
            }
        }
    }

    /// Shows an object as the simulator has it now.
    pub(crate) fn show(&mut self, id: &Id) {
        let written = self.written.remove(id);
        let base = written.or_else(|| self.objects.get(id).map(|one| (**one).clone()));
        match shown::shown(id, base, &self.driver, &self.reading) {
            Some(value) => self.store(id, value),
            None => self.forget(id),
        }
    }

    /// Shows what the scheduler wrote on an object.
    fn show_word(&mut self, id: &Id, status: &Status) {
        let Some(before) = self.objects.get(id) else {
            return;
        };
        let mut value = (**before).clone();
        shown::write(&mut value, status, self.driver.now());
        if let (Role::Pod, [condition]) = (role(id.resource), status.conditions()) {
            let (reason, message) = ("FailedScheduling", condition.message.clone());
            self.tell(id, ("Warning", reason), &message);
        }
        self.store(id, value);
    }

    /// Keeps an object as it is from now on, under the next version if that is another than before.
    pub(crate) fn store(&mut self, id: &Id, mut value: Value) {
        let before = self.objects.get(id).cloned();
        if let Some(before) = &before {
            let (new, old) = (&mut value["metadata"], &before["metadata"]);
            new["resourceVersion"] = old["resourceVersion"].clone();
            if new["uid"] != old["uid"] {
                self.forget(id);
            } else if value == **before {
                return;
            }
        }
        let kind = if self.objects.contains_key(id) {
            Kind::Modified
        } else {
            Kind::Added
        };
        value["metadata"]["resourceVersion"] = json!(self.log.next_version().to_string());
        let value = Arc::new(value);
        let replaced = self.objects.insert(id.clone(), Arc::clone(&value));
        self.log.push(kind, id, Arc::clone(&value), replaced);
        if role(id.resource) == Role::Pod
            && let Some(node) = node_of(&value)
            && before.as_deref().and_then(node_of).is_none()
        {
            let message = format!(
                "Successfully assigned {}/{} to {node}",
                id.namespace, id.name
            );
            self.tell(id, ("Normal", "Scheduled"), &message);
        }
    }

    /// Keeps an object no more.
    pub(crate) fn forget(&mut self, id: &Id) {
        let Some(before) = self.objects.remove(id) else {
            return;
        };
        if let Some(uid) = before["metadata"]["uid"].as_str() {
            self.gone.insert(uid.to_owned());
        }
        let mut last = (*before).clone();
        last["metadata"]["resourceVersion"] = json!(self.log.next_version().to_string());
        self.log
            .push(Kind::Deleted, id, Arc::new(last), Some(before));
    }

    /// Deletes what belongs to objects that are gone.
    fn collect(&mut self) {
        while !self.gone.is_empty() {
            let gone = std::mem::take(&mut self.gone);
            let belongs = |object: &Value| {
                let owners = object["metadata"]["ownerReferences"].as_array();
                let mut owners = owners.into_iter().flatten();
                owners.any(|owner| owner["uid"].as_str().is_some_and(|uid| gone.contains(uid)))
            };
            let owned = self.objects.iter().filter(|(_, object)| {
                belongs(object) && object["metadata"]["deletionTimestamp"].is_null()
            });
            let owned: Vec<Id> = owned.map(|(id, _)| id.clone()).collect();
            for id in owned {
                // What its controller deleted meanwhile is gone.
                let _ = self.delete(&id, None);
            }
        }
    }

    /// Tells of an object in an event; the same again counts.
    fn tell(&mut self, about: &Id, (kind, reason): (&str, &str), message: &str) {
        let (Some(resource), Some(object)) =
            (resources::of_plural("", "events"), self.objects.get(about))
        else {
            return;
        };
        let uid = object["metadata"]["uid"].clone();
        let now = json!(shown::date(self.driver.now()));
        let same = |event: &Value| {
            event["involvedObject"]["uid"] == uid
                && event["reason"] == reason
                && event["message"] == message
        };
        let known = self.events.iter().rev().find_map(|id| {
            let event = self.objects.get(id).filter(|event| same(event))?;
            Some((id.clone(), (**event).clone()))
        });
        if let Some((id, mut event)) = known {
            event["count"] = json!(event["count"].as_u64().unwrap_or(0) + 1);
            event["lastTimestamp"] = now;
            return self.store(&id, event);
        }
        let resource_of = about.kind();
        let (api_version, of) = (resource_of.api_version(), resource_of.kind.clone());
        let number = self.next_number();
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {
                "namespace": about.namespace, "name": format!("{}.{number:x}", about.name),
                "uid": format!("event-{number:08}"), "creationTimestamp": now,
            },
            "involvedObject": {
                "apiVersion": api_version, "kind": of, "namespace": about.namespace, "name": about.name,
                "uid": uid,
            },
            "type": kind, "reason": reason, "message": message, "count": 1,
            "firstTimestamp": now, "lastTimestamp": now,
            "source": {"component": "muster"}, "reportingComponent": "muster",
        });
        let id = Id::of(resource, &event);
        self.store(&id, event);
        self.events.push_back(id);
        if self.events.len() > MAX_EVENTS
            && let Some(oldest) = self.events.pop_front()
        {
            self.forget(&oldest);
        }
    }
}

fn node_of(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str()
}
