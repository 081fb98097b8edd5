//! One look at a QueueJob: how far it is, what has to go, what is lacking.
//!
//! A plain function of what the spec asks, what the status remembers, and the pods that there are. What it decides
//! it says in the status first; what follows from that is done at the next look, when the status is told.

use super::asked::Asked;
use super::line::{Lacking, Tries, Try};
use super::pod::{Phase, Pod};
use crate::{ranges, said};
use muster_api::condition::Condition;
use muster_api::crd::{QueueJobStatus, TaskStatus};
use muster_model::units::{Doubling, Millis, Time};
use std::collections::{BTreeMap, BTreeSet};

/// After failures nothing is made for so long.
const BACKOFF: Doubling = Doubling {
    first: Millis(10_000),
    longest: Millis(360_000),
};

const COMPLETE: &str = "Complete";
const FAILED: &str = "Failed";
const ACCEPTED: &str = "Accepted";

/// Something that is in the way: reason and words of the condition `Accepted`.
pub(super) type Problem = (&'static str, String);

/// Reasons that hold until no pod is lacking.
const EXCEEDED_QUOTA: &str = "ExceededQuota";
pub(super) const REFUSED: &str = "Refused";
/// Another QueueJob comes before it, and a quota leaves no room.
const IN_LINE: &str = "WaitsInLine";

/// One look.
pub(super) struct Round<'a> {
    pub(super) asked: &'a Asked,
    pub(super) generation: Option<i64>,
    /// The status as it was told.
    pub(super) told: &'a QueueJobStatus,
    /// The pods of its uid, by name.
    pub(super) pods: &'a BTreeMap<String, Pod>,
    /// Whether its SchedulingSpec is there.
    pub(super) has_spec: bool,
    /// What was found to be in the way already.
    pub(super) problem: Option<Problem>,
    /// What became of the making of pods.
    pub(super) tries: &'a Tries,
    /// A pod may come that is not wanted any more: nothing is made before that is known.
    pub(super) waits: bool,
    /// The QueueJob behind which it stands in a line that a quota has stopped.
    pub(super) behind: Option<&'a str>,
    pub(super) now: Time,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What it has to say.
    pub(super) status: QueueJobStatus,
    /// Pods that have to go, by name.
    pub(super) away: Vec<String>,
    /// Pods that are lacking, the most important first.
    pub(super) lacking: Vec<Lacking>,
    /// Names of pods that somebody else has.
    pub(super) taken: Vec<String>,
    /// When to look again.
    pub(super) again: Option<Time>,
}

/// How many pods there are, and what of them is to be done.
#[derive(Default)]
struct Tally {
    pending: usize,
    running: usize,
    completed: Vec<BTreeSet<usize>>,
    /// Uids of pods that failed and are not counted.
    failing: Vec<String>,
    /// The same of pods that are not wanted any more.
    late: Vec<String>,
    missing: Vec<(usize, usize)>,
    taken: Vec<String>,
    away: Vec<String>,
    /// A pod is there that has to go before anything is made.
    blocked: bool,
}

impl Tally {
    fn succeeded(&self) -> usize {
        self.completed.iter().map(BTreeSet::len).sum()
    }
}

/// Whether a QueueJob has ended, and since when.
pub(super) fn ended(status: &QueueJobStatus) -> Option<&Condition> {
    let mut all = status.conditions.iter();
    all.find(|one| (one.kind == COMPLETE || one.kind == FAILED) && one.is_true())
}

