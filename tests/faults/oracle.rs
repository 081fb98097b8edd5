//! What must hold in calm, judged by what the API server holds and not by what the scheduler
//! thinks.

use crate::fits::what_fits_is_placed;
use crate::job_rules::{Eyes, Lacking, jobs_are_in_order};
use crate::jobs::may_be_made;
use crate::plans::{made, plans_are_in_order};
use crate::slots::slots_are_in_order;
use muster::api::kinds::Subject;
use muster::api::status::Status;
use muster::core::state::Queue;
use muster::model::PodWaits;
use muster::model::units::{Millis, Time};
use muster::model::{GangSpec, Lifetime, PodPhase, Reservation};
use muster::sim::driver::Driver;
use muster::sim::ledger::{GangLine, PodLine};
use std::collections::BTreeMap;

/// After this much calm no gang may be bound in part.
const SETTLE: Millis = Millis(10_000);

/// Before the end, so long nothing may happen.
const REST: Millis = Millis(60_000);

/// Nothing that is never allowed has happened, and nobody was evicted: for worlds with room for all.
pub(crate) fn nobody_is_harmed(driver: &Driver) -> Result<(), String> {
    if let Some(violation) = driver.ledger().violations.first() {
        return Err(violation.clone());
    }
    match driver.ledger().pods.iter().find(|line| line.evictions > 0) {
        Some(line) => Err(format!("at {:?}: {} was evicted", driver.now(), line.name)),
        None => Ok(()),
    }
}

/// How many pods run, and how many there are.
pub(crate) fn running(driver: &Driver) -> (usize, usize) {
    let pods = &driver.ledger().pods;
    let runs = |line: &&PodLine| line.phase == Some(PodPhase::Running);
    (pods.iter().filter(runs).count(), pods.len())
}

/// From the time at which there are no faults, and as many pods as it needs, no gang is bound in part for long.
pub(crate) fn whole_or_nothing(
    driver: &Driver,
    calm_from: Time,
    lacking: &Lacking,
) -> Result<(), String> {
    for (key, line) in &driver.ledger().gangs {
        if let Some(since) = line.partly_since
            && let Some(spec) = driver.server().gang(key)
            && driver
                .now()
                .since(since.max(calm_from).max(lacking.until(key)))
                > patience_with(spec)
        {
            let total = line.total();
            return Err(format!(
                "{:?}: gang {key} has been bound in part ({total:?}) since {since:?}",
                driver.now()
            ));
        }
    }
    Ok(())
}

/// How long a gang may be bound in part: one that is to be repaired, until its deadline. Whether it
/// has run is not asked: who takes over cannot know, and a PodGroup made again may find members bound.
fn patience_with(spec: &GangSpec) -> Millis {
    Millis(SETTLE.0 + spec.repair_for.map_or(0, |span| span.0))
}

/// Whether gangs may have each other go for ever, a lifetime after the other: heads of queues have
/// their places cleared, and who went comes back.
pub(crate) fn may_take_turns(driver: &Driver) -> bool {
    let Some(brain) = driver.brain() else {
        return false;
    };
    let state = brain.scheduler().state();
    let lasts = |lifetime| matches!(lifetime, Lifetime::Limited(span) if span.0 > 0);
    let mut queues = state.queues().iter();
    let reserves = |queue: &Queue| {
        let spec = queue.spec.as_ref();
        spec.is_some_and(|spec| spec.reservation != Reservation::None && !spec.uid.is_empty())
    };
    state.gangs().any(|(_, gang)| lasts(gang.lifetime)) && queues.any(|(_, queue)| reserves(queue))
}

