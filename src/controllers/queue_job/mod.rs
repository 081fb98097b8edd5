//! QueueJobs: makes their pods and their SchedulingSpecs, makes pods anew that fail or vanish, alone or all of them,
//! until all have succeeded or too many have failed. docs/queuejobs.md has the rules.
//!
//! Whose something is, is judged by namespace and the uid of its controller. What must not be forgotten is in the
//! status before anything follows from it. In which order pods are made over all QueueJobs is said by [`line`].

mod asked;
mod body;
mod line;
mod pod;
mod round;
mod things;

use crate::desk::{Desk, Name, What};
use crate::room::Due;
use crate::{Answer, Deed, Machine, ObjectName, Observation, Resource, Room, Ticket, Write, said};
use asked::Asked;
use line::{Line, Place, Tries, Try};
use muster_api::crd::{QueueJob, QueueJobSpec, QueueJobStatus};
use muster_api::kinds::{Identity, is_older};
use muster_model::units::Time;
use round::{Found, REFUSED, Round};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use things::Things;

const NEEDS: [Resource; 3] = [
    Resource::Pods,
    Resource::QueueJobs,
    Resource::SchedulingSpecs,
];

/// A QueueJob as it was told.
#[derive(Debug)]
struct Job {
    uid: String,
    version: String,
    generation: Option<i64>,
    /// In seconds.
    created: i64,
    terminating: bool,
    spec: QueueJobSpec,
    /// The spec as it is read, or what is wrong with it.
    asked: Result<Asked, String>,
    status: Option<QueueJobStatus>,
    /// What became of the making of pods that are lacking.
    tries: Tries,
    /// Pods that are being made, and that an edit took back meanwhile.
    taken_back: BTreeSet<String>,
    /// Behind whom it stands in a line that a quota has stopped.
    behind: Option<String>,
    /// What is refused of its SchedulingSpec.
    refused: Option<String>,
    /// Names that somebody else has.
    taken: Vec<String>,
}

/// The machine of all QueueJobs.
#[derive(Debug, Default)]
pub struct QueueJobs {
    unsynced: BTreeSet<Resource>,
    jobs: BTreeMap<Name, Job>,
    things: Things,
    /// Who waits for the name of a pod that somebody else has.
    waiting: BTreeMap<Name, Name>,
    line: Line,
    desk: Desk,
}

