//! Objects that an API server printed, as `kubectl get -o yaml` writes them: which they are, what is passed over,
//! and what follows from all of them together: when it begins, who makes which pods, who ends when.

mod jobs;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod tests;

use super::documents::Document;
use super::durations::Durations;
use super::kinds;
use super::model::{Before, Entry, OnEviction, Played, PodPlan};
use jobs::Job;
use k8s_openapi::jiff::Timestamp;
use muster_api::names;
use muster_api::yaml::short;
use muster_controllers::Resource;
use muster_model::units::{Millis, Time};
use muster_model::{DEFAULT_QUEUE, GangKey, Object, PodPhase, Source, counted};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// How objects of a cluster are read.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Kinds that are not known are refused, as in what people wrote themselves.
    pub strict: bool,
    /// When it begins; without it, at the newest time that is found.
    pub now: Option<Time>,
    /// How long pods run of which nobody says it.
    pub durations: Durations,
    /// By which durations are drawn.
    pub seed: u64,
}

/// The uid of an object that an API server printed: nobody else writes uid and creation time.
pub(super) fn uid(object: &Value) -> Option<&str> {
    let metadata = &object["metadata"];
    let filled = |field: &str| metadata[field].as_str().filter(|text| !text.is_empty());
    filled("creationTimestamp")?;
    filled("uid")
}

/// What was learnt of them while they were read.
#[derive(Debug, Default)]
pub(super) struct Dump<'a> {
    /// How many there were at all.
    count: usize,
    /// Kinds that mean nothing to a scheduler.
    passed_over: BTreeMap<String, usize>,
    /// Fields that are not known, with how many objects had each.
    unknown: BTreeMap<String, usize>,
    /// Objects that stood there again.
    twice: usize,
    /// When the last snapshot was taken.
    taken_at: Option<Time>,
    newest: Option<Dated>,
    /// The newest of another object.
    second: Option<Dated>,
    /// The pods that a controller of this uid has.
    controlled: BTreeMap<String, Vec<Controlled<'a>>>,
    /// The uids of Jobs that controllers of Muster's kinds made, and whose pods they make.
    jobs_of_ours: BTreeSet<String>,
    /// Deadlines of pods, by their entries.
    deadlines: BTreeMap<usize, Millis>,
    jobs: Vec<Job>,
    /// Objects of after the beginning.
    younger: usize,
    /// The uids of nodes.
    pub(super) node_uids: BTreeMap<String, String>,
}

/// A time, and whose it is.
#[derive(Debug)]
struct Dated {
    at: String,
    title: String,
}

/// A pod that has a controller.
#[derive(Debug)]
struct Controlled<'a> {
    entry: usize,
    document: Document<'a>,
    /// Its number, where its Job counts.
    index: Option<u64>,
}

impl<'a> Dump<'a> {
    /// An object of a kind that means nothing to a scheduler.
    pub(super) fn pass_over(&mut self, object: &Value) {
        self.count += 1;
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let (kind, version) = (text("kind"), text("apiVersion"));
        let name = match version.split_once('/') {
            // Of these kinds some are known, of other groups and versions.
            Some(_) if kinds::is_name(kind) => format!("{kind} of {version}"),
            _ => kind.to_owned(),
        };
        *self.passed_over.entry(short(&name)).or_default() += 1;
    }

    /// A field that is not known.
    pub(super) fn pass_over_field(&mut self, kind: &str, path: &str) {
        let mut fields: Vec<&str> = path.split('.').collect();
        fields.retain(|field| field.parse::<u64>().is_err());
        let name = format!("{kind} {}", fields.join("."));
        *self.unknown.entry(name).or_default() += 1;
    }

    /// An object stood there before, with the same uid.
    pub(super) const fn again(&mut self) {
        self.twice += 1;
    }

    /// An object that is played.
    pub(super) fn note(
        &mut self,
        entry: usize,
        document: Document<'a>,
        object: &Value,
        title: &str,
        played: &mut Played,
    ) {
        self.count += 1;
        self.date(object, title);
        let ours = controller(object).is_some_and(is_ours);
        match played {
            Played::Pod(pod) => self.note_pod(entry, document, object, pod),
            Played::Plain(Object::Node(node)) => {
                let uid = uid(object).unwrap_or_default().to_owned();
                self.node_uids.insert(node.name.clone(), uid);
            }
            // What controllers made they look after.
            Played::Job(_) if ours => {
                self.jobs_of_ours.extend(uid(object).map(str::to_owned));
                *played = Played::Whole(Resource::Jobs, Box::new(object.clone()));
            }
            Played::Plain(Object::Gang(gang)) if ours && gang.source == Source::Muster => {
                *played = Played::Whole(Resource::PodGroups, Box::new(object.clone()));
            }
            Played::Job(_) => self.jobs.push(Job::of(entry, object)),
            _ => {}
        }
    }

