//! The page's data, gathered from the report, the story and the scheduler's books.

use super::counts::counts;
use super::curves::{AllCurves, Curves};
use super::places::{PlacesData, places_data};
use super::queues::{QueueData, Tree};
use super::rows::{Candidate, Row, Rows, rows};
use crate::driver::Driver;
use crate::ledger::Ledger;
use crate::picture::Subject;
use crate::report::{Metrics, Report, queue, queue_exists};
use crate::server::Server;
use crate::story::{GangStory, Story};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// All that the page shows. Times are in milliseconds, worth is in thousandths of a core.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Data<'a> {
    title: &'a str,
    seed: u64,
    version: &'static str,
    /// It goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) live: bool,
    end: u64,
    half_life: u64,
    figures: Figures<'a>,
    queues: Vec<QueueData>,
    cluster: Curves,
    texts: Vec<String>,
    gangs: Vec<Row>,
    /// Null where there are no nodes, or too many.
    places: Option<PlacesData>,
    left_out: LeftOut,
    violations: &'a [String],
}

/// Figures over all, as the report has them, and those of gangs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures<'a> {
    gangs: usize,
    singles: usize,
    started: usize,
    preempted: usize,
    nodes: usize,
    #[serde(flatten)]
    metrics: &'a Metrics,
}

/// What is not in the page.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LeftOut {
    gangs: usize,
    curves: usize,
    /// Changes of curves within so many milliseconds are merged; zero: none.
    merged: u64,
}

/// Gathers it.
pub(super) fn data<'a>(driver: &'a Driver, report: &'a Report, subject: &'a Subject) -> Data<'a> {
    let (ledger, server) = (driver.ledger(), driver.server());
    let none = Story::default();
    let story = ledger.story.as_deref().unwrap_or(&none);
    let whys = whys(report);
    let named: Vec<String> = story
        .gangs
        .iter()
        .map(|gang| queue_of(gang, ledger, server))
        .collect();
    let tree = Tree::new(server, named.iter());
    let numbers = named.iter().map(|name| tree.number(name));
    let gangs: Vec<Candidate<'_>> = story
        .gangs
        .iter()
        .zip(numbers)
        .map(|(story, queue)| candidate(story, queue, ledger, &whys))
        .collect();
    let all = gangs.iter().map(|gang| (gang.story, gang.queue));
    let counts = counts(all, &tree.parents);
    let figures = figures(&gangs, driver, report);
    let Rows {
        rows,
        texts,
        places,
        left_out,
    } = rows(&gangs);
    let drawn = places_data(story, ledger, server, subject, &places);
    let mut curves = AllCurves::new(story, &counts, &tree.names);
    Data {
        title: &subject.files,
        seed: subject.seed,
        version: env!("CARGO_PKG_VERSION"),
        live: false,
        end: millis(report.end),
        half_life: half_life(driver),
        figures,
        cluster: curves.of(&story.books.cluster, counts.last()),
        queues: tree.queues(
            server,
            |name| queue_exists(driver, name),
            |name, number| curves.of_queue(story.books.queues.get(name), number, &counts),
        ),
        texts,
        gangs: rows,
        places: drawn,
        left_out: LeftOut {
            gangs: left_out,
            curves: curves.left_out(),
            merged: curves.merged,
        },
        violations: &report.violations,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was made from whole milliseconds"
)]
fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

fn half_life(driver: &Driver) -> u64 {
    let queues = driver
        .brain()
        .map(|brain| brain.scheduler().state().queues());
    queues.map_or(0, |queues| queues.half_life().0)
}

/// Why pods and gangs wait at the end, by namespace and name.
#[derive(Default)]
struct Whys<'a> {
    pods: BTreeMap<(&'a str, &'a str), &'a str>,
    gangs: BTreeMap<(&'a str, &'a str), &'a str>,
}

fn whys(report: &Report) -> Whys<'_> {
    let mut whys = Whys::default();
    for pod in &report.pods {
        if let Some(message) = pod.message.as_deref() {
            whys.pods.insert((&pod.namespace, &pod.name), message);
        }
    }
    for gang in &report.pod_groups {
        if let Some(message) = gang.message.as_deref() {
            whys.gangs.insert((&gang.namespace, &gang.name), message);
        }
    }
    whys
}

/// The queue that the scheduler found, or would have found.
fn queue_of(gang: &GangStory, ledger: &Ledger, server: &Server) -> String {
    if let Some((queue, _)) = &gang.standing {
        return queue.clone();
    }
    let named = match gang.single {
        Some(line) => ledger.pods[line].queue.clone(),
        None => {
            let line = ledger.gangs.get(&gang.key);
            line.and_then(|line| line.spec.as_ref()?.queue.clone())
        }
    };
    queue(named, &gang.key.namespace, server)
}

fn candidate<'a>(
    story: &'a GangStory,
    queue: usize,
    ledger: &'a Ledger,
    whys: &Whys<'a>,
) -> Candidate<'a> {
    let lines = story.lines.iter().map(|line| &ledger.pods[*line]);
    let nodes: BTreeSet<&str> = lines.filter_map(|line| line.node.as_deref()).collect();
    let (namespace, name, why) = match story.single {
        Some(line) => {
            let line = &ledger.pods[line];
            let found = whys
                .pods
                .get(&(line.namespace.as_str(), line.name.as_str()));
            (&line.namespace, &line.name, found)
        }
        None => {
            let key = &story.key;
            let found = whys.gangs.get(&(key.namespace.as_str(), key.name.as_str()));
            (&key.namespace, &key.name, found)
        }
    };
    Candidate {
        story,
        name: format!("{namespace}/{name}"),
        queue,
        nodes: nodes.len(),
        why: why.copied(),
    }
}

fn figures<'a>(gangs: &[Candidate<'_>], driver: &Driver, report: &'a Report) -> Figures<'a> {
    let count = |is: fn(&GangStory) -> bool| gangs.iter().filter(|gang| is(gang.story)).count();
    Figures {
        gangs: count(|gang| gang.single.is_none()),
        singles: count(|gang| gang.single.is_some()),
        started: count(|gang| gang.first_ran_at().is_some()),
        preempted: count(GangStory::was_preempted),
        nodes: driver.server().nodes().count(),
        metrics: &report.metrics,
    }
}
