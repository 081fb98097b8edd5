//! What there is to draw at a moment, apart from how it looks.

use super::palette::slots;
use super::slots::Seats;
use super::tree::{Chosen, Domain, grow};
use crate::driver::Driver;
use crate::report::{thousandths, why_gangs_wait};
use crate::server::Server;
use crate::story::{GangStory, State, Story};
use muster_model::units::Time;
use muster_model::{Amounts, Labels};
use std::collections::{BTreeMap, BTreeSet};

/// What the picture is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The names of the files.
    pub files: String,
    /// The seed.
    pub seed: u64,
    /// The Topology by whose domains it is drawn.
    pub topology: Option<String>,
}

/// A moment.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What it is of.
    pub subject: Subject,
    /// When.
    pub at: Time,
    /// By what the domains are.
    pub chosen: Chosen,
    /// The nodes, by name.
    pub nodes: Vec<NodeNow>,
    /// The nodes in their domains.
    pub tree: Domain,
    /// The gangs that are there, in the order of their submission.
    pub gangs: Vec<GangNow>,
    /// Pods on their own that have a node, and that wait.
    pub singles: [usize; 2],
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeNow {
    /// Its name.
    pub name: String,
    /// The resource of which the greatest part is taken.
    pub scarcest: String,
    /// What is taken of that, by whom, in thousandths of what the node offers; all together at most
    /// a thousand.
    pub parts: Vec<(Who, u32)>,
    /// Pods are on it beside those that are on every node.
    pub in_use: bool,
    /// It is its gang's alone.
    pub exclusive: bool,
    /// It takes no new pods.
    pub cordoned: bool,
    /// The free slots on it that are held, by their numbers.
    pub free_slots: Vec<String>,
    /// Who has which other slots of it.
    pub seats: Vec<(Who, String)>,
}

impl NodeNow {
    /// How much of its scarcest resource is taken, in thousandths.
    #[must_use]
    pub fn taken(&self) -> u32 {
        self.parts.iter().map(|(_, part)| part).sum()
    }
}

impl NodeNow {
    /// The numbers of the slots that somebody has on it.
    pub(super) fn seats_of(&self, who: Who) -> impl Iterator<Item = &str> {
        let seats = self.seats.iter().filter(move |(one, _)| *one == who);
        seats.map(|(_, label)| label.as_str())
    }
}

/// Who takes something of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// A gang, by its number in the order of submission.
    Gang(usize),
    /// Pods without a PodGroup.
    Single,
    /// Nobody: the ghosts of free slots.
    Slots,
    /// Pods of other schedulers, and such as are on every node.
    Other,
}

/// A gang that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GangNow {
    /// Its number in the order of submission.
    pub id: usize,
    /// Namespace and name.
    pub name: String,
    /// Its colour and pattern, once it had a place.
    pub slot: Option<usize>,
    /// Members on nodes.
    pub bound: u32,
    /// How many must be.
    pub min: u32,
    /// Its nodes.
    pub nodes: usize,
    /// How far two members are from each other at most.
    pub hops: Option<u32>,
    /// What its placements left free on nodes that they opened, in thousandths of a core's worth.
    pub lost: Option<u64>,
    /// It has all that it must have.
    pub runs: bool,
    /// Why it waits.
    pub why: Option<String>,
}

