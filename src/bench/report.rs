//! What was measured, for people and for programs.

use super::statistics::{Latency, latency, rate};
use super::{Done, Options, Preempted, RawRate, RawSlots, Released, Slots};
use muster_cluster::client::Transport;
use serde::Serialize;
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
    /// What pods asked for beside amounts.
    pub case: &'static str,
    /// How gangs are named.
    pub convention: &'static str,
    /// Queues between which they are dealt out.
    pub queues: usize,
    /// Who schedules.
    pub scheduler_name: String,
    /// How the raw requests travelled.
    pub transport: &'static str,
    /// Over how many connections, with HTTP/2.
    pub connections: usize,
    /// What the API server can do.
    pub raw: Vec<RawRate>,
    /// What the scheduler did.
    pub scheduled: Option<Scheduled>,
    /// The rate at which it bound over the best raw one.
    pub of_raw: Option<f64>,
    /// How the scheduler released its gangs, where that was measured and all had been bound.
    pub released: Option<Released>,
    /// The rate at which it evicted over the best raw one.
    pub released_of_raw: Option<f64>,
    /// How it had others make room, where that was measured and all had been bound.
    pub preempted: Option<Preempted>,
    /// The rate at which it evicted them over the best raw one.
    pub preempted_of_raw: Option<f64>,
    /// What the API server makes of the writes that slots take, where that was measured.
    pub raw_slots: Option<RawSlots>,
    /// How slots were held and claimed, where that was measured.
    pub slots: Option<Slots>,
    /// The rate at which ghosts were made over the raw one.
    pub ghosts_of_raw: Option<f64>,
    /// The rate at which slots were handed over, over the raw one.
    pub handovers_of_raw: Option<f64>,
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
    pub(super) fn new<'a>(
        bound: impl Iterator<Item = (&'a usize, &'a Instant)> + Clone,
        since: impl Fn(usize) -> Instant,
        peak_resident_bytes: Option<u64>,
    ) -> Self {
        let waits = bound
            .clone()
            .map(|(index, at)| at.saturating_duration_since(since(*index)));
        let times: Vec<Instant> = bound.map(|(_, at)| *at).collect();
        Self {
            bound: times.len(),
            binds_per_second: rate(times),
            latency_seconds: latency(waits.collect()),
            peak_resident_bytes,
        }
    }
}

impl Report {
    pub(super) fn new(options: &Options, raw: Vec<RawRate>, done: Option<Done>) -> Self {
        let released = done.as_ref().and_then(|done| done.released);
        let preempted = done.as_ref().and_then(|done| done.preempted);
        let scheduled = done.map(|done| done.scheduled);
        let bound = scheduled.as_ref().and_then(|one| one.binds_per_second);
        let evicted = released.and_then(|one| one.evictions_per_second);
        let evictions = |rate| of_best(rate, raw.iter().map(|one| one.evictions_per_second));
        Self {
            nodes: options.nodes,
            pods: options.pods,
            gang_size: options.gang_size,
            convention: options.convention.name(),
            case: options.case.name(),
            queues: options.queues,
            scheduler_name: options.scheduler_name.clone(),
            transport: match options.transport {
                Transport::Http1 => "http1",
                Transport::Http2 => "http2",
            },
            connections: options.raw_clients.len(),
            of_raw: of_best(bound, raw.iter().map(|one| one.binds_per_second)),
            released_of_raw: evictions(evicted),
            preempted_of_raw: evictions(preempted.and_then(|one| one.evictions_per_second)),
            raw,
            scheduled,
            released,
            preempted,
            raw_slots: None,
            slots: None,
            ghosts_of_raw: None,
            handovers_of_raw: None,
        }
    }

    /// The same with what became of slots.
    pub(super) fn with(self, raw_slots: Option<RawSlots>, slots: Option<Slots>) -> Self {
        let both = raw_slots.zip(slots);
        let of = |ours: Option<f64>, raw| ours.zip(raw).map(|(ours, raw)| ours / raw);
        let ghosts =
            |(raw, ours): (RawSlots, Slots)| of(ours.ghosts_per_second, raw.raw_creates_per_second);
        let handovers = |(raw, ours): (RawSlots, Slots)| {
            of(ours.handovers_per_second, raw.raw_handovers_per_second)
        };
        Self {
            raw_slots,
            slots,
            ghosts_of_raw: both.and_then(ghosts),
            handovers_of_raw: both.and_then(handovers),
            ..self
        }
    }

