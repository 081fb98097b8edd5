//! The best node for a pod, and nodes for all members of a gang.

use super::diagnosis::{Diagnosis, diagnose};
use super::masks::Masks;
use super::rankings::{self, Rankings};
use super::refusals::{self, Refusals};
use crate::core::framework::{Context, PreFilterVerdict, Profile, Scope, Store};
use crate::core::plugins::Weights;
use crate::core::state::{ClusterState, Gang, GangId, NodeId, NodeSet, PodId, ShapeId};
use crate::core::transaction::Statement;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Why a gang found no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The first member without a node; `None` where too few members were there to try.
    pub member: Option<PodId>,
    /// How many members found one, where that is known.
    pub placed: Option<u32>,
    /// How many had to.
    pub needed: u32,
    /// What every node says to that member, with the others in place.
    pub diagnosis: Option<Diagnosis>,
}

/// Finds places. Keeps what can be used again between calls.
#[derive(Debug, Default)]
pub struct Placer {
    masks: Masks,
    rankings: Rankings,
    refusals: Refusals,
    store: Store,
    candidates: NodeSet,
    scores: Vec<i64>,
    questions_left: usize,
}

/// How many nodes are asked in a cycle why they do not suit.
const MAX_QUESTIONS: usize = 2_000_000;

/// In which order members are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    LargestFirst,
    SmallestFirst,
}

impl Placer {
    /// Prepares for a cycle on this state.
    pub fn begin_cycle(&mut self, state: &ClusterState) {
        self.store.clear();
        self.questions_left = MAX_QUESTIONS;
        self.store.put(Weights::of(state));
    }

    /// What plugins share in this cycle.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Places enough members for the gang's minimum, or none.
    ///
    /// # Errors
    /// Who found no node, in the best domain and order.
    pub fn place_minimum(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        gang_id: GangId,
    ) -> Result<(), Shortage> {
        let start = statement.checkpoint();
        let mut best: Option<Shortage> = None;
        for domain in domains(statement.state(), profile, gang_id) {
            for order in [Order::LargestFirst, Order::SmallestFirst] {
                let Some(shortage) = self.try_minimum(statement, profile, gang_id, &domain, order)
                else {
                    return Ok(());
                };
                statement.roll_back(start);
                if best
                    .as_ref()
                    .is_none_or(|known| shortage.placed > known.placed)
                {
                    best = Some(shortage);
                }
                if is_uniform(statement.state(), gang_id) {
                    break;
                }
            }
        }
        best.map_or(Ok(()), Err)
    }

    /// Places one member more than the minimum, if there is one that fits.
    ///
    /// # Errors
    /// The first member that does not fit.
    pub fn place_surplus(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        gang_id: GangId,
    ) -> Result<(), Shortage> {
        let mut first = None;
        for domain in domains(statement.state(), profile, gang_id) {
            let mut refused: BTreeSet<ShapeId> = BTreeSet::new();
            while let Some((pod_id, shape)) = surplus(statement.state(), gang_id, &refused) {
                if self.place_pod(statement, profile, pod_id, &domain) {
                    return Ok(());
                }
                refused.insert(shape);
                first = first.or(Some(pod_id));
            }
        }
        let diagnosis = first.and_then(|pod| self.explain(statement.state(), profile, pod));
        Err(Shortage {
            member: first,
            placed: Some(0),
            needed: 1,
            diagnosis,
        })
    }

