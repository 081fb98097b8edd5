//! The search through a graph: groups of ports, all within a reach of each other.
//!
//! Which reach is the smallest that holds the members is hard to say for sure, but between two bounds.
//! Let `v` be the smallest distance within which some port has enough room around it. No set of nodes
//! with a smaller reach has room for all; and as everything within `v` of a port is within `2v` of each
//! other, there is one of reach `2v`. What is between is tried from the smallest reach on. So what is
//! found reaches at most twice as far as the best there is, and where being near is the same for all of
//! a neighbourhood, as in a tree whose hosts are equally deep, it is the best.

use super::capacity::Capacity;
use super::clique::{Goal, Near, members};
use super::spot::{Candidate, Group, Shortlist, Spot};
use super::wanted::{Rooms, Steps, Wanted};
use crate::state::{Graph, Id, NO_PATH, NodeId, NodeSet, PortId, Reach};
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// How many reaches are tried one by one before the bound that is sure.
const STEPS: u32 = 16;
/// After so many reaches in vain, although there seemed to be room, the next is at least twice as far.
const PATIENCE: u32 = 4;
/// How many groups are compared at most that have room.
const FOUND: usize = 64;
/// How much work is spent at most on the groups of one reach, but for the first of them.
const WORK: usize = 1 << 25;
/// The same for looking through all of them.
const WORK_ON_ALL: u64 = 1 << 20;
/// Among how many ports all groups are looked through.
const MAX_ON_ALL: usize = 1_024;
/// Around how many ports those who find no place are told what comes closest.
const CENTRES: usize = 8;

/// The ports that come into question.
pub(super) struct Ports {
    /// Nodes with members.
    held: Vec<NodeId>,
    on: BTreeMap<PortId, NodeId>,
    /// How far these are apart.
    least: Reach,
    cap: Reach,
    /// Those with room.
    roomy: Vec<Entry>,
    /// The smallest distance within which there is enough room around a port, and that port.
    lower: OnceCell<Option<(Reach, PortId)>>,
}

/// A port.
#[derive(Clone, Debug)]
struct Entry {
    port: PortId,
    /// The room for each shape.
    rooms: Vec<u64>,
    /// The farthest of those who run.
    away: Reach,
    /// The only node that counts: two of this port would be too far from each other.
    only: Option<NodeId>,
}

/// What the members need, of the room in ports.
struct Enough<'a>(&'a Rooms, &'a [Entry]);

impl Enough<'_> {
    /// The room in some ports, and whether it may be enough.
    fn judge(&self, ports: &mut dyn Iterator<Item = usize>) -> (u64, bool) {
        let mut sums = vec![0; self.0.by_shape.len()];
        ports.for_each(|one| add(&mut sums, &self.1[one].rooms));
        self.0.judge(sums.into_iter())
    }
}

impl Goal for Enough<'_> {
    fn is_met(&self, set: &mut dyn Iterator<Item = usize>) -> bool {
        self.judge(set).1
    }
}

fn add(sums: &mut [u64], rooms: &[u64]) {
    for (sum, room) in sums.iter_mut().zip(rooms) {
        *sum += room;
    }
}

impl Ports {
    /// Those near nodes on which members run, inside a set of nodes.
    pub(super) fn new(
        graph: &Graph,
        rooms: &Rooms,
        on: impl Iterator<Item = NodeId>,
        inside: Option<&NodeSet>,
        at_most: Option<Reach>,
    ) -> Self {
        let held: BTreeSet<NodeId> = on.collect();
        let ports = held.iter().map(|node| Some((graph.port_of(*node)?, *node)));
        let ports: Option<BTreeMap<PortId, NodeId>> = ports.collect();
        let least = graph.hops(held.iter().copied());
        let mut this = Self {
            held: held.into_iter().collect(),
            least: least.unwrap_or(NO_PATH),
            cap: at_most.unwrap_or(NO_PATH).min(NO_PATH - 1),
            on: BTreeMap::new(),
            roomy: Vec::new(),
            lower: OnceCell::new(),
        };
        // Who has no port is near nobody.
        if let Some(on) = ports {
            this.on = on;
            this.roomy = this.entries(graph, rooms, inside);
            this.roomy
                .retain(|one| one.rooms.iter().any(|room| *room > 0));
        }
        this
    }

    /// The nodes on which members run.
    pub(super) fn held(&self) -> &[NodeId] {
        &self.held
    }

    /// All ports that are near enough to those who run.
    fn entries(&self, graph: &Graph, rooms: &Rooms, inside: Option<&NodeSet>) -> Vec<Entry> {
        let inhabited = graph.ports().filter(|(_, port)| port.size > 0);
        let entry = |(id, port): (PortId, &crate::state::Port)| {
            let others = self.on.keys().filter(|other| **other != id);
            let away = others.map(|other| graph.between(id, *other)).max();
            let away = away.unwrap_or(0);
            let part = inside.filter(|among| !port.nodes.is_within(among));
            let room = |(capacity, _): &(std::sync::Arc<Capacity>, u64)| match part {
                Some(among) => capacity.on(port.nodes.iter().filter(|one| among.contains(*one))),
                None => capacity.of_port(id),
            };
            (away <= self.cap).then(|| Entry {
                port: id,
                rooms: rooms.by_shape.iter().map(room).collect(),
                away,
                only: None,
            })
        };
        inhabited.filter_map(entry).collect()
    }