    /// What the scheduler was to do with every pod and did not, if anything.
    #[must_use]
    pub fn shortfall(&self) -> Option<String> {
        if let Some(Slots { slots, bound, .. }) = self.slots
            && bound < slots
        {
            return Some(format!(
                "not all pods that claimed a slot were bound: {bound} of {slots}"
            ));
        }
        let scheduled = self.scheduled.as_ref()?;
        let (bound, pods) = (scheduled.bound, self.pods);
        if bound < pods {
            return Some(format!("not all pods were bound: {bound} of {pods}"));
        }
        if let Some(Preempted { size, bound, .. }) = self.preempted
            && bound < size
        {
            return Some(format!(
                "not all pods were bound that others had to make room for: {bound} of {size}"
            ));
        }
        let evicted = self.released.as_ref()?.evicted;
        let left = pods - pods / self.gang_size;
        (evicted < left)
            .then(|| format!("not all gangs were released: {evicted} of {left} pods were evicted"))
    }

    fn of_slots(&self, f: &mut fmt::Formatter<'_>, of: &Slots) -> fmt::Result {
        let (name, Slots { slots, bound, .. }) = (&self.scheduler_name, of);
        writeln!(
            f,
            "{name}: {slots} slots, claimed by as many pods, {bound} of which were bound"
        )?;
        line(f, "rate", "ghosts/s", of.ghosts_per_second)?;
        of_raw(f, self.ghosts_of_raw)?;
        seconds(f, "until the last ghost", of.seconds_to_last_ghost)?;
        seconds(f, "until all were held", of.seconds_to_held)?;
        line(f, "rate", "slots handed over/s", of.handovers_per_second)?;
        of_raw(f, self.handovers_of_raw)?;
        seconds(f, "until the last bind", of.seconds_to_last_bind)
    }