impl Scene {
    /// What the driver has now. It must have taken a story down.
    pub(super) fn of(driver: &Driver, subject: &Subject, at: Time) -> Self {
        let (server, ledger) = (driver.server(), driver.ledger());
        let none = Story::default();
        let story = ledger.story.as_deref().unwrap_or(&none);
        let chosen = Chosen::of(server, subject.topology.as_deref());
        let labelled: Vec<(&str, &Labels)> = server
            .nodes()
            .map(|node| (node.name.as_str(), &node.labels))
            .collect();
        let tree = grow(&labelled, &chosen.levels);
        let numbers = numbers(&story.gangs);
        let mut on: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        let mut loads: BTreeMap<&str, Load<'_>> = BTreeMap::new();
        let seats = Seats::of(server);
        for pod in server.pods().filter(|pod| pod.takes_room()) {
            let Some(node) = pod.spec.node.as_deref() else {
                continue;
            };
            let gang = story.gang_of(pod.line).filter(|_| !pod.spec.daemon);
            let who = match gang {
                Some(id) if story.gangs[id].single.is_some() => Who::Single,
                Some(id) => {
                    on.entry(id).or_default().insert(node);
                    Who::Gang(numbers[id])
                }
                None if pod.spec.ghost_of.is_some() => Who::Slots,
                None => Who::Other,
            };
            let load = loads.entry(node).or_default();
            load.in_use |= !pod.spec.daemon;
            load.exclusive |= server.is_exclusive(pod);
            match seats.get(&pod.spec.key.namespace, &pod.spec.key.name) {
                Some(seat) if who == Who::Slots && seat.free => load.free_slots.push(&seat.label),
                Some(seat) if who != Who::Slots => load.seats.push((who, &seat.label)),
                _ => {}
            }
            load.takes.push((who, &pod.spec.shape.requests));
        }
        Self {
            subject: subject.clone(),
            at,
            nodes: nodes(server, &loads),
            chosen,
            tree,
            gangs: gangs(driver, story, &numbers, &on),
            singles: singles(&story.gangs),
        }
    }
}

/// By gang of a story: its number among those that have a PodGroup, from 1.
pub fn numbers(gangs: &[GangStory]) -> Vec<usize> {
    let mut count = 0;
    let number = |gang: &GangStory| {
        count += usize::from(gang.single.is_none());
        count
    };
    gangs.iter().map(number).collect()
}