    fn try_minimum(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        gang_id: GangId,
        domain: &Domain,
        order: Order,
    ) -> Option<Shortage> {
        let gang = statement.state().gang(gang_id)?;
        let needed = gang.missing();
        let mut wanted: Vec<u32> = gang
            .subgroups
            .iter()
            .map(|one| one.missing(one.min))
            .collect();
        let mut room: Vec<u32> = gang
            .subgroups
            .iter()
            .map(|one| one.max.saturating_sub(one.available()))
            .collect();
        let mut left = needed;
        let mut refused: BTreeSet<ShapeId> = BTreeSet::new();
        let mut first = None;
        let mut spare = Vec::new();
        for (pod_id, subgroup, shape) in members_by(statement.state(), gang, order) {
            if wanted[subgroup] == 0 {
                spare.push((pod_id, subgroup, shape));
                continue;
            }
            if refused.contains(&shape) {
                continue;
            }
            if self.place_pod(statement, profile, pod_id, domain) {
                wanted[subgroup] -= 1;
                room[subgroup] = room[subgroup].saturating_sub(1);
                left = left.saturating_sub(1);
            } else {
                refused.insert(shape);
                first = first.or(Some(pod_id));
            }
        }
        for (pod_id, subgroup, shape) in spare {
            if left == 0 {
                break;
            }
            if room[subgroup] == 0 || refused.contains(&shape) {
                continue;
            }
            if self.place_pod(statement, profile, pod_id, domain) {
                room[subgroup] -= 1;
                left -= 1;
            } else {
                refused.insert(shape);
                first = first.or(Some(pod_id));
            }
        }
        if left == 0 && wanted.iter().all(|one| *one == 0) {
            return None;
        }
        let diagnosis = first.and_then(|pod| self.explain(statement.state(), profile, pod));
        let member = first;
        Some(Shortage {
            member,
            placed: Some(needed - left),
            needed,
            diagnosis,
        })
    }

    /// What every node says to a pod.
    pub fn explain(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod: PodId,
    ) -> Option<Diagnosis> {
        let cx = Context::new(state, &self.store, pod)?;
        let (diagnosis, asked) = if refusals::suits(profile, &cx) {
            self.refusals.diagnose(profile, &cx)?
        } else {
            let diagnosis = diagnose(state, profile, &self.store, pod);
            (diagnosis, state.nodes().len())
        };
        self.questions_left = self.questions_left.saturating_sub(asked);
        Some(diagnosis)
    }

    /// Whether so many nodes were asked why they do not suit that the cycle should end: what is
    /// left is for the next one.
    #[must_use]
    pub const fn has_asked_enough(&self) -> bool {
        self.questions_left == 0
    }

    /// Puts one pod on the best node of a domain, if any suits.
    fn place_pod(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        pod_id: PodId,
        domain: &Domain,
    ) -> bool {
        let node = self.best_node(statement.state(), profile, pod_id, domain);
        if let Some(node) = node {
            statement.assume(pod_id, node);
        }
        node.is_some()
    }

    pub(super) fn best_node(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
        domain: &Domain,
    ) -> Option<NodeId> {
        if rankings::suits(profile) {
            let cx = Context::new(state, &self.store, pod_id)?;
            let among = narrow(profile, &cx, domain)?;
            let allowed = self.masks.allowed(&profile.filter, &cx);
            return self.rankings.best(profile, &cx, allowed, among.as_deref());
        }
        self.find_candidates(state, profile, pod_id, domain)?;
        for plugin in &profile.pre_score {
            plugin.pre_score(state, pod_id, &self.candidates, &mut self.store);
        }
        let cx = Context::new(state, &self.store, pod_id)?;
        let mut total: Vec<i64> = Vec::new();
        for one in &profile.score {
            self.scores.clear();
            one.plugin.score(&cx, &self.candidates, &mut self.scores);
            self.scores.resize(self.candidates.len(), 0);
            if profile.score.len() == 1 {
                break;
            }
            one.plugin.normalize(&mut self.scores);
            total.resize(self.scores.len(), 0);
            for (sum, score) in total.iter_mut().zip(&self.scores) {
                *sum = sum.saturating_add(score.saturating_mul(one.weight));
            }
        }
        let scores = if total.is_empty() {
            &self.scores
        } else {
            &total
        };
        // Ties go to the lowest id: the first of the best.
        let best = scores.iter().max()?;
        let index = scores.iter().position(|score| score == best)?;
        self.candidates.nth(index)
    }

    /// Whether the pod fits this node now.
    pub fn fits(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
        node: NodeId,
    ) -> bool {
        let Some(cx) = Context::new(state, &self.store, pod_id) else {
            return false;
        };
        let mut used = profile.filter.iter();
        state.nodes().present().contains(node)
            && self.masks.allowed(&profile.filter, &cx).contains(node)
            && used.all(|one| one.scope() == Scope::NodeFacts || one.suits(&cx, node))
            && narrow(profile, &cx, &Domain::Everywhere)
                .is_some_and(|among| among.is_none_or(|among| among.contains(node)))
    }

