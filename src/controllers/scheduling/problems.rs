//! What hinders a BatchJob of a Scheduling until somebody changes something.

use super::known::Known;
use super::phase::Phase;
use super::read::{Ask, Item, Name, Plan};
use std::collections::BTreeSet;

/// So many numbers stand in a message.
const NUMBERS: usize = 10;

/// What is wrong: a reason, and the same in words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Problem {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// What is wrong with all of them.
pub(super) fn of_all(known: &Known, plan: &Plan) -> Option<Problem> {
    let testbed = &plan.testbed;
    if plan.items.is_empty() {
        let words = "spec: needs exactly one of queueBased and slotBased, with a BatchJob";
        return problem("Invalid", words.to_owned());
    }
    match known.beds.get(testbed) {
        None => problem("NoTestbed", format!("there is no Testbed {testbed}")),
        Some(bed) if bed.slots.is_empty() => {
            problem("NoSlots", format!("Testbed {testbed} has no slots"))
        }
        Some(_) => None,
    }
}

/// What is wrong with one that has not ended. One that has started has its slots, whatever is asked by now.
pub(super) fn of_one(
    known: &Known,
    plan: &Plan,
    item: &Item,
    job: &Name,
    phase: &Phase,
) -> Option<Problem> {
    let name = &item.name;
    if phase.has_ended() {
        return None;
    }
    let Some(is) = known.jobs.get(job) else {
        return problem("NoBatchJob", format!("there is no BatchJob {name}"));
    };
    if let Some(fault) = &is.fault {
        return problem("BatchJobFault", format!("BatchJob {name}: {fault}"));
    }
    if *phase == Phase::Started {
        return None;
    }
    if is.terminating {
        let words = format!("BatchJob {name} is being deleted");
        return problem("NoBatchJob", words);
    }
    if let Some(refused) = known.refused.get(job) {
        return problem("Refused", format!("BatchJob {name}: {refused}"));
    }
    of_slots(known, plan, item)
}

/// What is wrong with the slots that it asks for.
fn of_slots(known: &Known, plan: &Plan, item: &Item) -> Option<Problem> {
    let (name, testbed) = (&item.name, &plan.testbed);
    let slots = &known.beds.get(testbed)?.slots;
    match &item.ask {
        Ask::Any(count) if *count < 1 => {
            let words = format!("BatchJob {name}: slots is {count}; at least 1 is allowed");
            problem("Invalid", words)
        }
        Ask::Any(count) => {
            let (has, count) = (slots.len(), *count);
            let fits = usize::try_from(count).is_ok_and(|count| count <= has);
            if fits {
                return None;
            }
            let noun = self::slots(usize::try_from(count).unwrap_or_default());
            let words =
                format!("BatchJob {name} asks for {count} {noun}; Testbed {testbed} has {has}");
            problem("NoSlots", words)
        }
        Ask::These(asked) => {
            let mut seen = BTreeSet::new();
            if let Some(twice) = asked.iter().find(|slot| !seen.insert(**slot)) {
                let words = format!("BatchJob {name} names slot {twice} twice");
                return problem("Invalid", words);
            }
            if asked.is_empty() {
                let words = format!("BatchJob {name} names no slot; at least 1 is needed");
                return problem("Invalid", words);
            }
            let there = |slot: &&i32| !slots.contains_key(slot);
            let missing: Vec<i32> = asked.iter().filter(there).copied().collect();
            if missing.is_empty() {
                return None;
            }
            let (noun, which) = (self::slots(missing.len()), numbers(&missing));
            let words = format!("BatchJob {name}: Testbed {testbed} has no {noun} {which}");
            problem("NoSlots", words)
        }
    }
}

/// The first of some numbers, in words.
pub(super) fn numbers(all: &[i32]) -> String {
    let first: Vec<String> = all.iter().take(NUMBERS).map(ToString::to_string).collect();
    let mut words = first.join(", ");
    if all.len() > NUMBERS {
        words.push_str(&format!(" and {} more", all.len() - NUMBERS));
    }
    words
}

/// One slot, or several.
pub(super) const fn slots(count: usize) -> &'static str {
    if count == 1 { "slot" } else { "slots" }
}

#[expect(clippy::unnecessary_wraps, reason = "every caller returns it")]
fn problem(reason: &'static str, message: String) -> Option<Problem> {
    Some(Problem { reason, message })
}
