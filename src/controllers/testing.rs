//! An API server of a few lines with everything that may go wrong between it and a machine: news that
//! comes late, watches that miss what happens, answers that are lost, deaths.
//!
//! It knows uids, versions, generations, finalizers and preconditions, and nothing of what objects mean.

use crate::{Answer, Deed, Machine, ObjectName, Observation, Resource, Write};
use muster_api::kinds::Identity;
use muster_model::units::{Millis, Time};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// An object by its resource, namespace and name.
pub(crate) type Key = (Resource, String, String);

/// Is shown every write that was carried out, with the object after it, where it is still there.
type Witness = Box<dyn FnMut(&Write, Option<&Value>)>;

pub(crate) struct World<M> {
    /// What is there.
    pub(crate) objects: BTreeMap<Key, Value>,
    version: u64,
    uids: u64,
    pub(crate) now: Time,
    pub(crate) machine: M,
    make: Box<dyn Fn() -> M>,
    needs: Vec<Resource>,
    /// News that the machine has not heard, by resource.
    news: BTreeMap<Resource, VecDeque<(Key, Value, bool)>>,
    /// What the watch has told, by which a new list tells what is gone.
    told: BTreeMap<Key, String>,
    /// Writes that were carried out.
    pub(crate) written: Vec<(ObjectName, &'static str)>,
    witness: Witness,
}

impl<M: Machine> World<M> {
    /// A world with nothing in it, and a machine that has heard so.
    pub(crate) fn made_by(make: impl Fn() -> M + 'static) -> Self {
        let machine = make();
        let needs = machine.needs();
        let mut world = Self {
            objects: BTreeMap::new(),
            version: 0,
            uids: 0,
            now: Time(1_700_000_000_000),
            machine,
            make: Box::new(make),
            needs,
            news: BTreeMap::new(),
            told: BTreeMap::new(),
            written: Vec::new(),
            witness: Box::new(|_, _| {}),
        };
        world.restart();
        world
    }

    /// Has every write shown to this from here on.
    pub(crate) fn witnessed(&mut self, witness: impl FnMut(&Write, Option<&Value>) + 'static) {
        self.witness = Box::new(witness);
    }

    /// Creates or replaces an object.
    pub(crate) fn put(&mut self, resource: Resource, mut object: Value) {
        let key = key(resource, &object);
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

    /// Changes an object that is there. One that was deleted goes when its last finalizer does.
    pub(crate) fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        let mut object = self.objects[key].clone();
        let held = !finalizers(&object).is_empty();
        change(&mut object);
        let going = !object["metadata"]["deletionTimestamp"].is_null();
        if going && held && finalizers(&object).is_empty() {
            self.remove(key);
        } else {
            self.put(key.0, object);
        }
    }

    /// It is gone, whatever holds it.
    pub(crate) fn remove(&mut self, key: &Key) {
        if let Some(object) = self.objects.remove(key) {
            self.version += 1;
            self.tell(key.clone(), object, false);
        }
    }

