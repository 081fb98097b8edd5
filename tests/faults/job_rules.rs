//! What must hold of QueueJobs: with every write of their controller, and at rest.

use muster::api::crd::{QueueJob, QueueJobStatus};
use muster::api::kinds::Identity;
use muster::controllers::{Answer, Deed, Observation, Other, Resource, Write};
use muster::model::units::{Millis, Time};
use muster::model::{GangKey, PodPhase, Source};
use muster::sim::driver::{Driver, Witness};
use muster::sim::scenario::{Played, Scenario};
use muster::sim::server::{Pod, Server};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How many came to each end, and how often all of one was made anew, in all worlds.
pub(crate) static COMPLETE: AtomicU64 = AtomicU64::new(0);
pub(crate) static FAILED: AtomicU64 = AtomicU64::new(0);
pub(crate) static RESTARTS: AtomicU64 = AtomicU64::new(0);

/// What happened so long ago controllers have heard, however late news is.
const HEARD: Millis = Millis(15_000);

/// Looks on while controllers write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Eyes(Arc<Mutex<Seen>>);

/// What was seen.
#[derive(Debug, Default)]
struct Seen {
    /// The pods that controllers made, by uid.
    made: BTreeMap<String, Made>,
    /// The QueueJobs, by uid.
    jobs: BTreeMap<String, Known>,
    /// The most pods that any version of them asks for, by name.
    most: BTreeMap<String, u64>,
}

/// A pod as it was made.
#[derive(Debug, Default)]
struct Made {
    /// The uid of its QueueJob, if one made it.
    job: Option<String>,
    restart: String,
    hash: String,
}

/// What is known of a QueueJob.
#[derive(Debug, Default)]
struct Known {
    last: QueueJobStatus,
    /// Its pods that have failed.
    failed: BTreeSet<String>,
    /// It had a SchedulingSpec once.
    had_spec: bool,
}

/// Whether it has ended, and how.
fn ended(status: &QueueJobStatus) -> Option<&str> {
    let mut all = status.conditions.iter();
    let one = all.find(|one| ["Complete", "Failed"].contains(&one.kind.as_str()) && one.is_true());
    one.map(|one| one.kind.as_str())
}

/// The uid of the QueueJob that controls an object.
fn owner(meta: &Value) -> Option<&str> {
    let mut owners = meta["ownerReferences"].as_array()?.iter();
    let owner = owners.find(|one| one["controller"] == true && one["kind"] == "QueueJob")?;
    owner["uid"].as_str()
}

fn jobs(server: &Server) -> impl Iterator<Item = QueueJob> {
    server.whole_of(Resource::QueueJobs)
}

fn uid_of(job: &QueueJob) -> String {
    job.metadata.uid.clone().unwrap_or_default()
}

/// The names of the pods that it asks for, by task.
fn names(job: &QueueJob) -> Vec<(String, Vec<String>)> {
    let tasks = job.spec.task_specs.iter().enumerate();
    let named = tasks.map(|(place, task)| {
        let label = task.name.clone().unwrap_or_else(|| place.to_string());
        let name = job.metadata.name.as_deref().unwrap_or_default();
        let names = (0..task.replicas).map(|index| format!("{name}-{label}-{index}"));
        (label.clone(), names.collect())
    });
    named.collect()
}

impl Eyes {
    /// For the QueueJobs of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let mut seen = Seen::default();
        for entry in &scenario.entries {
            if let Played::Whole(Resource::QueueJobs, job) = &entry.object {
                let tasks = job["spec"]["taskSpecs"].as_array().into_iter().flatten();
                let total: u64 = tasks.filter_map(|task| task["replicas"].as_u64()).sum();
                let name = job["metadata"]["name"].as_str().unwrap_or_default();
                let most = seen.most.entry(name.to_owned()).or_default();
                *most = total.max(*most);
            }
        }
        Self(Arc::new(Mutex::new(seen)))
    }
}

