//! An outage in the middle of a wave: what nobody could do counts against nobody. Where there is room
//! for all, nobody who runs is deleted, and every gang gets whole.

use crate::oracle::{nobody_is_harmed, running};
use crate::told;
use muster::core::engine::Policy;
use muster::model::units::{Millis, Time};
use muster::sim::driver::Driver;
use muster::sim::network::{Network, Outage, OutageKind, Rates};
use muster::sim::random::Random;

/// Of each kind, with and without a second instance that stands by.
const OUTAGES: u64 = 60;

const KINDS: [OutageKind; 3] = [OutageKind::Dead, OutageKind::Hangs, OutageKind::Busy];

/// A wave of so many gangs takes some two seconds.
const GANGS: u64 = 8;

/// After the outage every gang is whole within this.
const WHOLE_AFTER: Millis = Millis(20_000);

fn driver(outage: Outage, standby: bool, seed: u64) -> Driver {
    let rates = Rates {
        delay: Millis(100),
        bind_slots: 3,
        outage,
        ..Rates::default()
    };
    let ever = Time::from_secs(3_600);
    let network = Network::faulty(rates, Random::new(seed), ever);
    let driver = Driver::new(told::roomy(GANGS), Policy::default(), network);
    if standby {
        driver.with_standby()
    } else {
        driver
    }
}

/// When the first bind after a time is done, if one is.
fn first_bind(mut driver: Driver, after: Time) -> Option<Time> {
    while driver.step(after + Millis(60_000)) {
        let bound = driver.ledger().pods.iter();
        let bound = bound.filter_map(|line| line.bound_at);
        if let Some(at) = bound.filter(|at| *at > after).min() {
            return Some(at);
        }
    }
    None
}

/// Some time in the wave as it is where nothing is in its way.
fn in_the_wave(standby: bool, seed: u64, random: &mut Random) -> Time {
    let undisturbed = driver(Outage::default(), standby, seed);
    let begun = first_bind(undisturbed, Time::ZERO).unwrap();
    begun + Millis(random.below(1_500))
}

fn play(kind: OutageKind, standby: bool, seed: u64) -> Result<bool, String> {
    let mut random = Random::new(seed);
    let from = in_the_wave(standby, seed, &mut random);
    let outage = Outage {
        from,
        to: from + Millis(2_000 + random.below(28_000)),
        kind,
    };
    see_through(driver(outage.clone(), standby, seed), &outage)
}

/// The leader is killed in the wave, and the outage begins as its successor does.
fn play_beside_a_successor(kind: OutageKind, seed: u64) -> Result<bool, String> {
    let mut random = Random::new(seed);
    let killed_at = in_the_wave(true, seed, &mut random);
    let with = |outage: Outage| {
        let mut driver = driver(outage, true, seed);
        driver.kill_at(killed_at);
        driver
    };
    let succeeded = first_bind(with(Outage::default()), killed_at + Millis(3_000));
    let Some(succeeded) = succeeded else {
        // Nothing was left to do.
        return Ok(false);
    };
    let from = Time((succeeded.0 + 200).saturating_sub(random.below(800)));
    let outage = Outage {
        from,
        to: from + Millis(1_000 + random.below(9_000)),
        kind,
    };
    see_through(with(outage.clone()), &outage)
}

/// Says whether the outage cut gangs.
fn see_through(mut driver: Driver, outage: &Outage) -> Result<bool, String> {
    let until = outage.to + WHOLE_AFTER;
    let mut cut = false;
    let mut since = None;
    while driver.step(until) {
        nobody_is_harmed(&driver)?;
        let partly = driver.ledger().gangs.values();
        let partly = partly.filter(|gang| gang.partly_since.is_some()).count();
        if driver.now() >= outage.from && since.is_none() {
            since = Some(partly);
            cut = partly > 0;
        }
    }
    let (run, all) = running(&driver);
    if run < all {
        return Err(format!("{run} of {all} pods run: {outage:?}"));
    }
    Ok(cut)
}

#[test]
fn after_an_outage_the_rest_is_bound_and_nobody_who_runs_is_deleted() {
    for kind in KINDS {
        for standby in [false, true] {
            let what = format!("{kind:?}, standby {standby}");
            nobody_goes(&what, |seed| play(kind, standby, seed));
        }
    }
}

#[test]
fn an_outage_that_begins_as_a_successor_does_harms_nobody_either() {
    for kind in KINDS.into_iter().chain([OutageKind::Slow]) {
        let what = format!("{kind:?}");
        nobody_goes(&what, |seed| play_beside_a_successor(kind, seed));
    }
}

fn nobody_goes(what: &str, play: impl Fn(u64) -> Result<bool, String>) {
    let mut cut = 0;
    let mut failed = Vec::new();
    for seed in 1..=OUTAGES {
        match play(seed) {
            Ok(one) => cut += u64::from(one),
            Err(error) => failed.push((seed, error)),
        }
    }
    assert!(
        failed.is_empty(),
        "{what}: {} of {OUTAGES}: {failed:#?}",
        failed.len()
    );
    assert!(cut > OUTAGES / 3, "{what}: only {cut} were cut");
}