    /// What of some ports counts at a reach.
    fn at(&self, graph: &Graph, wanted: &Wanted<'_>, all: &[Entry], reach: Reach) -> Vec<Entry> {
        let near = all.iter().filter(|one| one.away <= reach);
        let part = |one: &Entry| {
            if graph.between(one.port, one.port) <= reach {
                return Some(one.clone());
            }
            let nodes = &graph.port(one.port)?.nodes;
            let here = self.on.get(&one.port);
            let nodes = nodes
                .iter()
                .filter(|node| wanted.is_inside(*node) && here.is_none_or(|here| here == node));
            let room = |node: NodeId| wanted.rooms.sum(|one| one.of_node(node)).0;
            let best = nodes.map(|node| (room(node), Reverse(node))).max();
            let (_, Reverse(node)) = best?;
            let rooms = wanted.rooms.by_shape.iter();
            let rooms = rooms.map(|(one, _)| one.of_node(node));
            Some(Entry {
                rooms: rooms.collect(),
                only: Some(node),
                ..*one
            })
        };
        near.filter_map(part).collect()
    }

    /// The groups that may hold the members at the next reach at which there are any.
    pub(super) fn next(
        &self,
        graph: &Graph,
        wanted: &Wanted<'_>,
        steps: &Steps,
    ) -> Option<(Reach, Vec<Candidate>)> {
        let lower = self.lower.get_or_init(|| self.lower(graph, &wanted.rooms));
        let (lower, centre) = (*lower)?;
        let mut reach = match steps.last {
            None | Some(0) => lower.max(self.least).max(1),
            Some(last) => {
                let next = self.step_after(graph, last)?;
                let far = steps.tried > PATIENCE;
                next.max(if far {
                    self.cap.min(last.saturating_mul(2))
                } else {
                    0
                })
            }
        };
        let sure = self.cap.min(lower.saturating_mul(2));
        for step in 0..STEPS + 4 {
            if reach > self.cap {
                return None;
            }
            let found = self.groups(graph, wanted, reach, centre);
            if !found.is_empty() {
                return Some((reach, found));
            }
            let next = self.step_after(graph, reach)?;
            reach = next.max(if step >= STEPS { sure } else { 0 });
        }
        None
    }

    /// The smallest distance within which there is enough room around a port.
    fn lower(&self, graph: &Graph, rooms: &Rooms) -> Option<(Reach, PortId)> {
        let mut best: Option<(Reach, PortId)> = None;
        let mut around: Vec<(Reach, usize)> = Vec::new();
        for centre in &self.roomy {
            // What is as far as what is known already is of no interest.
            let below = best.map_or(self.cap.saturating_add(1), |(known, _)| known);
            around.clear();
            let mut sums = centre.rooms.clone();
            for (index, one) in self.roomy.iter().enumerate() {
                let far = graph.between(centre.port, one.port).max(one.away);
                if one.port != centre.port && far < below {
                    around.push((far, index));
                    add(&mut sums, &one.rooms);
                }
            }
            if !rooms.judge(sums.into_iter()).1 {
                continue;
            }
            around.sort_unstable();
            let inner = graph.between(centre.port, centre.port);
            let mut sums = centre.rooms.clone();
            let mut within = None;
            if rooms.judge(sums.iter().copied()).1 {
                let nearest = around.first().map_or(NO_PATH, |(far, _)| *far);
                within = Some(inner.min(nearest));
            }
            for (far, index) in &around {
                if within.is_some() {
                    break;
                }
                add(&mut sums, &self.roomy[*index].rooms);
                within = rooms.judge(sums.iter().copied()).1.then_some(*far);
            }
            let within = within.map(|far| far.max(centre.away));
            if let Some(within) = within.filter(|far| *far < below) {
                best = Some((within, centre.port));
            }
        }
        best
    }

    /// The next reach at which more ports are near each other.
    fn step_after(&self, graph: &Graph, reach: Reach) -> Option<Reach> {
        let mut next = NO_PATH;
        let mut see = |far: Reach| {
            if far > reach && far < next {
                next = far;
            }
        };
        for (index, one) in self.roomy.iter().enumerate() {
            see(one.away);
            let others = self.roomy[..=index].iter();
            others.for_each(|other| see(graph.between(one.port, other.port)));
        }
        (next != NO_PATH).then_some(next)
    }

