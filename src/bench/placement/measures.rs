//! What is measured while a workload is played, from what happened and not from what the scheduler says.
//!
//! The first quarter of the arrivals' time fills the cluster and its queue and is not counted. Utilisation
//! and what is stranded are means from then to the last arrival. Waiting times are those of the gangs that
//! arrive from then on; the run goes on until they have started, so that none is cut off.

use super::workloads::{Job, World};
use muster_model::units::{Millis, Time};
use muster_model::{Amounts, NodeSpec};
use muster_sim::driver::Driver;
use muster_sim::ledger::{Ledger, PodLine};
use serde::Serialize;
use std::collections::BTreeMap;

/// What came of a workload with a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// Used of allocatable by resource, in the time that counts.
    pub utilisation: BTreeMap<String, f64>,
    /// The part of the cluster's worth that is free on nodes in use, as the mean over the minutes that
    /// count: opportunity lost to those who need whole nodes.
    pub stranded: f64,
    /// How long all waited that count.
    pub waits: Waits,
    /// The same by size, in four parts of as many gangs, the smallest first.
    pub quarters: Vec<Quarter>,
    /// How near to each other members were.
    pub hops: Hops,
    /// Evictions of pods.
    pub evictions: u64,
    /// What must never happen and did: bugs in Muster. Left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
}

/// How long gangs waited for their minimum, in seconds. One that never started counts as if it had started
/// at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waits {
    /// How many gangs.
    pub gangs: usize,
    /// The mean.
    pub mean: f64,
    /// Half of them no longer than this.
    pub p50: f64,
    /// All but one in a hundred.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// How many waited when the last arrived.
    pub waiting_at_last_arrival: usize,
    /// How many never started, although nothing arrived any more.
    pub never_started: usize,
}

/// A quarter of the gangs by size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quarter {
    /// The smallest of it: its minimum's part of the cluster, as the mean over the resources.
    pub smallest: f64,
    /// The largest.
    pub largest: f64,
    /// How long they waited.
    pub waits: Waits,
}

/// Hops against the optimum: what the same number of pods could have on the empty cluster. Of gangs of two
/// or more pods, the greatest distance between two that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hops {
    /// How many gangs.
    pub gangs: usize,
    /// The part of them that had no more hops than the optimum.
    pub at_optimum: f64,
    /// How many hops more than the optimum, as the mean over all.
    pub mean_excess: f64,
}

/// What is taken down while a workload is played.
#[derive(Debug)]
pub(super) struct Meter {
    /// Utilisation up to the time from which on is counted, and up to the last arrival.
    before: BTreeMap<String, f64>,
    upto: BTreeMap<String, f64>,
    stranded: f64,
    /// When everything was over, or it was given up.
    end: Time,
}

/// How often it is looked what is stranded.
const SAMPLE: Millis = Millis(60_000);
/// After the last arrival, what waits has at least so much time to start.
const AFTER: Millis = Millis(12 * 3_600_000);

impl Meter {
    /// Plays a world to its end.
    pub(super) fn run(driver: &mut Driver, world: &World) -> Self {
        let (from, until) = (world.from(), world.until);
        driver.run(from, |_| {});
        let before = driver.ledger_mut().usage.utilisation(from);
        let (mut at, mut stranded, mut samples) = (from, 0.0, 0_u32);
        while at < until {
            at = (at + SAMPLE).min(until);
            driver.run(at, |_| {});
            stranded += stranded_now(driver);
            samples += 1;
        }
        let upto = driver.ledger_mut().usage.utilisation(until);
        let end = until + Millis(until.0).max(AFTER);
        Self {
            before,
            upto,
            stranded: stranded / f64::from(samples.max(1)),
            end: driver.run(end, |_| {}),
        }
    }

    /// What that comes to.
    pub(super) fn measured(&self, driver: &Driver, world: &World) -> Measured {
        let ledger = driver.ledger();
        let lines = ledger.pods.iter();
        let lines: BTreeMap<&str, &PodLine> =
            lines.map(|line| (line.name.as_str(), line)).collect();
        let mut started: Vec<Started> = Vec::new();
        for (index, job) in world.jobs.iter().enumerate() {
            if job.at >= world.from() {
                started.push(Started {
                    size: world.size(job),
                    arrived: job.at,
                    started: start_of(ledger, &lines, index, job),
                });
            }
        }
        // Stable: of one size those first who came first.
        started.sort_by_key(|one| one.size);
        let quarter = |of: &[Started]| Quarter {
            smallest: millionths(of.first().map_or(0, |one| one.size)),
            largest: millionths(of.last().map_or(0, |one| one.size)),
            waits: self.waits(of, world.until),
        };
        let cut = |part: usize| started.len() * part / 4;
        let quarters = (0..4).map(|part| quarter(&started[cut(part)..cut(part + 1)]));
        Measured {
            utilisation: self.utilisation(world),
            stranded: rounded(self.stranded),
            waits: self.waits(&started, world.until),
            quarters: quarters.collect(),
            hops: hops(&lines, world),
            evictions: lines.values().map(|line| u64::from(line.evictions)).sum(),
            violations: ledger.violations.clone(),
        }
    }

