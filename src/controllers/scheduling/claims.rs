//! Who claims which BatchJobs: all that a Scheduling needs or none, in the order of Schedulings.
//!
//! One that lacks something holds nothing back but what runs: what it has not started and what has ended is
//! given back. So whoever is waited for waits for no claim itself, and there is no circle.

use super::known::Known;
use super::phase::Phase;
use super::problems::{self, Problem};
use super::read::{Name, Order, Plan};
use std::collections::BTreeMap;

/// Where a Scheduling stands with its BatchJobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// What hinders it, the first first.
    pub(super) problems: Vec<Problem>,
    /// The BatchJobs that may start once they are claimed and have slots, in their order.
    pub(super) to_start: Vec<String>,
    /// Whether it has all of these.
    pub(super) has_all: bool,
    /// Whether all of these know that it has them.
    pub(super) is_known: bool,
    /// Those that it claims now.
    pub(super) take: Vec<String>,
    /// Those that it gives back now.
    pub(super) give: Vec<String>,
    /// What it waits for, in words.
    pub(super) waits: Option<String>,
}

/// Where the Schedulings of a namespace stand.
pub(super) fn standings(known: &Known, namespace: &str) -> BTreeMap<Name, Standing> {
    // Of each BatchJob, who comes first of those that want it and do not have all that they need.
    let mut wanted: BTreeMap<Name, Name> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for (name, plan) in known.live(namespace) {
        let standing = standing(known, name, plan, &wanted);
        if !standing.has_all {
            for job in &standing.to_start {
                wanted
                    .entry(name.beside(job))
                    .or_insert_with(|| name.clone());
            }
        }
        all.insert(name.clone(), standing);
    }
    all
}

fn standing(known: &Known, name: &Name, plan: &Plan, wanted: &BTreeMap<Name, Name>) -> Standing {
    let claimed = known.claimed_by(name);
    if plan.terminating || known.not_bound.contains(name) {
        return Standing {
            give: claimed.cloned().collect(),
            has_all: true,
            ..Standing::default()
        };
    }
    let phases = phases(known, name, plan);
    let (problems, to_start) = what_may_start(known, name, plan, &phases);
    let need: Vec<&String> = to_start
        .iter()
        .filter(|job| !phases.get(*job).is_some_and(Phase::is_held))
        .collect();
    let waits = need
        .iter()
        .find_map(|job| in_the_way(job, &phases, wanted.get(&name.beside(job))));
    if !plan.is_bound() {
        // It claims nothing before it has its finalizer, and nobody that comes after it goes before it. There is
        // nothing to give, unless somebody took the finalizer away.
        return Standing {
            give: claimed.cloned().collect(),
            to_start,
            waits,
            ..Standing::default()
        };
    }
    let can_take = waits.is_none();
    let lacks = !can_take
        || phases
            .iter()
            .any(|(job, phase)| phase.is_to_start() && !to_start.contains(job));
    let is_over = phases
        .values()
        .all(|phase| matches!(phase, Phase::Ended { recorded: true, .. }));
    let gives = |job: &String| match phases.get(job) {
        // It was taken off the list.
        None => true,
        Some(Phase::Ended { recorded, .. }) => *recorded && (is_over || lacks),
        Some(Phase::Held { .. }) => !can_take || !to_start.contains(job),
        Some(_) => false,
    };
    Standing {
        give: claimed.filter(|job| gives(job)).cloned().collect(),
        has_all: need.is_empty(),
        is_known: to_start
            .iter()
            .all(|job| phases.get(job) == Some(&Phase::Held { follows: true })),
        take: if can_take {
            need.into_iter().cloned().collect()
        } else {
            Vec::new()
        },
        problems,
        to_start,
        waits,
    }
}

/// How far each of its BatchJobs is.
pub(super) fn phases(known: &Known, name: &Name, plan: &Plan) -> BTreeMap<String, Phase> {
    let phase = |job: &String| {
        let is = known.jobs.get(&name.beside(job));
        (job.clone(), Phase::of(name, plan, job, is))
    };
    plan.items.iter().map(|item| phase(&item.name)).collect()
}

/// What hinders it, and which of its BatchJobs may start: those that nothing hinders; unless they go in order,
/// then none as long as anything hinders one that is to start.
fn what_may_start(
    known: &Known,
    name: &Name,
    plan: &Plan,
    phases: &BTreeMap<String, Phase>,
) -> (Vec<Problem>, Vec<String>) {
    let mut found = Vec::new();
    let mut to_start = Vec::new();
    let mut hindered = false;
    let of_all = problems::of_all(known, plan);
    for item in &plan.items {
        let Some(phase) = phases.get(&item.name) else {
            continue;
        };
        let problem = problems::of_one(known, plan, item, &name.beside(&item.name), phase);
        if phase.is_to_start() {
            if problem.is_none() && of_all.is_none() {
                to_start.push(item.name.clone());
            } else {
                hindered = true;
            }
        }
        found.extend(problem);
    }
    if hindered {
        found.splice(0..0, of_all);
        if plan.order != Order::Relaxed {
            to_start.clear();
        }
    }
    if plan.items.is_empty() {
        found.extend(problems::of_all(known, plan));
    }
    (found, to_start)
}

/// Why a BatchJob cannot be claimed now.
fn in_the_way(
    job: &str,
    phases: &BTreeMap<String, Phase>,
    wanted: Option<&Name>,
) -> Option<String> {
    match (phases.get(job), wanted) {
        (Some(Phase::Taken(Some(other))), _) => Some(format!(
            "waits for BatchJob {job}, which Scheduling {} has",
            other.name
        )),
        (Some(Phase::Taken(None)), _) => Some(format!(
            "waits for BatchJob {job}, whose last run is not gone yet"
        )),
        (_, Some(earlier)) => Some(format!(
            "waits for BatchJob {job}, which Scheduling {} wants first",
            earlier.name
        )),
        _ => None,
    }
}
