//! The counters that `/metrics` shows. Names are part of the interface; `docs/metrics.md` has them
//! all, and a test compares the two.

mod core;
pub mod external;
mod maker;

use crate::Error;
use crate::process::Process;
use crate::this_build;
use core::CoreCounters;
use external::ExternalCounters;
use maker::{Maker, raise};
use muster_api::kinds::Kind;
use muster_model::explanation::ClaimKind;
use muster_model::resources::CORE;
use muster_model::{DEFAULT_QUEUE, RemotePoint};
use muster_model::{GangPhase, Stats, Table};
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
    Opts, Registry, TextEncoder,
};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// Buckets for answers of the API server, in seconds.
const ANSWER_BUCKETS: [f64; 12] = [
    0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// Buckets for scheduling cycles, in seconds.
const CYCLE_BUCKETS: [f64; 11] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5,
];

/// Buckets for the time that gangs wait, in seconds: from a moment to a week.
const WAIT_BUCKETS: [f64; 12] = [
    0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0, 604_800.0,
];
/// Buckets for the time that gangs are partly bound, in seconds; the promise is 10.
const PARTIAL_BUCKETS: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 7.5, 10.0, 30.0];
/// Buckets for hops between pods of neighbouring ranks: from one node to the width of a large network.
const HOP_BUCKETS: [f64; 12] = [
    0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0,
];

/// Values of the label `result` of binds ...
const BIND_RESULTS: [&str; 5] = ["bound", "refused", "failed", "gone", "unsent"];
/// ... of evictions ...
const EVICTION_RESULTS: [&str; 5] = ["accepted", "gone", "refused", "failed", "unsent"];
/// ... of questions to the outside ...
const ANSWERS: [&str; 4] = ["yes", "no", "failed", "unsent"];
/// ... and of the slow lane's writes, with what they write.
const NOTE_RESULTS: [&str; 5] = ["written", "retried", "failed", "dropped", "gone"];
const NOTE_KINDS: [&str; 3] = ["status", "condition", "event"];

/// What the slow lane keeps of what objects say, as a table beside those of the core.
const WORDS: &str = "words";

/// Values of the labels `deed` and `result` of the controllers' writes.
const DEEDS: [&str; 3] = ["create", "patch", "delete"];
const DEED_RESULTS: [&str; 7] = [
    "done",
    "conflict",
    "not_found",
    "already_exists",
    "refused",
    "throttled",
    "lost",
];

/// Values of the label `result` of questions to plugins in other processes.
const PLUGIN_RESULTS: [&str; 5] = ["answered", "failed", "late", "wrong", "left_alone"];

/// What is measured of the gangs of each queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfQueue {
    /// Seconds from a gang's submission until its minimum got its place.
    Wait,
    /// Seconds for which it was partly bound.
    Partial,
    /// Mean hops between pods that are next to each other by rank.
    RankHops,
}

impl OfQueue {
    const ALL: [Self; 3] = [Self::Wait, Self::Partial, Self::RankHops];
}