    /// From the means since the beginning: what is on offer does not change.
    fn utilisation(&self, world: &World) -> BTreeMap<String, f64> {
        let (from, until) = (seconds(world.from().0), seconds(world.until.0));
        let mut between = BTreeMap::new();
        for (resource, upto) in &self.upto {
            if world.cluster.resources().contains(resource) {
                let before = self.before.get(resource).copied().unwrap_or(0.0);
                let mean = (upto * until - before * from) / (until - from);
                between.insert(resource.clone(), rounded(mean));
            }
        }
        between
    }

    fn waits(&self, of: &[Started], last: Time) -> Waits {
        let wait = |one: &Started| one.started.unwrap_or(self.end).since(one.arrived).0;
        let mut sorted: Vec<u64> = of.iter().map(wait).collect();
        sorted.sort_unstable();
        let at = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100);
            sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        let sum: u64 = sorted.iter().sum();
        let count = |which: &dyn Fn(Option<Time>) -> bool| {
            of.iter().filter(|one| which(one.started)).count()
        };
        Waits {
            gangs: of.len(),
            mean: tenths(seconds(sum) / to_f64(of.len().max(1))),
            p50: seconds(at(50)),
            p99: seconds(at(99)),
            max: seconds(at(100)),
            waiting_at_last_arrival: count(&|at| at.is_none_or(|at| at > last)),
            never_started: count(&|at| at.is_none()),
        }
    }
}

/// When a job came and started.
#[derive(Clone, Copy, Debug)]
struct Started {
    size: u64,
    arrived: Time,
    started: Option<Time>,
}

/// When a job's minimum was bound.
fn start_of(
    ledger: &Ledger,
    lines: &BTreeMap<&str, &PodLine>,
    index: usize,
    job: &Job,
) -> Option<Time> {
    if job.is_single() {
        return lines.get(format!("g{index}-0").as_str())?.first_bound_at;
    }
    ledger.gangs.get(&World::key(index))?.scheduled_at
}

/// The part of the cluster's worth that is free on nodes in use.
fn stranded_now(driver: &Driver) -> f64 {
    let Some(brain) = driver.brain() else {
        return 0.0;
    };
    let state = brain.scheduler().state();
    let used = state.nodes().present().iter();
    let used = used.filter(|node| state.nodes().in_use_by(*node) > 0);
    let left: u64 = used.map(|node| state.worth_left_on(node)).sum();
    left as f64 / state.weights().total().max(1) as f64
}

/// Members against the tree of the workload, which the scheduler has no part in.
fn hops(lines: &BTreeMap<&str, &PodLine>, world: &World) -> Hops {
    let nodes = world.cluster.nodes.iter();
    let nodes: BTreeMap<&str, &NodeSpec> = nodes.map(|node| (node.name.as_str(), node)).collect();
    let mut fewest: BTreeMap<(&Amounts, usize), Option<u32>> = BTreeMap::new();
    let (mut gangs, mut at_optimum, mut excess) = (0_usize, 0_usize, 0_u64);
    for (index, job) in world.jobs.iter().enumerate() {
        let names = (0..job.pods).map(|pod| format!("g{index}-{pod}"));
        let on = names.filter_map(|name| nodes.get(lines.get(name.as_str())?.node.as_deref()?));
        let on: Vec<&NodeSpec> = on.copied().collect();
        if on.len() < 2 || job.at < world.from() {
            continue;
        }
        let optimum = || world.cluster.fewest_hops(&job.request, on.len() as u64);
        let optimum = *fewest
            .entry((&job.request, on.len()))
            .or_insert_with(optimum);
        if let (Some(hops), Some(optimum)) = (world.cluster.hops(&on), optimum) {
            gangs += 1;
            at_optimum += usize::from(hops <= optimum);
            excess += u64::from(hops.saturating_sub(optimum));
        }
    }
    let all = to_f64(gangs.max(1));
    Hops {
        gangs,
        at_optimum: rounded(to_f64(at_optimum) / all),
        mean_excess: rounded(excess as f64 / all),
    }
}

fn to_f64(count: usize) -> f64 {
    count as f64
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

fn millionths(part: u64) -> f64 {
    part as f64 / 1e6
}

/// To millionths.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1e6).round() / 1e6
}

/// To tenths of a second.
fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}
