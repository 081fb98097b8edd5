//! BatchJobs: an application for each that a Scheduling asks to run, and nothing of it once it is released.
//!
//! What a BatchJob is to do next is a function of its status and of what is seen (`life.rs`); what is made for it, of its
//! spec and of what a slot holds (`wanted.rs`). An application has the BatchJob's name, so there is never a second one.

mod life;
mod look;
mod pods;
mod status;
mod things;
mod wanted;

use crate::desk::{Desk, Name, What};
use crate::machine::Other;
use crate::room::Due;
use crate::{Answer, Machine, ObjectName, Observation, Resource, Room, Ticket, Write};
use muster_api::kinds::{Identity, is_older};
use muster_api::{crd, slots};
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};
use things::Thing;
use wanted::Slot;

/// What an administrator chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who places the pods.
    pub scheduler_name: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scheduler_name: "muster".to_owned(),
        }
    }
}

const NEEDS: [Resource; 7] = [
    Resource::Pods,
    Resource::Testbeds,
    Resource::BatchJobs,
    Resource::PodGroups,
    Resource::Jobs,
    Resource::SparkApplications,
    Resource::FlinkDeployments,
];

/// A BatchJob as it was told.
#[derive(Debug)]
struct Batch {
    uid: String,
    version: String,
    generation: Option<i64>,
    terminating: bool,
    spec: crd::BatchJobSpec,
    status: Option<crd::BatchJobStatus>,
    /// What of it was refused, and in which words.
    refused: BTreeMap<Resource, String>,
    /// Since when the application of its run is missing.
    missing: Option<Time>,
}

/// A Testbed as far as it matters.
#[derive(Debug)]
struct Bed {
    uid: String,
    version: String,
    slot: Slot,
}

/// The machine of all BatchJobs.
#[derive(Debug)]
pub struct BatchJobs {
    settings: Settings,
    unsynced: BTreeSet<Resource>,
    /// Kinds that the API server does not know.
    not_served: BTreeSet<Resource>,
    batches: BTreeMap<Name, Batch>,
    beds: BTreeMap<String, Bed>,
    /// Which BatchJobs are asked to run on each Testbed.
    asking: BTreeMap<String, BTreeSet<Name>>,
    /// Applications and PodGroups, whosever they are.
    things: BTreeMap<ObjectName, Thing>,
    /// The names of applications, by their uids.
    names: BTreeMap<String, Name>,
    pods: pods::Pods,
    desk: Desk,
}