/// All metrics of one process, in registries of their own.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// What has no prefix of ours.
    process: Registry,
    /// What the core counts.
    core: CoreCounters,
    /// What the external interface counts.
    pub external: ExternalCounters,
    /// Binds by result: `bound`, `refused`, `failed`, `gone`, `unsent`.
    pub binds: IntCounterVec,
    /// Seconds from the decision to the known outcome of a bind, by result.
    pub bind_seconds: HistogramVec,
    /// Binds decided on whose outcome is not known yet.
    pub binds_pending: IntGauge,
    /// How many binds may be on the wire at once now.
    pub bind_slots: IntGauge,
    /// Questions to the outside by result: `yes`, `no`, `failed`, `unsent`.
    pub questions: IntCounterVec,
    /// Seconds that they took, by result.
    pub question_seconds: HistogramVec,
    /// Questions that are not answered.
    pub questions_pending: IntGauge,
    /// What was asked in vain and is not undone yet.
    pub undos_pending: IntGauge,
    /// Evictions under way that were not refused before.
    pub evictions_pending: IntGauge,
    /// How many evictions may be on the wire at once now.
    pub eviction_slots: IntGauge,
    /// Evictions by result: `accepted`, `gone`, `refused`, `unsent`.
    pub evictions: IntCounterVec,
    /// Gangs by phase; a pod without a group is one.
    pub gangs: IntGaugeVec,
    /// Gangs that wait for a place, those that back off included.
    pub gangs_waiting: IntGauge,
    /// Gangs with a claim to room, and slots that are held, by kind.
    pub claims: IntGaugeVec,
    /// How many entries each table of the core has.
    table_entries: IntGaugeVec,
    /// What of the room that is free is kept for the head of a queue, in cores' worth, by queue.
    pub reserved_cores: GaugeVec,
    /// Seconds from a gang's submission until its minimum got its place, by queue.
    gang_wait_seconds: HistogramVec,
    /// Seconds for which gangs were partly bound, by queue: until the minimum was bound, or the
    /// release began.
    gang_partial_seconds: HistogramVec,
    /// Hops between pods that are next to each other by rank, the mean of each placement, by queue.
    gang_rank_hops: HistogramVec,
    /// The queues of which these show something.
    queues: Mutex<BTreeSet<String>>,
    /// Seconds for which the partly bound gang that advanced least has not advanced.
    gang_partial_longest: Gauge,
    partial_since: Mutex<Option<Instant>>,
    /// Seconds per cycle.
    pub cycle_seconds: Histogram,
    /// Writes of the slow lane that wait.
    pub notes_waiting: IntGauge,
    /// Writes of the slow lane by kind (`status`, `condition`, `event`) and result (`written`,
    /// `retried`, `failed`, `dropped`, `gone`).
    pub notes: IntCounterVec,
    /// Writes of the controllers by deed (`create`, `patch`, `delete`) and result.
    pub controller_writes: IntCounterVec,
    /// Watches that had to be started anew with a full list, by kind.
    pub watch_restarts: IntCounterVec,
    /// Objects that could not be read, by kind.
    pub unreadable: IntCounterVec,
    /// 1 where a kind is synced.
    pub synced: IntGaugeVec,
    /// 1 while this instance leads.
    pub leader: IntGauge,
    /// 1: its labels say which build this is.
    build_info: IntGaugeVec,
    /// Questions to plugins in other processes by plugin, point and result (`answered`, `failed`, `late`,
    /// `wrong`, `left_alone`).
    pub plugin_requests: IntCounterVec,
    /// Seconds until such an answer, or until it was known that there is none, by plugin.
    pub plugin_seconds: HistogramVec,
    /// 1 while a plugin that failed is left alone.
    pub plugin_breaker: IntGaugeVec,
    /// Entries of the record that were written, and those that are missing.
    record_entries: IntCounter,
    record_lost: IntCounter,
}