/// The time of a date.
pub(super) fn time_of(date: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Time) -> Time {
    Time(u64::try_from(date.0.as_millisecond()).unwrap_or_default())
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

impl Round<'_> {
    /// Looks; `taken`: whether somebody else has a pod of this name.
    pub(super) fn play(self, taken: &dyn Fn(&str) -> bool) -> Found {
        let tally = self.tally(taken);
        let told = self.told;
        let mut status = QueueJobStatus {
            observed_generation: self.generation,
            min_available: number(self.asked.min),
            pending: number(tally.pending),
            running: number(tally.running),
            succeeded: number(tally.succeeded()),
            tasks: self.tasks(&tally.completed),
            start_time: told
                .start_time
                .clone()
                .or_else(|| Some(said::date(self.now))),
            ..told.clone()
        };
        let goes_on = self.judge(&tally, &mut status);
        let is_lacking = !tally.missing.is_empty();
        let mut found = Found::default();
        if goes_on && self.has_spec && !tally.blocked && !self.waits {
            found.again = backoff_ends(&status, self.now);
            if found.again.is_none() {
                let there = tally.pending + tally.running + tally.succeeded();
                found.lacking = self.lacking(&tally.missing, there);
            }
        }
        (found.away, found.taken) = (tally.away, tally.taken);
        let problem = self.problem.or_else(|| taken_words(&found.taken));
        let behind = self.behind.filter(|_| !found.lacking.is_empty());
        let problem = problem.or_else(|| {
            let words = format!(
                "QueueJob {} comes before it, and a quota leaves no room",
                behind?
            );
            Some((IN_LINE, words))
        });
        let problem = problem.or_else(|| problem_of(self.tries, &found.lacking));
        accept(&mut status, problem, is_lacking, self.now);
        found.status = status;
        found
    }

    /// Goes over all pods that are wanted, and those that are not.
    fn tally(&self, taken: &dyn Fn(&str) -> bool) -> Tally {
        let mut tally = Tally::default();
        let counted: BTreeSet<&str> = self.told.counted_pods.iter().map(String::as_str).collect();
        let restart = self.told.restarts.to_string();
        let mut seen = BTreeSet::new();
        for (place, task) in self.asked.tasks.iter().enumerate() {
            let mut said = self.told.tasks.iter();
            let said = said.find(|one| one.name == task.label && one.template_hash == task.hash);
            let mut completed =
                said.map_or_else(BTreeSet::new, |one| ranges::read(&one.completed_indexes));
            completed.retain(|index| *index < task.names.len());
            for (index, name) in task.names.iter().enumerate() {
                let Some(pod) = self.pods.get(name) else {
                    match completed.contains(&index) {
                        true => {}
                        false if taken(name) => tally.taken.push(name.clone()),
                        false => tally.missing.push((place, index)),
                    }
                    continue;
                };
                seen.insert(name.as_str());
                let has_succeeded = pod.phase == Phase::Succeeded;
                let is_wanted = pod.hash == task.hash && (has_succeeded || pod.restart == restart);
                if !is_wanted || !has_succeeded && completed.contains(&index) {
                    tally.has_to_go(name, pod, &counted);
                    continue;
                }
                match pod.phase {
                    Phase::Succeeded => _ = completed.insert(index),
                    Phase::Failed if pod.terminating => {}
                    Phase::Failed if pod.disrupted || counted.contains(pod.uid.as_str()) => {
                        tally.away.push(name.clone());
                    }
                    Phase::Failed => tally.failing.push(pod.uid.clone()),
                    _ if pod.terminating => {}
                    Phase::Running => tally.running += 1,
                    Phase::Pending => tally.pending += 1,
                }
            }
            tally.completed.push(completed);
        }
        for (name, pod) in self
            .pods
            .iter()
            .filter(|(name, _)| !seen.contains(name.as_str()))
        {
            tally.has_to_go(name, pod, &counted);
        }
        tally
    }

    /// Works out what became of it, and says so; whether it goes on as it is.
    fn judge(&self, tally: &Tally, status: &mut QueueJobStatus) -> bool {
        let told = self.told;
        let failing = number(tally.failing.len());
        let date = || Some(said::date(self.now));
        let there: BTreeSet<&str> = self.pods.values().map(|pod| pod.uid.as_str()).collect();
        status
            .counted_pods
            .retain(|uid| there.contains(uid.as_str()));
        let succeeded = tally.succeeded();
        if succeeded > 0 && succeeded == self.asked.total {
            status.completion_time = date();
            status.counted_pods.clear();
            let words = "Reached expected number of succeeded pods";
            return end(status, COMPLETE, ("CompletionsReached", words), self.now);
        }
        let stands = tally.running + succeeded >= self.asked.min;
        // An edit may ask for more than ran before: that is no fall.
        let same = told.observed_generation == self.generation;
        let falls = !stands && told.running_since.is_some() && same;
        if !stands {
            status.running_since = None;
        } else if status.running_since.is_none() {
            status.running_since = date();
        }
        if failing > 0 {
            let more = if falls { 1 } else { failing };
            status.failures = told.failures.saturating_add(more);
            status.last_failure_time = date();
        }
        let late = number(tally.late.len());
        status.failed = told.failed.saturating_add(failing).saturating_add(late);
        // Also where the limit was lowered.
        if status.failures > self.asked.backoff_limit {
            status.counted_pods.clear();
            let words = "QueueJob has reached the specified backoff limit";
            return end(status, FAILED, ("BackoffLimitExceeded", words), self.now);
        }
        if falls {
            status.restarts = told.restarts.saturating_add(1);
            status.last_restart_time = date();
        }
        let counted = tally.failing.iter().chain(&tally.late);
        status.counted_pods.extend(counted.cloned());
        !falls
    }

    fn tasks(&self, completed: &[BTreeSet<usize>]) -> Vec<TaskStatus> {
        let all = self.asked.tasks.iter().zip(completed);
        let say = |(task, completed): (&super::asked::Task, &BTreeSet<usize>)| TaskStatus {
            name: task.label.clone(),
            template_hash: task.hash.clone(),
            completed_indexes: ranges::write(completed),
        };
        all.map(say).collect()
    }

    /// What is lacking, in its order, where so many are there.
    fn lacking(&self, missing: &[(usize, usize)], there: usize) -> Vec<Lacking> {
        let mut ranks = vec![0; self.asked.tasks.len()];
        for (rank, place) in self.asked.by_priority().into_iter().enumerate() {
            ranks[place] = rank;
        }
        let mut missing = missing.to_vec();
        missing.sort_by_key(|(place, index)| (ranks[*place], *index));
        let to_minimum = self.asked.min.saturating_sub(there);
        let beyond = there.saturating_sub(self.asked.min);
        let lacking = missing
            .into_iter()
            .enumerate()
            .map(|(number, (place, index))| {
                let task = &self.asked.tasks[place];
                Lacking {
                    name: task.names[index].clone(),
                    task: place,
                    priority: task.priority,
                    turn: number.checked_sub(to_minimum).map(|number| beyond + number),
                }
            });
        lacking.collect()
    }
}

