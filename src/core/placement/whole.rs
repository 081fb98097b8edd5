//! All members of a demand at once, where amounts alone decide: a placement that was found one by one
//! is bettered, and what found none in any order is searched for.
//!
//! Everybody else is left alone: one member, equal members on one kind of free nodes, or among more
//! nodes than are looked at. Equal members that lose nothing are put on fewer nodes by a way of their own
//! (`fewest.rs`). What is searched is bounded for each demand and for each cycle.

use super::Placer;
use super::demand::Demand;
use super::domain::Domain;
use super::improve::improve;
use super::lost::Lost;
use super::puzzle::Puzzle;
use crate::framework::Profile;
use crate::plugins::registry::packs;
use crate::state::{ClusterState, NodeId};
use crate::transaction::{Assumed, Checkpoint, Statement};
use muster_exact::{Effort, Goal, Layout, solve};
use muster_model::PackingCounts;
use muster_model::resources::{Dimension, PRICE_BITS};
use std::collections::BTreeMap;

/// Among so many nodes a placement is replaced by the best one, if that is found in time.
const EXACT_NODES: usize = 256;
/// Among so many it is bettered, where members differ.
const IMPROVED_NODES: usize = 1_024;
/// Among so many a way to place unequal members is searched for, when both orders failed.
const RESCUE_NODES: usize = 1_024;

/// How much is done for one placement ...
const EXACT_EFFORT: u64 = 200_000;
const IMPROVE_EFFORT: u64 = 50_000;
const RESCUE_EFFORT: u64 = 300_000;
/// ... and in a cycle: some tens of milliseconds.
const CYCLE_EFFORT: u64 = 2_000_000;
/// So many nodes are looked at in a cycle for equal members that would lose nothing on fewer nodes either,
/// where there are many: a millisecond at most.
const CYCLE_LOOKS: u64 = 20_000;

/// What may be done in the cycle still, each kind by itself: what is only asked does not take from what
/// is decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    better: Effort,
    rescue: Effort,
    ask: Effort,
    looks: Effort,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            better: Effort::new(CYCLE_EFFORT),
            rescue: Effort::new(CYCLE_EFFORT),
            ask: Effort::new(CYCLE_EFFORT),
            looks: Effort::new(CYCLE_LOOKS),
        }
    }
}

impl Budget {
    /// Whether the next demand might not get all that one gets.
    pub(super) const fn is_spent(&self) -> bool {
        self.rescue.left() < RESCUE_EFFORT
    }
}

/// What a placement loses at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AtLeast {
    pub(super) worth: u64,
    /// How many members it is about.
    pub(super) members: u32,
}

impl Placer {
    /// What came of looking at all members at once.
    #[must_use]
    pub const fn packing_counts(&self) -> PackingCounts {
        self.packing
    }

    /// Replaces what was placed since a point by what loses less, if that is found.
    pub(super) fn better(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
        start: Checkpoint,
    ) {
        self.at_least = None;
        let weights = statement.state().weights();
        let is_sum = weights.price(Dimension::CPU).is_some();
        let claims = !self.seats.is_empty();
        if self.asks_only || claims || demand.needed < 2 || !is_sum || !packs(profile) {
            return;
        }
        let spared = demand.without_devices(statement.state());
        let spared = spared.map(|nodes| domain.clone().inside(Some(&nodes)));
        let placed: Vec<Assumed> = statement.assumed_since(start).collect();
        let lost = Lost::by(statement.state(), placed.iter().copied());
        let domain = match &spared {
            Some(without) if lost.beside_devices == 0 => without,
            _ => domain,
        };
        let uniform = demand.is_uniform();
        let max_nodes = if uniform { EXACT_NODES } else { IMPROVED_NODES };
        let state = statement.state();
        let among = domain.nodes().unwrap_or_else(|| state.nodes().present());
        let many = uniform && among.has_more_than(max_nodes);
        let on_fewer = uniform && lost.opportunity == 0 && lost.nodes > 1;
        // Who avoids a node is equal to nobody.
        if on_fewer && !demand.anybody_avoids() && self.may_look_at(among.len(), many) {
            self.gather(statement, profile, domain, (&placed, lost), start);
        }
        if many {
            return;
        }
        if lost.opportunity == 0 && (uniform && !demand.anybody_avoids() || lost.nodes < 2)
            || uniform && self.is_plain(statement.state(), profile, domain, &placed)
        {
            self.note_at_least(demand, lost.opportunity);
            return;
        }
        statement.roll_back(start);
        let found = self.find_better(
            statement.state(),
            profile,
            demand,
            domain,
            (&placed, max_nodes),
        );
        let Some((places, at_least)) = found else {
            return again(statement, &placed);
        };
        again(statement, &places);
        let mut least = lost;
        if places != placed {
            let other = Lost::by(statement.state(), places.iter().copied());
            // The search counts in finer units: what it finds may be no better after all.
            if other < lost {
                least = other;
            } else {
                statement.roll_back(start);
                again(statement, &placed);
            }
        }
        self.note_at_least(demand, at_least.min(least.opportunity));
    }

