//! What a played scenario came to: the object that `--output json` prints.
//!
//! Its shape is a contract (mission.md): a field whose feature does not exist yet is null or zero,
//! never missing. Times are in seconds.

mod difference;
mod plans;
mod slots;
mod table;

pub use difference::{Change, Difference, difference, difference_table};
pub use plans::{BatchJobReport, ScheduledReport, SchedulingReport};
pub use slots::{SlotReport, TestbedReport};
pub use table::table;

use super::driver::Driver;
use super::ledger::{GangLine, Ledger, PodLine};
use super::server::Server;
use muster_core::state::ClusterState;
use muster_model::resources::CORE;
use muster_model::units::{Millis, Time};
use muster_model::{Condition, GangPhase, GangStatus, Neighbours};
use muster_model::{DEFAULT_QUEUE, GangKey, PodKey, PodPhase, QueueSpec};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The whole report.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// When the last thing happened.
    pub end: f64,
    /// The pods, by namespace and name.
    pub pods: Vec<PodReport>,
    /// The PodGroups, by namespace and name.
    pub pod_groups: Vec<GangReport>,
    /// The queues that were declared or used, by name.
    pub queues: Vec<QueueReport>,
    /// The testbeds, by name.
    pub testbeds: Vec<TestbedReport>,
    /// The BatchJobs, by namespace and name.
    pub batch_jobs: Vec<BatchJobReport>,
    /// The Schedulings, by namespace and name.
    pub schedulings: Vec<SchedulingReport>,
    /// Figures over all.
    pub metrics: Metrics,
    /// What must never happen and did: bugs in Muster. Left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
}

/// One pod, or all that followed each other under one name.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodReport {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Where it is or was last.
    pub node: Option<String>,
    /// `Pending`, `Running`, `Succeeded`, `Failed`, or `Deleted` when it is gone.
    pub phase: &'static str,
    /// Its PodGroup.
    pub pod_group: Option<String>,
    /// Its queue; another scheduler's pod has none.
    pub queue: Option<String>,
    /// When it was created; before the beginning, on a cluster, it is negative.
    pub submitted_at: f64,
    /// When it was bound, the last time.
    pub bound_at: Option<f64>,
    /// When it ended or was deleted.
    pub finished_at: Option<f64>,
    /// How often it was evicted.
    pub evictions: u32,
    /// Whether it stands for a slot. Left out where it does not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ghost: bool,
    /// When it was bound for the first time.
    #[serde(skip)]
    pub first_bound_at: Option<f64>,
    /// How long it waited until it was bound for the first time.
    #[serde(skip)]
    pub waited: Option<Millis>,
    /// Why it waits.
    #[serde(skip)]
    pub message: Option<String>,
}

/// One PodGroup.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GangReport {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Its queue.
    pub queue: String,
    /// How far it is.
    pub phase: &'static str,
    /// How many must run.
    pub min_available: u32,
    /// Members bound and not ended.
    pub bound: u32,
    /// Why it is not further, typed.
    pub reason: Option<String>,
    /// Why it is not further, in words.
    pub message: Option<String>,
    /// Its place among those that wait, from 1.
    pub position: Option<u32>,
    /// When it was created; before the beginning, on a cluster, it is negative.
    pub submitted_at: f64,
    /// When its minimum was bound for the first time.
    pub scheduled_at: Option<f64>,
    /// The greatest distance between two of its pods.
    pub max_hops: Option<u32>,
    /// What its placement leaves unusable.
    pub lost_opportunity: Option<f64>,
    /// How many hops pods were apart that are next to each other by rank, in the mean.
    pub rank_hops: Option<f64>,
    /// Why it was taken off its nodes, until it is whole again.
    #[serde(skip)]
    pub disrupted: Option<String>,
    /// Members that ended well.
    #[serde(skip)]
    pub succeeded: u32,
    /// How long it waited for its minimum.
    #[serde(skip)]
    pub waited: Option<Millis>,
    /// The nodes of its members.
    #[serde(skip)]
    pub nodes: BTreeSet<String>,
}

/// One queue.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueReport {
    /// Name.
    pub name: String,
    /// Its part among its siblings.
    pub weight: u32,
    /// What it is entitled to.
    pub fair_share: f64,
    /// What it uses.
    pub usage: f64,
    /// What it used lately.
    pub flow: f64,
    /// Its tier.
    #[serde(skip)]
    pub tier: i32,
}