/// What is so when nothing has happened for long. Where the books of queues keep some waiting, they may go
/// on starting as flow and charges fall.
pub(crate) fn at_rest(
    driver: &Driver,
    has_limits: bool,
    until: Time,
    eyes: &Eyes,
) -> Result<(), String> {
    let brain = driver.brain().ok_or("the scheduler is dead")?;
    if has_limits || may_take_turns(driver) {
        brain.scheduler().audit()?;
        return Ok(());
    }
    if brain.wants_cycle() {
        return Err("the scheduler wants a cycle although nothing happens".to_owned());
    }
    if until.since(driver.last_change()) < REST {
        return Err(format!("no rest: changes up to {:?}", driver.last_change()));
    }
    if until.since(driver.last_word()) < REST {
        return Err(format!("no rest: words up to {:?}", driver.last_word()));
    }
    brain.scheduler().audit()?;
    slots_are_in_order(driver)?;
    plans_are_in_order(driver)?;
    jobs_are_in_order(driver, eyes)?;
    nothing_is_lost(driver)?;
    every_word_is_true(driver)?;
    // Room may be kept for the head of a queue.
    if brain.scheduler().reserved().next().is_some() {
        return Ok(());
    }
    what_fits_is_placed(driver)
}

/// Every pod exists, and is bound or says why it waits.
pub(crate) fn nothing_is_lost(driver: &Driver) -> Result<(), String> {
    let (server, ledger) = (driver.server(), driver.ledger());
    let done = Some(PodPhase::Succeeded);
    // Of those that were made again under a name, the last.
    let lines = ledger.pods.iter();
    let last: BTreeMap<_, &PodLine> = lines.map(|line| (&line.name, line)).collect();
    let lasts = last.into_values();
    for line in lasts.filter(|line| line.ours && line.phase != done) {
        let Some(pod) = server.pod_named(&line.namespace, &line.name) else {
            if line.finished_at.is_some() && made(&line.name) || may_be_made(&line.name) {
                continue;
            }
            return Err(format!("pod {} does not exist", line.name));
        };
        let explains = |gang: &GangLine| {
            let status = gang.status.as_ref();
            status.is_some_and(|status| status.conditions.iter().any(|one| !one.status))
        };
        // A pod of the scenario that never was there, as its name was taken, has a line of that name as well.
        let mut lines = ledger.pods.iter().filter(|one| one.name == line.name);
        let said_on_pod = lines.any(|one| said_on(one, &pod.spec.key.uid).is_some());
        let said_on_gang = line.gang.as_ref().and_then(|key| ledger.gangs.get(key));
        if pod.spec.node.is_none() && !said_on_pod && !said_on_gang.is_some_and(explains) {
            return Err(format!("pod {} waits and nobody says why", line.name));
        }
        if pod.spec.terminating {
            return Err(format!("pod {} does not go", line.name));
        }
    }
    Ok(())
}

/// What was last said on a pod that still has this uid.
fn said_on<'a>(line: &'a PodLine, uid: &str) -> Option<&'a str> {
    let (of, message) = line.waits.as_ref()?;
    (of == uid).then_some(message.as_str())
}

/// What the objects say is what there is to say: nothing was lost, nothing is out of date.
fn every_word_is_true(driver: &Driver) -> Result<(), String> {
    let (server, ledger) = (driver.server(), driver.ledger());
    let brain = driver.brain().ok_or("the scheduler is dead")?;
    for gang in server.gangs() {
        let Some(counts) = server.gang(&gang.key).filter(|one| one.uid == gang.uid) else {
            continue;
        };
        let status = brain.scheduler().gang_status(&gang.key);
        let wanted = status.as_ref().and_then(Status::of_gang);
        let subject = Subject::Gang(counts.source, counts.uid.clone());
        if wanted.is_some_and(|wanted| wanted.said().text != server.said_of(&subject).text) {
            return Err(format!("{} does not say {status:?}", gang.key));
        }
    }
    for line in ledger.pods.iter().filter(|line| line.ours) {
        let Some(pod) = server.pod_named(&line.namespace, &line.name) else {
            continue;
        };
        let uid = &pod.spec.key.uid;
        let Some(message) = said_on(line, uid).filter(|_| pod.spec.node.is_none()) else {
            continue;
        };
        let found = server.said_of(&Subject::Pod(uid.clone())).text;
        let says = |reason: &'static str| {
            let wanted = Status::from(&PodWaits {
                pod: pod.spec.key.clone(),
                reason: reason.into(),
                message: message.into(),
                nominated: None,
            });
            wanted.said().text == found
        };
        if !says("Unschedulable") && !says("AtMaximum") {
            return Err(format!("pod {} does not say {message:?}", line.name));
        }
    }
    Ok(())
}
