//! An API server of a few lines with everything that may go wrong between it and a machine: news that
//! comes late, watches that miss what happens, answers that are lost.

use crate::testbed::{Settings, Testbeds};
use crate::{Answer, Deed, Machine, ObjectName, Observation, Resource, Write};
use muster_api::crd::{SlotState, Testbed, TestbedStatus};
use muster_api::kinds::Identity;
use muster_model::units::{Millis, Time};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(super) type Key = (Resource, String, String);

/// The node of a ghost in its spec.
const NODE: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution\
    /nodeSelectorTerms/0/matchFields/0/values/0";

/// All the resources.
const ALL: [Resource; 4] = [
    Resource::Namespaces,
    Resource::Nodes,
    Resource::Testbeds,
    Resource::Pods,
];

pub(super) struct World {
    pub(super) objects: BTreeMap<Key, Value>,
    version: u64,
    uids: u64,
    pub(super) now: Time,
    pub(super) machine: Testbeds,
    /// News that the machine has not heard, by resource.
    news: BTreeMap<Resource, VecDeque<(Key, Value, bool)>>,
    /// What the watch has told, by which a new list tells what is gone.
    told: BTreeMap<Key, String>,
    pub(super) settings: Settings,
    /// Writes that were carried out.
    pub(super) written: Vec<(ObjectName, &'static str)>,
    /// Ghosts that a status has named.
    named: BTreeSet<String>,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(super) fn with(settings: Settings) -> Self {
        let mut world = Self {
            objects: BTreeMap::new(),
            version: 0,
            uids: 0,
            now: Time(1_700_000_000_000),
            machine: Testbeds::new(settings.clone()),
            news: BTreeMap::new(),
            told: BTreeMap::new(),
            settings,
            written: Vec::new(),
            named: BTreeSet::new(),
        };
        for namespace in ["muster-system", "team", "other"] {
            let meta = json!({"name": namespace, "labels": {"name": namespace}});
            world.put(Resource::Namespaces, json!({"metadata": meta}));
        }
        world.restart();
        world
    }

    pub(super) fn key(resource: Resource, object: &Value) -> Key {
        let text = |name: &str| {
            let text = object["metadata"][name].as_str();
            text.unwrap_or_default().to_owned()
        };
        (resource, text("namespace"), text("name"))
    }

    /// Creates or replaces an object.
    pub(super) fn put(&mut self, resource: Resource, mut object: Value) {
        let key = Self::key(resource, &object);
        self.version += 1;
        let before = self.objects.get(&key);
        let uid = before.map(|one| one["metadata"]["uid"].clone());
        let uid = uid.unwrap_or_else(|| {
            self.uids += 1;
            json!(format!("uid-{}", self.uids))
        });
        let generation = before.map_or(1, |one| {
            let number = one["metadata"]["generation"].as_i64().unwrap_or(1);
            number + i64::from(one["spec"] != object["spec"])
        });
        let meta = &mut object["metadata"];
        meta["uid"] = uid;
        meta["resourceVersion"] = json!(self.version.to_string());
        meta["generation"] = json!(generation);
        if meta["creationTimestamp"].is_null() {
            let second = self.version % 60;
            meta["creationTimestamp"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
        }
        self.objects.insert(key.clone(), object.clone());
        self.tell(key, object, true);
    }

    /// Changes an object that is there.
    pub(super) fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        let mut object = self.objects[key].clone();
        change(&mut object);
        self.put(key.0, object);
    }

    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(object) = self.objects.remove(key) {
            self.version += 1;
            self.tell(key.clone(), object, false);
        }
    }

    fn tell(&mut self, key: Key, object: Value, is: bool) {
        let news = self.news.entry(key.0).or_default();
        news.push_back((key, object, is));
    }

    fn observation(key: &Key, object: &Value, is: bool) -> Observation {
        let value = object.clone();
        if !is {
            let (namespace, name) = (key.1.clone(), key.2.clone());
            let uid = text(object, "uid");
            return Observation::Gone(
                key.0,
                Identity {
                    namespace,
                    name,
                    uid,
                },
            );
        }
        Observation::read(key.0, value).unwrap()
    }

