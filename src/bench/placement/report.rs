//! What was measured, for people and for programs.

use super::measures::{Measured, Waits};
use super::workloads::World;
use super::{Options, Rule, Workload};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

/// All that was played.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// What the workloads were drawn from.
    pub seed: u64,
    /// For how many hours of virtual time gangs arrived; what is counted begins after a quarter of it.
    pub hours: u32,
    /// The workloads.
    pub workloads: Vec<OfWorkload>,
}

/// One workload with all rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfWorkload {
    /// Its name.
    pub workload: &'static str,
    /// Nodes.
    pub nodes: usize,
    /// Gangs that arrived, pods by themselves included.
    pub gangs: usize,
    /// Their pods.
    pub pods: u64,
    /// The resource that is scarce.
    pub scarce: &'static str,
    /// What came of it, by rule.
    pub rules: Vec<OfRule>,
}

/// What came of a workload with one rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfRule {
    /// The rule's name.
    pub rule: &'static str,
    /// What was measured.
    #[serde(flatten)]
    pub measured: Measured,
}

impl Report {
    pub(super) const fn new(options: &Options) -> Self {
        Self {
            seed: options.seed,
            hours: options.hours,
            workloads: Vec::new(),
        }
    }

    pub(super) fn add(
        &mut self,
        world: &World,
        workload: Workload,
        rule: Rule,
        measured: Measured,
    ) {
        let rule = OfRule {
            rule: rule.name(),
            measured,
        };
        let mut known = self.workloads.iter_mut();
        match known.find(|one| one.workload == workload.name()) {
            Some(known) => known.rules.push(rule),
            None => self.workloads.push(OfWorkload {
                workload: workload.name(),
                nodes: world.cluster.nodes.len(),
                gangs: world.jobs.len(),
                pods: world.jobs.iter().map(|job| u64::from(job.pods)).sum(),
                scarce: world.resource,
                rules: vec![rule],
            }),
        }
    }

    /// What must never happen and did.
    pub fn violations(&self) -> impl Iterator<Item = &String> {
        let rules = self.workloads.iter().flat_map(|one| &one.rules);
        rules.flat_map(|one| &one.measured.violations)
    }
}

/// Writes the report as tables.
#[must_use]
pub fn table(report: &Report) -> String {
    let mut text = format!(
        "Seed {}. Gangs arrive for {} h; counted is from {} h on. Waiting times in minutes: mean / p50 / p99.\n",
        report.seed,
        report.hours,
        f64::from(report.hours) / 4.0
    );
    for one in &report.workloads {
        text += &format!(
            "\n{}: {} nodes, {} gangs of {} pods together\n",
            one.workload, one.nodes, one.gangs, one.pods
        );
        text += &of_workload(one);
        text.push('\n');
    }
    text
}

fn of_workload(one: &OfWorkload) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let used = format!("{} used", one.scarce);
    let mut header = vec!["rule".to_owned(), used, "stranded".to_owned()];
    let quarters = one.rules.first().map(|first| &first.measured.quarters);
    for (at, quarter) in quarters.into_iter().flatten().enumerate() {
        let (from, to) = (percent(quarter.smallest, 2), percent(quarter.largest, 2));
        header.push(format!("quarter {} ({from} to {to})", at + 1));
    }
    let last = [
        "waiting at last arrival / never started",
        "at fewest hops",
        "hops too many",
        "evictions",
    ];
    header.extend(last.map(str::to_owned));
    table.set_header(header);
    for rule in &one.rules {
        let measured = &rule.measured;
        let used = measured.utilisation.get(one.scarce).copied();
        let mut row = vec![
            rule.rule.to_owned(),
            percent(used.unwrap_or(0.0), 2),
            percent(measured.stranded, 2),
        ];
        row.extend(measured.quarters.iter().map(|one| minutes(&one.waits)));
        let waits = &measured.waits;
        row.extend([
            format!(
                "{} / {}",
                waits.waiting_at_last_arrival, waits.never_started
            ),
            percent(measured.hops.at_optimum, 1),
            format!("{:.3}", measured.hops.mean_excess),
            measured.evictions.to_string(),
        ]);
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn percent(ratio: f64, digits: usize) -> String {
    format!("{:.digits$} %", ratio * 100.0)
}

fn minutes(waits: &Waits) -> String {
    let [mean, p50, p99] = [waits.mean, waits.p50, waits.p99].map(|seconds| seconds / 60.0);
    format!("{mean:.1} / {p50:.1} / {p99:.1}")
}