impl Tally {
    /// A pod that is not wanted any more. Nothing is made while it is there. If it failed, it is counted before.
    fn has_to_go(&mut self, name: &str, pod: &Pod, counted: &BTreeSet<&str>) {
        self.blocked = true;
        let has_failed = pod.phase == Phase::Failed && !pod.disrupted;
        if pod.terminating {
            // Whatever comes of it is no failure of its own.
        } else if has_failed && !counted.contains(pod.uid.as_str()) {
            self.late.push(pod.uid.clone());
        } else {
            self.away.push(name.to_owned());
        }
    }
}

/// One that has ended: its pods that have not have to go.
pub(super) fn rest(told: &QueueJobStatus, pods: &BTreeMap<String, Pod>) -> Found {
    let active = pods.iter().filter(|(_, pod)| pod.is_active());
    Found {
        status: with_counts(told, pods),
        away: active.map(|(name, _)| name.clone()).collect(),
        ..Found::default()
    }
}

/// One that asks for what cannot be: nothing is done, and why is said.
pub(super) fn invalid(
    told: &QueueJobStatus,
    generation: Option<i64>,
    words: &str,
    pods: &BTreeMap<String, Pod>,
    now: Time,
) -> Found {
    let mut status = with_counts(told, pods);
    status.observed_generation = generation;
    status.start_time.get_or_insert_with(|| said::date(now));
    accept(&mut status, Some(("Invalid", words.to_owned())), false, now);
    Found {
        status,
        ..Found::default()
    }
}

fn with_counts(told: &QueueJobStatus, pods: &BTreeMap<String, Pod>) -> QueueJobStatus {
    let active = pods.values().filter(|pod| pod.is_active());
    let (running, pending): (Vec<&Pod>, Vec<&Pod>) =
        active.partition(|pod| pod.phase == Phase::Running);
    QueueJobStatus {
        pending: number(pending.len()),
        running: number(running.len()),
        ..told.clone()
    }
}

/// Until when nothing is made; `None`: it may be made now.
fn backoff_ends(status: &QueueJobStatus, now: Time) -> Option<Time> {
    let last = time_of(status.last_failure_time.as_ref()?);
    let before = u32::try_from(status.failures).ok()?.checked_sub(1)?;
    let ends = last + BACKOFF.after(before);
    // A clock that went back does not hold it for longer than any wait.
    (now < ends && last <= now + BACKOFF.longest).then_some(ends)
}

/// What stands in the way of the pods that are lacking, by what was tried.
fn problem_of(tries: &Tries, lacking: &[Lacking]) -> Option<Problem> {
    let tried = || lacking.iter().filter_map(|one| tries.get(&one.name));
    let quota = tried().find_map(|tried| Some((EXCEEDED_QUOTA, tried.quota()?.clone())));
    let refused = |tried: &Try| match tried {
        Try::Refused(words) => Some((REFUSED, words.clone())),
        _ => None,
    };
    quota.or_else(|| tried().find_map(refused))
}

fn taken_words(taken: &[String]) -> Option<Problem> {
    let first = taken.first()?;
    let more = match taken.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Some((
        "NameTaken",
        format!("pod {first}{more} belongs to somebody else"),
    ))
}

/// It has ended in this way.
fn end(status: &mut QueueJobStatus, kind: &str, why: (&str, &str), now: Time) -> bool {
    let generation = status.observed_generation;
    let one = said::condition(kind, true, why, generation, &status.conditions, now);
    status.conditions.retain(|before| before.kind != kind);
    status.conditions.push(one);
    false
}

/// Says whether it can do what it asks for.
fn accept(status: &mut QueueJobStatus, problem: Option<Problem>, is_lacking: bool, now: Time) {
    let mut all = status.conditions.iter();
    let before = all.find(|one| one.kind == ACCEPTED);
    let generation = status.observed_generation;
    // What one try found holds until the next succeeds, and its words, which have numbers in them, are said once.
    let lasts = |one: &&Condition| {
        let of_a_try = one.reason == EXCEEDED_QUOTA || one.reason == REFUSED;
        let may_last = match &problem {
            None => is_lacking,
            Some((reason, _)) => *reason == one.reason,
        };
        of_a_try && may_last && one.observed_generation == generation
    };
    if before.filter(lasts).is_some() {
        return;
    }
    let is_so = problem.is_none();
    let (reason, words) = problem.unwrap_or((ACCEPTED, String::new()));
    let why = (reason, words.as_str());
    let one = said::condition(ACCEPTED, is_so, why, generation, &status.conditions, now);
    match status
        .conditions
        .iter_mut()
        .find(|before| before.kind == ACCEPTED)
    {
        Some(before) => *before = one,
        None => status.conditions.push(one),
    }
}
