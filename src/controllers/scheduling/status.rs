//! What a Scheduling says: its status as a function of what is known, and the patch from what it says already.

use super::claims::{Standing, phases};
use super::known::Known;
use super::phase::Phase;
use super::read::{Name, Plan};
use crate::said;
use muster_api::condition::Condition;
use muster_api::crd::{
    BatchJobState, ScheduledJob, ScheduledJobState, SchedulingState, SchedulingStatus,
};
use muster_model::units::Time;
use std::collections::BTreeMap;

/// So many problems stand in it.
const PROBLEMS: usize = 3;
const ACCEPTED: &str = "Accepted";

/// What becomes of a Scheduling next, beside what is known of its BatchJobs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next<'a> {
    pub(super) standing: &'a Standing,
    /// Whether some of its BatchJobs are to start now.
    pub(super) starts: bool,
    /// What it waits for, of its Testbed.
    pub(super) waits: Option<&'a String>,
}

/// What it has to say.
pub(super) fn status(
    known: &Known,
    name: &Name,
    plan: &Plan,
    next: Next<'_>,
    now: Time,
) -> SchedulingStatus {
    let phases = phases(known, name, plan);
    let said = plan.said.as_ref();
    let state = state(known, name, plan, &phases, next);
    let begun = phases
        .values()
        .any(|phase| matches!(phase, Phase::Started | Phase::Ended { .. }));
    let started = said.and_then(|said| said.started_at.clone());
    let over = matches!(state, SchedulingState::Completed | SchedulingState::Failed);
    let completed = said.and_then(|said| said.completed_at.clone());
    let last = phases.keys().filter_map(|job| {
        let job = known.jobs.get(&name.beside(job))?;
        job.completed_at.clone().filter(|_| job.has_ended())
    });
    let last = last.max_by_key(|date| date.0);
    SchedulingStatus {
        observed_generation: Some(plan.generation),
        state: Some(state),
        jobs: jobs(known, name, plan, &phases),
        started_at: started.or_else(|| begun.then(|| said::date(now))),
        completed_at: over.then(|| completed.or(last).unwrap_or_else(|| said::date(now))),
        conditions: vec![accepted(plan, next, now)],
    }
}

fn state(
    known: &Known,
    name: &Name,
    plan: &Plan,
    phases: &BTreeMap<String, Phase>,
    next: Next<'_>,
) -> SchedulingState {
    let standing = next.standing;
    if !plan.items.is_empty() && phases.values().all(Phase::has_ended) {
        let failed = |phase: &Phase| matches!(phase, Phase::Ended { failed: true, .. });
        return if phases.values().any(failed) {
            SchedulingState::Failed
        } else {
            SchedulingState::Completed
        };
    }
    let untouched = |phase: &Phase| phase.is_to_start() && !phase.is_held();
    if standing.to_start.is_empty() && phases.values().any(Phase::is_to_start)
        || plan.items.is_empty()
    {
        // Something hinders all that are to start.
        return if phases.values().all(untouched) {
            SchedulingState::Initial
        } else {
            SchedulingState::Acquire
        };
    }
    if !standing.has_all || !standing.is_known {
        return SchedulingState::Acquire;
    }
    if next.starts {
        return SchedulingState::Submission;
    }
    let begun = |(job, phase): (&String, &Phase)| {
        let is = known.jobs.get(&name.beside(job));
        phase.has_ended() || is.is_some_and(|job| job.has_begun())
    };
    if phases.iter().all(begun) {
        SchedulingState::AwaitCompletion
    } else {
        SchedulingState::Confirmation
    }
}

fn jobs(
    known: &Known,
    name: &Name,
    plan: &Plan,
    phases: &BTreeMap<String, Phase>,
) -> Vec<ScheduledJob> {
    let one = |job: &String| {
        if let Some(recorded) = plan.recorded(job) {
            return Some(recorded.clone());
        }
        let is = known.jobs.get(&name.beside(job));
        let state = match phases.get(job)? {
            Phase::Ended { failed: true, .. } => ScheduledJobState::Failed,
            Phase::Ended { failed: false, .. } => ScheduledJobState::Completed,
            Phase::Started if is.is_some_and(|job| job.has_begun() && runs(job.state)) => {
                ScheduledJobState::Scheduled
            }
            Phase::Started => ScheduledJobState::Submitted,
            Phase::Held { follows: true } => ScheduledJobState::InQueue,
            Phase::Held { .. } | Phase::Missing | Phase::Taken(_) | Phase::Free => {
                ScheduledJobState::Acquiring
            }
        };
        let has_slots = state >= ScheduledJobState::Submitted;
        let slots = is.filter(|_| has_slots).map(|job| {
            let asked = job.request().map(|request| &request.slots);
            asked.unwrap_or(&job.slots).clone()
        });
        Some(ScheduledJob {
            name: job.clone(),
            state,
            slots: slots.unwrap_or_default(),
        })
    };
    let items = plan.items.iter();
    items.filter_map(|item| one(&item.name)).collect()
}

fn runs(state: BatchJobState) -> bool {
    state == BatchJobState::Running
}

/// Whether it can go on, and what it waits for.
fn accepted(plan: &Plan, next: Next<'_>, now: Time) -> Condition {
    let problems = &next.standing.problems;
    let waits = next.standing.waits.as_ref().or(next.waits);
    let (is_so, reason, message) = match (problems.first(), waits) {
        (Some(first), _) => {
            let all = problems.iter().take(PROBLEMS);
            let mut words: Vec<String> = all.map(|one| one.message.clone()).collect();
            if problems.len() > PROBLEMS {
                words.push(format!("and {} more", problems.len() - PROBLEMS));
            }
            (false, first.reason, words.join("; "))
        }
        (None, Some(waits)) => (true, "Waiting", waits.clone()),
        (None, None) => (true, ACCEPTED, "nothing is in its way".to_owned()),
    };
    let before = plan.said.as_ref().map_or(&[][..], |said| &said.conditions);
    let words = (reason, message.as_str());
    said::condition(ACCEPTED, is_so, words, Some(plan.generation), before, now)
}
