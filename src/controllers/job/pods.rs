//! Which pods of a Job are missing and which are too many, and how far it is by those that there are.

use super::asked::{Asked, INDEX};
use crate::ranges;
use muster_api::slim;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A pod of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) uid: String,
    pub(super) version: String,
    /// The name of its Job, as its owner reference has it.
    pub(super) job: String,
    pub(super) terminating: bool,
    phase: Phase,
    /// Which of an indexed Job it is.
    index: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl Pod {
    /// Reads a pod that a Job controls; with the uid of the Job.
    pub(super) fn read(pod: &slim::Pod) -> Option<(String, Self)> {
        let meta = &pod.metadata;
        let mut owners = meta.owner_references.iter().flatten();
        let owner = owners.find(|one| one.controller == Some(true))?;
        if owner.kind != "Job" || !owner.api_version.starts_with("batch/") {
            return None;
        }
        let index = meta.labels.as_ref().and_then(|labels| labels.get(INDEX));
        let read = Self {
            uid: meta.uid.clone().unwrap_or_default(),
            version: meta.resource_version.clone().unwrap_or_default(),
            job: owner.name.clone(),
            terminating: meta.deletion_timestamp.is_some(),
            phase: match pod.status.phase.as_str() {
                "Succeeded" => Phase::Succeeded,
                "Failed" => Phase::Failed,
                "Running" => Phase::Running,
                _ => Phase::Pending,
            },
            index: index.and_then(|text| text.parse().ok()),
        };
        Some((owner.uid.clone(), read))
    }

    fn is_active(&self) -> bool {
        !self.terminating && matches!(self.phase, Phase::Pending | Phase::Running)
    }
}

/// Pods that have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) succeeded: usize,
    pub(super) failed: usize,
    /// Of an indexed Job: those of which a pod has succeeded.
    pub(super) indexes: BTreeSet<usize>,
}

impl Ended {
    /// What a Job has said of it.
    pub(super) fn read(status: &Value) -> Self {
        let number = |name: &str| {
            let number = status.get(name).and_then(Value::as_u64);
            number
                .and_then(|number| usize::try_from(number).ok())
                .unwrap_or_default()
        };
        let indexes = status.get("completedIndexes").and_then(Value::as_str);
        Self {
            succeeded: number("succeeded"),
            failed: number("failed"),
            indexes: ranges::read(indexes.unwrap_or_default()),
        }
    }

    /// One more pod is gone that may have ended.
    pub(super) fn count(&mut self, pod: &Pod) {
        match pod.phase {
            Phase::Succeeded => {
                self.succeeded += 1;
                self.indexes.extend(pod.index);
            }
            Phase::Failed => self.failed += 1,
            Phase::Pending | Phase::Running => {}
        }
    }

    /// What of this is not in these pods: it was in others, that are gone.
    pub(super) fn beyond<'a>(self, pods: impl Iterator<Item = &'a Pod>) -> Self {
        let mut there = Self::default();
        for pod in pods {
            there.count(pod);
        }
        Self {
            succeeded: self.succeeded.saturating_sub(there.succeeded),
            failed: self.failed.saturating_sub(there.failed),
            indexes: self.indexes,
        }
    }
}

/// One look at a Job.
pub(super) struct Round<'a> {
    pub(super) name: &'a str,
    pub(super) asked: &'a Asked,
    /// What was counted of pods that are gone.
    pub(super) gone: &'a Ended,
    /// It has ended, or is about to go: it needs no pods.
    pub(super) over: bool,
    pub(super) pods: &'a BTreeMap<String, Pod>,
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) active: usize,
    pub(super) running: usize,
    pub(super) ended: Ended,
    pub(super) complete: bool,
    pub(super) failed: bool,
    /// To be made, with their indexes.
    pub(super) missing: Vec<(String, Option<usize>)>,
    /// To be deleted.
    pub(super) surplus: Vec<String>,
}