/// Figures over all.
#[derive(Clone, Debug, Serialize)]
pub struct Metrics {
    /// Used of allocatable from zero to the end, by resource.
    pub utilisation: BTreeMap<String, f64>,
    /// Half of our pods waited no longer until they were bound for the first time.
    #[serde(rename = "waitP50")]
    pub wait_p50: Option<f64>,
    /// Ninety-nine of a hundred waited no longer.
    #[serde(rename = "waitP99")]
    pub wait_p99: Option<f64>,
    /// Evictions of all pods.
    pub evictions: u64,
    /// From the first submission to the last end of a pod.
    pub makespan: Option<f64>,
}

/// Sums up what was played until `end`.
#[must_use]
pub fn report(driver: &mut Driver, end: Time) -> Report {
    let utilisation = driver.ledger_mut().usage.utilisation(end);
    let (ledger, server) = (driver.ledger(), driver.server());
    let (now, clock) = (Now::of(driver), Clock(driver.begin()));
    let mut pods: Vec<_> = ledger
        .pods
        .iter()
        .map(|line| pod_report(line, &now, driver))
        .collect();
    pods.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    let pod_groups = gang_reports(&now, driver);
    Report {
        end: clock.seconds(end),
        queues: queue_reports(&pods, &pod_groups, driver, end),
        testbeds: slots::testbeds(server),
        batch_jobs: plans::batch_jobs(server, driver.begin()),
        schedulings: plans::schedulings(server),
        metrics: metrics(&pods, driver, utilisation),
        pods,
        pod_groups,
        violations: violations(ledger),
    }
}

/// What the scheduler has to say at the end. What was written by then may be older: why pods wait
/// is said with a delay, and positions far behind are not said at all.
#[derive(Default)]
struct Now<'a> {
    gangs: BTreeMap<GangKey, GangStatus>,
    pods: BTreeMap<&'a PodKey, Arc<str>>,
}

impl<'a> Now<'a> {
    fn of(driver: &'a Driver) -> Self {
        let Some(brain) = driver.brain() else {
            return Self::default();
        };
        let statuses = brain.scheduler().gang_statuses();
        Self {
            gangs: statuses.map(|one| (one.gang.clone(), one)).collect(),
            pods: brain.scheduler().waiting_pods().collect(),
        }
    }

    fn why_waits(&self, line: &PodLine, server: &Server) -> Option<String> {
        let pod = server.pod_named(&line.namespace, &line.name)?;
        let waits = line.phase == Some(PodPhase::Pending) && line.node.is_none();
        let message = self.pods.get(&pod.spec.key).filter(|_| waits)?;
        Some(message.to_string())
    }
}

fn violations(ledger: &Ledger) -> Vec<String> {
    let more = ledger.more_violations;
    let left_out = (more > 0).then(|| format!("and {more} more"));
    ledger.violations.iter().cloned().chain(left_out).collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "virtual time stays far below 2^53 ms"
)]
fn seconds(span: Millis) -> f64 {
    span.0 as f64 / 1000.0
}

/// Counts from when it began; what was before is negative.
#[derive(Clone, Copy)]
struct Clock(Time);

impl Clock {
    fn seconds(self, at: Time) -> f64 {
        if at < self.0 {
            return -seconds(self.0.since(at));
        }
        seconds(at.since(self.0))
    }
}

fn pod_report(line: &PodLine, now: &Now<'_>, driver: &Driver) -> PodReport {
    let (ledger, server, begin) = (driver.ledger(), driver.server(), driver.begin());
    let seconds = |at: Time| Clock(begin).seconds(at);
    // How long others waited before the beginning is not what was played.
    let first = line.first_bound_at.filter(|at| *at >= begin);
    let named = match &line.gang {
        Some(key) => gang_queue(ledger.gangs.get(key)),
        None => line.queue.clone(),
    };
    PodReport {
        namespace: line.namespace.clone(),
        name: line.name.clone(),
        node: line.node.clone(),
        phase: phase(line.phase),
        pod_group: line.gang.as_ref().map(|key| key.name.clone()),
        queue: line.ours.then(|| queue(named, &line.namespace, server)),
        submitted_at: seconds(line.submitted_at),
        bound_at: line.bound_at.map(seconds),
        finished_at: line.finished_at.map(seconds),
        evictions: line.evictions,
        ghost: line.ghost,
        first_bound_at: line.first_bound_at.map(seconds),
        waited: first.map(|at| at.since(line.submitted_at)),
        message: now.why_waits(line, server),
    }
}

