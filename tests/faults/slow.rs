//! An API server that takes long for every bind, and has too many requests for some: one gang after the other
//! gets whole. Where there is room for all, nobody who runs is deleted because others are sent before it.

use crate::oracle::{nobody_is_harmed, running};
use crate::told;
use muster::core::engine::Policy;
use muster::model::units::{Millis, Time};
use muster::sim::driver::Driver;
use muster::sim::network::{Network, Rates};
use muster::sim::random::Random;

const WORLDS: u64 = 60;

/// So many that most of their binds are given back unsent, some several times.
const GANGS: u64 = 40;

/// Says how many orders were given back.
fn play(seed: u64) -> Result<u64, String> {
    let mut random = Random::new(seed);
    let rates = Rates {
        delay: Millis(150 + random.below(150)),
        busy: 100 + random.below(150),
        bind_slots: 2,
        ..Rates::default()
    };
    let ever = Time::from_secs(3_600);
    let network = Network::faulty(rates, Random::new(seed), ever);
    let world = told::roomy(GANGS);
    let mut driver = Driver::new(world, Policy::default(), network);
    while driver.step(Time::from_secs(900)) {
        nobody_is_harmed(&driver)?;
        let (run, all) = running(&driver);
        if run == all && all == GANGS as usize * 6 {
            return Ok(driver.met().given_back);
        }
    }
    Err(format!("of all pods {:?} run", running(&driver)))
}

#[test]
fn who_has_begun_is_completed_before_others_begin() {
    let mut failed = Vec::new();
    for seed in 1..=WORLDS {
        match play(seed) {
            Ok(given_back) => assert!(given_back > GANGS, "{seed}: only {given_back} given back"),
            Err(error) => failed.push((seed, error)),
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {WORLDS}: {failed:#?}",
        failed.len()
    );
}