impl Seen {
    /// The pods of a QueueJob that are there.
    fn pods<'a>(
        &'a self,
        server: &'a Server,
        job: &'a str,
    ) -> impl Iterator<Item = (&'a Pod, &'a Made)> {
        let all = server.pods();
        all.filter_map(move |pod| {
            let made = self.made.get(&pod.spec.key.uid)?;
            (made.job.as_deref() == Some(job)).then_some((pod, made))
        })
    }

    /// A pod may be made: its SchedulingSpec was there before, and there are never more than are asked for, of which
    /// the controller could have heard.
    fn may_be_made(&self, body: &Value, server: &Server, now: Time) -> Result<(), String> {
        let Some(job) = owner(&body["metadata"]) else {
            return Ok(());
        };
        let name = &body["metadata"]["name"];
        if !self.jobs.get(job).is_some_and(|known| known.had_spec) {
            return Err(format!("{name} is made before there is a SchedulingSpec"));
        }
        let of = &body["metadata"]["ownerReferences"][0]["name"];
        let most = self.most.get(of.as_str().unwrap_or_default()).copied();
        let most = most.unwrap_or_default();
        let pods = self.pods(server, job);
        let there = pods.filter(|(pod, _)| now.since(pod.spec.created) > HEARD);
        let there = there.count() as u64;
        // One of the name that is there already is refused.
        let taken = server
            .pods()
            .any(|pod| pod.spec.key.name == name.as_str().unwrap_or_default());
        if !taken && there >= most {
            return Err(format!("{name} is made: {there} are there of {most}"));
        }
        Ok(())
    }

    /// A pod may be deleted: controllers made it, and if it is of a QueueJob and has failed, it is counted, or has
    /// to go whatever it did.
    fn may_go(&self, pod: &Pod, server: &Server) -> Result<(), String> {
        let key = &pod.spec.key;
        if pod.is_ghost() {
            return Ok(());
        }
        let Some(made) = self.made.get(&key.uid) else {
            return Err(format!("{key} is deleted, and somebody else's"));
        };
        if pod.spec.phase != PodPhase::Failed || pod.spec.terminating {
            return Ok(());
        }
        let Some(uid) = made.job.as_deref() else {
            return Ok(());
        };
        let Some(job) = jobs(server).find(|job| uid_of(job) == uid) else {
            return Ok(());
        };
        let status = job.status.clone().unwrap_or_default();
        // Where it had to go anyway, it may have failed after that was sent.
        let is_over = ended(&status).is_some();
        let edited = status.observed_generation != job.metadata.generation;
        let is_counted = status.counted_pods.contains(&key.uid);
        let is_old = made.restart != status.restarts.to_string()
            || !status
                .tasks
                .iter()
                .any(|one| one.template_hash == made.hash);
        let is_surplus = !names(&job)
            .iter()
            .any(|(_, names)| names.contains(&key.name));
        if is_over || edited || is_counted || is_old || is_surplus {
            return Ok(());
        }
        Err(format!(
            "{key} has failed and goes without being counted: {status:?}"
        ))
    }

    /// A status never takes back what it said, and counts no pod twice.
    fn judge(&mut self, job: &QueueJob) -> Result<(), String> {
        let uid = uid_of(job);
        let known = self.jobs.entry(uid).or_default();
        let status = job.status.clone().unwrap_or_default();
        let last = std::mem::replace(&mut known.last, status);
        let now = &known.last;
        let wrong = |what: &str| Err(format!("{what}: {now:?} after {last:?}"));
        if now.restarts < last.restarts || now.restarts > last.restarts + 1 {
            return wrong("restarts");
        }
        if now.failures < last.failures || now.failed < last.failed || now.failures > now.failed {
            return wrong("failures");
        }
        if usize::try_from(now.failed).unwrap() > known.failed.len() {
            return wrong("more are counted than have failed");
        }
        let mut counted = now.counted_pods.iter();
        if !counted.all(|uid| known.failed.contains(uid)) {
            return wrong("one is counted that has not failed");
        }
        let new = now
            .counted_pods
            .iter()
            .filter(|uid| !last.counted_pods.contains(uid));
        if now.failed - last.failed < i32::try_from(new.count()).unwrap() {
            return wrong("one goes that is not counted");
        }
        if ended(&last).is_some() && ended(&last) != ended(now) {
            return wrong("it ends once");
        }
        Ok(())
    }
}

