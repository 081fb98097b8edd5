//! Making room for a pod without a gang as kube-scheduler does it: node by node, all who are less important
//! are thought away, then as many as can be stay; and of the nodes the one is taken where that costs least
//! (source: kube-scheduler's DefaultPreemption; docs/kubernetes-parity.md, "Preemption of a single pod").
//!
//! Who may be asked is Muster's rule as ever ([`super::judge`]): a gang goes as a whole or not at all, what
//! queues are entitled to stays theirs, and pods of other schedulers are never touched.

use super::budgets::Spending;
use super::judge::Claim;
use super::plan::{NoPlan, Plan};
use super::unit::{Harm, Unit};
use crate::actions::Cycle;
use crate::framework::{Profile, Reason};
use crate::placement::Demand;
use crate::placement::Diagnosis;
use crate::placement::Placer;
use crate::placement::Room;
use crate::state::{ClusterState, GangId, NodeId, PodId};
use crate::transaction::Statement;
use muster_model::digest;
use muster_model::units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// So many nodes at least are tried that would do, if there are, or a tenth of those that come into question.
const MIN_CANDIDATES: usize = 100;
/// What kube-scheduler says of a node that is no better without anybody.
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
/// And of one on which nobody may be asked to go.
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// What it says while those leave who are to.
pub(super) const STANDS: &str = "not eligible due to a terminating pod on the nominated node.";
/// What it says where the pod makes nobody go.
pub(super) const NEVER: &str = "not eligible due to preemptionPolicy=Never.";

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) plan: Result<Plan, NoPlan>,
    /// What kube-scheduler would say of it.
    pub(super) words: String,
}

/// A node on which the pod has room once some have gone, and what that costs: less comes first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// Pods that go although a PodDisruptionBudget says otherwise.
    violations: usize,
    /// The most important that goes.
    highest: i32,
    /// How important they are together, every pod counting.
    sum: i64,
    pods: usize,
    /// Since when the longest running of the most important runs: the later the better.
    since: Reverse<Time>,
    node: NodeId,
    /// Who goes, by index.
    victims: Vec<usize>,
}

/// Finds the node that is best to make room on, and who goes.
pub(super) fn find(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    leaving: &BTreeSet<PodId>,
    units: &[Unit],
) -> Option<Found> {
    let pod = *cx.state[gang_id].members.first()?;
    let priority = cx.state[gang_id].priority;
    let yielding = who_yields(cx, gang_id);
    let demand = Demand::minimum(cx.state, gang_id);
    let profile = cx.profile_of(gang_id);
    let lower = |unit: &&Unit| cx.state[unit.gang].priority < priority;
    let running = units.iter().filter(lower);
    let mut units: Vec<Unit> = running.chain(&yielding).cloned().collect();
    units.sort_by_cached_key(|unit| importance(cx.state, unit));
    let order = in_turn(cx.state, pod);
    let mut statement = Statement::new(cx.state);
    statement.lift_claims(gang_id);
    leaving.iter().for_each(|pod| statement.lift(*pod));
    // Who leaves already may be enough.
    let start = statement.checkpoint();
    if cx
        .placer
        .can_place(&mut statement, profile, gang_id, &demand)
    {
        return Some(Found {
            plan: Ok(Plan {
                victims: Vec::new(),
                displaced: Vec::new(),
                room: Room::of(&statement, start),
            }),
            words: STANDS.to_owned(),
        });
    }
    statement.roll_back(start);
    let mut search = Search {
        on: on_nodes(statement.state(), &yielding),
        violates: Vec::new(),
        statement,
        placer: &mut *cx.placer,
        profile,
        pod,
        units: &yielding,
    };
    // Those for whom room is only held are in nobody's way: nobody who runs goes before them.
    let mut found = (None, Diagnosis::default());
    if !yielding.is_empty() {
        found = search.best(&order);
    }
    if found.0.is_none() {
        search.on = on_nodes(search.statement.state(), &units);
        search.units = &units;
        found = search.best(&order);
    }
    let (best, diagnosis) = found;
    let (units, state) = (search.units, search.statement.state());
    let Some(best) = best else {
        return Some(Found {
            words: diagnosis.message(state.dimensions()),
            plan: Err(NoPlan::Impossible),
        });
    };
    let gone = best.victims.iter().map(|one| units[*one].clone());
    let (displaced, mut victims): (Vec<Unit>, Vec<Unit>) =
        gone.partition(|unit| is_only_held_for(state, unit));
    victims.sort();
    let words = if victims.is_empty() {
        STANDS.to_owned()
    } else {
        format!(
            "found a potential placement for pod on node {}, preempting {} victims",
            state.nodes().name(best.node),
            best.pods - displaced.len()
        )
    };
    Some(Found {
        plan: Ok(Plan {
            victims,
            displaced: displaced.iter().map(|unit| unit.gang).collect(),
            room: Room {
                members: vec![(pod, best.node)],
                ..Room::default()
            },
        }),
        words,
    })
}