    /// Fills `candidates` with the nodes of the domain that suit the pod; `None` if none does.
    fn find_candidates(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
        domain: &Domain,
    ) -> Option<()> {
        let cx = Context::new(state, &self.store, pod_id)?;
        let allowed = self.masks.allowed(&profile.filter, &cx);
        self.candidates.copy_from(allowed);
        self.candidates.intersect(state.nodes().present());
        if let Some(among) = narrow(profile, &cx, domain)? {
            self.candidates.intersect(&among);
        }
        for filter in profile
            .filter
            .iter()
            .filter(|one| one.scope() != Scope::NodeFacts)
        {
            filter.retain(&cx, &mut self.candidates);
        }
        (!self.candidates.is_empty()).then_some(())
    }
}

/// Where the members of a gang may go.
#[derive(Clone, Debug)]
pub(super) enum Domain {
    Everywhere,
    Only(NodeSet),
}

/// The nodes that come into question for a pod: `Some(None)` where all do, `None` where none does.
fn narrow<'a>(
    profile: &Profile,
    cx: &Context<'_>,
    domain: &'a Domain,
) -> Option<Option<Cow<'a, NodeSet>>> {
    let mut among = match domain {
        Domain::Everywhere => None,
        Domain::Only(nodes) => Some(Cow::Borrowed(nodes)),
    };
    for plugin in &profile.pre_filter {
        match plugin.pre_filter(cx) {
            PreFilterVerdict::Continue => {}
            PreFilterVerdict::Refuse(_) => return None,
            PreFilterVerdict::Narrow(nodes, _) => match &mut among {
                Some(among) => among.to_mut().intersect(&nodes),
                None => among = Some(Cow::Owned(nodes)),
            },
        }
    }
    if !cx.pod.avoid.is_empty() {
        let all = || Cow::Borrowed(cx.state.nodes().present());
        let mut left = among.unwrap_or_else(all).into_owned();
        cx.pod.avoid.iter().for_each(|node| left.remove(*node));
        among = Some(Cow::Owned(left));
    }
    Some(among)
}

/// The domains that the first plugin with an opinion offers; the whole cluster if none has one.
fn domains(state: &ClusterState, profile: &Profile, gang: GangId) -> Vec<Domain> {
    let gang = state.gang(gang);
    let plugins = profile.gang_domains.iter();
    let mut offers = plugins.filter_map(|plugin| Some(plugin.domains(state, gang?)));
    let offer = offers.find(|domains| !domains.is_empty());
    match offer {
        Some(domains) => domains.into_iter().map(Domain::Only).collect(),
        None => vec![Domain::Everywhere],
    }
}

/// The members that could be placed, with their subgroups and shapes, large or small ones first.
fn members_by(state: &ClusterState, gang: &Gang, order: Order) -> Vec<(PodId, usize, ShapeId)> {
    let member = |id: PodId| {
        let pod = state.pod(id)?;
        Some((id, pod.subgroup?, pod.shape))
    };
    let mut members: Vec<_> = gang.pending.iter().filter_map(member).collect();
    if gang.pending.only_shape().is_some() {
        return members;
    }
    let size = |shape| state.shapes().get(shape).map(|one| one.request.clone());
    match order {
        Order::LargestFirst => members.sort_by_cached_key(|(_, _, shape)| Reverse(size(*shape))),
        Order::SmallestFirst => members.sort_by_cached_key(|(_, _, shape)| size(*shape)),
    }
    members
}

/// The first member beyond the minimum that its subgroup still has room for, and whose shape was
/// not refused.
fn surplus(
    state: &ClusterState,
    gang_id: GangId,
    refused: &BTreeSet<ShapeId>,
) -> Option<(PodId, ShapeId)> {
    let gang = state.gang(gang_id)?;
    let eligible = |id: PodId| {
        let pod = state.pod(id).filter(|pod| !refused.contains(&pod.shape))?;
        let subgroup = gang.subgroups.get(pod.subgroup?)?;
        (subgroup.available() < subgroup.max).then_some((id, pod.shape))
    };
    let all_refused = gang
        .pending
        .only_shape()
        .is_some_and(|shape| refused.contains(&shape));
    if all_refused {
        return None;
    }
    gang.pending.iter().find_map(eligible)
}

/// Whether all members that could be placed have one shape.
fn is_uniform(state: &ClusterState, gang_id: GangId) -> bool {
    let gang = state.gang(gang_id);
    gang.is_none_or(|gang| gang.pending.is_empty() || gang.pending.only_shape().is_some())
}
