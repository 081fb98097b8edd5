//! BatchJobs and Schedulings in the worlds in which faults happen: plans that share BatchJobs and slots, which are
//! edited, deleted and made again while their controllers die; and what must hold of them in the end.

use crate::slots::LAB;
use crate::small::NS;
use crate::small::lot::Lot;
use crate::world::entry;
use muster::api::crd::{
    BatchJob, BatchJobState, Scheduling, SchedulingState, SchedulingStatus, SlotState,
};
use muster::controllers::Resource;
use muster::model::units::Time;
use muster::sim::driver::Driver;
use muster::sim::random::Random;
use muster::sim::scenario::{Entry, Played};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Names of BatchJobs.
const JOBS: [&str; 4] = ["bake", "count", "index", "sort"];
/// Names of Schedulings.
const PLANS: [&str; 3] = ["dawn", "noon", "dusk"];

/// BatchJobs and Schedulings of them. Any of them may come late, be edited, go, and come again.
pub(crate) fn plans(random: &mut Random, entries: &mut Vec<Entry>) {
    for name in JOBS {
        if random.per_mille(850) {
            life(random, entries, Resource::BatchJobs, |random| {
                job(random, name)
            });
        }
    }
    for name in &PLANS[..1 + usize::try_from(random.below(3)).unwrap()] {
        let testbed = if random.per_mille(50) { "attic" } else { LAB };
        life(random, entries, Resource::Schedulings, |random| {
            plan(random, name, testbed)
        });
    }
}

/// An object that is made, perhaps edited, perhaps deleted, perhaps made again.
pub(crate) fn life(
    random: &mut Random,
    entries: &mut Vec<Entry>,
    resource: Resource,
    make: impl Fn(&mut Random) -> Value,
) {
    let is =
        |random: &mut Random, at: u64| entry(at, Played::Whole(resource, Box::new(make(random))));
    let at = random.below(8_000) * random.below(2);
    let mut first = is(random, at);
    let mut last = at;
    for _ in 0..random.below(3) {
        last += 1 + random.below(9_000);
        entries.push(is(random, last));
    }
    if random.per_mille(300) {
        let gone = last + 1 + random.below(9_000);
        first.delete_at = Some(Time(gone));
        if random.per_mille(600) {
            let again = gone + 1 + random.below(5_000);
            entries.push(is(random, again));
        }
    }
    entries.push(first);
}

/// A plain Job, which ends well, badly or never.
fn job(random: &mut Random, name: &str) -> Value {
    let mut annotations = BTreeMap::new();
    if random.per_mille(850) {
        let span = format!("{}ms", 500 + random.below(6_000));
        annotations.insert("simulate.muster.dev/duration", span);
    }
    if random.per_mille(150) {
        annotations.insert("simulate.muster.dev/ends", "Failed".to_owned());
    }
    // More than a slot has, now and then.
    let cpu = if random.per_mille(80) { "64" } else { "500m" };
    let container = if random.per_mille(300) {
        json!({"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}})
    } else {
        json!({"name": "c", "image": "x"})
    };
    json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "BatchJob",
        "metadata": {"namespace": NS, "name": name},
        "spec": {"job": {"spec": {
            "backoffLimit": random.below(2),
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        }}},
    })
}

/// Some BatchJobs on some slots; some of either are not there.
fn plan(random: &mut Random, name: &str, testbed: &str) -> Value {
    let first = random.count(4) as usize;
    let names = (0..1 + random.count(3) as usize).map(|index| JOBS[(first + index) % JOBS.len()]);
    let names: Vec<&str> = names.collect();
    let spec = if random.per_mille(500) {
        let jobs = names
            .iter()
            .map(|name| json!({"name": name, "slots": 1 + random.below(2)}));
        json!({"testbed": testbed, "queueBased": jobs.collect::<Vec<_>>()})
    } else {
        let jobs: Vec<Value> = names
            .iter()
            .map(|name| {
                let first = random.below(4);
                let slots: Vec<u64> = (first..=first + random.below(2)).collect();
                json!({"name": name, "slots": slots})
            })
            .collect();
        let mode = ["strict", "relaxed"][random.count(2) as usize];
        json!({"testbed": testbed, "slotBased": {"mode": mode, "jobs": jobs}})
    };
    json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "Scheduling",
        "metadata": {"namespace": NS, "name": name}, "spec": spec,
    })
}

/// The pods of a BatchJob, which go with their Job.
pub(crate) fn made(pod: &str) -> bool {
    let job = pod.rsplit_once('-').map(|(job, _)| job);
    job.is_some_and(|job| JOBS.contains(&job))
}

