//! Who gets which slots of a Testbed: in the order of Schedulings, and in each of them in its own order.
//!
//! What an earlier one could use and cannot have yet, no later one takes.

use super::claims::Standing;
use super::known::Known;
use super::problems::{numbers, slots};
use super::read::{Ask, Name, Order, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// What is dealt of a Testbed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dealt {
    /// The BatchJobs that are to start now, and on which slots.
    pub(super) starts: BTreeMap<Name, Vec<i32>>,
    /// What Schedulings wait for, in words.
    pub(super) waits: BTreeMap<Name, String>,
}

/// Deals the slots of a Testbed to those that have all of their BatchJobs, or are about to: nobody is in their way.
pub(super) fn deal(known: &Known, bed: &str, standings: &BTreeMap<Name, Standing>) -> Dealt {
    let mut dealt = Dealt::default();
    let mut free = known.free_slots(bed);
    for (name, plan) in known.on_bed(bed) {
        let Some(standing) = standings.get(name).filter(|one| one.waits.is_none()) else {
            continue;
        };
        let mut waits = None;
        let starts = match plan.order {
            Order::Queue => in_queue(plan, standing, &mut free, &mut waits),
            Order::Strict | Order::Relaxed => on_given(plan, standing, &mut free, &mut waits),
        };
        // What it is dealt stays its own until it may start.
        if standing.is_known {
            let starts = starts
                .into_iter()
                .map(|(job, slots)| (name.beside(&job), slots));
            dealt.starts.extend(starts);
        }
        if let Some(words) = waits {
            let words = format!("{words} of Testbed {bed}");
            dealt.waits.insert(name.clone(), words);
        }
    }
    dealt
}

/// What its BatchJobs that are to start ask for, in their order.
fn asks<'a>(plan: &'a Plan, standing: &'a Standing) -> impl Iterator<Item = (&'a String, &'a Ask)> {
    let items = plan.items.iter().map(|item| (&item.name, &item.ask));
    items.filter(|(name, _)| standing.to_start.contains(name))
}

/// So many each, the lowest first; from the first for whom they do not suffice, nobody gets any.
fn in_queue(
    plan: &Plan,
    standing: &Standing,
    free: &mut BTreeSet<i32>,
    waits: &mut Option<String>,
) -> Vec<(String, Vec<i32>)> {
    let mut starts = Vec::new();
    for (job, ask) in asks(plan, standing) {
        let Ask::Any(count) = ask else {
            continue;
        };
        let count = usize::try_from(*count).unwrap_or(usize::MAX);
        if free.len() < count {
            *waits = Some(format!(
                "BatchJob {job} waits for {count} free {}",
                slots(count)
            ));
            free.clear();
            break;
        }
        let first: BTreeSet<i32> = free.iter().take(count).copied().collect();
        free.retain(|slot| !first.contains(slot));
        starts.push((job.clone(), first.into_iter().collect()));
    }
    starts
}

/// Each on its own; where they go in order, nobody before those in front of them.
fn on_given(
    plan: &Plan,
    standing: &Standing,
    free: &mut BTreeSet<i32>,
    waits: &mut Option<String>,
) -> Vec<(String, Vec<i32>)> {
    let mut starts = Vec::new();
    let mut wanted = BTreeSet::new();
    for (job, ask) in asks(plan, standing) {
        let Ask::These(asked) = ask else {
            continue;
        };
        let goes = waits.is_none() || plan.order == Order::Relaxed;
        if goes && asked.iter().all(|slot| free.contains(slot)) {
            free.retain(|slot| !asked.contains(slot));
            starts.push((job.clone(), asked.clone()));
            continue;
        }
        if waits.is_none() {
            let occupied = asked.iter().filter(|slot| !free.contains(slot));
            let occupied: Vec<i32> = occupied.copied().collect();
            let (noun, which) = (slots(occupied.len()), numbers(&occupied));
            *waits = Some(format!("BatchJob {job} waits for {noun} {which}"));
        }
        wanted.extend(asked.iter().copied());
    }
    free.retain(|slot| !wanted.contains(slot));
    starts
}
