//! The counters of the core: each a row of one table, with where its count stands in [`Stats`].

use super::maker::{Maker, raise};
use crate::Error;
use muster_model::Stats;
use muster_model::resources::CORE;
use prometheus::{Counter, IntCounter};

/// Where a count stands.
type Read = fn(&Stats) -> u64;

/// A counter without labels: name, help, and where its count stands.
#[rustfmt::skip]
const COUNTERS: [(&str, &str, Read); 11] = [
    ("events_applied_total", "Events applied to the state.", |all| all.events),
    ("cycles_total", "Scheduling cycles run.", |all| all.cycles),
    ("placements_total", "Pods given a place.", |all| all.placements),
    ("sweep_rescues_total", "Gangs that only the full sweep found to be schedulable.",
        |all| all.sweep_rescues),
    ("unreserved_heads_total",
        "How often a head of a queue got no reservation, as there were enough.",
        |all| all.unreserved),
    ("domain_choices_cut_total",
        "Searches for the domains of several subgroups that reached their bound.",
        |all| all.choices_cut),
    ("defragmentation_gangs_total", "Gangs moved to other nodes so that another had room.",
        |all| all.moves.gangs),
    ("defragmentation_pods_total",
        "Pods of gangs that were moved to other nodes so that another had room.",
        |all| all.moves.pods),
    ("defragmentation_late_total", "Moved gangs that were not back while their place was held.",
        |all| all.moves.late),
    ("preemption_spared_total", "Gangs left alone because they made room too often of late.",
        |all| all.room.spared_too_often),
    ("preemption_budget_violations_total",
        "Preemptions that took more of a PodDisruptionBudget than is allowed.",
        |all| all.room.violations),
];

/// A counter by result: name, help, and where the count of each result stands.
type ByResult = (&'static str, &'static str, &'static [(&'static str, Read)]);

#[rustfmt::skip]
const BY_RESULT: [ByResult; 2] = [
    ("preemption_plans_total", "Searches for room by having others go, by result.", &[
        ("found", |all| all.room.found),
        ("impossible", |all| all.room.impossible),
        ("cut_short", |all| all.room.cut_short),
        ("postponed", |all| all.room.postponed),
        ("behind", |all| all.room.behind),
    ]),
    ("packing_searches_total",
        "Searches for the best places of all members of a gang at once, by result.", &[
        ("proven", |all| all.packing.proven),
        ("bounded", |all| all.packing.bounded),
        ("too_large", |all| all.packing.too_large),
        ("found", |all| all.packing.found),
        ("impossible", |all| all.packing.impossible),
        ("unproven", |all| all.packing.unproven),
        ("turned", |all| all.packing.turned),
        ("turned_in_vain", |all| all.packing.turned_in_vain),
    ]),
];

/// A counter of worth, shown in cores.
#[rustfmt::skip]
const OF_WORTH: [(&str, &str, Read); 2] = [
    ("packing_lost_cores_total",
        "What placements lose of which it is known how little they could, in cores' worth.",
        |all| all.lost.lost),
    ("packing_least_cores_total", "What these placements had to lose at least, in cores' worth.",
        |all| all.lost.at_least),
];

/// What the core counts, as it is shown.
#[derive(Debug)]
pub(super) struct CoreCounters {
    counts: Vec<(IntCounter, Read)>,
    of_worth: Vec<(Counter, Read)>,
}

impl CoreCounters {
    /// All of them, at zero.
    pub(super) fn new(make: &Maker) -> Result<Self, Error> {
        let (mut counts, mut of_worth) = (Vec::new(), Vec::new());
        for (name, help, read) in COUNTERS {
            counts.push((make.counter(name, help)?, read));
        }
        for (name, help, results) in BY_RESULT {
            let by_result = make.counters(name, help, &["result"])?;
            let of =
                |(result, read): &(&str, Read)| (by_result.with_label_values(&[*result]), *read);
            counts.extend(results.iter().map(of));
        }
        for (name, help, read) in OF_WORTH {
            of_worth.push((make.register(Counter::new(name, help))?, read));
        }
        Ok(Self { counts, of_worth })
    }

    /// Brings them up to what the core counted.
    pub(super) fn show(&self, stats: &Stats) {
        for (counter, read) in &self.counts {
            raise(counter, read(stats));
        }
        for (counter, read) in &self.of_worth {
            let cores = (read(stats) / (CORE / 1_000)) as f64 / 1_000.0;
            counter.inc_by((cores - counter.get()).max(0.0));
        }
    }
}