    fn note_pod(
        &mut self,
        entry: usize,
        document: Document<'a>,
        object: &Value,
        pod: &mut PodPlan,
    ) {
        let (metadata, spec) = (&object["metadata"], &object["spec"]);
        let leaves_at = metadata["deletionTimestamp"].as_str().and_then(moment);
        pod.before = Some(Before { leaves_at });
        let controller = controller(object);
        if controller.is_some_and(is_ours) {
            make_by_controllers(pod, object.clone());
        }
        // Whom nobody controls nobody makes again.
        if controller.is_none() && pod.run.on_eviction == OnEviction::default() {
            pod.run.on_eviction = OnEviction::Gone;
        }
        if let Some(uid) = controller.and_then(|owner| owner["uid"].as_str()) {
            let index = &metadata["labels"]["batch.kubernetes.io/job-completion-index"];
            let index = index.as_str().and_then(|text| text.parse().ok());
            let all = self.controlled.entry(uid.to_owned()).or_default();
            all.push(Controlled {
                entry,
                document,
                index,
            });
        }
        if let Some(seconds) = spec["activeDeadlineSeconds"].as_u64() {
            self.deadlines.insert(entry, Millis::from_secs(seconds));
        }
    }

    /// Takes down the newest time of an object.
    fn date(&mut self, object: &Value, title: &str) {
        let Some(at) = newest(object) else { return };
        let dated = || Dated {
            at: at.to_owned(),
            title: title.to_owned(),
        };
        if self.newest.as_ref().is_none_or(|one| one.at.as_str() < at) {
            self.second = self.newest.replace(dated());
        } else if self.second.as_ref().is_none_or(|one| one.at.as_str() < at) {
            self.second = Some(dated());
        }
    }

    /// A snapshot says when it was taken.
    pub(super) fn was_taken_at(&mut self, date: &str) {
        self.count += 1;
        let earlier = self.taken_at.take();
        self.taken_at = moment(date).max(earlier);
    }

    /// Whether there is any.
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// When it begins.
    pub(super) fn begin(&self, choices: &Choices) -> Time {
        let newest = || moment(&self.newest.as_ref()?.at);
        let found = choices.now.or(self.taken_at).or_else(newest);
        found.unwrap_or(Time::ZERO)
    }

    /// Does what needs all objects.
    pub(super) fn settle(&mut self, entries: &mut [Entry], begin: Time, choices: &Choices) {
        for entry in entries.iter_mut().filter(|entry| entry.kept) {
            self.younger += usize::from(is_younger(entry, begin));
            clamp(&mut entry.object, begin);
        }
        for job in &self.jobs {
            self.settle_job(job, entries);
        }
        let of_ours = self.jobs_of_ours.iter();
        for pod in of_ours.flat_map(|uid| self.controlled.get(uid)).flatten() {
            if let Played::Pod(plan) = &mut entries[pod.entry].object
                && let Ok(value) = pod.document.value()
            {
                make_by_controllers(plan, value);
            }
        }
        if !self.deadlines.is_empty() || !choices.durations.is_empty() {
            self.settle_ends(entries, begin, choices);
        }
    }

    /// A Job makes what is left of it, and not what is there.
    fn settle_job(&self, job: &Job, entries: &mut [Entry]) {
        let pods = self.controlled.get(&job.uid).map_or(&[][..], Vec::as_slice);
        let mut running = Vec::new();
        let mut taken = BTreeSet::new();
        for pod in pods {
            if let Played::Pod(plan) = &entries[pod.entry].object {
                let phase = plan.spec.phase;
                if !phase.is_terminal() && !plan.spec.terminating {
                    running.push(plan.spec.key.name.clone());
                }
                let counts = !phase.is_terminal() || phase == PodPhase::Succeeded;
                taken.extend(pod.index.filter(|_| counts));
            }
        }
        if let Played::Job(plan) = &mut entries[job.entry].object {
            job.leave_rest(plan, running, &taken);
        }
    }

