//! What goes wrong between controllers and the API server beyond what goes wrong for everybody: writes refused for good,
//! conflicts, a quota, watches broken, deaths between any two writes, and pods that fail by themselves.

use super::{Fate, Network, hash, status};
use crate::random::Random;
use muster_cluster::attempt::Answer;
use muster_controllers::ObjectName;
use muster_model::PodKey;
use muster_model::units::{Millis, Time};

/// How often, in thousandths where nothing else is said. Zero: never, and nothing is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToControllers {
    /// Writes answered 403 as long as there are faults, by object.
    pub refused: u64,
    /// Writes answered 409 although nobody else has written.
    pub conflicts: u64,
    /// Writes that are carried out, and whose sender dies before it hears of that.
    pub deaths: u64,
    /// So many of their watches break.
    pub relists: u64,
    /// So many of the pods that they made fail.
    pub failures: u64,
    /// So many pods may be in a namespace.
    pub quota: u64,
}

impl ToControllers {
    /// Draws; about every second kind is absent.
    #[must_use]
    pub fn draw(random: &mut Random) -> Self {
        let mut some = |most| random.rate(most);
        Self {
            refused: some(250),
            conflicts: some(200),
            deaths: some(150),
            relists: some(8),
            failures: some(60),
            quota: some(12),
        }
    }
}

impl Network {
    /// What becomes of a write of controllers that is sent now.
    pub fn fate_of_write(&mut self, on: &ObjectName, now: Time) -> Fate {
        if !self.is_calm(now) {
            let rates = &self.rates.controllers;
            let lot = self.salt ^ hash(&format!("{on:?}"));
            let refused = rates.refused > 0 && Random::new(lot).per_mille(rates.refused);
            if refused {
                self.met.writes_refused += 1;
                return answered(status(403, "forbidden: may not be written", None));
            }
            if self.random.per_mille(rates.conflicts) {
                self.met.conflicts += 1;
                let message = "Operation cannot be fulfilled: the object has been modified";
                return answered(status(409, message, None));
            }
        }
        self.fate(&super::Request::Read(PodKey::default()), now)
    }

    /// What a quota says to another pod in a namespace with so many, if it leaves no room for that.
    pub fn over_quota(&mut self, pods: impl FnOnce() -> usize, now: Time) -> Option<String> {
        let most = self.rates.controllers.quota;
        if most == 0 || self.is_calm(now) {
            return None;
        }
        let pods = pods();
        if (pods as u64) < most {
            return None;
        }
        self.met.over_quota += 1;
        Some(format!(
            "pods is forbidden: exceeded quota: pods, requested: pods=1, used: pods={pods}, limited: pods={most}"
        ))
    }

    /// Whether controllers die now, of which a write has just been carried out.
    pub fn dies_after_a_write(&mut self, now: Time) -> bool {
        let dies = !self.is_calm(now) && self.random.per_mille(self.rates.controllers.deaths);
        self.met.died_between_writes += u64::from(dies);
        dies
    }

    /// When watches of controllers break, and which, of those of so many resources.
    pub fn breaks_of_watches(&mut self, resources: usize, now: Time) -> Vec<(Time, usize)> {
        let times = self.times(self.rates.controllers.relists, now);
        times
            .into_iter()
            .map(|at| (at, self.pick(resources)))
            .collect()
    }

    /// When a pod that controllers made fails.
    pub fn failures_of_pods(&mut self, now: Time) -> Vec<Time> {
        self.times(self.rates.controllers.failures, now)
    }

    /// So many times while there are faults.
    fn times(&mut self, count: u64, now: Time) -> Vec<Time> {
        let left = self.calm_from.since(now);
        if left == Millis(0) {
            return Vec::new();
        }
        (0..count).map(|_| now + self.some_of(left)).collect()
    }
}

/// It is not carried out, and this comes back at once.
fn answered(answer: Answer) -> Fate {
    Fate {
        lands_in: None,
        answers_in: Millis(0),
        instead: Some(answer),
    }
}