impl Metrics {
    /// All metrics, at zero: each is there from the start with all values its labels may have, so
    /// that a rate is right from the first increase on.
    ///
    /// # Errors
    /// When two metrics have one name.
    pub fn new() -> Result<Self, Error> {
        let process = Registry::new();
        process.register(Box::new(Process::new()?))?;
        let make = Maker(Registry::new_custom(Some("muster".to_owned()), None)?);
        let metrics = Self {
            core: CoreCounters::new(&make)?,
            external: ExternalCounters::new(&make)?,
            binds: make.counters("binds_total", "Binds by result.", &["result"])?,
            bind_seconds: make.histograms(
                "bind_duration_seconds",
                "Time from the decision to the known outcome of a bind.",
                &ANSWER_BUCKETS,
            )?,
            binds_pending: make.gauge(
                "binds_pending",
                "Binds decided on whose outcome is not known.",
            )?,
            questions: make.counters(
                "questions_total",
                "Questions of plugins to the outside by result.",
                &["result"],
            )?,
            question_seconds: make.histograms(
                "question_duration_seconds",
                "Time from asking to the answer of a question to the outside.",
                &ANSWER_BUCKETS,
            )?,
            questions_pending: make.gauge(
                "questions_pending",
                "Questions to the outside that are not answered.",
            )?,
            undos_pending: make.gauge(
                "undos_pending",
                "What was asked outside in vain and is not undone yet.",
            )?,
            bind_slots: make.gauge(
                "bind_slots",
                "Binds that may be on the wire at once: bindConcurrency, or fewer while the API server does not keep up.",
            )?,
            eviction_slots: make.gauge(
                "eviction_slots",
                "Evictions that may be on the wire at once.",
            )?,
            evictions_pending: make.gauge(
                "evictions_pending",
                "Evictions decided on whose outcome is not known, except those refused before.",
            )?,
            evictions: make.counters("evictions_total", "Evictions by result.", &["result"])?,
            gangs: make.gauges(
                "gangs",
                "Gangs by phase; a pod without a group is one.",
                "phase",
            )?,
            claims: make.gauges(
                "claims",
                "Gangs with a claim to room beside what their members hold, and slots that are held, by kind.",
                "kind",
            )?,
            table_entries: make.gauges(
                "table_entries",
                "Entries of the tables in which is kept what comes and goes, by table.",
                "table",
            )?,
            gangs_waiting: make.gauge(
                "gangs_waiting",
                "Gangs that wait for a place, those that back off included.",
            )?,
            reserved_cores: make.register(GaugeVec::new(
                Opts::new(
                    "reserved_cores",
                    "What of the room that is free is kept for the head of a queue, in cores' worth.",
                ),
                &["queue"],
            ))?,
            gang_wait_seconds: make.histograms_by(
                "gang_wait_seconds",
                "Time from a gang's submission until its minimum got its place.",
                &WAIT_BUCKETS,
                "queue",
            )?,
            gang_partial_seconds: make.histograms_by(
                "gang_partial_seconds",
                "Time for which gangs were partly bound, until whole or being released.",
                &PARTIAL_BUCKETS,
                "queue",
            )?,
            gang_rank_hops: make.histograms_by(
                "gang_rank_hops",
                "Mean hops between pods that are next to each other by rank, by placement.",
                &HOP_BUCKETS,
                "queue",
            )?,
            queues: Mutex::default(),
            gang_partial_longest: make.register(Gauge::new(
                "gang_partial_longest_seconds",
                "For how long the partly bound gang that advanced least has not advanced.",
            ))?,
            partial_since: Mutex::new(None),
            cycle_seconds: make.histogram(
                "cycle_duration_seconds",
                "Time of one scheduling cycle.",
                &CYCLE_BUCKETS,
            )?,
            notes_waiting: make
                .gauge("slow_lane_waiting", "Statuses and events not yet written.")?,
            notes: make.counters(
                "slow_lane_total",
                "Statuses, conditions and events by result.",
                &["kind", "result"],
            )?,
            controller_writes: make.counters(
                "controller_writes_total",
                "Writes of the controllers by result.",
                &["deed", "result"],
            )?,
            watch_restarts: make.counters(
                "watch_restarts_total",
                "Watches started anew with a full list.",
                &["kind"],
            )?,
            unreadable: make.counters(
                "unreadable_objects_total",
                "Objects that could not be read.",
                &["kind"],
            )?,
            synced: make.gauges("watch_synced", "1 where a kind is synced.", "kind")?,
            leader: make.gauge("leader", "1 while this instance leads.")?,
            build_info: make.register(IntGaugeVec::new(
                Opts::new("build_info", "1: its labels say which build this is."),
                &["version", "revision", "arch"],
            ))?,
            plugin_requests: make.counters(
                "plugin_requests_total",
                "Questions to plugins in other processes by result.",
                &["plugin", "point", "result"],
            )?,
            plugin_seconds: make.histograms_by(
                "plugin_request_duration_seconds",
                "Time until a plugin in another process answered, or was known not to.",
                &ANSWER_BUCKETS,
                "plugin",
            )?,
            record_entries: make.counter(
                "record_entries_total",
                "Entries of the record that were written",
            )?,
            record_lost: make.counter(
                "record_lost_entries_total",
                "Entries that are missing in the record",
            )?,
            plugin_breaker: make.gauges(
                "plugin_breaker_open",
                "1 while a plugin in another process that failed is left alone.",
                "plugin",
            )?,
            registry: make.0,
            process,
        };
        metrics.show_all();
        Ok(metrics)
    }