    /// The machine hears the next news of a resource; whether there was any.
    pub(super) fn hear(&mut self, resource: Resource) -> bool {
        let next = self.news.entry(resource).or_default().pop_front();
        let Some((key, object, is)) = next else {
            return false;
        };
        if is {
            self.told.insert(key.clone(), text(&object, "uid"));
        } else {
            self.told.remove(&key);
        }
        let news = Self::observation(&key, &object, is);
        self.machine.observe(news, self.now);
        true
    }

    /// The watch of a resource broke, and all is listed anew: what happened meanwhile is never told.
    pub(super) fn list(&mut self, resource: Resource) {
        self.news.entry(resource).or_default().clear();
        let told = self.told.extract_if(.., |key, _| key.0 == resource);
        let told: BTreeMap<Key, String> = told.collect();
        let there = self.objects.iter().filter(|(key, _)| key.0 == resource);
        for (key, object) in there {
            let uid = text(object, "uid");
            if told.get(key).is_some_and(|before| *before != uid) {
                let before = json!({"metadata": {"uid": told[key]}});
                let gone = Self::observation(key, &before, false);
                self.machine.observe(gone, self.now);
            }
            self.told.insert(key.clone(), uid);
            let is = Self::observation(key, object, true);
            self.machine.observe(is, self.now);
        }
        for (key, uid) in &told {
            if !self.told.contains_key(key) {
                let before = json!({"metadata": {"uid": uid}});
                let gone = Self::observation(key, &before, false);
                self.machine.observe(gone, self.now);
            }
        }
        let synced = Observation::Synced(resource);
        self.machine.observe(synced, self.now);
    }

    /// The machine dies, and another one begins.
    pub(super) fn restart(&mut self) {
        self.machine = Testbeds::new(self.settings.clone());
        self.told.clear();
        for resource in ALL {
            self.list(resource);
        }
    }

    /// Carries out a write, and says what comes back.
    pub(super) fn carry_out(&mut self, write: &Write) -> Answer {
        let on = &write.on;
        let key = (on.resource, on.namespace.clone(), on.name.clone());
        let there = self.objects.get(&key);
        let uid_there = there.map(|one| text(one, "uid"));
        let (word, after) = match &write.deed {
            Deed::Create(_) if there.is_some() => return Answer::AlreadyExists,
            Deed::Create(body) => {
                let named = self.named.contains(&on.name);
                assert!(named, "{} was made before it was named", on.name);
                self.put(on.resource, body.clone());
                ("create", true)
            }
            _ if there.is_none() => return Answer::NotFound,
            Deed::Delete { uid } if uid_there.as_ref() != Some(uid) => return Answer::Conflict,
            Deed::Delete { .. } => {
                self.remove(&key);
                ("delete", false)
            }
            Deed::PatchStatus {
                uid,
                version,
                operations,
            }
            | Deed::Patch {
                uid,
                version,
                operations,
            } => {
                let meta = &there.unwrap()["metadata"];
                if meta["uid"] != json!(uid) || meta["resourceVersion"] != json!(version) {
                    return Answer::Conflict;
                }
                let mut object = there.unwrap().clone();
                for operation in operations {
                    patch(&mut object, operation);
                }
                let slots = object["status"]["slots"].as_array().into_iter().flatten();
                let ghosts = slots.filter_map(|one| one["ghost"].as_str().map(str::to_owned));
                self.named.extend(ghosts);
                self.put(on.resource, object);
                ("patch", true)
            }
        };
        self.written.push((on.clone(), word));
        let now = after.then(|| Self::observation(&key, &self.objects[&key], true));
        Answer::Done(now)
    }