    /// Pods end at their deadlines, and as the choices say.
    fn settle_ends(&self, entries: &mut [Entry], begin: Time, choices: &Choices) {
        let mut gangs: BTreeMap<GangKey, Option<String>> = BTreeMap::new();
        let mut namespaces: BTreeMap<String, String> = BTreeMap::new();
        for entry in entries.iter() {
            match &entry.object {
                Played::Plain(Object::Gang(gang)) => {
                    gangs.insert(gang.key.clone(), gang.queue.clone());
                }
                Played::Plain(Object::Namespace(namespace)) => {
                    if let Some(queue) = &namespace.queue {
                        namespaces.insert(namespace.name.clone(), queue.clone());
                    }
                }
                _ => {}
            }
        }
        let end = |pod: &mut PodPlan, deadline: Option<Millis>| {
            let spec = &pod.spec;
            let counts = spec.ours && !spec.daemon && spec.ghost_of.is_none();
            if counts && pod.run.duration.is_none() {
                let named = spec
                    .queue
                    .clone()
                    .or_else(|| gangs.get(&spec.gang_key())?.clone());
                let of_namespace = || namespaces.get(&spec.key.namespace).cloned();
                let queue = named.or_else(of_namespace);
                let queue = queue.as_deref().unwrap_or(DEFAULT_QUEUE);
                let ran = spec.bound_at.map_or(Millis(0), |at| begin.since(at));
                pod.run.duration = choices.durations.of(spec, queue, ran, choices.seed);
            }
            if let Some(deadline) = deadline
                && pod.run.duration.is_none_or(|duration| duration > deadline)
            {
                (pod.run.duration, pod.run.fails) = (Some(deadline), true);
            }
        };
        for (index, entry) in entries.iter_mut().enumerate() {
            match &mut entry.object {
                Played::Pod(pod) => end(pod, self.deadlines.get(&index).copied()),
                Played::Job(job) => job.pods.iter_mut().for_each(|pod| end(pod, None)),
                _ => {}
            }
        }
    }

    /// What is said of them all, in a line each.
    pub(super) fn notes(&self, begin: Time, choices: &Choices) -> Vec<String> {
        let mut notes = Vec::new();
        if self.is_empty() {
            return notes;
        }
        notes.push(format!("zero is {}: {}", date(begin), self.why(choices)));
        notes.extend(self.odd_clock(choices));
        if !self.passed_over.is_empty() {
            let kinds = listed(&self.passed_over, many);
            notes.push(format!("passed over: {kinds}"));
        }
        if !self.unknown.is_empty() {
            let fields = listed(&self.unknown, |field, count| format!("{field} ({count})"));
            notes.push(format!(
                "fields that are not known have no effect: {fields}"
            ));
        }
        if self.twice > 0 {
            let again = counted(self.twice, "object");
            notes.push(format!(
                "{again} with a uid that stood there before: the first counts"
            ));
        }
        if self.younger > 0 {
            let objects = counted(self.younger, "object");
            notes.push(format!(
                "{objects} of after zero: they count as made at zero"
            ));
        }
        notes
    }

    fn why(&self, choices: &Choices) -> String {
        match &self.newest {
            _ if choices.now.is_some() => "--now says so".to_owned(),
            _ if self.taken_at.is_some() => "the snapshot was taken then".to_owned(),
            Some(newest) => format!("the newest time, of {}", newest.title),
            None => "no object has a time".to_owned(),
        }
    }

    /// One clock that is ahead of all others makes everything else old.
    fn odd_clock(&self, choices: &Choices) -> Option<String> {
        let (newest, second) = (self.newest.as_ref()?, self.second.as_ref()?);
        let ahead = moment(&newest.at)?.since(moment(&second.at)?);
        (choices.now.is_none() && self.taken_at.is_none() && ahead > AHEAD).then(|| {
            format!(
                "the clock of {} is ahead: the next newest time is {ahead} earlier; --now chooses another zero",
                newest.title
            )
        })
    }
}

/// The owner that controls an object.
fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten();
    owners.find(|owner| owner["controller"] == true)
}

/// Whether an owner is of Muster's kinds.
fn is_ours(owner: &Value) -> bool {
    let version = owner["apiVersion"].as_str().unwrap_or_default();
    version.split_once('/').map(|(group, _)| group) == Some(names::GROUP)
}

