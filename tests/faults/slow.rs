//! An API server that takes long for every bind, and has too many requests for some: one gang after the other
//! gets whole. Where there is room for all, nobody who runs is deleted because others are sent before it.

use crate::told;
use muster::core::engine::Policy;
use muster::model::PodPhase;
use muster::model::units::{Millis, Time};
use muster::sim::driver::Driver;
use muster::sim::network::{Network, Rates};
use muster::sim::random::Random;

const WORLDS: u64 = 60;

/// So many that most of their binds are given back unsent, some several times.
const GANGS: u64 = 40;

fn play(seed: u64) -> Result<u64, String> {
    let mut random = Random::new(seed);
    let rates = Rates {
        delay: Millis(150 + random.below(150)),
        busy: 100 + random.below(150),
        bind_slots: 2,
        ..Rates::default()
    };
    let (described, ever) = (format!("{rates:?}"), Time::from_secs(3_600));
    let network = Network::faulty(rates, Random::new(seed), ever);
    let mut driver = Driver::new(told::roomy(GANGS), Policy::default(), network);
    let runs = |line: &&muster::sim::ledger::PodLine| line.phase == Some(PodPhase::Running);
    while driver.step(Time::from_secs(900)) {
        if let Some(violation) = driver.ledger().violations.first() {
            return Err(violation.clone());
        }
        let lines = &driver.ledger().pods;
        if let Some(line) = lines.iter().find(|line| line.evictions > 0) {
            let at = driver.now();
            return Err(format!("at {at:?}: {} was evicted: {described}", line.name));
        }
        if lines.len() == GANGS as usize * 6 && lines.iter().all(|line| runs(&line)) {
            return Ok(driver.met().given_back);
        }
    }
    let bound = driver.ledger().pods.iter().filter(runs).count();
    Err(format!("{bound} pods run: {described}"))
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