/// At rest nobody has a claim that nobody honours, nothing is left of what is not asked for any more, and every
/// Scheduling is over, says what hinders it, or waits for something that is really in its way.
pub(crate) fn plans_are_in_order(driver: &Driver) -> Result<(), String> {
    let server = driver.server();
    let jobs: Vec<BatchJob> = server.whole_of(Resource::BatchJobs).collect();
    let plans: Vec<Scheduling> = server.whole_of(Resource::Schedulings).collect();
    let named = |name: &Option<String>| name.clone().unwrap_or_default();
    let mut busy = false;
    for job in &jobs {
        let name = named(&job.metadata.name);
        let status = job.status.clone().unwrap_or_default();
        let state = status.state.unwrap_or_default();
        let is_at_work = matches!(state, BatchJobState::Submitted | BatchJobState::Running);
        busy |= is_at_work;
        if job.metadata.deletion_timestamp.is_some() {
            return Err(format!("BatchJob {name} does not go"));
        }
        if let Some(claim) = &job.spec.active_scheduling {
            let by = plans
                .iter()
                .find(|plan| named(&plan.metadata.name) == claim.name);
            if by.is_none() {
                return Err(format!(
                    "{name} is claimed by {claim:?}, which is not there"
                ));
            }
        } else if is_at_work || status.active_scheduling.is_some() {
            return Err(format!("nobody claims {name}, and it is {status:?}"));
        }
        if status.observed_generation != job.metadata.generation {
            return Err(format!("BatchJob {name} speaks of what it was: {status:?}"));
        }
        let runs = application_of(driver, job);
        if runs && job.spec.creation_request.is_none() {
            return Err(format!("{name} runs, and nobody asks for it"));
        }
        if is_at_work && !runs {
            return Err(format!("{name} is {state:?}, and has no application"));
        }
    }
    for plan in &plans {
        let name = named(&plan.metadata.name);
        let status = plan.status.clone().unwrap_or_default();
        if plan.metadata.deletion_timestamp.is_some() {
            return Err(format!("Scheduling {name} does not go"));
        }
        if status.observed_generation != plan.metadata.generation {
            return Err(format!(
                "Scheduling {name} speaks of what it was: {status:?}"
            ));
        }
        busy |= at_work(&status);
    }
    let guests = server.testbeds().any(|bed| {
        let slots = bed.status.unwrap_or_default().slots;
        slots.iter().any(|slot| slot.state == SlotState::Occupied)
    });
    for plan in &plans {
        let status = plan.status.clone().unwrap_or_default();
        if !busy && !guests && !is_over(&status) && !is_hindered(&status) {
            let name = named(&plan.metadata.name);
            return Err(format!(
                "nothing is in the way of Scheduling {name}: {status:?}, {jobs:?}"
            ));
        }
    }
    Ok(())
}

/// How many runs of BatchJobs have ended, and how many Schedulings are over.
pub(crate) fn came_to_an_end(driver: &Driver) -> (u64, u64) {
    let server = driver.server();
    let jobs = server.whole_of::<BatchJob>(Resource::BatchJobs);
    let runs = jobs.map(|job| job.status.map_or(0, |status| status.history.len()));
    let plans = server.whole_of::<Scheduling>(Resource::Schedulings);
    let over = plans.filter(|plan| plan.status.as_ref().is_some_and(is_over));
    (runs.sum::<usize>() as u64, over.count() as u64)
}

/// Whether there is a Job of this BatchJob.
fn application_of(driver: &Driver, job: &BatchJob) -> bool {
    let all = driver.server().whole_of::<Value>(Resource::Jobs);
    let uid = job.metadata.uid.as_deref();
    let of_it = |one: &Value| {
        let owners = one["metadata"]["ownerReferences"].as_array();
        let mut owners = owners.into_iter().flatten();
        owners.any(|owner| owner["uid"].as_str() == uid)
    };
    all.into_iter().any(|one| of_it(&one))
}

fn is_over(status: &SchedulingStatus) -> bool {
    let state = status.state.unwrap_or_default();
    matches!(state, SchedulingState::Completed | SchedulingState::Failed)
}

/// Some of its BatchJobs run, or may.
fn at_work(status: &SchedulingStatus) -> bool {
    let state = status.state.unwrap_or_default();
    matches!(state, SchedulingState::AwaitCompletion)
}

/// It says what somebody has to change.
fn is_hindered(status: &SchedulingStatus) -> bool {
    let mut conditions = status.conditions.iter();
    conditions.any(|one| one.kind == "Accepted" && one.status == "False")
}