/// A pod is known to the controllers of Muster's kinds as they made it, and they make it anew.
fn make_by_controllers(pod: &mut PodPlan, mut value: Value) {
    value["metadata"]["namespace"] = pod.spec.key.namespace.as_str().into();
    pod.made = Some(Box::new(value));
    pod.run.on_eviction = OnEviction::Gone;
}

/// So far ahead of all others is odd.
const AHEAD: Millis = Millis(3_600_000);

/// So many kinds or fields are named.
const MAX_NAMED: usize = 20;

/// The most frequent first.
fn listed(counts: &BTreeMap<String, usize>, words: impl Fn(&str, usize) -> String) -> String {
    let mut all: Vec<(&String, &usize)> = counts.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named = all.iter().take(MAX_NAMED);
    let mut named: Vec<String> = named.map(|(name, count)| words(name, **count)).collect();
    if all.len() > MAX_NAMED {
        named.push(format!("and {} more", all.len() - MAX_NAMED));
    }
    named.join(", ")
}

/// `1 Deployment`, `2 Ingresses`.
fn many(kind: &str, count: usize) -> String {
    let plural = match kind.strip_suffix('y') {
        _ if kind.contains(' ') => kind.to_owned(),
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    };
    let name = if count == 1 { kind } else { &plural };
    format!("{count} {name}")
}

fn date(at: Time) -> String {
    let at = i64::try_from(at.0).ok();
    let at = at.and_then(|at| Timestamp::from_millisecond(at).ok());
    at.unwrap_or_default().to_string()
}

/// A date as the core counts time.
fn moment(text: &str) -> Option<Time> {
    let at: Timestamp = text.parse().ok()?;
    u64::try_from(at.as_millisecond()).ok().map(Time)
}

/// The newest time of what an API server, a kubelet or a controller did with an object. All are written alike, to the
/// second and of UTC, so texts are compared.
fn newest(object: &Value) -> Option<&str> {
    let (metadata, status) = (&object["metadata"], &object["status"]);
    let each = |list: &'static str| status[list].as_array().into_iter().flatten();
    let managed = metadata["managedFields"].as_array().into_iter().flatten();
    let states = each("containerStatuses").flat_map(|one| one["state"].as_object());
    let states = states.flat_map(|states| states.values());
    let of_states = states.flat_map(|state| [&state["startedAt"], &state["finishedAt"]]);
    let of_conditions = each("conditions").flat_map(|one| {
        [
            &one["lastTransitionTime"],
            &one["lastHeartbeatTime"],
            &one["lastProbeTime"],
        ]
    });
    [&metadata["creationTimestamp"], &status["startTime"]]
        .into_iter()
        .chain(managed.map(|one| &one["time"]))
        .chain(of_states)
        .chain(of_conditions)
        .filter_map(Value::as_str)
        .filter(|text| text.ends_with('Z'))
        .max()
}

/// In which order entries of one time are: what was there before comes first, and of that pods after what they name,
/// in the order in which they were bound, and Jobs after their pods. All others stay in the order of the files.
pub(super) fn turn(entry: &Entry) -> (u8, Time, Time) {
    let none = (Time::ZERO, Time::ZERO);
    let (turn, (bound, created)) = match &entry.object {
        _ if !entry.kept => (3, none),
        Played::Pod(pod) => {
            let spec = &pod.spec;
            let bound_at = spec.bound_at.unwrap_or(Time(u64::MAX));
            (1, (bound_at, spec.created))
        }
        Played::Job(_) => (2, none),
        _ => (0, none),
    };
    (turn, bound, created)
}

/// What is younger than the beginning is as old as that.
fn clamp(played: &mut Played, begin: Time) {
    match played {
        Played::Pod(pod) => {
            pod.spec.created = pod.spec.created.min(begin);
            pod.spec.bound_at = pod.spec.bound_at.map(|at| at.min(begin));
        }
        Played::Plain(Object::Gang(gang)) => gang.created = gang.created.min(begin),
        _ => {}
    }
}

fn is_younger(entry: &Entry, begin: Time) -> bool {
    let created = match &entry.object {
        Played::Pod(pod) => pod.spec.created,
        Played::Plain(Object::Gang(gang)) => gang.created,
        _ => return false,
    };
    entry.kept && created > begin
}
