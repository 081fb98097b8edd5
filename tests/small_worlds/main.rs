//! Small worlds, in every order: a gang of two and a rival for the same room, two processes of the scheduler and their
//! Lease. Each request may be lost, late, refused, carried out unheard or twice, each piece of news may be late; at each
//! step the leader may die or stand still beyond its term, and somebody may edit or delete. Of these, all combinations up to
//! a number are played by the scheduler, the elections and the protocols themselves, on the simulator's clock; other than
//! in tests/faults nothing is drawn by lot.
//!
//! `MUSTER_FAULTS=n` has n things happen in a run instead of two. docs/reliability.md has what was found and how long it takes.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod choices;
mod rules;
mod search;
#[path = "../support/small/mod.rs"]
mod small;
mod world;

use muster::model::units::Millis;
use search::{Bounds, search, trace};
use std::io::{Write as _, stderr};
use std::time::Instant;
use world::{COME, World};

/// How many things happen in a run.
const FAULTS: usize = 2;

/// For so long after gang and rival have come something may happen.
const OPEN: Millis = Millis(20_000);

/// So long after the last thing that happened all is at rest.
const REST_WITHIN: Millis = Millis(60_000);

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

fn bounds() -> Bounds {
    Bounds {
        faults: number("MUSTER_FAULTS").unwrap_or(FAULTS),
        open: (COME, COME + OPEN),
        rest_within: REST_WITHIN,
    }
}

fn all_orders_of(name: &str, world: World) {
    #[expect(clippy::disallowed_methods, reason = "it is said how long it took")]
    let begun = Instant::now();
    let found = search(world, bounds());
    let took = begun.elapsed().as_secs();
    let (states, runs) = (found.states, &found.runs);
    writeln!(
        stderr(),
        "{name}: {states} states, {runs:?} runs in {took} s"
    )
    .unwrap();
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
    all_orders_of("at-once", AT_ONCE);
}

#[test]
fn a_gang_that_has_its_rival_go() {
    all_orders_of("after", AFTER);
}

#[test]
fn a_gang_and_a_rival_with_room_for_both() {
    all_orders_of("roomy", ROOMY);
}

/// Plays one plan of one world with all that happens.
#[test]
fn one() {
    let plan = std::env::var("MUSTER_PLAN").unwrap_or_default();
    let world = match std::env::var("MUSTER_WORLD").as_deref() {
        Ok("after") => AFTER,
        Ok("roomy") => ROOMY,
        _ => AT_ONCE,
    };
    if let Err(failure) = trace(world, bounds(), &plan.parse().unwrap()) {
        panic!("{failure}");
    }
}
