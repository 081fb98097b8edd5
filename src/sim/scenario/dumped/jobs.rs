//! A Job of a cluster: which of its pods are there or have been, and which it is still to make.

use super::super::model::JobPlan;
use serde_json::Value;
use std::collections::BTreeSet;

/// A Job, and how far it is.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) entry: usize,
    pub(super) uid: String,
    has_ended: bool,
    succeeded: u64,
    /// How many must succeed; none: as many as run at a time, and one that succeeds ends it.
    completions: Option<u64>,
    is_indexed: bool,
    done: Vec<(u64, u64)>,
}

impl Job {
    pub(super) fn of(entry: usize, object: &Value) -> Self {
        let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let has_ended = conditions.any(|one| {
            let kind = one["type"].as_str().unwrap_or_default();
            ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"].contains(&kind)
                && one["status"] == "True"
        });
        Self {
            entry,
            uid: metadata["uid"].as_str().unwrap_or_default().to_owned(),
            has_ended: has_ended || !metadata["deletionTimestamp"].is_null(),
            succeeded: status["succeeded"].as_u64().unwrap_or(0),
            completions: spec["completions"].as_u64(),
            is_indexed: spec["completionMode"] == "Indexed",
            done: ranges(status["completedIndexes"].as_str().unwrap_or_default()),
        }
    }

    /// Of the pods that it makes from its template those are left that are not there and have not been.
    pub(super) fn leave_rest(
        &self,
        plan: &mut JobPlan,
        running: Vec<String>,
        taken: &BTreeSet<u64>,
    ) {
        // One that has no number of completions is at its end with the first pod that succeeds.
        let is_over = self.has_ended || (self.completions.is_none() && self.succeeded > 0);
        if is_over {
            plan.pods.clear();
        } else if self.is_indexed {
            let mut index = 0;
            plan.pods.retain(|_| {
                let now = index;
                index += 1;
                let done = self
                    .done
                    .iter()
                    .any(|(from, to)| (*from..=*to).contains(&now));
                !done && !taken.contains(&now)
            });
        } else {
            let there = usize::try_from(self.succeeded).unwrap_or(usize::MAX);
            let there = there.saturating_add(running.len());
            plan.pods.drain(..there.min(plan.pods.len()));
        }
        plan.running = running;
    }
}

/// `1,3-5,7`, as a Job writes the numbers of what succeeded.
fn ranges(text: &str) -> Vec<(u64, u64)> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some((from.parse().ok()?, to.parse().ok()?))
    };
    text.split(',').filter_map(range).collect()
}
