//! Jobs (`batch/v1`): makes their pods, so many at a time, until enough of them have succeeded. For virtual time only:
//! on a cluster Kubernetes does this.
//!
//! Pods have names that follow from the Job, so that none is made twice. Unlike Kubernetes, a pod that vanishes
//! before it has ended is no failure, a pod that failed is replaced at once, and the pods of a Job that is gone
//! are deleted here, for nobody else does.

mod asked;
mod pods;

use crate::desk::{Desk, Name, What};
use crate::machine::Other;
use crate::room::Due;
use crate::{
    Answer, Deed, Machine, ObjectName, Observation, Resource, Room, Ticket, Write, ranges, said,
};
use asked::Asked;
use muster_api::condition::Condition;
use muster_api::kinds::{Identity, is_older};
use muster_api::slim;
use muster_model::units::Time;
use pods::{Pod, Round};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What an administrator chooses: nothing so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {}

/// A Job as it was told.
#[derive(Debug)]
struct Job {
    uid: String,
    version: String,
    terminating: bool,
    asked: Asked,
    status: Value,
    /// What it had counted of pods that are gone; `None`: that was not worked out yet.
    gone: Option<pods::Ended>,
}

/// The machine of all Jobs.
#[derive(Debug)]
pub struct Jobs {
    unsynced: BTreeSet<Resource>,
    jobs: BTreeMap<Name, Job>,
    /// The pods of each Job, by its uid and their names.
    pods: BTreeMap<String, BTreeMap<String, Pod>>,
    /// Whose each pod is, by its namespace and name: the uid and the name of its Job, if it has one.
    owner_of: BTreeMap<Name, Option<(String, String)>>,
    /// Of each name that a Job has or had, the uids that pods say it has.
    uids: BTreeMap<Name, BTreeSet<String>>,
    /// Uids of Jobs that went while they had pods.
    dead: BTreeSet<String>,
    desk: Desk,
}

impl Jobs {
    /// A machine that knows nothing yet.
    #[must_use]
    pub fn new(_: &Settings) -> Self {
        Self {
            unsynced: [Resource::Jobs, Resource::Pods].into(),
            jobs: BTreeMap::new(),
            pods: BTreeMap::new(),
            owner_of: BTreeMap::new(),
            uids: BTreeMap::new(),
            dead: BTreeSet::new(),
            desk: Desk::default(),
        }
    }

    fn job_is(&mut self, other: &Other) {
        let id = Identity::of(&other.metadata);
        let key = (id.namespace, id.name);
        let before = self.jobs.get(&key).filter(|before| before.uid == id.uid);
        if before.is_some_and(|before| is_older(&other.metadata, &before.version)) {
            return;
        }
        let gone = before.and_then(|before| before.gone.clone());
        let version = other.metadata.resource_version.clone();
        let job = Job {
            uid: id.uid,
            version: version.unwrap_or_default(),
            terminating: other.metadata.deletion_timestamp.is_some(),
            asked: Asked::read(&other.spec),
            status: other.status.clone(),
            gone,
        };
        let uid = job.uid.clone();
        if let Some(before) = self.jobs.insert(key.clone(), job)
            && before.uid != uid
            && self.pods.contains_key(&before.uid)
        {
            self.dead.insert(before.uid);
        }
        self.desk.news(&on(Resource::Jobs, &key.0, &key.1));
        self.desk.mark(key);
    }

    fn pod_is(&mut self, pod: &slim::Pod) {
        let id = Identity::of(&pod.metadata);
        let place = (id.namespace.clone(), id.name.clone());
        if let Some(Some((owner, _))) = self.owner_of.get(&place)
            && let Some(known) = self.pods.get(owner).and_then(|pods| pods.get(&id.name))
        {
            if known.uid == id.uid && is_older(&pod.metadata, &known.version) {
                return;
            }
            if known.uid != id.uid {
                self.pod_gone(&place);
            }
        }
        let now = Pod::read(pod);
        let owner = now
            .as_ref()
            .map(|(owner, pod)| (owner.clone(), pod.job.clone()));
        if self
            .owner_of
            .get(&place)
            .is_some_and(|before| *before != owner)
        {
            self.forget(&place);
        }
        self.owner_of.insert(place.clone(), owner);
        self.desk.news(&on(Resource::Pods, &place.0, &place.1));
        if let Some((owner, pod)) = now {
            let job = (id.namespace, pod.job.clone());
            self.uids
                .entry(job.clone())
                .or_default()
                .insert(owner.clone());
            self.desk.mark(job);
            self.pods.entry(owner).or_default().insert(id.name, pod);
        }
    }

