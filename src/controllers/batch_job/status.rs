//! What a BatchJob says: its status as a function of what follows, and the patch from what it says already.

use super::life::{State, Step, is_over};
use super::wanted::slots_of;
use crate::said;
use muster_api::crd::{BatchJobState, BatchJobStatus, CreationRequest, Run, SchedulingReference};
use muster_model::units::Time;
use serde_json::Value;

/// Of so many runs it is told how they ended.
const RUNS: usize = 10;
const ACCEPTED: &str = "Accepted";

/// From what a status follows, beside itself.
pub(super) struct Facts<'a> {
    pub(super) generation: Option<i64>,
    pub(super) is: State,
    pub(super) step: &'a Step,
    pub(super) claim: Option<&'a SchedulingReference>,
    pub(super) request: Option<&'a CreationRequest>,
    /// The uid of the application of this run, if it is there.
    pub(super) application: Option<&'a str>,
    /// Reason and words of why it cannot do what its spec says.
    pub(super) problem: Option<(&'a str, String)>,
}

/// The operations that make of what a BatchJob says what it has to say.
pub(super) fn operations(
    said: Option<&BatchJobStatus>,
    facts: &Facts<'_>,
    now: Time,
) -> Vec<Value> {
    let next = next(said.cloned().unwrap_or_default(), facts, now);
    said::between(said, &next)
}

fn next(said: BatchJobStatus, facts: &Facts<'_>, now: Time) -> BatchJobStatus {
    let (is, step) = (facts.is, facts.step);
    let next = step.next;
    let mut status = said;
    let honoured = status.active_scheduling.clone();
    status.observed_generation = facts.generation;
    status.state = Some(next.run);
    if !next.honoured {
        status.active_scheduling = None;
    } else if !is.honoured {
        status.active_scheduling = facts.claim.cloned();
    }
    if !next.noted {
        status.application_uid = None;
    } else if !is.noted {
        // It begins.
        status.application_uid = facts.application.map(str::to_owned);
        status.testbed = facts.request.map(|one| one.testbed.clone());
        let slots = facts.request.map(slots_of).unwrap_or_default();
        let slots = slots.into_iter().filter_map(|one| i32::try_from(one).ok());
        status.slots = slots.collect();
        (status.started_at, status.completed_at) = (None, None);
    }
    let all_ran = matches!(next.run, BatchJobState::Running | BatchJobState::Completed);
    if all_ran && status.started_at.is_none() && !is_over(is.run) {
        status.started_at = Some(said::date(now));
    }
    if let Some(ended) = step.ended {
        status.completed_at = Some(said::date(now));
        status.history.push(Run {
            state: ended,
            scheduling: honoured.unwrap_or_default(),
            testbed: status.testbed.clone().unwrap_or_default(),
            slots: status.slots.clone(),
            started_at: status.started_at.clone(),
            completed_at: status.completed_at.clone(),
        });
    }
    let beyond = status.history.len().saturating_sub(RUNS);
    status.history.drain(..beyond);
    let (reason, words) = match &facts.problem {
        Some((reason, words)) => (*reason, words.as_str()),
        None => (ACCEPTED, "it can do what its spec says"),
    };
    let is_so = facts.problem.is_none();
    let words = (reason, words);
    let before = &status.conditions;
    let accepted = said::condition(ACCEPTED, is_so, words, facts.generation, before, now);
    status.conditions.retain(|one| one.kind != ACCEPTED);
    status.conditions.push(accepted);
    status
}