    /// Whether so many nodes may be looked at still in this cycle; that counts as done.
    fn may_look_at(&mut self, nodes: usize, many: bool) -> bool {
        let effort = if many {
            &mut self.budget.looks
        } else {
            &mut self.budget.better
        };
        let may = effort.left() > 0;
        effort.spend(nodes as u64);
        may
    }

    /// Replaces places of equal members that lose nothing by places on fewer nodes, if there are any.
    fn gather(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        domain: &Domain,
        (placed, lost): (&[Assumed], Lost),
        start: Checkpoint,
    ) {
        let mut effort = self.budget.better;
        let mut left = part(&mut effort, EXACT_EFFORT);
        let places = self.on_fewer_nodes(statement.state(), profile, domain, placed, &mut left);
        give_back(&mut effort, left);
        self.budget.better = effort;
        let Some(places) = places else { return };
        statement.roll_back(start);
        again(statement, &places);
        if Lost::by(statement.state(), places.iter().copied()) >= lost {
            statement.roll_back(start);
            again(statement, placed);
        }
    }

    fn note_at_least(&mut self, demand: &Demand, worth: u64) {
        self.at_least = Some(AtLeast {
            worth,
            members: demand.needed,
        });
    }

    /// The best places that are found, and what any lose at least.
    fn find_better(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
        (placed, max_nodes): (&[Assumed], usize),
    ) -> Option<(Vec<Assumed>, u64)> {
        let mut effort = self.budget.better;
        let mut left = part(&mut effort, EXACT_EFFORT);
        let puzzle = self.puzzle(state, profile, demand, domain, (max_nodes, &mut left));
        let found = puzzle.and_then(|puzzle| self.search(&puzzle, placed, &mut left));
        give_back(&mut effort, left);
        self.budget.better = effort;
        found
    }

    fn search(
        &mut self,
        puzzle: &Puzzle,
        placed: &[Assumed],
        effort: &mut Effort,
    ) -> Option<(Vec<Assumed>, u64)> {
        let problem = &puzzle.problem;
        let known = puzzle.layout(placed)?;
        let before = problem.cost(&known);
        let mut improving = part(effort, IMPROVE_EFFORT);
        let known = improve(problem, &known, &mut improving);
        give_back(effort, improving);
        let nodes: u64 = problem.nodes.iter().map(|one| u64::from(one.count)).sum();
        let (layout, at_least) = if nodes > EXACT_NODES as u64 {
            self.packing.too_large += 1;
            (known, 0)
        } else {
            let answer = solve(problem, Some(&known), Goal::Best, effort);
            let count = match answer.solved {
                true => &mut self.packing.proven,
                false => &mut self.packing.bounded,
            };
            *count += 1;
            (answer.best?.1, answer.at_least)
        };
        let at_least = u64::try_from(at_least >> PRICE_BITS).unwrap_or(u64::MAX);
        if problem.cost(&layout) >= before {
            return Some((placed.to_vec(), at_least));
        }
        Some((puzzle.places(&layout)?, at_least))
    }

    /// Whether equal members lose least as they are: all nodes to be opened are of one kind, and none
    /// that was opened has room for a member that is on another.
    fn is_plain(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        domain: &Domain,
        placed: &[Assumed],
    ) -> bool {
        let Some(first) = placed.first() else {
            return true;
        };
        let nodes = state.nodes();
        let Some(pod) = state.pod(first.pod) else {
            return false;
        };
        let Some(shape) = state.shapes().get(pod.shape) else {
            return false;
        };
        if !profile.decides_by_amounts(shape) {
            return false;
        }
        let mut on: BTreeMap<NodeId, i64> = BTreeMap::new();
        for one in placed {
            *on.entry(one.node).or_default() += 1;
        }
        // What a node had free of everything before.
        let before = |node: NodeId, pods: i64| {
            let free = move |one| nodes.free(node, one) + pods * shape.request.get(one);
            state.dimensions().iter().map(free)
        };
        let opened = |node: NodeId, pods: i64| i64::from(nodes.in_use_by(node)) == pods;
        let mut kind: Option<(NodeId, i64)> = None;
        let mut same = |node: NodeId, pods: i64| {
            let (one, own) = *kind.get_or_insert((node, pods));
            before(one, own).eq(before(node, pods))
        };
        let any_in_use = on.iter().any(|(node, pods)| !opened(*node, *pods));
        if !on
            .iter()
            .all(|(node, pods)| !opened(*node, *pods) || same(*node, *pods))
        {
            return false;
        }
        if self
            .find_candidates(state, profile, first.pod, domain)
            .is_none()
        {
            return true;
        }
        self.candidates.iter().all(|node| match on.get(&node) {
            Some(pods) => !(any_in_use && opened(node, *pods)),
            None => nodes.in_use_by(node) > 0 || same(node, 0),
        })
    }