    /// Makes every value of every label appear.
    fn show_all(&self) {
        let revision = this_build::REVISION.unwrap_or("unknown");
        let labels = [this_build::VERSION, revision, std::env::consts::ARCH];
        self.build_info.with_label_values(&labels).set(1);
        for kind in Kind::ALL.map(Kind::name) {
            self.synced.with_label_values(&[kind]);
            self.watch_restarts.with_label_values(&[kind]);
            self.unreadable.with_label_values(&[kind]);
        }
        for phase in GangPhase::ALL.map(GangPhase::as_str) {
            self.gangs.with_label_values(&[phase]);
        }
        for kind in ClaimKind::ALL {
            self.claims.with_label_values(&[kind.as_str()]);
        }
        for table in Table::ALL {
            self.table_entries.with_label_values(&[table.as_str()]);
        }
        self.show_words(0);
        self.show_reserved(std::iter::empty());
        for what in OfQueue::ALL {
            self.of_queue(what).with_label_values(&[DEFAULT_QUEUE]);
        }
        for result in BIND_RESULTS {
            self.binds.with_label_values(&[result]);
            self.bind_seconds.with_label_values(&[result]);
        }
        for result in ANSWERS {
            self.questions.with_label_values(&[result]);
            if result != "unsent" {
                self.question_seconds.with_label_values(&[result]);
            }
        }
        for result in EVICTION_RESULTS {
            self.evictions.with_label_values(&[result]);
        }
        self.core.show(&Stats::default());
        for deed in DEEDS {
            for result in DEED_RESULTS {
                self.controller_writes.with_label_values(&[deed, result]);
            }
        }
        for kind in NOTE_KINDS {
            for result in NOTE_RESULTS {
                self.notes.with_label_values(&[kind, result]);
            }
        }
    }

    /// Makes what there is to count about a plugin in another process appear.
    pub fn show_plugin(&self, name: &str) {
        for point in RemotePoint::ALL.map(RemotePoint::as_str) {
            for result in PLUGIN_RESULTS {
                self.plugin_requests
                    .with_label_values(&[name, point, result]);
            }
        }
        self.plugin_seconds.with_label_values(&[name]);
        self.plugin_breaker.with_label_values(&[name]);
    }