    /// Takes a pod off the lists; what it was.
    fn forget(&mut self, place: &Name) -> Option<(String, Pod)> {
        let (owner, _) = self.owner_of.remove(place)??;
        let pods = self.pods.get_mut(&owner)?;
        let pod = pods.remove(&place.1)?;
        if pods.is_empty() {
            self.pods.remove(&owner);
            self.dead.remove(&owner);
            let job = (place.0.clone(), pod.job.clone());
            if let Some(uids) = self.uids.get_mut(&job) {
                uids.remove(&owner);
                if uids.is_empty() {
                    self.uids.remove(&job);
                }
            }
        }
        Some((owner, pod))
    }

    fn pod_gone(&mut self, place: &Name) {
        self.desk.news(&on(Resource::Pods, &place.0, &place.1));
        let Some((owner, pod)) = self.forget(place) else {
            return;
        };
        let key = (place.0.clone(), pod.job.clone());
        if let Some(job) = self.jobs.get_mut(&key).filter(|job| job.uid == owner)
            && let Some(gone) = &mut job.gone
        {
            gone.count(&pod);
        }
        self.desk.mark(key);
    }

    fn gone(&mut self, resource: Resource, id: &Identity) {
        let key = (id.namespace.clone(), id.name.clone());
        match resource {
            Resource::Pods => {
                let owner = self.owner_of.get(&key).cloned().flatten();
                let pods = owner.as_ref().and_then(|(owner, _)| self.pods.get(owner));
                let known = pods.and_then(|pods| pods.get(&key.1));
                if known.is_none_or(|known| known.uid == id.uid) {
                    self.pod_gone(&key);
                    self.owner_of.remove(&key);
                }
            }
            Resource::Jobs => {
                if self.jobs.get(&key).is_some_and(|job| job.uid == id.uid) {
                    self.jobs.remove(&key);
                }
                if self.pods.contains_key(&id.uid) {
                    self.dead.insert(id.uid.clone());
                }
                self.desk.news(&on(Resource::Jobs, &key.0, &key.1));
                self.desk.mark(key);
            }
            // Of these it is not told.
            _ => {}
        }
    }

    fn see(&mut self, news: Observation) {
        match news {
            Observation::Pod(pod) => self.pod_is(&pod),
            Observation::Other(Resource::Jobs, job) => self.job_is(&job),
            Observation::Gone(resource, object) => self.gone(resource, &object),
            Observation::Synced(resource) => _ = self.unsynced.remove(&resource),
            // Of these it is not told.
            _ => {}
        }
    }

    /// What a Job and the pods that say they are its need; whether all of it is sent.
    fn look(&mut self, key: &Name, now: Time, due: &mut Due<'_>) -> bool {
        let mut wanted: Vec<(ObjectName, Deed)> = Vec::new();
        let delete = |name: &str, pod: &Pod| {
            let uid = pod.uid.clone();
            (on(Resource::Pods, &key.0, name), Deed::Delete { uid })
        };
        let uid = self.jobs.get(key).map(|job| job.uid.clone());
        for (owner, name) in self.orphans(key, uid.as_deref()) {
            if let Some(pod) = self.pods.get(&owner).and_then(|pods| pods.get(&name))
                && !pod.terminating
            {
                wanted.push(delete(&name, pod));
            }
        }
        if let Some(job) = self.jobs.get_mut(key) {
            let none = BTreeMap::new();
            let pods = self.pods.get(&job.uid).unwrap_or(&none);
            let gone = job.gone.get_or_insert_with(|| {
                let counted = pods::Ended::read(&job.status);
                counted.beyond(pods.values())
            });
            let over = is_over(&job.status);
            let round = Round {
                name: &key.1,
                asked: &job.asked,
                gone,
                over: over || job.terminating,
                pods,
            };
            let owner_of = &self.owner_of;
            let taken = |name: &str| owner_of.contains_key(&(key.0.clone(), name.to_owned()));
            let found = round.play(&taken);
            for name in &found.surplus {
                if let Some(pod) = pods.get(name) {
                    wanted.push(delete(name, pod));
                }
            }
            let identity = (key.0.as_str(), key.1.as_str(), job.uid.as_str());
            for (name, index) in &found.missing {
                let body = asked::body(&job.asked, identity, name, *index);
                wanted.push((on(Resource::Pods, &key.0, name), Deed::Create(body)));
            }
            if !job.terminating {
                let operations = said::operations(&job.status, &status(job, &found, now));
                if !operations.is_empty() {
                    let deed = Deed::PatchStatus {
                        uid: job.uid.clone(),
                        version: job.version.clone(),
                        operations,
                    };
                    wanted.push((on(Resource::Jobs, &key.0, &key.1), deed));
                }
            }
        }
        for (on, deed) in wanted {
            if !due.has_room(&on.namespace) {
                return false;
            }
            due.add(self.desk.send(key, on, deed, now));
        }
        true
    }