    /// Everything is told and carried out, until nothing happens any more. Ghosts are bound as by a scheduler.
    pub(super) fn rest(&mut self) {
        for _ in 0..2_000 {
            while ALL.iter().any(|resource| self.hear(*resource)) {}
            let writes = self.machine.due(self.now, 100);
            if writes.is_empty() && !self.bind_ghosts() {
                match self.machine.wakes_at() {
                    // What is told at last needs no look.
                    Some(at) if at < self.now + Millis(100_000) => {
                        self.now = self.now.max(at) + Millis(1);
                    }
                    _ => return,
                }
            }
            for write in writes {
                let answer = self.carry_out(&write);
                self.machine.answered(write.ticket, answer, self.now);
            }
        }
        panic!(
            "it does not come to rest: {:?}",
            self.written.iter().rev().take(20).collect::<Vec<_>>()
        );
    }

    /// Binds ghosts whose node has room for them. Whether one was bound.
    pub(super) fn bind_ghosts(&mut self) -> bool {
        let ghosts: Vec<Key> = self
            .pods()
            .filter(|(_, pod)| is_ghost(pod))
            .map(|(key, _)| key.clone())
            .collect();
        let mut some = false;
        for key in ghosts {
            let pod = &self.objects[&key];
            if !pod["spec"]["nodeName"].is_null() {
                continue;
            }
            let node = pod.pointer(NODE).unwrap().as_str().unwrap().to_owned();
            if self.objects.contains_key(&node_key(&node)) && self.free_on(&node) >= cpu_of(pod) {
                self.edit(&key, |pod| pod["spec"]["nodeName"] = json!(node));
                some = true;
            }
        }
        some
    }

    /// Binds all ghosts to their nodes, whether there is room or not.
    pub(super) fn bind_all(&mut self) {
        let ghosts = self
            .pods()
            .filter(|(_, pod)| is_ghost(pod) && pod["spec"]["nodeName"].is_null());
        let ghosts: Vec<Key> = ghosts.map(|(key, _)| key.clone()).collect();
        for key in ghosts {
            let node = self.objects[&key].pointer(NODE).unwrap().clone();
            self.edit(&key, |pod| pod["spec"]["nodeName"] = node);
        }
    }

    /// CPUs that are free on a node.
    fn free_on(&self, node: &str) -> i64 {
        let has = &self.objects[&node_key(node)]["status"]["allocatable"]["cpu"];
        let has: i64 = has.as_str().unwrap().parse().unwrap();
        let here = self
            .pods()
            .filter(|(_, pod)| pod["spec"]["nodeName"] == json!(node));
        let here = here.filter(|(_, pod)| pod["status"]["phase"] != json!("Succeeded"));
        has - here.map(|(_, pod)| cpu_of(pod)).sum::<i64>()
    }

    pub(super) fn pods(&self) -> impl Iterator<Item = (&Key, &Value)> {
        let all = self.objects.iter();
        all.filter(|(key, _)| key.0 == Resource::Pods)
    }

    /// The names of the ghosts that there are.
    pub(super) fn ghosts(&self) -> Vec<String> {
        let pods = self.pods().filter(|(_, pod)| is_ghost(pod));
        pods.map(|(key, _)| key.2.clone()).collect()
    }

    pub(super) fn node(&mut self, name: &str, id: Option<&str>, cpu: i64) {
        let labels = id.map_or(json!({}), |id| json!({"bed": id}));
        let allocatable = json!({"cpu": cpu.to_string(), "memory": "8Gi", "pods": "110"});
        let status = json!({"allocatable": allocatable});
        let node = json!({"metadata": {"name": name, "labels": labels}, "status": status});
        self.put(Resource::Nodes, node);
    }

