//! The search: breadth first by how many things were chosen. A run plays what was chosen up to some place, and from there
//! on nothing but what goes well, until all is at rest, or is as it was in a run with fewer choices; each place that it
//! passes on the way and that nobody has passed in the same state is where the next runs choose something.
//!
//! The scheduler cannot be copied, so a run begins at the beginning and makes the choices of its plan anew: all else
//! follows from them. States are compared by what the simulator sketches of them (`sim/driver/sketch.rs`).

use crate::choices::{Choice, Passed, Place, Plan, Reader, Script};
use crate::rules;
use crate::world::{World, happens};
use muster::model::units::{Millis, Time};
use muster::sim::driver::Driver;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Rest has to last.
const REST: Millis = Millis(3_000);

/// What is searched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How many things may be chosen in one run.
    pub(crate) faults: usize,
    /// When something may be chosen.
    pub(crate) open: (Time, Time),
    /// How long after the last thing chosen all has to be at rest.
    pub(crate) rest_within: Millis,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Different states in which something could be chosen.
    pub(crate) states: usize,
    /// Runs that were played, by how many things were chosen in them.
    pub(crate) runs: Vec<usize>,
    /// What was chosen in any of them.
    pub(crate) chosen: BTreeSet<Choice>,
    /// What must not be, with what led to it: of the fewest choices that lead to any.
    pub(crate) failures: Vec<String>,
}

/// Plays all that can be chosen. Ends with the number of choices at which something is found that must not be.
pub(crate) fn search(world: World, bounds: Bounds) -> Found {
    let mut found = Found::default();
    let mut known: BTreeSet<u64> = BTreeSet::new();
    let mut plans: Vec<Plan> = vec![Plan::default()];
    for faults in 0..=bounds.faults {
        let ends = play_all(world, bounds, &plans, &known);
        found.runs.push(plans.len());
        let last = plans.iter().filter_map(|plan| plan.0.last());
        found.chosen.extend(last.map(|(_, choice)| *choice));
        let mut next = Vec::new();
        for (plan, end) in plans.iter().zip(ends) {
            match end {
                Err(failure) => found.failures.push(failure),
                Ok(passed) => {
                    for place in passed {
                        if known.insert(place.key) && faults < bounds.faults {
                            next.extend(plans_from(plan, &place));
                        }
                    }
                }
            }
        }
        found.states = known.len();
        if !found.failures.is_empty() {
            break;
        }
        plans = next;
    }
    found
}

fn plans_from<'a>(plan: &'a Plan, place: &'a Passed) -> impl Iterator<Item = Plan> + 'a {
    let choices = place.place.choices().iter();
    choices.map(|choice| {
        let mut plan = plan.clone();
        plan.0.push((place.number, *choice));
        plan
    })
}

/// What each plan comes to, in their order.
fn play_all(
    world: World,
    bounds: Bounds,
    plans: &[Plan],
    known: &BTreeSet<u64>,
) -> Vec<Result<Vec<Passed>, String>> {
    let next = AtomicUsize::new(0);
    let ends = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(plan) = plans.get(index) else { return };
                    let end = catch_unwind(AssertUnwindSafe(|| play(world, bounds, plan, known)));
                    let end = end.unwrap_or_else(|panic| {
                        let text = panic.downcast_ref::<String>().cloned();
                        let text = text.unwrap_or_else(|| "panicked".to_owned());
                        Err(format!("{plan}: {text}"))
                    });
                    ends.lock().unwrap().push((index, end));
                }
            });
        }
    });
    let mut ends = ends.into_inner().unwrap();
    ends.sort_by_key(|(index, _)| *index);
    ends.into_iter().map(|(_, end)| end).collect()
}

/// Plays one plan until all is at rest; returns the places that were passed after its last choice.
fn play(
    world: World,
    bounds: Bounds,
    plan: &Plan,
    known: &BTreeSet<u64>,
) -> Result<Vec<Passed>, String> {
    let script = Arc::new(Mutex::new(Script::new(plan, bounds.open)));
    let driver = world.driver(Reader(Arc::clone(&script)));
    see_through(driver, world, bounds, plan, known, &script)
}

/// The same, with all that happens on stderr.
pub(crate) fn trace(world: World, bounds: Bounds, plan: &Plan) -> Result<(), String> {
    let script = Arc::new(Mutex::new(Script::new(plan, bounds.open)));
    let mut driver = world.driver(Reader(Arc::clone(&script)));
    driver.set_trace(true);
    see_through(driver, world, bounds, plan, &BTreeSet::new(), &script)?;
    eprintln!("{}", script.lock().unwrap().told.join("\n"));
    Ok(())
}

fn see_through(
    mut driver: Driver,
    world: World,
    bounds: Bounds,
    plan: &Plan,
    known: &BTreeSet<u64>,
    script: &Mutex<Script>,
) -> Result<Vec<Passed>, String> {
    let failed = |what: String| {
        let told = script.lock().unwrap().told.join("; ");
        Err(format!("{plan} ({told}): {what}"))
    };
    let mut rests_since = None;
    loop {
        let now = driver.now();
        let choice = {
            let mut script = script.lock().unwrap();
            if script.is_through() && bounds.open.0 <= now {
                script.begin_step(&driver.sketch());
            }
            let choice = script.pass(Place::Step, "", now);
            if choice.is_none() && script.is_at(known) {
                return Ok(script.take_passed());
            }
            choice
        };
        if let Some(choice) = choice {
            happens(&mut driver, choice);
        }
        if !driver.step(Time(u64::MAX)) {
            return failed(format!("at {}: nothing more happens", now.0));
        }
        let (through, last) = {
            let script = script.lock().unwrap();
            (script.is_through(), script.last)
        };
        if let Err(what) = rules::hold(&driver, world, plan, last) {
            return failed(what);
        }
        let now = driver.now();
        if !through || now <= bounds.open.0 {
            continue;
        }
        let Some(unrest) = rules::unrest(&driver, world) else {
            if now.since(*rests_since.get_or_insert(now)) >= REST {
                return Ok(script.lock().unwrap().take_passed());
            }
            continue;
        };
        rests_since = None;
        if now.since(last.unwrap_or(bounds.open.0)) > bounds.rest_within {
            return failed(format!("at {}: no rest: {unrest}", now.0));
        }
    }
}