    /// Places unequal members that no order of them placed.
    pub(super) fn rescue(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
    ) -> bool {
        // Which slots there are does not hang on the order.
        if demand.needed < 2 || demand.is_uniform() || !self.seats.is_empty() {
            return false;
        }
        let asks = self.asks_only;
        let mut budget = if asks {
            self.budget.ask
        } else {
            self.budget.rescue
        };
        let mut left = part(&mut budget, RESCUE_EFFORT);
        let limits = (RESCUE_NODES, &mut left);
        let puzzle = self.puzzle(statement.state(), profile, demand, domain, limits);
        let mut found = None;
        let mut solved = false;
        if let Some(puzzle) = puzzle {
            let answer = solve(&puzzle.problem, None, Goal::Any, &mut left);
            solved = answer.solved;
            let layout: Option<Layout> = answer.best.map(|(_, layout)| layout);
            found = layout.and_then(|layout| puzzle.places(&layout));
        }
        give_back(&mut budget, left);
        *(if asks {
            &mut self.budget.ask
        } else {
            &mut self.budget.rescue
        }) = budget;
        if !asks {
            let counts = &mut self.packing;
            let count = match (&found, solved) {
                (Some(_), _) => &mut counts.found,
                (None, true) => &mut counts.impossible,
                (None, false) => &mut counts.unproven,
            };
            *count += 1;
        }
        let Some(places) = found else {
            return false;
        };
        again(statement, &places);
        true
    }
}

/// Puts pods on nodes.
fn again(statement: &mut Statement<'_>, places: &[Assumed]) {
    for one in places {
        statement.assume(one.pod, one.node);
    }
}

/// At most so much of what is left.
fn part(of: &mut Effort, most: u64) -> Effort {
    let part = of.left().min(most);
    *of = Effort::new(of.left() - part);
    Effort::new(part)
}

/// Adds what was not spent.
const fn give_back(to: &mut Effort, left: Effort) {
    *to = Effort::new(to.left() + left.left());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::registry::default_profile;
    use muster_model::units::Time;
    use muster_model::{Event, HostPort, PodKey, PodSpec, Protocol, ShapeSpec};

    #[test]
    fn a_cycle_ends_before_a_gang_could_be_refused_for_lack_of_effort() {
        let mut placer = Placer::default();
        placer.begin_cycle(&ClusterState::default());
        assert!(!placer.has_asked_enough());
        placer.budget.rescue = Effort::new(RESCUE_EFFORT - 1);
        assert!(placer.has_asked_enough());
        placer.begin_cycle(&ClusterState::default());
        assert!(!placer.has_asked_enough());
    }

    #[test]
    fn what_is_only_asked_takes_nothing_from_what_is_decided() {
        let mut placer = Placer::default();
        placer.begin_cycle(&ClusterState::default());
        placer.budget.ask = Effort::new(0);
        assert!(!placer.has_asked_enough());
    }

    #[test]
    fn amounts_do_not_decide_where_a_host_port_is_asked_for() {
        let mut state = ClusterState::default();
        let pod = |name: &str, host_ports| PodSpec {
            key: PodKey {
                namespace: "n".to_owned(),
                name: name.to_owned(),
                uid: name.to_owned(),
            },
            ours: true,
            shape: ShapeSpec {
                host_ports,
                ..ShapeSpec::default()
            },
            ..PodSpec::default()
        };
        let port = HostPort {
            ip: String::new(),
            protocol: Protocol::Tcp,
            port: 80,
        };
        let profile = default_profile();
        for (name, ports, by_amounts) in [("plain", vec![], true), ("port", vec![port], false)] {
            let spec = pod(name, ports);
            let key = spec.key.clone();
            state.apply(Time::ZERO, Event::is(spec));
            let id = state.find_pod(&key).unwrap();
            let shape = state.shapes().get(state.pod(id).unwrap().shape).unwrap();
            assert_eq!(profile.decides_by_amounts(shape), by_amounts, "{name}");
        }
        let mut unfiltered = profile;
        unfiltered
            .filter
            .retain(|one| one.name() != "NodeResourcesFit");
        let id = state.pods().next().map(|(id, _)| id).unwrap();
        let shape = state.shapes().get(state.pod(id).unwrap().shape).unwrap();
        assert!(!unfiltered.decides_by_amounts(shape));
    }
}