const fn phase(phase: Option<PodPhase>) -> &'static str {
    match phase {
        None => "Deleted",
        Some(PodPhase::Pending) => "Pending",
        Some(PodPhase::Running) => "Running",
        Some(PodPhase::Succeeded) => "Succeeded",
        Some(PodPhase::Failed) => "Failed",
    }
}

fn gang_queue(line: Option<&GangLine>) -> Option<String> {
    line?.spec.as_ref()?.queue.clone()
}

/// The queue that is named, else the namespace's, else the default one.
pub(super) fn queue(named: Option<String>, namespace: &str, server: &Server) -> String {
    let of_namespace = || server.namespace(namespace)?.queue.clone();
    named
        .or_else(of_namespace)
        .unwrap_or_else(|| DEFAULT_QUEUE.to_owned())
}

fn gang_reports(now: &Now<'_>, driver: &Driver) -> Vec<GangReport> {
    let (ledger, server) = (driver.ledger(), driver.server());
    let seconds = |at: Time| Clock(driver.begin()).seconds(at);
    let mut nodes: BTreeMap<&GangKey, BTreeSet<String>> = BTreeMap::new();
    for line in &ledger.pods {
        if let (Some(gang), Some(node)) = (&line.gang, &line.node) {
            nodes.entry(gang).or_default().insert(node.clone());
        }
    }
    let known = ledger.gangs.iter();
    let known = known.filter_map(|(key, line)| Some((key, line, line.spec.as_ref()?)));
    // Of who is not ours nothing was ever said.
    let known = known.filter(|(key, line, _)| {
        line.for_us || line.status.is_some() || now.gangs.contains_key(key)
    });
    let reports = known.map(|(key, line, spec)| {
        let status = now.gangs.get(key).filter(|_| server.gang(key).is_some());
        let why = status.and_then(|status| why_not(&status.conditions));
        let total = line.total();
        GangReport {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            queue: queue(spec.queue.clone(), &key.namespace, server),
            // One that is deleted is in the phase it was in last.
            phase: status
                .or(line.status.as_ref())
                .map_or(GangPhase::default(), |status| status.phase)
                .as_str(),
            min_available: status.map_or(spec.min_available, |status| status.min_available),
            bound: total.bound,
            reason: why.map(|condition| condition.reason.to_string()),
            message: why.map(|condition| condition.message.clone()),
            position: status.and_then(|status| status.position),
            submitted_at: seconds(line.submitted_at),
            scheduled_at: line.scheduled_at.map(seconds),
            max_hops: line.max_hops,
            lost_opportunity: line.lost.map(cores),
            rank_hops: line.ranks.map(mean_hops),
            disrupted: status.and_then(|status| disrupted(&status.conditions)),
            succeeded: total.succeeded,
            waited: line.scheduled_at.map(|at| at.since(line.submitted_at)),
            nodes: nodes.remove(key).unwrap_or_default(),
        }
    });
    reports.collect()
}

/// Why gangs are not further, as of now.
pub fn why_gangs_wait(driver: &Driver) -> BTreeMap<GangKey, String> {
    let scheduler = driver.brain().map(|brain| brain.scheduler());
    let statuses = scheduler.into_iter().flat_map(|one| one.gang_statuses());
    let why = |status: GangStatus| {
        let message = why_not(&status.conditions)?.message.clone();
        Some((status.gang, message))
    };
    statuses.filter_map(why).collect()
}

/// The condition that says why a gang is not further.
fn why_not(conditions: &[Condition]) -> Option<&Condition> {
    let failed = |kind| {
        let mut conditions = conditions.iter();
        conditions.find(|one| one.kind == kind && !one.status)
    };
    failed("Admitted").or_else(|| failed("Scheduled"))
}

fn disrupted(conditions: &[Condition]) -> Option<String> {
    let found = conditions.iter().find(|one| one.kind == "Disrupted")?;
    Some(found.message.clone())
}