impl Witness for Eyes {
    fn before(&mut self, write: &Write, server: &Server, now: Time) -> Result<(), String> {
        let seen = self.0.lock().unwrap();
        let on = &write.on;
        match (on.resource, &write.deed) {
            (Resource::Pods, Deed::Create(body)) => seen.may_be_made(body, server, now),
            (Resource::Pods, Deed::Delete { uid }) => {
                let found = server.pod_named(&on.namespace, &on.name);
                let found = found.filter(|pod| pod.spec.key.uid == *uid);
                found.map_or(Ok(()), |pod| seen.may_go(pod, server))
            }
            (Resource::SchedulingSpecs, Deed::Delete { uid } | Deed::Patch { uid, .. }) => {
                let mut all = server.whole_of::<Value>(Resource::SchedulingSpecs);
                let found = all.find(|one| one["metadata"]["uid"] == uid.as_str());
                match found {
                    Some(found) if owner(&found["metadata"]).is_none() => {
                        Err(format!("{on:?} is written, and somebody else's"))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn after(&mut self, write: &Write, answer: &Answer, _: &Server) -> Result<(), String> {
        let mut seen = self.0.lock().unwrap();
        let Answer::Done(found) = answer else {
            return Ok(());
        };
        match (&write.deed, found) {
            (Deed::Create(body), Some(Observation::Pod(pod))) => {
                let label = |name: &str| {
                    let label = body["metadata"]["labels"][name].as_str();
                    label.unwrap_or_default().to_owned()
                };
                let made = Made {
                    job: owner(&body["metadata"]).map(str::to_owned),
                    restart: label("muster.dev/restart"),
                    hash: label("muster.dev/template-hash"),
                };
                seen.made.insert(Identity::of(&pod.metadata).uid, made);
            }
            (Deed::Create(body), Some(Observation::Other(Resource::SchedulingSpecs, _))) => {
                if let Some(job) = owner(&body["metadata"]) {
                    seen.jobs.entry(job.to_owned()).or_default().had_spec = true;
                }
            }
            (Deed::PatchStatus { .. }, Some(Observation::QueueJob(job))) => seen.judge(job)?,
            _ => {}
        }
        Ok(())
    }

    fn failed(&mut self, pod: &Pod) {
        let mut seen = self.0.lock().unwrap();
        let uid = &pod.spec.key.uid;
        if let Some(job) = seen.made.get(uid).and_then(|made| made.job.clone()) {
            seen.jobs.entry(job).or_default().failed.insert(uid.clone());
        }
    }
}

/// Since when gangs have had as many pods as they need: who makes them may wait, and they are bound in part meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Lacking(BTreeMap<GangKey, Time>);

impl Lacking {
    /// Takes down which gangs lack pods now.
    pub(crate) fn look(&mut self, driver: &Driver) {
        let server = driver.server();
        let gangs = driver.ledger().gangs.iter();
        for (key, line) in gangs.filter(|(_, line)| line.partly_since.is_some()) {
            let spec = server.gang(key);
            let Some(spec) = spec.filter(|spec| spec.source == Source::SchedulingSpec) else {
                continue;
            };
            let there = server.pods().filter(|pod| {
                let spec = &pod.spec;
                spec.gang_key() == *key && !spec.terminating && !spec.phase.is_terminal()
            });
            let there = u32::try_from(there.count()).unwrap();
            if there + line.total().succeeded < spec.min_available {
                self.0.insert(key.clone(), driver.now());
            }
        }
    }

    /// When a gang last lacked pods.
    pub(crate) fn until(&self, key: &GangKey) -> Time {
        self.0.get(key).copied().unwrap_or(Time::ZERO)
    }
}

/// At rest of each QueueJob exactly the pods are there that are wanted, and nothing is left of those that are gone.
pub(crate) fn jobs_are_in_order(driver: &Driver, eyes: &Eyes) -> Result<(), String> {
    let (server, seen) = (driver.server(), eyes.0.lock().unwrap());
    let uids: BTreeSet<String> = jobs(server).map(|job| uid_of(&job)).collect();
    let left = |job: &str| !uids.contains(job);
    for pod in server.pods() {
        let made = seen.made.get(&pod.spec.key.uid);
        if made.and_then(|made| made.job.as_deref()).is_some_and(left) {
            return Err(format!(
                "{} is left of a QueueJob that is gone",
                pod.spec.key
            ));
        }
    }
    for spec in server.whole_of::<Value>(Resource::SchedulingSpecs) {
        if owner(&spec["metadata"]).is_some_and(left) {
            return Err(format!(
                "{} is left of a QueueJob that is gone",
                spec["metadata"]
            ));
        }
    }
    for job in jobs(server) {
        at_rest(server, &seen, &job)
            .map_err(|words| format!("{words}: {:?}, {:?}", job.spec, job.status))?;
    }
    Ok(())
}

fn at_rest(server: &Server, seen: &Seen, job: &QueueJob) -> Result<(), String> {
    let id = Identity::of(&job.metadata);
    let status = job.status.clone().unwrap_or_default();
    let ours: BTreeMap<&str, (&Pod, &Made)> = seen
        .pods(server, &id.uid)
        .map(|one| (one.0.spec.key.name.as_str(), one))
        .collect();
    let in_phase = |phase: PodPhase| {
        let count = ours
            .values()
            .filter(|(pod, _)| pod.spec.phase == phase)
            .count();
        i32::try_from(count).unwrap()
    };
    let counted = (in_phase(PodPhase::Pending), in_phase(PodPhase::Running));
    if (status.pending, status.running) != counted {
        return Err(format!("{id:?} has {counted:?}"));
    }
    let edited = status.observed_generation != job.metadata.generation;
    if let Some(how) = ended(&status) {
        let failures = edited || how == "Complete" || status.failures > job.spec.backoff_limit;
        let ttl = job.spec.ttl_seconds_after_finished;
        return match (counted, failures, ttl) {
            ((0, 0), true, None) => Ok(()),
            _ => Err(format!("{id:?} has ended, with {counted:?}")),
        };
    }
    let mut conditions = status.conditions.iter();
    let accepted = conditions.find(|one| one.kind == "Accepted");
    let reason = accepted.map_or("", |one| one.reason.as_str());
    if edited {
        return Err(format!("{id:?} speaks of what it was"));
    }
    if job.spec.selector.is_some() {
        return match reason {
            "Invalid" => Ok(()),
            _ => Err(format!("{id:?} is {reason}, and not invalid")),
        };
    }
    if !status.counted_pods.is_empty() || status.failures > job.spec.backoff_limit {
        return Err(format!("{id:?} does not go on"));
    }
    let specs = server.whole_of::<Other>(Resource::SchedulingSpecs);
    let spec = specs.into_iter().find(|one| {
        let spec = Identity::of(&one.metadata);
        (spec.namespace, spec.name) == (id.namespace.clone(), id.name.clone())
    });
    let owners = spec
        .iter()
        .flat_map(|one| one.metadata.owner_references.iter().flatten());
    let has_spec = owners.into_iter().any(|owner| owner.uid == id.uid);
    let total: i32 = job.spec.task_specs.iter().map(|task| task.replicas).sum();
    let min = job.spec.sched_spec.min_available.unwrap_or(total);
    if has_spec && spec.is_none_or(|one| one.spec["minAvailable"] != min) {
        return Err(format!(
            "{id:?} has another minimum than its SchedulingSpec"
        ));
    }
    let is_taken = pods_are_wanted(server, &id, &status, has_spec, names(job), ours)?;
    let wanted = if is_taken || !has_spec {
        "NameTaken"
    } else {
        "Accepted"
    };
    if reason != wanted {
        return Err(format!("{id:?} is {reason}, and not {wanted}"));
    }
    Ok(())
}

/// Exactly the pods are there that are wanted; whether somebody else has the name of one.
fn pods_are_wanted(
    server: &Server,
    id: &Identity,
    status: &QueueJobStatus,
    has_spec: bool,
    tasks: Vec<(String, Vec<String>)>,
    mut ours: BTreeMap<&str, (&Pod, &Made)>,
) -> Result<bool, String> {
    let (mut is_taken, mut succeeded) = (false, 0);
    for (task, names) in tasks {
        let mut said = status.tasks.iter();
        let Some(said) = said.find(|one| one.name == task) else {
            return Err(format!("{id:?} says nothing of {task}"));
        };
        let completed = indexes(&said.completed_indexes);
        succeeded += completed.len();
        for (index, name) in names.iter().enumerate() {
            let is_done = completed.contains(&index);
            let Some((pod, made)) = ours.remove(name.as_str()) else {
                let taken = server.pod_named(&id.namespace, name).is_some();
                is_taken |= taken && !is_done;
                if !taken && has_spec && !is_done {
                    return Err(format!("{name} is lacking"));
                }
                continue;
            };
            let phase = pod.spec.phase;
            let is_old =
                phase != PodPhase::Succeeded && made.restart != status.restarts.to_string();
            let is_wrong = (phase == PodPhase::Succeeded) != is_done || phase == PodPhase::Failed;
            if made.hash != said.template_hash || is_old || is_wrong {
                return Err(format!("{name} is {phase:?}, as {made:?}"));
            }
        }
    }
    if let Some(name) = ours.keys().next() {
        return Err(format!("{name} is not wanted"));
    }
    if usize::try_from(status.succeeded).unwrap() != succeeded {
        return Err(format!("{succeeded} have succeeded"));
    }
    Ok(is_taken)
}

/// The indexes that a text such as `0-2,5` has.
fn indexes(text: &str) -> BTreeSet<usize> {
    let ranges = text.split(',').filter(|range| !range.is_empty());
    let ranges = ranges.flat_map(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        from.parse().unwrap()..=to.parse().unwrap()
    });
    ranges.collect()
}

/// Counts what came of the QueueJobs that are there.
pub(crate) fn count_ends(driver: &Driver) {
    for job in jobs(driver.server()) {
        let status = job.status.unwrap_or_default();
        let restarts = u64::try_from(status.restarts).unwrap();
        RESTARTS.fetch_add(restarts, Ordering::Relaxed);
        match ended(&status) {
            Some("Complete") => _ = COMPLETE.fetch_add(1, Ordering::Relaxed),
            Some(_) => _ = FAILED.fetch_add(1, Ordering::Relaxed),
            None => {}
        }
    }
}
