//! What edits change: two reports of the same, without the edits and with them.

use super::table::{self, human};
use super::{GangReport, PodReport, Report};
use muster_model::counted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What differs. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Who starts earlier, the most first.
    pub earlier: Vec<Change>,
    /// Who starts later, the most first.
    pub later: Vec<Change>,
    /// Who starts, and would not.
    pub starts: Vec<Change>,
    /// Who does not start, and would.
    pub waits: Vec<Change>,
    /// Who is evicted more often.
    pub evicted: Vec<Change>,
    /// Who is evicted less often.
    pub spared: Vec<Change>,
    /// Who is there with the edits only.
    pub added: Vec<Change>,
    /// Who is there without them only.
    pub removed: Vec<Change>,
}

/// A gang, or a pod by itself, without the edits and with them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// `PodGroup` or `Pod`.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its queue, with the edits.
    pub queue: Option<String>,
    /// When it starts without them.
    pub started_without: Option<f64>,
    /// When it starts with them.
    pub started_with: Option<f64>,
    /// How many of its pods are evicted without them.
    pub evictions_without: u32,
    /// How many are with them.
    pub evictions_with: u32,
}

/// Kind, namespace, name.
type Name = (&'static str, String, String);

#[derive(Clone, Default)]
struct Fate {
    queue: Option<String>,
    started: Option<f64>,
    evictions: u32,
}

/// Starts that are less far apart are the same.
const SAME: f64 = 0.0005;

/// What differs between the reports of the same without edits and with them.
#[must_use]
pub fn difference(without: &Report, with: &Report) -> Difference {
    let (before, after) = (fates(without), fates(with));
    let mut found = Difference::default();
    for (name, fate) in &after {
        let change = change(name, before.get(name), Some(fate));
        let Some(earlier) = before.get(name) else {
            found.added.push(change);
            continue;
        };
        match fate.evictions.cmp(&earlier.evictions) {
            std::cmp::Ordering::Greater => found.evicted.push(change.clone()),
            std::cmp::Ordering::Less => found.spared.push(change.clone()),
            std::cmp::Ordering::Equal => {}
        }
        match (earlier.started, fate.started) {
            (Some(one), Some(other)) if other < one - SAME => found.earlier.push(change),
            (Some(one), Some(other)) if other > one + SAME => found.later.push(change),
            (None, Some(_)) => found.starts.push(change),
            (Some(_), None) => found.waits.push(change),
            _ => {}
        }
    }
    let gone = before.iter().filter(|(name, _)| !after.contains_key(*name));
    let gone = gone.map(|(name, fate)| change(name, Some(fate), None));
    found.removed = gone.collect();
    let by = |one: &Change| {
        let (without, with) = (one.started_without, one.started_with);
        (with.unwrap_or(0.0) - without.unwrap_or(0.0)).abs()
    };
    for list in [&mut found.earlier, &mut found.later] {
        list.sort_by(|a, b| by(b).total_cmp(&by(a)));
    }
    found
}

fn change(name: &Name, without: Option<&Fate>, with: Option<&Fate>) -> Change {
    let none = Fate::default();
    let (kind, namespace, name) = name.clone();
    let (one, other) = (without.unwrap_or(&none), with.unwrap_or(&none));
    Change {
        kind,
        namespace,
        name,
        queue: other.queue.clone().or_else(|| one.queue.clone()),
        started_without: one.started,
        started_with: other.started,
        evictions_without: one.evictions,
        evictions_with: other.evictions,
    }
}

/// What became of all gangs, and of pods by themselves that are ours.
fn fates(report: &Report) -> BTreeMap<Name, Fate> {
    let mut fates = BTreeMap::new();
    for gang in &report.pod_groups {
        fates.insert(
            of_gang(gang),
            Fate {
                queue: Some(gang.queue.clone()),
                started: gang.scheduled_at,
                evictions: 0,
            },
        );
    }
    for pod in report.pods.iter().filter(|pod| !pod.ghost) {
        let gang = pod.pod_group.as_ref().map(|group| {
            let name = ("PodGroup", pod.namespace.clone(), group.clone());
            fates.entry(name).or_insert_with(|| of_pod(pod))
        });
        match gang {
            Some(fate) => fate.evictions += pod.evictions,
            None if pod.queue.is_some() => {
                let name = ("Pod", pod.namespace.clone(), pod.name.clone());
                let evictions = pod.evictions;
                fates.insert(
                    name,
                    Fate {
                        evictions,
                        ..of_pod(pod)
                    },
                );
            }
            None => {}
        }
    }
    fates
}

fn of_gang(gang: &GangReport) -> Name {
    ("PodGroup", gang.namespace.clone(), gang.name.clone())
}

fn of_pod(pod: &PodReport) -> Fate {
    Fate {
        queue: pod.queue.clone(),
        started: pod.first_bound_at,
        evictions: 0,
    }
}

/// Of each list so many are shown.
const MAX_SHOWN: usize = 15;

/// Writes the difference for people.
#[must_use]
pub fn difference_table(found: &Difference) -> String {
    let lists = [
        (&found.earlier, "earlier"),
        (&found.later, "later"),
        (&found.starts, "starts, and would wait"),
        (&found.waits, "waits, and would start"),
        (&found.evicted, "evicted more often"),
        (&found.spared, "evicted less often"),
        (&found.added, "only with the edits"),
        (&found.removed, "only without them"),
    ];
    let counts = lists.iter().filter(|(list, _)| !list.is_empty());
    let counts: Vec<String> = counts
        .map(|(list, words)| format!("{} {words}", list.len()))
        .collect();
    if counts.is_empty() {
        return "the edits change nobody's start and evict nobody\n".to_owned();
    }
    let header = [
        "who",
        "queue",
        "what the edits do",
        "started without",
        "started with",
        "evictions",
    ];
    let mut table = table::new_table(&header);
    let mut left_out = 0;
    for (list, words) in lists {
        for one in list.iter().take(MAX_SHOWN) {
            let at = |at: Option<f64>| at.map_or_else(|| "–".to_owned(), human);
            table.add_row(vec![
                format!("{} {}/{}", one.kind, one.namespace, one.name),
                one.queue.clone().unwrap_or_default(),
                words.to_owned(),
                at(one.started_without),
                at(one.started_with),
                format!("{} → {}", one.evictions_without, one.evictions_with),
            ]);
        }
        left_out += list.len().saturating_sub(MAX_SHOWN);
    }
    let mut text = format!("{table}\n");
    if left_out > 0 {
        let _ = writeln!(text, "… and {}", counted(left_out, "line") + " more");
    }
    let _ = writeln!(text, "> with the edits: {}", counts.join(", "));
    text
}
