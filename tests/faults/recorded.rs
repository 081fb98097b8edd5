//! What every process of the scheduler went through among faults is recorded, and each is played again.

use super::replayed::replayed;
use super::{CALM, FAULTS, Play, start};
use muster::model::units::Time;
use muster::record::{Folder, Storage};
use muster::sim::recording::Recording;

/// Seeds that are recorded.
const SEEDS: u64 = 6;

#[test]
fn what_is_recorded_among_faults_is_played_to_the_same_plans() {
    let (mut plans, mut terms) = (0, 0);
    for seed in 1..=SEEDS {
        let folder = tempfile::tempdir().unwrap();
        let storage = Storage {
            folder: folder.path().to_owned(),
            limit: u64::MAX,
        };
        let recording = Recording::new(storage, Time::ZERO, None);
        let Play {
            mut driver, policy, ..
        } = start(seed, false);
        driver.set_tapes(Box::new(recording.clone()));
        driver.run(FAULTS + CALM, |_| {});
        drop(driver);
        recording.end().unwrap();
        let played = replayed(folder.path(), &policy);
        plans += played.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        terms += Folder::open(folder.path()).unwrap().terms.len();
    }
    assert!(plans > 100 * SEEDS, "only {plans} plans");
    assert!(terms as u64 > 2 * SEEDS, "only {terms} starts");
}
