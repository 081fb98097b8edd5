//! The report for people: gangs, queues, what waits, and a line that sums it up.

use super::{GangReport, PodReport, Report, ScheduledReport};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use muster_model::units::Millis;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The width of the tables.
const WIDTH: u16 = 100;

/// More lines than this of one kind are summed up.
const MAX_LINES: usize = 60;

/// More pods than this that wait by themselves are summed up.
const MAX_WAITING: usize = 10;

/// Writes the report as tables.
#[must_use]
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    if !report.pod_groups.is_empty() {
        text += &gangs(report);
    }
    text += &schedulings(report);
    text += &batch_jobs(report);
    text += &queues(report);
    text += &singles(report);
    text += &summary(report);
    text
}

pub(super) fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(header.to_vec());
    table
}

fn gangs(report: &Report) -> String {
    let groups = &report.pod_groups;
    let one_namespace = groups
        .iter()
        .all(|one| one.namespace == groups[0].namespace);
    let mut table = new_table(&[
        "gang", "queue", "bound", "waited", "started", "nodes", "why not",
    ]);
    let mut sorted: Vec<&GangReport> = groups.iter().collect();
    sorted.sort_by(|a, b| a.submitted_at.total_cmp(&b.submitted_at));
    for gang in sorted.iter().take(MAX_LINES) {
        let name = if one_namespace {
            gang.name.clone()
        } else {
            format!("{}/{}", gang.namespace, gang.name)
        };
        let waited = gang
            .waited
            .map_or_else(|| still_waiting(report.end - gang.submitted_at), human_span);
        table.add_row(vec![
            name,
            gang.queue.clone(),
            format!("{}/{}", gang.bound + gang.succeeded, gang.min_available),
            waited,
            gang.scheduled_at.map_or_else(|| "–".to_owned(), human),
            nodes(&gang.nodes),
            gang.message.clone().unwrap_or_default(),
        ]);
    }
    for index in [2, 3, 4] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for (index, width) in [(0, 22), (1, 12), (5, 12)] {
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(width)));
        }
    }
    let mut text = format!("{table}\n");
    if sorted.len() > MAX_LINES {
        let _ = writeln!(text, "… and {} more gangs", sorted.len() - MAX_LINES);
    }
    text
}

/// How many nodes, and which: `4: rack-0-n1 …`.
fn nodes(names: &BTreeSet<String>) -> String {
    match names.first() {
        None => "–".to_owned(),
        Some(only) if names.len() == 1 => only.clone(),
        Some(first) => format!("{}: {first} …", names.len()),
    }
}

fn schedulings(report: &Report) -> String {
    if report.schedulings.is_empty() {
        return String::new();
    }
    let mut table = new_table(&["scheduling", "testbed", "state", "ended", "why not"]);
    for one in report.schedulings.iter().take(MAX_LINES) {
        let over = |job: &&ScheduledReport| {
            use muster_api::crd::ScheduledJobState::{Completed, Failed};
            matches!(job.state, Completed | Failed)
        };
        table.add_row(vec![
            format!("{}/{}", one.namespace, one.name),
            one.testbed.clone(),
            format!("{:?}", one.state),
            format!(
                "{}/{}",
                one.jobs.iter().filter(over).count(),
                one.jobs.len()
            ),
            one.message.clone().unwrap_or_default(),
        ]);
    }
    lines(&table, report.schedulings.len(), "schedulings")
}

fn batch_jobs(report: &Report) -> String {
    if report.batch_jobs.is_empty() {
        return String::new();
    }
    let header = [
        "batch job",
        "scheduling",
        "state",
        "slots",
        "started",
        "ended",
        "why not",
    ];
    let mut table = new_table(&header);
    let at = |time: Option<f64>| time.map_or_else(|| "–".to_owned(), human);
    for one in report.batch_jobs.iter().take(MAX_LINES) {
        let slots: Vec<String> = one.slots.iter().map(i32::to_string).collect();
        table.add_row(vec![
            format!("{}/{}", one.namespace, one.name),
            one.scheduling.clone().unwrap_or_else(|| "–".to_owned()),
            format!("{:?}", one.state),
            slots.join(", "),
            at(one.started_at),
            at(one.completed_at),
            one.message.clone().unwrap_or_default(),
        ]);
    }
    lines(&table, report.batch_jobs.len(), "batch jobs")
}

/// A table, and how many lines it lacks.
fn lines(table: &Table, count: usize, of: &str) -> String {
    let mut text = format!("{table}\n");
    if count > MAX_LINES {
        let _ = writeln!(text, "… and {} more {of}", count - MAX_LINES);
    }
    text
}