    /// Shows what is kept for the heads of which queues, in worth.
    pub fn show_reserved<'a>(&self, reserved: impl Iterator<Item = (&'a str, u64)>) {
        self.reserved_cores.reset();
        self.reserved_cores.with_label_values(&[DEFAULT_QUEUE]);
        for (queue, worth) in reserved {
            let milli = u32::try_from(worth / (CORE / 1_000)).unwrap_or(u32::MAX);
            let cores = f64::from(milli) / 1_000.0;
            self.reserved_cores.with_label_values(&[queue]).set(cores);
        }
    }

    /// Shows how many entries of the record were written so far, and how many are missing.
    pub fn show_recorded(&self, written: u64, lost: u64) {
        raise(&self.record_entries, written);
        raise(&self.record_lost, lost);
    }

    /// Shows of how many objects it is kept what they say.
    pub fn show_words(&self, entries: usize) {
        let words = self.table_entries.with_label_values(&[WORDS]);
        words.set(i64::try_from(entries).unwrap_or(i64::MAX));
    }

    /// Counts a time, or a distance, of a gang of a queue.
    pub fn measure(&self, what: OfQueue, queue: &str, value: f64) {
        let histogram = self.of_queue(what).with_label_values(&[queue]);
        histogram.observe(value);
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if !queues.contains(queue) {
            queues.insert(queue.to_owned());
        }
    }

    /// Shows nothing more of queues that are not there any more.
    pub fn keep_queues(&self, is_there: impl Fn(&str) -> bool) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| {
            let stays = queue == DEFAULT_QUEUE || is_there(queue);
            if !stays {
                for what in OfQueue::ALL {
                    // It may not have had any of these.
                    let _ = self.of_queue(what).remove_label_values(&[queue]);
                }
            }
            stays
        });
    }

    /// Of how many queues something is shown.
    #[must_use]
    pub fn queues_shown(&self) -> usize {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.len()
    }

    const fn of_queue(&self, what: OfQueue) -> &HistogramVec {
        match what {
            OfQueue::Wait => &self.gang_wait_seconds,
            OfQueue::Partial => &self.gang_partial_seconds,
            OfQueue::RankHops => &self.gang_rank_hops,
        }
    }

    /// Shows what the core counts.
    pub fn show(&self, stats: &Stats) {
        self.core.show(stats);
        let gauge = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for (phase, count) in GangPhase::ALL.iter().zip(stats.gangs) {
            let gangs = self.gangs.with_label_values(&[phase.as_str()]);
            gangs.set(i64::from(count));
        }
        for (kind, count) in ClaimKind::ALL.iter().zip(stats.claims) {
            let claims = self.claims.with_label_values(&[kind.as_str()]);
            claims.set(gauge(count as u64));
        }
        for (table, entries) in stats.tables.iter() {
            let gauge_of = self.table_entries.with_label_values(&[table.as_str()]);
            gauge_of.set(gauge(entries as u64));
        }
        self.gangs_waiting.set(gauge(stats.waiting));
    }

    /// Sets since when the partly bound gang that advanced least has not advanced.
    pub fn set_partial_since(&self, since: Option<Instant>) {
        *self
            .partial_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// All metrics in Prometheus' text format.
    ///
    /// # Errors
    /// When a metric cannot be written as text.
    pub fn text(&self) -> Result<String, Error> {
        let since = *self
            .partial_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let longest = since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        self.gang_partial_longest.set(longest);
        let mut families = self.registry.gather();
        families.extend(self.process.gather());
        Ok(TextEncoder::new().encode_to_string(&families)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_carry_the_prefix_and_are_there_from_the_start() {
        let metrics = Metrics::new().unwrap();
        metrics.binds.with_label_values(&["bound"]).inc();
        let text = metrics.text().unwrap();
        assert!(
            text.contains("muster_binds_total{result=\"bound\"} 1"),
            "{text}"
        );
        assert!(
            text.contains("muster_watch_synced{kind=\"pods\"} 0"),
            "{text}"
        );
    }

    #[test]
    fn queues_that_come_and_go_leave_nothing_behind() {
        let metrics = Metrics::new().unwrap();
        let before = metrics.text().unwrap().lines().count();
        for round in 0..100 {
            let queue = format!("q-{round}");
            for what in OfQueue::ALL {
                metrics.measure(what, &queue, 1.0);
                metrics.measure(what, DEFAULT_QUEUE, 1.0);
            }
            metrics.keep_queues(|name| name == queue);
            let text = metrics.text().unwrap();
            assert!(text.contains(&format!("queue=\"{queue}\"")), "{text}");
            metrics.keep_queues(|_| false);
        }
        let text = metrics.text().unwrap();
        assert_eq!(text.lines().count(), before, "{text}");
        assert!(metrics.queues.lock().unwrap().len() <= 1);
    }
}