    /// It is deleted: it stays until its finalizers are gone.
    pub(crate) fn delete(&mut self, key: &Key) {
        let held = self.objects.get(key).map(|one| !finalizers(one).is_empty());
        match held {
            Some(true) => self.edit(key, |one| {
                one["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
            }),
            Some(false) => self.remove(key),
            None => {}
        }
    }

    fn tell(&mut self, key: Key, object: Value, is: bool) {
        let news = self.news.entry(key.0).or_default();
        news.push_back((key, object, is));
    }

    /// The machine hears the next news of a resource; whether there was any.
    pub(crate) fn hear(&mut self, resource: Resource) -> bool {
        let next = self.news.entry(resource).or_default().pop_front();
        let Some((key, object, is)) = next else {
            return false;
        };
        if is {
            self.told.insert(key.clone(), text(&object, "uid"));
        } else {
            self.told.remove(&key);
        }
        if self.needs.contains(&resource) {
            let news = observation(&key, &object, is);
            self.machine.observe(news, self.now);
        }
        true
    }

    /// The machine hears all there is to hear.
    pub(crate) fn hear_all(&mut self) {
        for resource in self.needs.clone() {
            while self.hear(resource) {}
        }
    }

    /// The watch of a resource broke, and all is listed anew: what happened meanwhile is never told.
    pub(crate) fn list(&mut self, resource: Resource) {
        self.news.entry(resource).or_default().clear();
        let told = self.told.extract_if(.., |key, _| key.0 == resource);
        let told: BTreeMap<Key, String> = told.collect();
        let there = self.objects.iter().filter(|(key, _)| key.0 == resource);
        for (key, object) in there {
            let uid = text(object, "uid");
            if told.get(key).is_some_and(|before| *before != uid) {
                let before = json!({"metadata": {"uid": told[key]}});
                let gone = observation(key, &before, false);
                self.machine.observe(gone, self.now);
            }
            self.told.insert(key.clone(), uid);
            let is = observation(key, object, true);
            self.machine.observe(is, self.now);
        }
        for (key, uid) in &told {
            if !self.told.contains_key(key) {
                let before = json!({"metadata": {"uid": uid}});
                let gone = observation(key, &before, false);
                self.machine.observe(gone, self.now);
            }
        }
        let synced = Observation::Synced(resource);
        self.machine.observe(synced, self.now);
    }

    /// The API server does not know a kind any more, nor what there was of it.
    pub(crate) fn not_served(&mut self, resource: Resource) {
        let of_it = self.objects.extract_if(.., |key, _| key.0 == resource);
        drop(of_it.collect::<Vec<_>>());
        self.list(resource);
        self.machine
            .observe(Observation::NotServed(resource), self.now);
    }

    /// The machine dies, and another one begins.
    pub(crate) fn restart(&mut self) {
        self.machine = (self.make)();
        self.told.clear();
        for resource in self.needs.clone() {
            self.list(resource);
        }
    }

    /// Carries out a write, and says what comes back.
    pub(crate) fn carry_out(&mut self, write: &Write) -> Answer {
        let on = &write.on;
        let key = (on.resource, on.namespace.clone(), on.name.clone());
        let there = self.objects.get(&key);
        let uid_there = there.map(|one| text(one, "uid"));
        let word = match &write.deed {
            Deed::Create(_) if there.is_some() => return Answer::AlreadyExists,
            Deed::Create(body) => {
                assert_eq!(self::key(on.resource, body), key, "it is made elsewhere");
                self.put(on.resource, body.clone());
                "create"
            }
            _ if there.is_none() => return Answer::NotFound,
            Deed::Delete { uid } if uid_there.as_ref() != Some(uid) => return Answer::Conflict,
            Deed::Delete { .. } => {
                self.delete(&key);
                "delete"
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
                let of_status = matches!(write.deed, Deed::PatchStatus { .. });
                let mut object = there.unwrap().clone();
                for operation in operations {
                    let path = operation["path"].as_str().unwrap();
                    let below = path == "/status" || path.starts_with("/status/");
                    assert_eq!(below, of_status, "{path}");
                    patch(&mut object, operation);
                }
                self.edit(&key, |one| *one = object);
                "patch"
            }
        };
        self.written.push((on.clone(), word));
        let after = self.objects.get(&key);
        (self.witness)(write, after);
        Answer::Done(after.map(|one| observation(&key, one, true)))
    }

    /// Everything is told and carried out, until nothing happens any more. Whoever else is in this world
    /// plays when the machine has nothing to do, and says whether that changed something.
    pub(crate) fn rest_with(&mut self, mut others: impl FnMut(&mut Self) -> bool) {
        for _ in 0..2_000 {
            self.hear_all();
            let writes = self.machine.due(self.now, 100);
            if writes.is_empty() && !others(self) {
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

    /// The objects of a resource.
    pub(crate) fn of(&self, resource: Resource) -> impl Iterator<Item = (&Key, &Value)> {
        let all = self.objects.iter();
        all.filter(move |(key, _)| key.0 == resource)
    }
}

/// The key of an object.
pub(crate) fn key(resource: Resource, object: &Value) -> Key {
    let (namespace, name) = (text(object, "namespace"), text(object, "name"));
    (resource, namespace, name)
}

fn observation(key: &Key, object: &Value, is: bool) -> Observation {
    if is {
        return Observation::read(key.0, object.clone()).unwrap();
    }
    Observation::Gone(
        key.0,
        Identity {
            namespace: key.1.clone(),
            name: key.2.clone(),
            uid: text(object, "uid"),
        },
    )
}

/// A text of the metadata; empty where there is none.
pub(crate) fn text(object: &Value, name: &str) -> String {
    let text = object["metadata"][name].as_str();
    text.unwrap_or_default().to_owned()
}

fn finalizers(object: &Value) -> &[Value] {
    let all = object["metadata"]["finalizers"].as_array();
    all.map_or(&[], Vec::as_slice)
}

/// As much of RFC 6902 as is used. What a machine asks for has to be possible.
pub(crate) fn patch(object: &mut Value, operation: &Value) {
    let path = operation["path"].as_str().unwrap();
    let value = operation["value"].clone();
    if operation["op"] == json!("test") {
        assert_eq!(object.pointer(path), Some(&value), "{path}");
        return;
    }
    let (parent, last) = path.rsplit_once('/').unwrap();
    let last = last.replace("~1", "/").replace("~0", "~");
    let parent = object.pointer_mut(parent).expect("the parent is there");
    match (operation["op"].as_str().unwrap(), parent) {
        ("add", Value::Object(fields)) => _ = fields.insert(last, value),
        ("replace", Value::Object(fields)) => {
            let before = fields.insert(last, value);
            assert!(before.is_some(), "{path} is not there");
        }
        ("remove", Value::Object(fields)) => {
            assert!(fields.remove(&last).is_some(), "{path} is not there");
        }
        ("add", Value::Array(items)) if last == "-" => items.push(value),
        ("add", Value::Array(items)) => items.insert(last.parse().unwrap(), value),
        ("replace", Value::Array(items)) => {
            let index: usize = last.parse().unwrap();
            items[index] = value;
        }
        ("remove", Value::Array(items)) => _ = items.remove(last.parse().unwrap()),
        (other, _) => panic!("{other} {path}"),
    }
}