    pub(super) fn testbed(&mut self, name: &str, spec: Value) {
        let key = testbed_key(name);
        let status = self.objects.get(&key).map(|one| one["status"].clone());
        let mut testbed = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed",
            "metadata": {"name": name}, "spec": spec,
        });
        if let Some(status) = status.filter(|status| !status.is_null()) {
            testbed["status"] = status;
        }
        self.put(Resource::Testbeds, testbed);
    }

    /// A pod of namespace `team` that claims slots of `bed`.
    pub(super) fn claimant(&mut self, name: &str, slots: &str, node: &str) -> Key {
        let labels = json!({"muster.dev/testbed": "bed", "muster.dev/slots": slots});
        self.put(
            Resource::Pods,
            json!({
                "metadata": {"namespace": "team", "name": name, "labels": labels},
                "spec": {
                    "nodeName": node,
                    "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
                },
                "status": {"phase": if node.is_empty() { "Pending" } else { "Running" }},
            }),
        );
        pod_key("team", name)
    }

    /// As the scheduler does: the ghost of a slot goes, and a pod is bound in its place.
    pub(super) fn take(&mut self, name: &str, slot: u32) -> Key {
        let seat = self.slot("bed", slot);
        let ghost = pod_key(&self.settings.ghost_namespace.clone(), &seat.ghost);
        self.remove(&ghost);
        let pod = self.claimant(name, &slot.to_string(), &seat.node_name);
        self.edit(&pod, |pod| {
            pod["metadata"]["annotations"] = json!({"muster.dev/slot": slot.to_string()});
        });
        pod
    }

    pub(super) fn status(&self, testbed: &str) -> TestbedStatus {
        let object = self.objects[&testbed_key(testbed)].clone();
        let testbed: Testbed = serde_json::from_value(object).unwrap();
        testbed.status.unwrap()
    }

    pub(super) fn slot(&self, testbed: &str, number: u32) -> muster_api::crd::Slot {
        let slots = self.status(testbed).slots;
        let mut found = slots
            .into_iter()
            .filter(|one| one.position == number.cast_signed());
        found.next().unwrap()
    }

    /// The slots in short: `0 node-a/0 Free`, with the pod of those that are not free.
    pub(super) fn slots(&self, testbed: &str) -> Vec<String> {
        let slots = self.status(testbed).slots;
        let words = slots.iter().map(|one| {
            let who = one
                .pod_name
                .clone()
                .filter(|_| one.state != SlotState::Free);
            let (at, on) = (&one.node_name, one.node_position);
            let words = format!(
                "{} {at}/{on} {:?} {}",
                one.position,
                one.state,
                who.unwrap_or_default()
            );
            words.trim_end().to_owned()
        });
        words.collect()
    }

    /// Reason and message of the condition Ready.
    pub(super) fn ready(&self, testbed: &str) -> (String, String) {
        let status = self.status(testbed);
        let one = &status.conditions[0];
        (one.reason.clone(), one.message.clone())
    }
}

pub(super) fn spec(per_node: u32, cpu: &str) -> Value {
    json!({"nodeLabel": "bed", "slotsPerNode": per_node, "resourcesPerSlot": {"cpu": cpu}})
}

pub(super) fn node_key(name: &str) -> Key {
    (Resource::Nodes, String::new(), name.to_owned())
}

pub(super) fn testbed_key(name: &str) -> Key {
    (Resource::Testbeds, String::new(), name.to_owned())
}

pub(super) fn pod_key(namespace: &str, name: &str) -> Key {
    (Resource::Pods, namespace.to_owned(), name.to_owned())
}

fn text(object: &Value, name: &str) -> String {
    let text = object["metadata"][name].as_str();
    text.unwrap_or_default().to_owned()
}

pub(super) fn is_ghost(pod: &Value) -> bool {
    pod["metadata"]["namespace"] == json!("muster-system")
        && pod.pointer("/metadata/ownerReferences/0/kind") == Some(&json!("Testbed"))
}

fn cpu_of(pod: &Value) -> i64 {
    let requests = &pod["spec"]["containers"][0]["resources"]["requests"];
    requests["cpu"].as_str().unwrap_or("0").parse().unwrap()
}

/// As much of RFC 6902 as is used.
fn patch(object: &mut Value, operation: &Value) {
    let path = operation["path"].as_str().unwrap();
    let value = operation["value"].clone();
    let (parent, last) = path.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).expect("the parent is there");
    match (operation["op"].as_str().unwrap(), parent) {
        ("add", Value::Object(fields)) => _ = fields.insert(last.to_owned(), value),
        ("replace", Value::Array(items)) => {
            let index: usize = last.parse().unwrap();
            items[index] = value;
        }
        (other, _) => panic!("{other} {path}"),
    }
}