impl QueueJobs {
    /// A machine that knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            unsynced: NEEDS.into(),
            ..Self::default()
        }
    }

    fn job_is(&mut self, job: QueueJob) {
        let id = Identity::of(&job.metadata);
        let key = (id.namespace, id.name);
        let before = self.jobs.get(&key).filter(|before| before.uid == id.uid);
        if before.is_some_and(|before| is_older(&job.metadata, &before.version)) {
            return;
        }
        let before = self.forget(&key).filter(|before| before.uid == id.uid);
        let (mut asked, mut tries, mut refused) = (None, Tries::new(), None);
        let (mut taken_back, mut behind) = (BTreeSet::new(), None);
        if let Some(before) = before {
            (tries, refused) = (before.tries, before.refused);
            (taken_back, behind) = (before.taken_back, before.behind);
            asked = (before.spec == job.spec).then_some(before.asked);
        }
        let asked = asked.unwrap_or_else(|| {
            let asked = Asked::read(&key.1, &job.spec);
            taken_back.extend(no_longer_asked(&tries, &asked));
            asked
        });
        let meta = job.metadata;
        let now = Job {
            version: meta.resource_version.unwrap_or_default(),
            generation: meta.generation,
            created: meta.creation_timestamp.map_or(0, |at| at.0.as_second()),
            terminating: meta.deletion_timestamp.is_some(),
            asked,
            spec: job.spec,
            status: job.status,
            tries,
            taken_back,
            behind,
            refused,
            taken: Vec::new(),
            uid: id.uid,
        };
        self.things.owner_is(&key, &now.uid);
        self.jobs.insert(key.clone(), now);
        self.desk.news(&on(Resource::QueueJobs, &key));
        self.desk.mark(key);
    }

    /// Takes a QueueJob off the lists.
    fn forget(&mut self, key: &Name) -> Option<Job> {
        self.line.leaves(key);
        let job = self.jobs.remove(key)?;
        self.things.owner_gone(key, &job.uid);
        self.no_longer_waits(key, &job.taken);
        Some(job)
    }

    fn no_longer_waits(&mut self, key: &Name, names: &[String]) {
        for name in names {
            let place = (key.0.clone(), name.clone());
            if self.waiting.get(&place) == Some(key) {
                self.waiting.remove(&place);
            }
        }
    }

    /// There is news of a pod of this place; these QueueJobs are concerned.
    fn mark_all(&mut self, place: &Name, concerned: Vec<Name>) {
        self.desk.news(&on(Resource::Pods, place));
        for key in concerned {
            self.desk.mark(key);
        }
        if let Some(key) = self.waiting.get(place) {
            self.desk.mark(key.clone());
        }
    }

    fn gone(&mut self, resource: Resource, id: &Identity) {
        let key = (id.namespace.clone(), id.name.clone());
        match resource {
            Resource::Pods => {
                let concerned = self.things.pod_gone(id);
                self.mark_all(&key, concerned);
            }
            Resource::QueueJobs => {
                if self.jobs.get(&key).is_some_and(|job| job.uid == id.uid) {
                    self.forget(&key);
                }
                self.desk.news(&on(resource, &key));
                self.desk.mark(key);
            }
            Resource::SchedulingSpecs => {
                self.things.spec_gone(id);
                self.desk.news(&on(resource, &key));
                self.desk.mark(key);
            }
            // Of these it is not told.
            _ => {}
        }
    }

    fn see(&mut self, news: Observation) {
        match news {
            Observation::Pod(pod) => {
                let id = Identity::of(&pod.metadata);
                if let Some(concerned) = self.things.pod_is(&pod) {
                    self.mark_all(&(id.namespace, id.name), concerned);
                }
            }
            Observation::QueueJob(job) => self.job_is(*job),
            Observation::Other(Resource::SchedulingSpecs, spec) => {
                if let Some(key) = self.things.spec_is(&spec) {
                    self.desk.news(&on(Resource::SchedulingSpecs, &key));
                    self.desk.mark(key);
                }
            }
            Observation::Gone(resource, object) => self.gone(resource, &object),
            Observation::Synced(resource) => _ = self.unsynced.remove(&resource),
            // Of these it is not told, and where a kind is not served there is nothing of it.
            _ => {}
        }
    }

    /// What a QueueJob needs but the making of its pods, and of what was one of this name; whether all of it is sent.
    fn look(&mut self, key: &Name, now: Time, due: &mut Due<'_>) -> bool {
        let mut wanted = self.orphans(key);
        if let Some(job) = self.jobs.get_mut(key) {
            let desk = &mut self.desk;
            job.taken_back.retain(|name| {
                let on = on(Resource::Pods, &(key.0.clone(), name.clone()));
                desk.is_moving(key, &on, now)
            });
        }
        if let Some(job) = self.jobs.get(key) {
            let uid = job.uid.clone();
            let found = self.find(key, job, now, &mut wanted);
            self.arrange(key, found, now, &uid, &mut wanted);
        }
        for (on, deed) in wanted {
            if !due.has_room(&on.namespace) {
                return false;
            }
            due.add(self.desk.send(key, on, deed, now));
        }
        true
    }

    /// What is left of QueueJobs of this name that are gone.
    fn orphans(&self, key: &Name) -> Vec<(ObjectName, Deed)> {
        let pods = self.things.orphaned_pods(key);
        let pods = pods.map(|(name, uid)| (Resource::Pods, name.clone(), uid.to_owned()));
        let spec = self.things.orphaned_spec(key);
        let spec = spec.map(|uid| (Resource::SchedulingSpecs, key.1.clone(), uid.to_owned()));
        let delete = |(resource, name, uid): (Resource, String, String)| {
            let on = on(resource, &(key.0.clone(), name));
            (on, Deed::Delete { uid })
        };
        pods.chain(spec).map(delete).collect()
    }

    /// Looks at a QueueJob; what its SchedulingSpec needs is wanted.
    fn find(
        &self,
        key: &Name,
        job: &Job,
        now: Time,
        wanted: &mut Vec<(ObjectName, Deed)>,
    ) -> Found {
        let nothing = QueueJobStatus::default();
        let told = job.status.as_ref().unwrap_or(&nothing);
        let pods = self.things.pods_of(key, &job.uid);
        if job.terminating || round::ended(told).is_some() {
            return round::rest(told, pods);
        }
        let asked = match &job.asked {
            Ok(asked) => asked,
            Err(words) => return round::invalid(told, job.generation, words, pods, now),
        };
        let spec = self.things.spec(key);
        let has_spec = spec.is_some_and(|spec| spec.is_of(&job.uid) && !spec.terminating);
        let on_spec = on(Resource::SchedulingSpecs, key);
        let (mut problem, before) = (None, wanted.len());
        match spec {
            None => {
                let body = body::scheduling_spec(owner(key, job), &asked.sched);
                wanted.push((on_spec, Deed::Create(body)));
            }
            Some(spec) if has_spec => {
                let operations = body::changes(&spec.spec, &asked.sched);
                if !operations.is_empty() {
                    let deed = Deed::Patch {
                        uid: spec.uid.clone(),
                        version: spec.version.clone(),
                        operations,
                    };
                    wanted.push((on_spec, deed));
                }
            }
            Some(spec) if spec.is_of(&job.uid) || self.things.is_orphan(spec, &key.0) => {}
            Some(_) => {
                let words = format!("SchedulingSpec {} belongs to somebody else", key.1);
                problem = Some(("NameTaken", words));
            }
        }
        if wanted.len() > before {
            problem = job.refused.clone().map(|words| (REFUSED, words));
        }
        let round = Round {
            asked,
            generation: job.generation,
            told,
            pods,
            has_spec,
            problem,
            tries: &job.tries,
            waits: !job.taken_back.is_empty(),
            behind: job.behind.as_deref(),
            now,
        };
        round.play(&|name| {
            self.things
                .is_strange(&(key.0.clone(), name.to_owned()), &job.uid)
        })
    }

    /// Has what was found done.
    fn arrange(
        &mut self,
        key: &Name,
        found: Found,
        now: Time,
        uid: &str,
        wanted: &mut Vec<(ObjectName, Deed)>,
    ) {
        let pods = self.things.pods_of(key, uid);
        for name in found.away {
            if let Some(pod) = pods.get(&name) {
                let uid = pod.uid.clone();
                wanted.push((
                    on(Resource::Pods, &(key.0.clone(), name)),
                    Deed::Delete { uid },
                ));
            }
        }
        let Some(job) = self.jobs.get_mut(key) else {
            return;
        };
        let uid = job.uid.clone();
        let mut on_spec = wanted.iter();
        if !on_spec.any(|(on, _)| on.resource == Resource::SchedulingSpecs) {
            // What was refused is not wanted any more.
            job.refused = None;
        }
        if let Some(at) = found.again {
            self.desk.look_again(key, at);
        }
        match end_of_life(job) {
            _ if job.terminating => {}
            Some(at) if at <= now => {
                wanted.push((on(Resource::QueueJobs, key), Deed::Delete { uid }));
            }
            alarm => {
                if let Some(at) = alarm {
                    self.desk.look_again(key, at);
                }
                let operations = said::between(job.status.as_ref(), &found.status);
                if !operations.is_empty() {
                    let version = job.version.clone();
                    let deed = Deed::PatchStatus {
                        uid,
                        version,
                        operations,
                    };
                    wanted.push((on(Resource::QueueJobs, key), deed));
                }
            }
        }
        let lacks: BTreeSet<&str> = found.lacking.iter().map(|one| one.name.as_str()).collect();
        job.tries.retain(|name, _| lacks.contains(name.as_str()));
        if found.lacking.is_empty() {
            job.behind = None;
        }
        let before = std::mem::replace(&mut job.taken, found.taken);
        let place = Place {
            priority: Reverse(job.asked.as_ref().map_or(0, |asked| asked.priority)),
            created: job.created,
            job: key.clone(),
        };
        self.line.lacks(place, found.lacking);
        self.no_longer_waits(key, &before);
        for name in self.jobs.get(key).into_iter().flat_map(|job| &job.taken) {
            let place = (key.0.clone(), name.clone());
            self.waiting.insert(place, key.clone());
        }
    }

    /// Has pods made, in their order.
    fn make(&mut self, now: Time, due: &mut Due<'_>) {
        if !self.line.has_moved() {
            return;
        }
        let (jobs, desk) = (&self.jobs, &mut self.desk);
        let mut flying: Vec<(Name, String)> = Vec::new();
        // Some of a namespace may have to wait for room in it; the others go on.
        let (mut to_the_end, mut is_all) = (true, true);
        self.line.walk(
            &|key| jobs.get(key).map(|job| &job.tries),
            &mut |key, one| {
                if due.is_full() {
                    to_the_end = false;
                    return false;
                }
                if !due.has_room(&key.0) {
                    is_all = false;
                    return true;
                }
                let on = on(Resource::Pods, &(key.0.clone(), one.name.clone()));
                let Some((job, Ok(asked))) = jobs.get(key).map(|job| (job, &job.asked)) else {
                    return true;
                };
                if desk.is_moving(key, &on, now) {
                    return true;
                }
                let restarts = job.status.as_ref().map_or(0, |status| status.restarts);
                let body = body::pod(owner(key, job), &asked.tasks[one.task], &one.name, restarts);
                if let Some(write) = desk.send(key, on, Deed::Create(body), now) {
                    due.add(Some(write));
                    flying.push((key.clone(), one.name.clone()));
                }
                true
            },
        );
        if to_the_end && is_all {
            self.line.walked();
        }
        for (key, name) in flying {
            if let Some(job) = self.jobs.get_mut(&key) {
                let quota = job.tries.get(&name).and_then(Try::quota).cloned();
                job.tries.insert(name, Try::Flying(quota));
            }
        }
        if to_the_end {
            self.say_who_waits(now);
        }
    }

    /// Has those looked at that wait behind another one than before.
    fn say_who_waits(&mut self, now: Time) {
        let jobs = &self.jobs;
        let waiting = self
            .line
            .waiting(&|key| jobs.get(key).map(|job| &job.tries));
        let in_line = self.line.jobs();
        let behind = |key: &Name| waiting.get(key).copied();
        let differs = |key: &&Name| {
            let job = jobs.get(*key);
            job.is_some_and(|job| job.behind.as_deref() != behind(key))
        };
        let changed = in_line.filter(differs);
        let changed: Vec<(Name, Option<String>)> = changed
            .map(|key| (key.clone(), behind(key).map(str::to_owned)))
            .collect();
        for (key, behind) in changed {
            if let Some(job) = self.jobs.get_mut(&key) {
                job.behind = behind;
                self.desk.look_again(&key, now);
            }
        }
    }

    /// Notes what came of the making of a pod.
    fn note_try(&mut self, key: &Name, pod: &str, answer: &Answer) {
        let Some(job) = self.jobs.get_mut(key) else {
            return;
        };
        let before = job.tries.get(pod).and_then(Try::quota).cloned();
        let now = match answer {
            Answer::Done(_) => Try::Made,
            Answer::Refused { message } if message.contains("exceeded quota") => {
                Try::Quota(message.clone())
            }
            Answer::Refused { message } => Try::Refused(message.clone()),
            // Quotas answer by a conflict where too many pods come at once.
            Answer::Lost | Answer::Throttled { .. } | Answer::Conflict => match &before {
                Some(words) => Try::Quota(words.clone()),
                None => Try::Again,
            },
            Answer::NotFound | Answer::AlreadyExists => Try::Aside,
        };
        let has_room = now == Try::Made && before.is_some();
        job.tries.insert(pod.to_owned(), now);
        if has_room {
            self.let_go(&key.0);
        }
    }

    /// Who was refused in this namespace for a quota may be tried at once.
    fn let_go(&mut self, namespace: &str) {
        let first = (namespace.to_owned(), String::new());
        let there = self.jobs.range_mut(first..);
        for (key, job) in there.take_while(|(key, _)| key.0 == namespace) {
            let refused = job.tries.extract_if(.., |_, tried| tried.quota().is_some());
            for (name, _) in refused {
                self.desk.news(&on(Resource::Pods, &(key.0.clone(), name)));
            }
        }
    }
}