/// The less important pods without a gang of its queue for which room is held while others leave it: as in
/// kube-scheduler, that room is not held against a pod that is more important.
fn who_yields(cx: &Cycle<'_>, gang_id: GangId) -> Vec<Unit> {
    let (state, own) = (&*cx.state, &cx.state[gang_id]);
    let gives_way = |gang: &&GangId| {
        let gang = &state[**gang];
        gang.is_single() && gang.queue == own.queue && gang.priority < own.priority
    };
    let unit = |gang: &GangId| {
        let pod = *state[*gang].members.first()?;
        state.pod(pod).filter(|pod| pod.is_only_nominated())?;
        Some(Unit {
            violates: false,
            harm: Harm::Lower {
                priority: state[*gang].priority,
                pods: 1,
            },
            gang: *gang,
            pods: vec![pod],
            whole: true,
            other_queue: None,
            claim: Some(Claim::Lower),
        })
    };
    let mut units: Vec<Unit> = cx
        .claims
        .nominated
        .iter()
        .filter(gives_way)
        .filter_map(unit)
        .collect();
    units.sort_by_cached_key(|unit| importance(state, unit));
    units
}

/// Whether nobody of it has a node: room is held for it.
fn is_only_held_for(state: &ClusterState, unit: &Unit) -> bool {
    let mut pods = unit.pods.iter().filter_map(|pod| state.pod(*pod));
    pods.all(|pod| pod.place.node().is_none())
}

/// The more important first: by priority, then gangs before single pods, then who has run longer.
fn importance(
    state: &ClusterState,
    unit: &Unit,
) -> (Reverse<i32>, Reverse<bool>, Time, GangId, bool) {
    let gang = &state[unit.gang];
    let since = gang.started_at.unwrap_or(Time(u64::MAX));
    // All of a gang comes before what it has beyond its minimum.
    let whole = Reverse(unit.whole && !gang.is_single());
    (Reverse(gang.priority), whole, since, unit.gang, !unit.whole)
}

/// All nodes, beginning anywhere, so that not everybody looks at the same ones first: where depends on the
/// pod alone.
fn in_turn(state: &ClusterState, pod: PodId) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = state.nodes().present().iter().collect();
    let uid = state.pod(pod).map_or("", |pod| &pod.key.uid);
    let by = usize::try_from(digest::of(&uid)).unwrap_or(0);
    if let Some(by) = by.checked_rem(nodes.len()) {
        nodes.rotate_left(by);
    }
    nodes
}

/// Who would have to go, by node: a gang on each of its nodes.
fn on_nodes(state: &ClusterState, units: &[Unit]) -> BTreeMap<NodeId, BTreeSet<usize>> {
    let mut on: BTreeMap<NodeId, BTreeSet<usize>> = BTreeMap::new();
    for (index, unit) in units.iter().enumerate() {
        let pods = unit.pods.iter().filter_map(|pod| state.pod(*pod));
        for node in pods.filter_map(|pod| pod.place.node().or(pod.nominated)) {
            on.entry(node).or_default().insert(index);
        }
    }
    on
}

/// The cluster without some of those who may go.
struct Search<'s, 'a> {
    statement: Statement<'s>,
    placer: &'a mut Placer,
    profile: &'a Profile,
    pod: PodId,
    /// The more important first.
    units: &'a [Unit],
    on: BTreeMap<NodeId, BTreeSet<usize>>,
    /// How many pods of each of those on the node that is looked at go against a PodDisruptionBudget.
    violates: Vec<(usize, usize)>,
}

impl Search<'_, '_> {
    /// The best node, and what every node says where there is none.
    fn best(&mut self, order: &[NodeId]) -> (Option<Candidate>, Diagnosis) {
        let enough = MIN_CANDIDATES.max(self.on.len() / 10);
        let mut best: Option<Candidate> = None;
        let mut found = 0;
        let mut diagnosis = Diagnosis {
            nodes: order.len(),
            ..Diagnosis::default()
        };
        for node in order {
            match self.without_others(*node) {
                Ok(candidate) => {
                    found += 1;
                    best = Some(match best.take() {
                        Some(known) if known <= candidate => known,
                        _ => candidate,
                    });
                }
                Err(reasons) => {
                    for reason in reasons {
                        *diagnosis.reasons.entry(reason).or_default() += 1;
                    }
                }
            }
            let harmless = best.as_ref().is_some_and(|one| one.violations == 0);
            if harmless && found >= enough {
                break;
            }
        }
        (best, diagnosis)
    }

