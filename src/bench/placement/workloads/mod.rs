//! The workloads: clusters, and the gangs that arrive on them.

mod draw;
mod elastic;
mod mixed;
mod whole_nodes;

use super::cluster::{Cluster, amount};
use draw::Draw;
use muster_model::units::{Millis, Time};
use muster_model::{Amounts, GangKey, GangRef, GangSpec, PodSpec, TopologyWish, plain};
use muster_sim::random::Random;
use muster_sim::scenario::{Entry, Played, PodPlan, Run, Scenario};

/// What arrives on which cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Workload {
    /// Gangs of 1 to 64 whole nodes on a fat tree of 1,024 hosts, each bound to the narrowest domain that
    /// could hold it.
    WholeNodes,
    /// Pods and gangs with and without GPUs on four types of nodes.
    Mixed,
    /// Gangs that grow beyond their minimum while there is room.
    Elastic,
}

impl Workload {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::WholeNodes, Self::Mixed, Self::Elastic];

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WholeNodes => "whole-nodes",
            Self::Mixed => "mixed",
            Self::Elastic => "elastic",
        }
    }

    pub(super) fn world(self, seed: u64, hours: u32) -> World {
        let mut draw = Draw::new(Random::new(seed));
        let until = Time::from_secs(u64::from(hours) * 3_600);
        match self {
            Self::WholeNodes => whole_nodes::world(&mut draw, until),
            Self::Mixed => mixed::world(&mut draw, until),
            Self::Elastic => elastic::world(&mut draw, until),
        }
    }
}

/// One gang, or a pod by itself: all its pods are equal.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) at: Time,
    pub(super) pods: u32,
    /// How many must run at once.
    pub(super) min: u32,
    /// What each asks for.
    pub(super) request: Amounts,
    /// How long each runs.
    pub(super) runs: Millis,
    /// How long it says that it runs at most.
    pub(super) lifetime: Millis,
    /// The level of which one domain must hold it.
    pub(super) level: Option<&'static str>,
}

impl Job {
    /// Whether it is a pod without a PodGroup.
    pub(super) const fn is_single(&self) -> bool {
        self.pods == 1 && self.level.is_none()
    }
}

/// A cluster and what arrives on it.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) cluster: Cluster,
    /// By the times of their arrival.
    pub(super) jobs: Vec<Job>,
    /// The resource that is scarce.
    pub(super) resource: &'static str,
    /// When the last of them may arrive.
    pub(super) until: Time,
}

/// How the namespace of all is called.
const NAMESPACE: &str = "bench";

impl World {
    /// From here on is counted: a quarter of the arrivals' time fills the cluster and its queue.
    pub(super) const fn from(&self) -> Time {
        Time(self.until.0 / 4)
    }

    /// What a job's minimum asks for at once: its part of all that the cluster has, in millionths, as the
    /// mean over the resources.
    pub(super) fn size(&self, job: &Job) -> u64 {
        let resources = self.cluster.resources().len().max(1) as u64;
        let part = |(name, each): &(String, i64)| {
            let total = i128::from(self.cluster.total(name)).max(1);
            i128::from(*each) * i128::from(job.min) * 1_000_000 / total
        };
        let parts: i128 = job.request.iter().map(part).sum();
        u64::try_from(parts).unwrap_or(0) / resources
    }

    /// The job's PodGroup.
    pub(super) fn key(index: usize) -> GangKey {
        plain::key(NAMESPACE, format!("g{index}"))
    }

    /// As it is played.
    pub(super) fn scenario(&self) -> Scenario {
        let entry = |at, object| Entry {
            at,
            delete_at: None,
            kept: false,
            object,
        };
        let topology = Played::Plain(self.cluster.topology.clone().into());
        let mut entries = vec![entry(Time::ZERO, topology)];
        let nodes = self.cluster.nodes.iter().cloned();
        entries.extend(nodes.map(|node| entry(Time::ZERO, Played::Plain(node.into()))));
        for (index, job) in self.jobs.iter().enumerate() {
            if !job.is_single() {
                let group = Played::Plain(group(index, job).into());
                entries.push(entry(job.at, group));
            }
            for pod in 0..job.pods {
                let pod = Played::Pod(Box::new(plan(index, pod, job)));
                entries.push(entry(job.at, pod));
            }
        }
        Scenario {
            entries,
            ..Scenario::default()
        }
    }
}

fn group(index: usize, job: &Job) -> GangSpec {
    let wish = |level: &str| TopologyWish {
        required_level: Some(level.to_owned()),
        ..TopologyWish::default()
    };
    GangSpec {
        lifetime: Some(job.lifetime),
        topology: job.level.map(wish),
        ..plain::group(World::key(index), job.min)
    }
}

fn plan(index: usize, pod: u32, job: &Job) -> PodPlan {
    let single = job.is_single();
    let gang = || plain::member_of(World::key(index).name);
    let spec = PodSpec {
        gang: if single { GangRef::Own } else { gang() },
        lifetime: single.then_some(job.lifetime),
        ..plain::pod(NAMESPACE, format!("g{index}-{pod}"), job.request.clone())
    };
    PodPlan {
        spec,
        run: Run {
            duration: Some(job.runs),
            ..Run::default()
        },
        claims: Vec::new(),
        before: None,
        made: None,
    }
}

/// Jobs that together ask for so many hundredths of what there is of a resource, at any time: each
/// arrives when those before it have used up their part.
fn arrivals(
    draw: &mut Draw,
    cluster: &Cluster,
    (resource, percent): (&str, u64),
    until: Time,
    mut one: impl FnMut(&mut Draw) -> Job,
) -> Vec<Job> {
    let each_ms = u128::from(cluster.total(resource).unsigned_abs()) * u128::from(percent);
    let mut asked = 0_u128;
    let mut jobs = Vec::new();
    loop {
        let at = (asked * 100).checked_div(each_ms);
        let at = at.and_then(|at| u64::try_from(at).ok()).map(Time);
        let Some(at) = at.filter(|at| *at < until) else {
            return jobs;
        };
        let job = Job { at, ..one(draw) };
        let each = amount(&job.request, resource).max(1).unsigned_abs();
        asked += u128::from(each) * u128::from(job.pods) * u128::from(job.runs.0);
        jobs.push(job);
    }
}

/// Resources in the units of the core, sorted by name.
fn resources(cores: i64, gib: i64, gpus: i64) -> Amounts {
    let mut all = vec![
        ("cpu".to_owned(), cores * 1_000),
        ("memory".to_owned(), gib << 30),
    ];
    if gpus > 0 {
        all.push((GPU.to_owned(), gpus));
    }
    all
}

/// The same as a node offers them.
fn offers(cores: i64, gib: i64, gpus: i64) -> Amounts {
    let mut all = resources(cores, gib, gpus);
    all.push(("pods".to_owned(), 250));
    all.sort();
    all
}

const GPU: &str = "nvidia.com/gpu";
