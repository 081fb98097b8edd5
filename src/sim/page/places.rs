//! Who was on which node when, for the picture of the cluster that moves through time.

use crate::ledger::Ledger;
use crate::picture::layout::{Sheet, lay_out};
use crate::picture::palette::slots;
use crate::picture::tree::{Chosen, grow};
use crate::picture::{Subject, numbers};
use crate::report::thousandths;
use crate::server::Server;
use crate::story::{Places, Story};
use muster_model::units::Time;
use muster_model::{Amounts, Labels};
use serde::Serialize;
use std::collections::BTreeMap;

/// How wide the sheet is; the page draws it as wide as it has room.
const WIDTH: u32 = 900;
/// So many bytes the nodes may have, by and large; where they are more, they are not drawn.
const MAX_NODE_BYTES: usize = 3_000_000;
/// So many who was where: what is more is left out from a time on.
const MAX_STAY_BYTES: usize = 3_000_000;
/// So many letters of a node's name are in the page.
const MAX_NAME: usize = 100;

/// Where the nodes are on the sheet, what they were and who was on them. Numbers of nodes are places
/// in `nodes`; what has no end has -1.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlacesData {
    /// By what the domains are.
    words: String,
    width: u32,
    height: u32,
    /// Width, height and head of a cell.
    size: [u32; 3],
    per_cell: usize,
    frames: Vec<FrameRow>,
    cells: Vec<CellRow>,
    nodes: Vec<String>,
    resources: Vec<String>,
    /// Resource and amount, in turn.
    offers: Vec<Vec<i64>>,
    /// Node, from, to, offers, 1 where it is cordoned: of each.
    presences: Vec<i64>,
    /// 1 where it wants the node alone, 2 where such a pod is on every node; then resource and
    /// amount, in turn.
    takes: Vec<Vec<i64>>,
    /// Node, from, to, row of the gang (-1: it has none, -2: others' pods), takes, pods: of each.
    stays: Vec<i64>,
    /// From when on not everything is there.
    full_at: Option<u64>,
    /// By row: number, colour (-1: it never had a place), hops and thousandths of a core's worth of
    /// lost opportunity as they were last, -1 where there are none.
    marks: Vec<[i64; 4]>,
}

/// A domain: x, y, width, height, depth, label, first node, nodes.
#[derive(Debug, Serialize)]
struct FrameRow(u32, u32, u32, u32, usize, String, usize, usize);

/// Nodes: x, y, label or nothing, first node, nodes.
#[derive(Debug, Serialize)]
struct CellRow(u32, u32, Option<String>, usize, usize);

/// Gathers it; `rows` is by gang: its row, or -1. `None` where there is nothing to draw, or too much.
pub(super) fn places_data(
    story: &Story,
    ledger: &Ledger,
    server: &Server,
    subject: &Subject,
    rows: &[i64],
) -> Option<PlacesData> {
    let places = &story.places;
    let chosen = Chosen::of(server, subject.topology.as_deref());
    // Nodes that only a pod spoke of are not drawn.
    let mut there = vec![false; places.nodes.len()];
    for presence in &places.presences {
        there[presence.node] = true;
    }
    let there: Vec<usize> = (0..there.len()).filter(|node| there[*node]).collect();
    let nodes = there.iter().map(|node| &places.nodes[*node]);
    let nodes: Vec<(&str, &Labels)> = nodes
        .map(|(name, labels)| (name.as_str(), labels))
        .collect();
    let names: usize = nodes
        .iter()
        .map(|(name, _)| name.len().min(MAX_NAME) + 3)
        .sum();
    if nodes.is_empty() || names + 26 * places.presences.len() > MAX_NODE_BYTES {
        return None;
    }
    let sheet = lay_out(&grow(&nodes, &chosen.levels), WIDTH);
    let mut at = vec![-1; places.nodes.len()];
    for (place, node) in (0..).zip(&sheet.nodes) {
        at[there[*node]] = place;
    }
    let mut resources = Resources::default();
    let offers = places
        .offers
        .iter()
        .map(|one| resources.amounts(one))
        .collect();
    let takes = places.takes.iter().map(|one| {
        let flags = i64::from(one.exclusive) + 2 * i64::from(one.daemon);
        let amounts = resources.amounts(&one.requests);
        std::iter::once(flags).chain(amounts).collect()
    });
    let takes = takes.collect();
    let (stays, full_at) = stays(places, &at, rows);
    Some(PlacesData {
        words: chosen.words,
        width: sheet.width,
        height: sheet.height,
        size: [sheet.size.width, sheet.size.height, sheet.size.head],
        per_cell: sheet.per_cell,
        frames: frames(&sheet),
        cells: cells(&sheet),
        nodes: {
            let names = sheet.nodes.iter().map(|node| nodes[*node].0);
            names
                .map(|name| name.chars().take(MAX_NAME).collect())
                .collect()
        },
        offers,
        presences: presences(places, &at),
        takes,
        stays,
        full_at: full_at.map(|at| at.0),
        marks: marks(story, ledger, rows),
        resources: resources.names,
    })
}