    /// Pods that say they are of the Job of this name, and whose Job is gone. Of one that was never told, only those count
    /// whose names are such as are given here.
    fn orphans(&self, key: &Name, uid: Option<&str>) -> Vec<(String, String)> {
        let uids = self.uids.get(key).into_iter().flatten();
        let others = uids.filter(|other| uid != Some(other.as_str()));
        let pods = others.flat_map(|other| {
            let names = self.pods.get(other).into_iter().flat_map(BTreeMap::keys);
            names.map(move |name| (other.clone(), name.clone()))
        });
        let gone = |one: &(String, String)| {
            self.dead.contains(&one.0) || pods::is_named_by_us(&key.1, &one.1)
        };
        pods.filter(gone).collect()
    }
}

/// An object of a namespace.
fn on(resource: Resource, namespace: &str, name: &str) -> ObjectName {
    ObjectName {
        resource,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

/// The conditions of a Job.
fn conditions(status: &Value) -> Vec<Condition> {
    let all = status.get("conditions").cloned().unwrap_or_default();
    serde_json::from_value(all).unwrap_or_default()
}

/// Whether a Job has ended.
fn is_over(status: &Value) -> bool {
    let mut all = conditions(status).into_iter();
    all.any(|one| (one.kind == "Complete" || one.kind == "Failed") && one.is_true())
}

/// What a Job says.
fn status(job: &Job, found: &pods::Found, now: Time) -> Map<String, Value> {
    let mut all = Map::new();
    let count = |count: usize| {
        if count == 0 {
            Value::Null
        } else {
            json!(count)
        }
    };
    let started = job.status.get("startTime").filter(|at| !at.is_null());
    let started = started.cloned().unwrap_or_else(|| json!(said::date(now)));
    all.insert("startTime".to_owned(), started);
    all.insert("active".to_owned(), count(found.active));
    all.insert("ready".to_owned(), count(found.running));
    all.insert("succeeded".to_owned(), count(found.ended.succeeded));
    all.insert("failed".to_owned(), count(found.ended.failed));
    if job.asked.indexed {
        let indexes = ranges::write(&found.ended.indexes);
        let indexes = if indexes.is_empty() {
            Value::Null
        } else {
            json!(indexes)
        };
        all.insert("completedIndexes".to_owned(), indexes);
    }
    let before = conditions(&job.status);
    let mut say = |kind, reason, message: &str| {
        let one = said::condition(kind, true, (reason, message), None, &before, now);
        let mut one = json!(one);
        one["lastProbeTime"] = one["lastTransitionTime"].clone();
        let mut all_of_them: Vec<Value> = Vec::new();
        let others = job.status.get("conditions").and_then(Value::as_array);
        all_of_them.extend(others.into_iter().flatten().cloned());
        all_of_them.push(one);
        all.insert("conditions".to_owned(), json!(all_of_them));
    };
    if is_over(&job.status) {
        return all;
    }
    if found.failed {
        let words = "Job has reached the specified backoff limit";
        say("Failed", "BackoffLimitExceeded", words);
    } else if found.complete {
        say(
            "Complete",
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        );
        all.insert("completionTime".to_owned(), json!(said::date(now)));
    }
    all
}

impl Machine for Jobs {
    fn needs(&self) -> Vec<Resource> {
        vec![Resource::Pods, Resource::Jobs]
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
        let Some((on, sent)) = self.desk.land(ticket) else {
            return;
        };
        let key = (on.namespace.clone(), on.name.clone());
        let told = match (on.resource, sent.what) {
            (Resource::Pods, What::Create) => self.owner_of.contains_key(&key),
            (Resource::Pods, _) => !self.owner_of.contains_key(&key),
            (_, _) => {
                let there = self.jobs.get(&key).map(|job| job.uid.clone());
                if let Answer::Done(Some(Observation::Other(Resource::Jobs, job))) = &answer
                    && job.metadata.uid == there
                {
                    self.job_is(job);
                }
                true
            }
        };
        self.desk.note(&on, &answer, told, now);
    }

    fn wakes_at(&self) -> Option<Time> {
        self.unsynced.is_empty().then(|| self.desk.wakes_at())?
    }
}

#[cfg(test)]
mod tests;