    /// The groups of a reach that may hold the members, those with least room beyond that first.
    fn groups(
        &self,
        graph: &Graph,
        wanted: &Wanted<'_>,
        reach: Reach,
        first: PortId,
    ) -> Vec<Candidate> {
        let ports = self.at(graph, wanted, &self.roomy, reach);
        let enough = Enough(&wanted.rooms, &ports);
        let mut near = Near::new(ports.len());
        for (index, one) in ports.iter().enumerate() {
            for (before, other) in ports[..index].iter().enumerate() {
                if graph.between(one.port, other.port) <= reach {
                    near.join(index, before);
                }
            }
        }
        let mut best = Shortlist::new(wanted.rooms.needed);
        let mut seen: BTreeSet<Vec<usize>> = BTreeSet::new();
        let mut alike = vec![false; ports.len()];
        let mut work = 0;
        let mut note = |mut group: Vec<usize>, centre: usize| {
            let (room, holds) = enough.judge(&mut group.iter().copied());
            group.sort_unstable();
            if holds && seen.insert(group.clone()) {
                let spot = || Spot::Group(group_of(&ports, &group, centre));
                best.add(room, ports[centre].port.index(), spot);
            }
            seen.len()
        };
        let start = ports.iter().position(|one| one.port == first);
        let mut found = 0;
        for centre in start.into_iter().chain(0..ports.len()) {
            if alike[centre] || found == FOUND || work > WORK {
                continue;
            }
            alike[centre] = true;
            let row = near.row(centre);
            let mut order: Vec<usize> = members(row).collect();
            work += order.len();
            if !enough.is_met(&mut order.iter().copied()) {
                continue;
            }
            let far = |one: &usize| match *one == centre {
                true => 0,
                false => graph.between(ports[centre].port, ports[*one].port),
            };
            order.sort_by_cached_key(|one| (far(one), *one));
            let all = order.len();
            let group = near.grow(order);
            work += group.len() * row.len();
            if group.len() == all {
                // Whoever has the same neighbours has the same group.
                group
                    .iter()
                    .filter(|one| near.row(**one) == row)
                    .for_each(|one| alike[*one] = true);
            }
            found = note(group, centre);
        }
        if found == 0
            && ports.len() <= MAX_ON_ALL
            && let Some(core) = near.search(&enough, WORK_ON_ALL)
            && let Some(centre) = core.first().copied()
        {
            note(near.grow(core.into_iter().chain(0..ports.len())), centre);
        }
        best.take()
    }

    /// The group of the greatest reach that has room for most members, whether for all or not.
    pub(super) fn fullest(&self, graph: &Graph, wanted: &Wanted<'_>) -> Option<Group> {
        if self.least > self.cap || self.on.is_empty() != self.held.is_empty() {
            return None;
        }
        let all = self.entries(graph, &wanted.rooms, wanted.inside);
        let ports = self.at(graph, wanted, &all, self.cap);
        let enough = Enough(&wanted.rooms, &ports);
        let is_near = |one: usize, other: usize| {
            one == other || graph.between(ports[one].port, ports[other].port) <= self.cap
        };
        let around = |centre: usize| (0..ports.len()).filter(move |one| is_near(centre, *one));
        let has_room = |one: &usize| ports[*one].rooms.iter().any(|room| *room > 0);
        let roomy: Vec<usize> = (0..ports.len()).filter(has_room).collect();
        let room = |centre: usize| {
            let near = roomy.iter().filter(|one| is_near(centre, **one));
            enough.judge(&mut near.copied()).0
        };
        // Where there is no room at all, the first will do.
        let alone = (roomy.is_empty() && !ports.is_empty()).then_some(0);
        let centres = roomy.iter().copied().chain(alone);
        let mut centres: Vec<(Reverse<u64>, usize)> =
            centres.map(|one| (Reverse(room(one)), one)).collect();
        centres.sort_unstable();
        let mut best: Option<(u64, Group)> = None;
        for (_, centre) in centres.into_iter().take(CENTRES) {
            let mut order: Vec<usize> = around(centre).collect();
            let far = |one: usize| graph.between(ports[centre].port, ports[one].port);
            order.sort_by_cached_key(|one| (*one != centre, far(*one), *one));
            let mut near = Near::new(order.len());
            for index in 0..order.len() {
                let before = (0..index).filter(|other| is_near(order[index], order[*other]));
                before.for_each(|other| near.join(index, other));
            }
            let group = near.grow(0..order.len());
            let group: Vec<usize> = group.into_iter().map(|index| order[index]).collect();
            let (room, _) = enough.judge(&mut group.iter().copied());
            if best.as_ref().is_none_or(|(most, _)| room > *most) {
                best = Some((room, group_of(&ports, &group, centre)));
            }
        }
        best.map(|(_, group)| group)
    }
}

fn group_of(ports: &[Entry], group: &[usize], centre: usize) -> Group {
    let port = |one: &usize| (ports[*one].port, ports[*one].only);
    Group {
        centre: group.iter().position(|one| *one == centre).unwrap_or(0),
        ports: group.iter().map(port).collect(),
    }
}
