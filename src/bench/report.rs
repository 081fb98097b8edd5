//! What was measured, for people and for programs.

use super::statistics::{Latency, latency, rate};
use super::{Options, RawRate};
use crate::cluster::client::Transport;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use tokio::time::Instant;

/// One run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Nodes made.
    pub nodes: usize,
    /// Pods to be scheduled.
    pub pods: usize,
    /// Pods in a gang.
    pub gang_size: usize,
    /// How gangs are named.
    pub convention: &'static str,
    /// Who schedules.
    pub scheduler_name: String,
    /// How the raw binds travelled.
    pub transport: &'static str,
    /// Over how many connections, with HTTP/2.
    pub connections: usize,
    /// What the API server can do.
    pub raw: Vec<RawRate>,
    /// What the scheduler did.
    pub scheduled: Option<Scheduled>,
    /// The scheduler's rate over the best raw one.
    pub of_raw: Option<f64>,
}

/// What a scheduler did.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scheduled {
    /// Pods bound.
    pub bound: usize,
    /// Binds a second between the 10th and the 90th percentile of the times at which they were
    /// seen.
    pub binds_per_second: Option<f64>,
    /// From a pod's creation, or the start of `--exec`, until it is seen bound.
    pub latency_seconds: Option<Latency>,
    /// Peak resident memory of `--exec`.
    pub peak_resident_bytes: Option<u64>,
}

impl Scheduled {
    /// From the moment at which each pod was seen bound, and since when it had waited.
    pub(super) fn new(
        bound: &BTreeMap<usize, Instant>,
        since: impl Fn(usize) -> Instant,
        peak_resident_bytes: Option<u64>,
    ) -> Self {
        let waits = bound
            .iter()
            .map(|(index, at)| at.saturating_duration_since(since(*index)));
        Self {
            bound: bound.len(),
            binds_per_second: rate(bound.values().copied().collect()),
            latency_seconds: latency(waits.collect()),
            peak_resident_bytes,
        }
    }
}

impl Report {
    pub(super) fn new(options: &Options, raw: Vec<RawRate>, scheduled: Option<Scheduled>) -> Self {
        let best = raw
            .iter()
            .filter_map(|one| one.binds_per_second)
            .fold(0.0, f64::max);
        let rate = scheduled.as_ref().and_then(|one| one.binds_per_second);
        Self {
            nodes: options.nodes,
            pods: options.pods,
            gang_size: options.gang_size,
            convention: options.convention.name(),
            scheduler_name: options.scheduler_name.clone(),
            transport: match options.transport {
                Transport::Http1 => "http1",
                Transport::Http2 => "http2",
            },
            connections: options.raw_clients.len(),
            raw,
            scheduled,
            of_raw: rate.filter(|_| best > 0.0).map(|rate| rate / best),
        }
    }

    /// Whether every pod was bound.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let bound = self.scheduled.as_ref().map_or(self.pods, |one| one.bound);
        bound == self.pods
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for raw in &self.raw {
            let name = format!("raw, {} in flight", raw.in_flight);
            line(f, &name, "binds/s", raw.binds_per_second)?;
        }
        let Some(scheduled) = &self.scheduled else {
            return Ok(());
        };
        let Self { pods, nodes, .. } = self;
        let kind = match self.gang_size {
            1 => "single".to_owned(),
            size => format!("gangs of {size} ({})", self.convention),
        };
        writeln!(
            f,
            "{}: {} of {pods} pods bound on {nodes} nodes; {kind}",
            self.scheduler_name, scheduled.bound
        )?;
        line(f, "rate", "binds/s", scheduled.binds_per_second)?;
        let of_raw = self.of_raw.map(|ratio| ratio * 100.0);
        line(f, "of the best raw rate", "%", of_raw)?;
        if let Some(Latency { p50, p99, max }) = scheduled.latency_seconds {
            let text = format!("p50 {p50:.3}  p99 {p99:.3}  max {max:.3} s");
            writeln!(f, "  {:<24} {text}", "latency")?;
        }
        let mib = scheduled.peak_resident_bytes.map(|bytes| bytes >> 20);
        line(f, "peak resident memory", "MiB", mib.map(|mib| mib as f64))
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, unit: &str, value: Option<f64>) -> fmt::Result {
    match value {
        Some(value) => writeln!(f, "  {name:<24} {value:.0} {unit}"),
        None => writeln!(f, "  {name:<24} -"),
    }
}
