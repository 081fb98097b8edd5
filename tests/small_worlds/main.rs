//! Small worlds, in every order: a gang of two and a rival for the same room, two processes of the scheduler and their
//! Lease. Each request may be lost, late, refused, carried out unheard or twice, each piece of news may be late; at each
//! step the leader may die or stand still beyond its term, and somebody may edit or delete. Of these, all combinations up to
//! a number are played by the scheduler, the elections and the protocols themselves, on the simulator's clock; other than
//! in tests/faults nothing is drawn by lot.
//!
//! `MUSTER_FAULTS=n` has up to n things happen in a run, in all worlds. docs/reliability.md has how many states that are and how
//! long it takes.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod choices;
mod rules;
mod search;
#[path = "../support/small/mod.rs"]
mod small;
mod world;

use choices::{Choice, Place};
use muster::model::units::Millis;
use search::{Bounds, search, trace};
use std::collections::BTreeSet;
use std::io::{Write as _, stderr};
use std::time::Instant;
use world::{COME, World};

/// For so long after gang and rival have come something may happen.
const OPEN: Millis = Millis(20_000);

/// So long after the last thing that happened all is at rest.
const REST_WITHIN: Millis = Millis(60_000);

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

fn bounds(faults: usize) -> Bounds {
    Bounds {
        faults: number("MUSTER_FAULTS").unwrap_or(faults),
        open: (COME, COME + OPEN),
        rest_within: REST_WITHIN,
    }
}

/// Plays all orders in which up to so many things happen; returns what was chosen.
fn all_orders_of(name: &str, world: World, faults: usize) -> BTreeSet<Choice> {
    #[expect(clippy::disallowed_methods, reason = "it is said how long it took")]
    let begun = Instant::now();
    let found = search(world, bounds(faults));
    let took = begun.elapsed().as_secs();
    let (states, runs) = (found.states, &found.runs);
    // Also where the test passes and what it prints is kept back.
    let mut out = stderr();
    writeln!(out, "{name}: {states} states, {runs:?} runs in {took} s").unwrap();
    let count = found.failures.len();
    let first = found.failures.into_iter().take(10);
    let first: Vec<String> = first
        .map(|failure| {
            format!(
                "{failure}\n  MUSTER_WORLD={name}, and MUSTER_PLAN is what is before the bracket"
            )
        })
        .collect();
    assert!(count == 0, "{count} failed:\n{}", first.join("\n"));
    assert!(states > 1_000, "{name}: only {states} states");
    found.chosen
}

/// Gang and rival come at once, and only one of them has room.
const AT_ONCE: World = World {
    nodes: 2,
    bind_slots: 2,
    rival_runs: false,
};

/// The rival runs, and the gang has it go.
const AFTER: World = World {
    nodes: 2,
    bind_slots: 2,
    rival_runs: true,
};

/// There is room for all, and one bind at a time.
const ROOMY: World = World {
    nodes: 3,
    bind_slots: 1,
    rival_runs: false,
};

#[test]
fn a_gang_and_a_rival_that_come_at_once() {
    let chosen = all_orders_of("at-once", AT_ONCE, 2);
    let all = Place::ALL.into_iter().flat_map(Place::choices);
    let never: Vec<&Choice> = all.filter(|choice| !chosen.contains(choice)).collect();
    // Reads come after something else that went wrong.
    let few = number("MUSTER_FAULTS").is_some_and(|faults| faults < 2);
    assert!(few || never.is_empty(), "never chosen: {never:?}");
}

#[test]
fn a_gang_that_has_its_rival_go() {
    all_orders_of("after", AFTER, 1);
}

#[test]
fn a_gang_and_a_rival_with_room_for_both() {
    all_orders_of("roomy", ROOMY, 1);
}

/// Plays one plan of one world with all that happens: `MUSTER_PLAN=7:Dies,25:Pauses MUSTER_WORLD=after cargo test --test
/// small_worlds one -- --nocapture`.
#[test]
fn one() {
    let plan = std::env::var("MUSTER_PLAN").unwrap_or_else(|_| "3:Dies".to_owned());
    let world = match std::env::var("MUSTER_WORLD").as_deref() {
        Ok("after") => AFTER,
        Ok("roomy") => ROOMY,
        _ => AT_ONCE,
    };
    if let Err(failure) = trace(world, bounds(1), &plan.parse().unwrap()) {
        panic!("{failure}");
    }
}