fn queue_reports(
    pods: &[PodReport],
    gangs: &[GangReport],
    driver: &Driver,
    end: Time,
) -> Vec<QueueReport> {
    let server = driver.server();
    let books = driver.brain().map(|brain| brain.scheduler().state());
    let mut queues: BTreeMap<&str, Option<&QueueSpec>> = BTreeMap::new();
    for name in pods.iter().filter_map(|pod| pod.queue.as_deref()) {
        queues.insert(name, None);
    }
    for name in gangs.iter().map(|gang| gang.queue.as_str()) {
        queues.insert(name, None);
    }
    for spec in server.queues() {
        queues.insert(&spec.name, Some(spec));
    }
    queues.retain(|name, _| queue_exists(driver, name));
    let report = |(name, spec): (&str, Option<&QueueSpec>)| {
        let [usage, fair_share, flow] = books_of(name, books, end);
        QueueReport {
            name: name.to_owned(),
            weight: spec.map_or(QueueSpec::default().weight, |spec| spec.weight),
            fair_share,
            usage,
            flow,
            tier: spec.map_or(0, |spec| spec.tier),
        }
    };
    queues.into_iter().map(report).collect()
}

/// Whether a queue is declared, or is the default one where there is one by itself.
pub fn queue_exists(driver: &Driver, name: &str) -> bool {
    let books = driver.brain().map(|brain| brain.scheduler().state());
    let found = books.and_then(|books| books.queues().find(name));
    let known = found.map_or(name == DEFAULT_QUEUE, |(_, queue)| queue.spec.is_some());
    known || driver.server().queues().any(|spec| spec.name == name)
}

/// A queue's usage, fair share and flow, in cores' worth.
fn books_of(name: &str, books: Option<&ClusterState>, end: Time) -> [f64; 3] {
    let queues = books.map(ClusterState::queues);
    let found = queues.and_then(|queues| Some((queues.find(name)?.1, queues.half_life())));
    let Some((queue, half_life)) = found else {
        return [0.0; 3];
    };
    let account = &queue.account;
    let flow = account.flow.value(end, half_life);
    [account.usage, account.share, flow].map(cores)
}

/// The mean, to a thousandth of a hop.
fn mean_hops(ranks: Neighbours) -> f64 {
    let mean = f64::from(ranks.hops) / f64::from(ranks.pairs);
    (mean * 1000.0).round() / 1000.0
}

/// Worth in thousandths of a core.
pub(super) const fn thousandths(worth: u64) -> u64 {
    worth.saturating_add(CORE / 2_000) / (CORE / 1_000)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "far below 2^53 thousandths of a core"
)]
fn cores(worth: u64) -> f64 {
    thousandths(worth) as f64 / 1000.0
}

fn metrics(pods: &[PodReport], driver: &Driver, utilisation: BTreeMap<String, f64>) -> Metrics {
    let (ledger, begin) = (driver.ledger(), driver.begin());
    let ours = pods.iter().filter(|pod| pod.queue.is_some());
    let mut waits: Vec<Millis> = ours.filter_map(|pod| pod.waited).collect();
    waits.sort_unstable();
    let lines = || ledger.pods.iter().filter(|line| !line.ghost);
    let first = lines().map(|line| line.submitted_at.max(begin)).min();
    let last = lines().filter_map(|line| line.finished_at).max();
    let makespan = first.zip(last).map(|(first, last)| last.since(first));
    Metrics {
        utilisation: utilisation.into_iter().map(rounded).collect(),
        wait_p50: percentile(&waits, 50).map(seconds),
        wait_p99: percentile(&waits, 99).map(seconds),
        evictions: lines().map(|line| u64::from(line.evictions)).sum(),
        makespan: makespan.map(seconds),
    }
}

fn rounded((resource, ratio): (String, f64)) -> (String, f64) {
    (resource, (ratio * 1e6).round() / 1e6)
}

/// The nearest-rank percentile of sorted values.
fn percentile(sorted: &[Millis], percent: usize) -> Option<Millis> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let values: Vec<Millis> = (1..=200).map(Millis).collect();
        assert_eq!(percentile(&values, 50), Some(Millis(100)));
        assert_eq!(percentile(&values, 99), Some(Millis(198)));
        assert_eq!(percentile(&values[..1], 99), Some(Millis(1)));
        assert_eq!(percentile(&[], 50), None);
    }
}
