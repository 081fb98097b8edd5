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

/// When the wave begins, with nothing in its way.
fn first_bind(standby: bool, seed: u64) -> Time {
    let mut driver = driver(Outage::default(), standby, seed);
    while driver.step(Time::from_secs(60)) {
        let bound = driver.ledger().pods.iter();
        if let Some(at) = bound.filter_map(|line| line.bound_at).min() {
            return at;
        }
    }
    panic!("nobody was bound");
}

fn play(kind: OutageKind, standby: bool, seed: u64) -> Result<bool, String> {
    let mut random = Random::new(seed);
    let from = first_bind(standby, seed) + Millis(random.below(1_500));
    let outage = Outage {
        from,
        to: from + Millis(2_000 + random.below(28_000)),
        kind,
    };
    let mut driver = driver(outage.clone(), standby, seed);
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
    for kind in [OutageKind::Dead, OutageKind::Hangs, OutageKind::Busy] {
        for standby in [false, true] {
            let mut cut = 0;
            let mut failed = Vec::new();
            for seed in 1..=OUTAGES {
                match play(kind, standby, seed) {
                    Ok(one) => cut += u64::from(one),
                    Err(error) => failed.push((seed, error)),
                }
            }
            assert!(
                failed.is_empty(),
                "{kind:?}, standby {standby}: {} of {OUTAGES}: {failed:#?}",
                failed.len()
            );
            assert!(
                cut > OUTAGES / 3,
                "{kind:?}, {standby}: only {cut} were cut"
            );
        }
    }
}