impl BatchJobs {
    /// A machine that knows nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            unsynced: NEEDS.into(),
            not_served: BTreeSet::new(),
            batches: BTreeMap::new(),
            beds: BTreeMap::new(),
            asking: BTreeMap::new(),
            things: BTreeMap::new(),
            names: BTreeMap::new(),
            pods: pods::Pods::default(),
            desk: Desk::default(),
        }
    }

    fn batch_is(&mut self, batch: crd::BatchJob) {
        let id = Identity::of(&batch.metadata);
        let key = (id.namespace, id.name);
        let before = self.batches.get_mut(&key).filter(|one| one.uid == id.uid);
        let (mut refused, mut missing) = (BTreeMap::new(), None);
        if let Some(before) = before {
            if is_older(&batch.metadata, &before.version) {
                return;
            }
            refused = std::mem::take(&mut before.refused);
            missing = before.missing;
        }
        self.forget(&key);
        if let Some(request) = &batch.spec.creation_request {
            let asking = self.asking.entry(request.testbed.clone()).or_default();
            asking.insert(key.clone());
        }
        let meta = batch.metadata;
        let now = Batch {
            uid: id.uid,
            version: meta.resource_version.unwrap_or_default(),
            generation: meta.generation,
            terminating: meta.deletion_timestamp.is_some(),
            spec: batch.spec,
            status: batch.status,
            refused,
            missing,
        };
        self.batches.insert(key.clone(), now);
        self.desk.news(&on(Resource::BatchJobs, &key));
        self.desk.mark(key);
    }

    /// Takes a BatchJob off the lists.
    fn forget(&mut self, key: &Name) {
        let before = self.batches.remove(key);
        let request = before.and_then(|one| one.spec.creation_request);
        if let Some(request) = request
            && let Some(asking) = self.asking.get_mut(&request.testbed)
        {
            asking.remove(key);
            if asking.is_empty() {
                self.asking.remove(&request.testbed);
            }
        }
    }

    fn testbed_is(&mut self, testbed: &crd::Testbed) {
        let meta = &testbed.metadata;
        let id = Identity::of(meta);
        let before = self.beds.get(&id.name).filter(|one| one.uid == id.uid);
        if before.is_some_and(|before| is_older(meta, &before.version)) {
            return;
        }
        let slot = Slot {
            resources: testbed.spec.resources_per_slot.clone(),
            asked: slots::asked(testbed),
        };
        let same = before.is_some_and(|before| before.slot == slot);
        let bed = Bed {
            uid: id.uid,
            version: meta.resource_version.clone().unwrap_or_default(),
            slot,
        };
        self.beds.insert(id.name.clone(), bed);
        if !same {
            self.mark_asking(&id.name);
        }
    }

    fn mark_asking(&mut self, testbed: &str) {
        for name in self.asking.get(testbed).into_iter().flatten() {
            self.desk.mark(name.clone());
        }
    }

    /// Has the BatchJobs looked at that run by such an application.
    fn mark_wanting(&mut self, resource: Resource) {
        let wanting = self.batches.iter();
        let wanting = wanting.filter(|(_, batch)| look::resource_of(batch) == resource);
        for (name, _) in wanting {
            self.desk.mark(name.clone());
        }
    }

    fn thing_is(&mut self, resource: Resource, other: &Other) {
        let id = Identity::of(&other.metadata);
        let key = (id.namespace, id.name);
        let object = on(resource, &key);
        let before = self.things.get(&object);
        if let Some(before) = before {
            if before.uid == id.uid && is_older(&other.metadata, &before.version) {
                return;
            }
            if before.uid != id.uid {
                self.names.remove(&before.uid);
            }
        }
        if resource != Resource::PodGroups {
            self.names.insert(id.uid, key.clone());
        }
        self.desk.news(&object);
        self.things.insert(object, Thing::read(resource, other));
        self.desk.mark(key);
    }

    fn gone(&mut self, resource: Resource, id: &Identity) {
        let key = (id.namespace.clone(), id.name.clone());
        match resource {
            Resource::Pods => {
                let top = self.pods.gone(id);
                self.mark_top(top);
            }
            Resource::BatchJobs => {
                if self.batches.get(&key).is_some_and(|one| one.uid == id.uid) {
                    self.forget(&key);
                }
                self.desk.news(&on(resource, &key));
                self.desk.mark(key);
            }
            Resource::Testbeds => {
                if self.beds.get(&id.name).is_some_and(|one| one.uid == id.uid) {
                    self.beds.remove(&id.name);
                    self.mark_asking(&id.name);
                }
            }
            resource => {
                let object = on(resource, &key);
                if self
                    .things
                    .get(&object)
                    .is_some_and(|one| one.uid == id.uid)
                {
                    self.things.remove(&object);
                    self.names.remove(&id.uid);
                }
                self.desk.news(&object);
                self.desk.mark(key);
            }
        }
    }

    /// Has the BatchJob looked at whose application this may be.
    fn mark_top(&mut self, application: Option<pods::Above>) {
        let name = match application {
            Some(pods::Above::Uid(uid)) => self.names.get(&uid).cloned(),
            Some(pods::Above::Named(name)) => Some(name),
            None => None,
        };
        if let Some(name) = name {
            self.desk.mark(name);
        }
    }

    fn see(&mut self, news: Observation) {
        match news {
            Observation::Pod(pod) => {
                let top = self.pods.is(&pod);
                self.mark_top(top);
            }
            Observation::BatchJob(batch) => self.batch_is(*batch),
            Observation::Testbed(testbed) => self.testbed_is(&testbed),
            Observation::Other(resource, other) => self.thing_is(resource, &other),
            Observation::Gone(resource, object) => self.gone(resource, &object),
            Observation::Synced(resource) => {
                self.unsynced.remove(&resource);
                if self.not_served.remove(&resource) {
                    self.mark_wanting(resource);
                }
            }
            Observation::NotServed(resource) => {
                if self.not_served.insert(resource) {
                    self.mark_wanting(resource);
                }
            }
            // Of these it is not told.
            Observation::Node(_)
            | Observation::Namespace(_)
            | Observation::TestbedSlice(_)
            | Observation::Scheduling(_)
            | Observation::QueueJob(_) => {}
        }
    }

    /// Notes what of a BatchJob is refused, or that nothing is any more.
    fn note_refusal(&mut self, object: &ObjectName, what: What, answer: &Answer) {
        let key = (object.namespace.clone(), object.name.clone());
        let Some(batch) = self.batches.get_mut(&key) else {
            return;
        };
        match answer {
            Answer::Refused { message } => {
                let word = match what {
                    What::Create => "make",
                    What::Patch => "change",
                    What::Delete => "delete",
                };
                let kind = object.resource.definition().kind;
                let words = format!("may not {word} {kind} {}: {message}", object.name);
                batch.refused.insert(object.resource, words);
            }
            Answer::Done(_) => _ = batch.refused.remove(&object.resource),
            _ => {}
        }
    }
}

/// The object of this name.
fn on(resource: Resource, key: &Name) -> ObjectName {
    ObjectName {
        resource,
        namespace: key.0.clone(),
        name: key.1.clone(),
    }
}

impl Machine for BatchJobs {
    fn needs(&self) -> Vec<Resource> {
        NEEDS.to_vec()
    }

    fn observe(&mut self, news: Observation, _: Time) {
        self.see(news);
    }

    fn due_in(&mut self, room: &mut dyn Room, now: Time) -> Vec<Write> {
        let mut due = Due::new(room);
        if !self.unsynced.is_empty() {
            return Vec::new();
        }
        self.desk.wake(now);
        while !due.is_full()
            && let Some(key) = self.desk.next(&due)
        {
            if !self.look(&key, now, &mut due) {
                self.desk.mark(key);
            }
        }
        due.writes()
    }

    fn answered(&mut self, ticket: Ticket, answer: Answer, now: Time) {
        let Some((object, sent)) = self.desk.land(ticket) else {
            return;
        };
        let key = (object.namespace.clone(), object.name.clone());
        let told = if object.resource == Resource::BatchJobs {
            let known = self.batches.get(&key).map(|one| one.uid.clone());
            if let Answer::Done(Some(Observation::BatchJob(batch))) = &answer
                && batch.metadata.uid == known
            {
                self.batch_is(*batch.clone());
            }
            true
        } else {
            self.note_refusal(&object, sent.what, &answer);
            self.things.contains_key(&object) == (sent.what == What::Create)
        };
        self.desk.note(&object, &answer, told, now);
    }

    fn wakes_at(&self) -> Option<Time> {
        self.unsynced.is_empty().then(|| self.desk.wakes_at())?
    }
}

#[cfg(test)]
mod tests;
