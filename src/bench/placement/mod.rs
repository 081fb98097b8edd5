//! `muster bench placement`: how good placements are, on virtual time, without a cluster.
//!
//! A workload is drawn from a seed and played with each rule in turn: the same scheduler with the same
//! queues, backfill and reservations, in which only the choice of domains and nodes differs. Nothing here
//! is measured by a clock: the same seed gives the same report.

mod cluster;
mod measures;
mod report;
mod rules;
mod workloads;

pub use measures::{Hops, Measured, Quarter, Waits};
pub use report::{Report, table};
pub use rules::Rule;
pub use workloads::Workload;

use measures::Meter;
use muster_sim::driver::Driver;
use muster_sim::network::Network;

/// What is played.
#[derive(Clone, Debug)]
pub struct Options {
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// The rules.
    pub rules: Vec<Rule>,
    /// What the workloads are drawn from.
    pub seed: u64,
    /// For how many hours of virtual time gangs arrive.
    pub hours: u32,
}

/// Plays every workload with every rule; says which before each.
#[must_use]
pub fn run(options: &Options, mut before: impl FnMut(Workload, Rule)) -> Report {
    let mut report = Report::new(options);
    for workload in &options.workloads {
        let world = workload.world(options.seed, options.hours);
        for rule in &options.rules {
            before(*workload, *rule);
            let network = Network::calm(options.seed);
            let mut driver = Driver::new(world.scenario(), rule.policy(), network);
            let meter = Meter::run(&mut driver, &world);
            report.add(&world, *workload, *rule, meter.measured(&driver, &world));
        }
    }
    report
}

#[cfg(test)]
mod tests;