/// What is on a node.
#[derive(Default)]
struct Load<'a> {
    takes: Vec<(Who, &'a Amounts)>,
    in_use: bool,
    exclusive: bool,
    free_slots: Vec<&'a str>,
    seats: Vec<(Who, &'a str)>,
}

fn nodes(server: &Server, loads: &BTreeMap<&str, Load<'_>>) -> Vec<NodeNow> {
    let none = Load::default();
    let node = server.nodes().map(|node| {
        let load = loads.get(node.name.as_str()).unwrap_or(&none);
        let (scarcest, parts) = parts(&node.allocatable, &load.takes);
        NodeNow {
            name: node.name.clone(),
            scarcest,
            parts,
            in_use: load.in_use,
            exclusive: load.exclusive,
            cordoned: node.unschedulable,
            free_slots: load.free_slots.iter().map(ToString::to_string).collect(),
            seats: load
                .seats
                .iter()
                .map(|(who, label)| (*who, (*label).to_owned()))
                .collect(),
        }
    });
    node.collect()
}

/// Of which resource the greatest part is taken, and who has taken how many thousandths of it. Of
/// resources that are equally scarce it is the first, and `pods` is the last.
fn parts(offers: &Amounts, takes: &[(Who, &Amounts)]) -> (String, Vec<(Who, u32)>) {
    let offered = |pods: bool| {
        offers
            .iter()
            .filter(move |(name, _)| (name == "pods") == pods)
    };
    let mut best: Option<(&str, i128, i128)> = None;
    for (name, offer) in offered(false)
        .chain(offered(true))
        .filter(|(_, offer)| *offer > 0)
    {
        let used = takes.iter().map(|(_, amounts)| taken(amounts, name)).sum();
        let offer = i128::from(*offer);
        if best.is_none_or(|(_, most, of)| used * of > most * offer) {
            best = Some((name, used, offer));
        }
    }
    let Some((name, used, offer)) = best else {
        return (String::new(), Vec::new());
    };
    let mut by_who: BTreeMap<Who, i128> = BTreeMap::new();
    for (who, amounts) in takes {
        *by_who.entry(*who).or_default() += taken(amounts, name);
    }
    // Rounded as sums, so that a full node is full.
    let of = used.max(offer).max(1);
    let (mut sum, mut before) = (0, 0);
    let mut parts = Vec::new();
    for (who, amount) in by_who {
        sum += amount;
        let end = u32::try_from(sum * 1_000 / of).unwrap_or(1_000);
        parts.push((who, end - before));
        before = end;
    }
    (name.to_owned(), parts)
}

/// What a pod takes of a resource: of `pods` it is one.
fn taken(amounts: &Amounts, name: &str) -> i128 {
    if name == "pods" {
        return 1;
    }
    let found = amounts.iter().find(|(one, _)| one == name);
    found.map_or(0, |(_, amount)| i128::from((*amount).max(0)))
}

fn gangs(
    driver: &Driver,
    story: &Story,
    numbers: &[usize],
    on: &BTreeMap<usize, BTreeSet<&str>>,
) -> Vec<GangNow> {
    let ledger = driver.ledger();
    let (slots, whys) = (slots(&story.gangs), why_gangs_wait(driver));
    let there = story.gangs.iter().enumerate();
    let there = there.filter(|(_, gang)| gang.single.is_none() && !gang.is_over());
    let now = there.map(|(id, gang)| {
        let line = ledger.gangs.get(&gang.key);
        let nodes = on.get(&id).map_or(0, BTreeSet::len);
        let runs = gang.state() == State::Running;
        GangNow {
            id: numbers[id],
            name: format!("{}/{}", gang.key.namespace, gang.key.name),
            slot: slots[id],
            bound: line.map_or(0, |line| line.total().bound),
            min: gang.min,
            nodes,
            hops: line.and_then(|line| line.max_hops).filter(|_| nodes > 0),
            lost: line
                .and_then(|line| line.lost)
                .map(thousandths)
                .filter(|_| nodes > 0),
            runs,
            why: whys.get(&gang.key).filter(|_| !runs).cloned(),
        }
    });
    now.collect()
}

/// Pods on their own that have a node, and that wait.
fn singles(gangs: &[GangStory]) -> [usize; 2] {
    let count = |runs: bool| {
        let singles = gangs
            .iter()
            .filter(|gang| gang.single.is_some() && !gang.is_over());
        singles
            .filter(|gang| (gang.state() == State::Running) == runs)
            .count()
    };
    [count(true), count(false)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(pairs: &[(&str, i64)]) -> Amounts {
        let pairs = pairs.iter();
        pairs
            .map(|(name, amount)| ((*name).to_owned(), *amount))
            .collect()
    }

    #[test]
    fn a_node_is_as_full_as_its_scarcest_resource() {
        let offers = amounts(&[("cpu", 4_000), ("memory", 100), ("pods", 10)]);
        let (first, second) = (
            amounts(&[("cpu", 1_000), ("memory", 50)]),
            amounts(&[("cpu", 500), ("memory", 25)]),
        );
        let takes = [
            (Who::Gang(2), &first),
            (Who::Single, &second),
            (Who::Gang(2), &second),
        ];
        let (scarcest, parts) = parts(&offers, &takes);
        assert_eq!(scarcest, "memory");
        assert_eq!(parts, [(Who::Gang(2), 750), (Who::Single, 250)]);
    }

    #[test]
    fn an_empty_node_shows_what_it_has_and_one_that_shrank_is_full() {
        let offers = amounts(&[("pods", 10), ("cpu", 2)]);
        assert_eq!(parts(&offers, &[]), ("cpu".to_owned(), Vec::new()));
        let much = amounts(&[("cpu", 3)]);
        let takes = [(Who::Gang(1), &much), (Who::Other, &much)];
        assert_eq!(
            parts(&offers, &takes).1,
            [(Who::Gang(1), 500), (Who::Other, 500)]
        );
        assert_eq!(parts(&Amounts::new(), &takes), (String::new(), Vec::new()));
    }

    #[test]
    fn who_asks_for_nothing_counts_as_a_pod() {
        let offers = amounts(&[("cpu", 2), ("pods", 10)]);
        let none = Amounts::new();
        let (scarcest, parts) = parts(&offers, &[(Who::Single, &none)]);
        assert_eq!(
            (scarcest.as_str(), parts),
            ("pods", vec![(Who::Single, 100)])
        );
    }
}