fn queues(report: &Report) -> String {
    let mut table = new_table(&[
        "queue",
        "tier",
        "weight",
        "gangs started",
        "gangs waiting",
        "pods started",
        "pods waiting",
        "longest wait",
    ]);
    for queue in &report.queues {
        let gangs = report.pod_groups.iter();
        let gangs = gangs.filter(|gang| gang.queue == queue.name);
        let (started, waiting): (Vec<_>, Vec<_>) =
            gangs.partition(|gang| gang.scheduled_at.is_some());
        let pods: Vec<_> = report
            .pods
            .iter()
            .filter(|pod| pod.queue.as_ref() == Some(&queue.name))
            .collect();
        let bound = pods.iter().filter(|pod| pod.first_bound_at.is_some());
        let longest = longest_wait(report.end, &pods);
        table.add_row(vec![
            queue.name.clone(),
            queue.tier.to_string(),
            queue.weight.to_string(),
            started.len().to_string(),
            waiting.len().to_string(),
            bound.count().to_string(),
            pods.iter().filter(|pod| waits(pod)).count().to_string(),
            longest,
        ]);
    }
    for index in 1..8 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n")
}

/// The longest any of these pods waited, or waits still.
fn longest_wait(end: f64, pods: &[&PodReport]) -> String {
    let ended = pods.iter().filter_map(|pod| pod.waited).max();
    let waiting = pods.iter().filter(|pod| waits(pod));
    let waiting = waiting.map(|pod| end - pod.submitted_at).reduce(f64::max);
    match (ended, waiting) {
        (None, None) => "–".to_owned(),
        (Some(ended), None) => human_span(ended),
        (Some(ended), Some(waiting)) if seconds(ended) > waiting => human_span(ended),
        (_, Some(waiting)) => still_waiting(waiting),
    }
}

/// How long something has waited that waits still.
fn still_waiting(seconds: f64) -> String {
    format!("> {}", human(seconds))
}

/// Pods without a gang that wait.
fn singles(report: &Report) -> String {
    let alone = |pod: &&PodReport| pod.pod_group.is_none() && waits(pod);
    let waiting: Vec<_> = report.pods.iter().filter(alone).collect();
    let mut text = String::new();
    for pod in waiting.iter().take(MAX_WAITING) {
        let why = pod.message.as_deref().unwrap_or("nothing is known of it");
        let _ = writeln!(text, "{}/{} waits: {why}", pod.namespace, pod.name);
    }
    if waiting.len() > MAX_WAITING {
        let more = waiting.len() - MAX_WAITING;
        let _ = writeln!(text, "… and {more} more pods without a gang wait");
    }
    text
}

fn waits(pod: &PodReport) -> bool {
    pod.phase == "Pending" && pod.node.is_none() && pod.queue.is_some()
}

fn summary(report: &Report) -> String {
    let metrics = &report.metrics;
    let ours = || report.pods.iter().filter(|pod| pod.queue.is_some());
    let started = ours().filter(|pod| pod.first_bound_at.is_some());
    let started = started.count();
    let wait = |wait: Option<f64>| wait.map_or_else(|| "–".to_owned(), human);
    let used: Vec<_> = metrics
        .utilisation
        .iter()
        .filter(|(resource, _)| resource.as_str() != "pods")
        .map(|(resource, ratio)| format!("{resource} {:.0} %", ratio * 100.0))
        .collect();
    format!(
        "{} played: {started} of {} pods started; waits p50 {}, p99 {}; {} evictions; used: {}\n",
        human(report.end),
        ours().count(),
        wait(metrics.wait_p50),
        wait(metrics.wait_p99),
        metrics.evictions,
        if used.is_empty() {
            "–".to_owned()
        } else {
            used.join(", ")
        },
    )
}

fn human_span(span: Millis) -> String {
    human(seconds(span))
}

#[expect(clippy::cast_precision_loss, reason = "for the eye")]
fn seconds(span: Millis) -> f64 {
    span.0 as f64 / 1000.0
}

/// `0s`, `1.5s`, `10m`, `10m30s`, `1h05m`.
pub(super) fn human(seconds: f64) -> String {
    if seconds < 0.0 {
        return format!("-{}", human(-seconds));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "for the eye"
    )]
    let whole = seconds.round() as u64;
    match whole {
        0..60 => {
            let tenths = format!("{seconds:.1}");
            format!("{}s", tenths.strip_suffix(".0").unwrap_or(&tenths))
        }
        60..3600 if whole.is_multiple_of(60) => format!("{}m", whole / 60),
        60..3600 => format!("{}m{:02}s", whole / 60, whole % 60),
        _ => format!("{}h{:02}m", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        let cases = [
            (0.0, "0s"),
            (-630.0, "-10m30s"),
            (1.5, "1.5s"),
            (59.0, "59s"),
            (600.0, "10m"),
            (630.0, "10m30s"),
            (3900.0, "1h05m"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human(seconds), text);
        }
    }

    #[test]
    fn nodes_are_counted_and_the_first_is_named() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(nodes(&set(&[])), "–");
        assert_eq!(nodes(&set(&["a"])), "a");
        assert_eq!(nodes(&set(&["b", "a"])), "2: a …");
    }
}