    /// Who would have to go from a node; or why the pod has no room there whoever goes.
    fn without_others(&mut self, node: NodeId) -> Result<Candidate, Vec<Reason>> {
        let say = |words: &str| Err(vec![Reason::Other(words.to_owned())]);
        let helps =
            |reason: &Reason, state: &ClusterState| reason.may_be_helped(state, node, self.pod);
        let reasons = self.reasons(node);
        let state = self.statement.state();
        if !reasons.iter().all(|reason| helps(reason, state)) {
            return say(NOT_HELPFUL);
        }
        let Some(here) = self.on.get(&node).cloned() else {
            return say(NO_VICTIMS);
        };
        let start = self.statement.checkpoint();
        let units = self.units;
        for unit in here.iter().map(|index| &units[*index]) {
            unit.pods.iter().for_each(|pod| self.statement.lift(*pod));
        }
        let found = if self.fits(node) {
            Ok(self.reprieve(node, &here))
        } else {
            Err(self.reasons(node))
        };
        self.statement.roll_back(start);
        match found {
            // It has room as it is: then a plugin was in the way that nobody's going changes.
            Ok(found) if found.victims.is_empty() => say(NOT_HELPFUL),
            found => found,
        }
    }

    /// Lets stay who can, those first who go against a PodDisruptionBudget, the most important first.
    fn reprieve(&mut self, node: NodeId, here: &BTreeSet<usize>) -> Candidate {
        self.find_violations(here);
        let units = self.units;
        let mut victims = BTreeSet::new();
        let mut gone: BTreeSet<GangId> = BTreeSet::new();
        let violates = std::mem::take(&mut self.violates);
        let first = violates.iter().filter(|(_, pods)| *pods > 0);
        let rest = violates.iter().filter(|(_, pods)| *pods == 0);
        let mut violations = 0;
        for (index, pods) in first.chain(rest) {
            let unit = &units[*index];
            // What a gang has beyond its minimum goes with all of it.
            if !gone.contains(&unit.gang) {
                let before = self.statement.checkpoint();
                unit.pods
                    .iter()
                    .for_each(|pod| self.statement.put_back(*pod));
                if self.fits(node) {
                    continue;
                }
                self.statement.roll_back(before);
            }
            if unit.whole {
                gone.insert(unit.gang);
            }
            victims.insert(*index);
            violations += pods;
        }
        self.violates = violates;
        self.candidate(node, victims.into_iter().collect(), violations)
    }

    fn candidate(&self, node: NodeId, victims: Vec<usize>, violations: usize) -> Candidate {
        let state = self.statement.state();
        let whole = |gang: GangId| {
            victims
                .iter()
                .any(|one| self.units[*one].whole && self.units[*one].gang == gang)
        };
        let (mut sum, mut pods) = (0, 0);
        let mut highest: Option<(i32, Time)> = None;
        for unit in victims.iter().map(|one| &self.units[*one]) {
            let gang = &state[unit.gang];
            // They are thought away, and the gang does not count them.
            let surplus = || {
                let parts = self
                    .units
                    .iter()
                    .filter(|one| one.gang == unit.gang && !one.whole);
                parts.map(|one| one.pods.len()).sum::<usize>()
            };
            let count = match (unit.whole, whole(unit.gang)) {
                (true, _) => unit.pods.len() + surplus(),
                (false, true) => 0,
                (false, false) => unit.pods.len(),
            };
            // Every pod makes it more, even one of negative priority.
            let each = i64::from(gang.priority) + (1 << 31);
            sum += each * i64::try_from(count).unwrap_or(i64::MAX >> 32);
            pods += count;
            let since = gang.started_at.unwrap_or(Time(u64::MAX));
            highest = Some(match highest {
                Some((known, first)) if known == gang.priority => (known, first.min(since)),
                Some((known, first)) if known > gang.priority => (known, first),
                _ => (gang.priority, since),
            });
        }
        let (highest, since) = highest.unwrap_or((i32::MIN, Time(u64::MAX)));
        Candidate {
            violations,
            highest,
            sum,
            pods,
            since: Reverse(since),
            node,
            victims,
        }
    }

    /// How many pods of each go against a budget, if all go in the order of importance.
    fn find_violations(&mut self, here: &BTreeSet<usize>) {
        let units = self.units;
        let state = self.statement.state();
        let mut spending = Spending::new(state);
        let idle = spending.is_idle();
        let mut against = |index: &usize| {
            let unit = &units[*index];
            let runs = !is_only_held_for(state, unit);
            let pods = unit.pods.iter().filter(|_| runs);
            let pods = pods.filter(|pod| !spending.spend(&[**pod]).is_empty());
            (*index, pods.count())
        };
        self.violates = if idle {
            here.iter().map(|index| (*index, 0)).collect()
        } else {
            here.iter().map(&mut against).collect()
        };
    }

    fn fits(&mut self, node: NodeId) -> bool {
        let state = self.statement.state();
        self.placer.fits(state, self.profile, self.pod, node)
    }

    fn reasons(&self, node: NodeId) -> Vec<Reason> {
        let state = self.statement.state();
        self.placer.reasons(state, self.profile, self.pod, node)
    }
}