    fn kind(&self) -> String {
        match self.gang_size {
            1 => "single".to_owned(),
            size => format!("gangs of {size} ({})", self.convention),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for raw in &self.raw {
            let name = format!("raw, {} in flight", raw.in_flight);
            line(f, &name, "binds/s", raw.binds_per_second)?;
            if let Some(rate) = raw.evictions_per_second {
                line(f, "", "evictions/s", Some(rate))?;
            }
        }
        if let Some(raw) = &self.raw_slots {
            let RawSlots {
                raw_creates_per_second: creates,
                raw_handovers_per_second: handovers,
            } = raw;
            line(f, "raw, 64 in flight", "creates/s", *creates)?;
            line(f, "raw, 128 in flight", "handovers/s", *handovers)?;
        }
        if let Some(slots) = &self.slots {
            return self.of_slots(f, slots);
        }
        let Some(scheduled) = &self.scheduled else {
            return Ok(());
        };
        let Self { pods, nodes, .. } = self;
        let (name, bound, kind) = (&self.scheduler_name, scheduled.bound, self.kind());
        writeln!(
            f,
            "{name}: {bound} of {pods} pods bound on {nodes} nodes; {kind}"
        )?;
        line(f, "rate", "binds/s", scheduled.binds_per_second)?;
        of_raw(f, self.of_raw)?;
        latency_line(f, "latency", scheduled.latency_seconds)?;
        let mib = scheduled.peak_resident_bytes.map(|bytes| bytes >> 20);
        line(f, "peak resident memory", "MiB", mib.map(|mib| mib as f64))?;
        if let Some(released) = &self.released {
            let evicted = released.evicted;
            writeln!(
                f,
                "{name}: {evicted} pods evicted after a pod of each gang was deleted"
            )?;
            line(f, "rate", "evictions/s", released.evictions_per_second)?;
            of_raw(f, self.released_of_raw)?;
            latency_line(f, "until the first of a gang", released.delay_seconds)?;
        }
        if let Some(preempted) = &self.preempted {
            let Preempted {
                evicted,
                bound,
                size,
                ..
            } = *preempted;
            writeln!(
                f,
                "{name}: {evicted} pods evicted for a gang of {size}, of which {bound} were bound"
            )?;
            line(f, "rate", "evictions/s", preempted.evictions_per_second)?;
            of_raw(f, self.preempted_of_raw)?;
            seconds(
                f,
                "until the first eviction",
                preempted.seconds_to_first_eviction,
            )?;
            seconds(f, "until the last bind", preempted.seconds_to_last_bind)?;
        }
        Ok(())
    }
}

fn seconds(f: &mut fmt::Formatter<'_>, name: &str, value: Option<f64>) -> fmt::Result {
    match value {
        Some(value) => writeln!(f, "  {name:<25} {value:.3} s"),
        None => writeln!(f, "  {name:<25} -"),
    }
}

/// A rate over the best of others.
fn of_best(rate: Option<f64>, others: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let best = others.flatten().fold(0.0, f64::max);
    rate.filter(|_| best > 0.0).map(|rate| rate / best)
}

fn of_raw(f: &mut fmt::Formatter<'_>, ratio: Option<f64>) -> fmt::Result {
    line(
        f,
        "of the best raw rate",
        "%",
        ratio.map(|ratio| ratio * 100.0),
    )
}

fn latency_line(f: &mut fmt::Formatter<'_>, name: &str, value: Option<Latency>) -> fmt::Result {
    value.map_or(Ok(()), |Latency { p50, p99, max }| {
        let text = format!("p50 {p50:.3}  p99 {p99:.3}  max {max:.3} s");
        writeln!(f, "  {name:<25} {text}")
    })
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, unit: &str, value: Option<f64>) -> fmt::Result {
    match value {
        Some(value) => writeln!(f, "  {name:<25} {value:.0} {unit}"),
        None => writeln!(f, "  {name:<25} -"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::options;

    fn report(bound: usize, evicted: usize) -> Report {
        let raw = [(8, 400.0), (32, 500.0)].map(|(in_flight, rate)| RawRate {
            in_flight,
            binds_per_second: Some(2.0 * rate),
            evictions_per_second: Some(rate),
        });
        let scheduled = Scheduled {
            bound,
            binds_per_second: Some(900.0),
            latency_seconds: None,
            peak_resident_bytes: None,
        };
        let released = Released {
            evicted,
            evictions_per_second: Some(450.0),
            evicting_seconds: Some(1.0),
            delay_seconds: None,
        };
        let done = Done {
            scheduled,
            released: Some(released),
            preempted: None,
        };
        Report::new(&options(1, 20, 10), raw.into(), Some(done))
    }

    #[test]
    fn binds_and_evictions_are_held_against_the_best_raw_rate_of_their_own() {
        let report = report(20, 18);
        assert_eq!(report.of_raw, Some(0.9));
        assert_eq!(report.released_of_raw, Some(0.9));
        let table = report.to_string();
        assert!(table.contains("450 evictions/s"), "{table}");
    }

    #[test]
    fn slots_are_held_against_the_same_writes_raw_where_both_were_measured() {
        let raw = RawSlots {
            raw_creates_per_second: Some(1_000.0),
            raw_handovers_per_second: None,
        };
        let slots = Slots {
            slots: 20,
            ghosts_per_second: Some(900.0),
            seconds_to_last_ghost: None,
            seconds_to_held: None,
            handovers_per_second: Some(200.0),
            bound: 19,
            seconds_to_last_bind: None,
        };
        let report =
            |raw, slots| Report::new(&options(1, 20, 1), Vec::new(), None).with(raw, slots);
        let both = report(Some(raw), Some(slots));
        assert_eq!(
            (both.ghosts_of_raw, both.handovers_of_raw),
            (Some(0.9), None)
        );
        let short = "not all pods that claimed a slot were bound: 19 of 20";
        assert_eq!(both.shortfall().as_deref(), Some(short));
        let alone = report(Some(raw), None);
        assert_eq!((alone.ghosts_of_raw, alone.shortfall()), (None, None));
        assert!(alone.to_string().contains("1000 creates/s"), "{alone}");
    }

    #[test]
    fn all_pods_are_to_be_bound_and_all_but_those_deleted_to_be_evicted() {
        assert_eq!(report(20, 18).shortfall(), None);
        let unbound = report(19, 0).shortfall().unwrap();
        assert_eq!(unbound, "not all pods were bound: 19 of 20");
        let mut preempted = report(20, 18);
        preempted.preempted = Some(Preempted {
            size: 4,
            bound: 3,
            evicted: 9,
            evictions_per_second: Some(3.0),
            seconds_to_first_eviction: Some(0.1),
            seconds_to_last_bind: None,
        });
        assert_eq!(
            preempted.shortfall().unwrap(),
            "not all pods were bound that others had to make room for: 3 of 4"
        );
        let left = report(20, 17).shortfall().unwrap();
        assert_eq!(
            left,
            "not all gangs were released: 17 of 18 pods were evicted"
        );
    }
}