fn frames(sheet: &Sheet) -> Vec<FrameRow> {
    let frames = sheet.frames.iter();
    let frame = frames.map(|one| {
        let [x, y, width, height] = [one.x, one.y, one.width, one.height];
        let label = one.label.clone();
        FrameRow(x, y, width, height, one.depth, label, one.first, one.count)
    });
    frame.collect()
}

fn cells(sheet: &Sheet) -> Vec<CellRow> {
    let cells = sheet.cells.iter();
    let cell = cells.map(|one| CellRow(one.x, one.y, one.label.clone(), one.first, one.count));
    cell.collect()
}

fn millis(at: Time) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn presences(places: &Places, at: &[i64]) -> Vec<i64> {
    let flat = places.presences.iter().flat_map(|one| {
        [
            at[one.node],
            millis(one.from),
            one.to.map_or(-1, millis),
            number(one.offers),
            i64::from(one.cordoned),
        ]
    });
    flat.collect()
}

/// Pods that came together, went together and took the same are one; in the order of their coming,
/// until there are too many.
fn stays(places: &Places, at: &[i64], rows: &[i64]) -> (Vec<i64>, Option<Time>) {
    let mut counts: BTreeMap<[i64; 5], i64> = BTreeMap::new();
    for stay in &places.stays {
        let row = stay
            .gang
            .map_or(-2, |gang| rows.get(gang).copied().unwrap_or(-1));
        let (node, to) = (at[stay.node], stay.to.map_or(-1, millis));
        if node >= 0 {
            let key = [millis(stay.from), node, to, row, number(stay.takes)];
            *counts.entry(key).or_default() += 1;
        }
    }
    let (mut flat, mut bytes, mut full_at) = (Vec::new(), 0, places.full_at);
    for ([from, node, to, row, takes], count) in counts {
        let stay = [node, from, to, row, takes, count];
        let digits = |one: &i64| {
            one.unsigned_abs()
                .checked_ilog10()
                .map_or(2, |log| log as usize + 2)
        };
        bytes += stay.iter().map(digits).sum::<usize>();
        if bytes > MAX_STAY_BYTES {
            let from = Time(u64::try_from(from).unwrap_or(0));
            full_at = Some(full_at.map_or(from, |at| at.min(from)));
            break;
        }
        flat.extend(stay);
    }
    (flat, full_at)
}

fn marks(story: &Story, ledger: &Ledger, rows: &[i64]) -> Vec<[i64; 4]> {
    let (numbers, slots) = (numbers(&story.gangs), slots(&story.gangs));
    let shown = rows.iter().filter(|row| **row >= 0).count();
    let mut marks = vec![[-1; 4]; shown];
    for (id, gang) in story.gangs.iter().enumerate() {
        let mark = usize::try_from(rows[id])
            .ok()
            .and_then(|row| marks.get_mut(row));
        let Some(mark) = mark.filter(|_| gang.single.is_none()) else {
            continue;
        };
        let line = ledger.gangs.get(&gang.key);
        let lost = line.and_then(|line| line.lost).map(thousandths);
        *mark = [
            number(numbers[id]),
            slots[id].map_or(-1, number),
            line.and_then(|line| line.max_hops).map_or(-1, i64::from),
            lost.map_or(-1, |lost| i64::try_from(lost).unwrap_or(i64::MAX)),
        ];
    }
    marks
}

/// Resources by number.
#[derive(Default)]
struct Resources {
    names: Vec<String>,
}

impl Resources {
    fn amounts(&mut self, amounts: &Amounts) -> Vec<i64> {
        let mut flat = Vec::with_capacity(2 * amounts.len());
        for (name, amount) in amounts {
            let found = self.names.iter().position(|one| one == name);
            let found = found.unwrap_or_else(|| {
                self.names.push(name.clone());
                self.names.len() - 1
            });
            flat.extend([number(found), *amount]);
        }
        flat
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::Takes;

    fn pods(story: &mut Story, count: usize, each: impl Fn(usize) -> Time) {
        for line in 0..count {
            story.takes(line, "n", &Takes::default(), each(line));
        }
    }

    #[test]
    fn pods_that_come_and_go_together_are_one() {
        let mut story = Story::default();
        pods(&mut story, 3, |_| Time(5));
        story.places.leave(2, Time(9));
        let (stays, full_at) = stays(&story.places, &[0], &[]);
        assert_eq!(stays, [0, 5, -1, -2, 0, 2, 0, 5, 9, -2, 0, 1]);
        assert_eq!(full_at, None);
    }

    #[test]
    fn of_too_many_the_first_are_there_and_it_is_said_from_when_on_they_are_not() {
        let mut story = Story::default();
        pods(&mut story, 190_000, |line| {
            Time(1_000_000_000 + line as u64)
        });
        let (stays, full_at) = stays(&story.places, &[0], &[]);
        let count = stays.len() / 6;
        assert!((100_000..180_000).contains(&count), "{count}");
        assert_eq!(full_at, Some(Time(1_000_000_000 + count as u64)));
    }
}