impl Round<'_> {
    /// Looks; `taken`: whether a pod of this name is there, whosever it is. One that is being made is missing still: who
    /// sends its making knows.
    pub(super) fn play(&self, taken: &dyn Fn(&str) -> bool) -> Found {
        let mut ended = self.gone.clone();
        for pod in self.pods.values() {
            ended.count(pod);
        }
        if self.asked.indexed {
            let most = self.asked.completions.unwrap_or_default();
            ended.indexes.retain(|index| *index < most);
            ended.succeeded = ended.indexes.len();
        }
        let active = self.pods.iter().filter(|(_, pod)| pod.is_active());
        let mut active: Vec<(&String, &Pod)> = active.collect();
        // Those that run stay, of the others those with the smallest names.
        active.sort_by_key(|(name, pod)| (pod.phase != Phase::Running, name.len(), *name));
        let running = active.iter().filter(|(_, pod)| pod.phase == Phase::Running);
        let mut found = Found {
            active: active.len(),
            running: running.count(),
            failed: ended.failed > self.asked.backoff_limit,
            ..Found::default()
        };
        let needed = match self.asked.completions {
            Some(completions) => completions.saturating_sub(ended.succeeded),
            None if ended.succeeded > 0 => active.len(),
            None => self.asked.parallelism,
        };
        found.complete = match self.asked.completions {
            Some(_) => needed == 0,
            None => ended.succeeded > 0 && active.is_empty(),
        };
        let room = if self.over || found.failed || found.complete {
            0
        } else {
            needed.min(self.asked.parallelism)
        };
        let beyond = active.iter().skip(room);
        found.surplus = beyond.map(|(name, _)| (*name).clone()).collect();
        let lacking = room.saturating_sub(active.len());
        // A pod that is about to go still has its place.
        let going = self.pods.values().filter(|pod| pod.terminating);
        let going = going.filter(|pod| matches!(pod.phase, Phase::Pending | Phase::Running));
        let lacking = lacking.saturating_sub(going.count());
        found.missing = if self.asked.indexed {
            self.missing_indexes(lacking, &ended.indexes, taken)
        } else {
            self.missing_numbers(lacking, taken)
        };
        found.ended = ended;
        found
    }

    /// The first names that nobody has.
    fn missing_numbers(
        &self,
        lacking: usize,
        taken: &dyn Fn(&str) -> bool,
    ) -> Vec<(String, Option<usize>)> {
        let names = (0_usize..).map(|number| format!("{}-{number}", self.name));
        let free = names.filter(|name| !taken(name)).take(lacking);
        free.map(|name| (name, None)).collect()
    }

    /// The first indexes that have neither succeeded nor a pod.
    fn missing_indexes(
        &self,
        lacking: usize,
        succeeded: &BTreeSet<usize>,
        taken: &dyn Fn(&str) -> bool,
    ) -> Vec<(String, Option<usize>)> {
        let here = self.pods.values().filter(|pod| pod.phase != Phase::Failed);
        let here: BTreeSet<usize> = here.filter_map(|pod| pod.index).collect();
        let all = 0..self.asked.completions.unwrap_or_default();
        let without = all.filter(|index| !succeeded.contains(index) && !here.contains(index));
        let named = without.take(lacking).filter_map(|index| {
            let first = format!("{}-{index}", self.name);
            let again = (1_usize..).map(|attempt| format!("{first}-{attempt}"));
            let mut names = std::iter::once(first.clone()).chain(again);
            let name = names.find(|name| !taken(name))?;
            Some((name, Some(index)))
        });
        named.collect()
    }
}

/// Whether a pod may have this name because this machine made it for the Job of that name.
pub(super) fn is_named_by_us(job: &str, pod: &str) -> bool {
    let rest = pod
        .strip_prefix(job)
        .and_then(|rest| rest.strip_prefix('-'));
    let is_number = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        digits && (text == "0" || !text.is_empty() && !text.starts_with('0'))
    };
    rest.is_some_and(|rest| rest.splitn(3, '-').all(is_number) && rest.matches('-').count() < 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_named_after_its_job_and_a_number() {
        for (name, is) in [
            ("job-0", true),
            ("job-12", true),
            ("job-3-1", true),
            ("job", false),
            ("job-", false),
            ("job-01", false),
            ("job-x7", false),
            ("job-1-2-3", false),
            ("other-1", false),
        ] {
            assert_eq!(is_named_by_us("job", name), is, "{name}");
        }
    }
}