/// Pods that are being made, or were and are not told, and that are not asked for any more.
fn no_longer_asked(tries: &Tries, asked: &Result<Asked, String>) -> Vec<String> {
    let tasks = asked.iter().flat_map(|asked| &asked.tasks);
    let names: BTreeSet<&String> = tasks.flat_map(|task| &task.names).collect();
    let moving = tries
        .iter()
        .filter(|(_, tried)| matches!(tried, Try::Flying(_) | Try::Made));
    let names = moving
        .map(|(name, _)| name)
        .filter(|name| !names.contains(name));
    names.cloned().collect()
}

/// When it goes by itself.
fn end_of_life(job: &Job) -> Option<Time> {
    let ended = round::ended(job.status.as_ref()?)?;
    let at = round::time_of(ended.last_transition_time.as_ref()?);
    let ttl = job.spec.ttl_seconds_after_finished?;
    Some(at + muster_model::units::Millis(u64::try_from(ttl).unwrap_or_default() * 1_000))
}

fn owner<'a>(key: &'a Name, job: &'a Job) -> body::Owner<'a> {
    body::Owner {
        namespace: &key.0,
        name: &key.1,
        uid: &job.uid,
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

impl Machine for QueueJobs {
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
        // Once more for those of whom it turns out that they wait behind others.
        for _ in 0..2 {
            self.desk.wake(now);
            while !due.is_full()
                && let Some(key) = self.desk.next(&due)
            {
                if !self.look(&key, now, &mut due) {
                    self.desk.mark(key);
                }
            }
            if due.is_full() {
                break;
            }
            self.make(now, &mut due);
        }
        due.writes()
    }

    fn answered(&mut self, ticket: Ticket, answer: Answer, now: Time) {
        let Some((object, sent)) = self.desk.land(ticket) else {
            return;
        };
        let key = (object.namespace.clone(), object.name.clone());
        let told = match (object.resource, sent.what) {
            (Resource::Pods, What::Create) => {
                self.note_try(&sent.owner, &object.name, &answer);
                self.things.has_pod(&key)
            }
            (Resource::Pods, _) => !self.things.has_pod(&key),
            (Resource::QueueJobs, What::Delete) => !self.jobs.contains_key(&key),
            (Resource::QueueJobs, _) => {
                let known = self.jobs.get(&key).map(|job| job.uid.clone());
                if let Answer::Done(Some(Observation::QueueJob(job))) = &answer
                    && job.metadata.uid == known
                {
                    self.job_is(*job.clone());
                }
                true
            }
            (_, what) => {
                if let Some(job) = self.jobs.get_mut(&key) {
                    job.refused = match &answer {
                        Answer::Refused { message } => Some(format!("SchedulingSpec: {message}")),
                        Answer::Done(_) => None,
                        _ => job.refused.take(),
                    };
                }
                match what {
                    What::Create => self.things.spec(&key).is_some(),
                    What::Delete => self.things.spec(&key).is_none(),
                    // What it changed the watch tells. Should it have changed nothing, it is not tried again at once.
                    What::Patch => false,
                }
            }
        };
        self.desk.note(&object, &answer, told, now);
    }

    fn wakes_at(&self) -> Option<Time> {
        self.unsynced.is_empty().then(|| self.desk.wakes_at())?
    }
}

#[cfg(test)]
mod tests;
