//! The best node for a pod, and nodes for all members of a gang.

use super::capacity::Capacities;
use super::demand::{Demand, Member, Need, Order};
use super::diagnosis::{Diagnosis, asked, diagnose, diagnose_among, refusal};
use super::domain::{Domain, domains, narrow};
use super::masks::Masks;
use super::rankings::{self, Rankings};
use super::refusals::{self, Refusals};
use super::scores;
use super::seats::Seats;
use super::whole::{AtLeast, Budget};
use crate::framework::{Context, Filter, Mates, Profile, Reason, Scope, Store};
use crate::plugins::Weights;
use crate::state::{Closeness, ClusterState, GangId, NodeId, NodeSet, PodId, ShapeId, Shapes};
use crate::transaction::Statement;
use muster_model::{PackingCounts, Table, Tables};
use std::collections::BTreeSet;

/// Why a gang found no place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// The first member without a node; `None` where too few members were there to try.
    pub member: Option<PodId>,
    /// How many members found one, where that is known.
    pub placed: Option<u32>,
    /// How many had to.
    pub needed: u32,
    /// What every node says to that member, with the others in place.
    pub diagnosis: Option<Diagnosis>,
    /// Why that was asked of few nodes only.
    pub confined: Option<Box<Confined>>,
}

/// The members have to be closer together than the whole cluster is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// How close: `in one rack of Topology fabric`.
    pub to: String,
    /// The place that has room for most of them, which is what the rest is about: `in rack=r7`.
    pub closest: Option<String>,
}

impl Confined {
    /// In the words of a topology.
    pub(super) fn in_words(state: &ClusterState, near: Closeness, closest: Option<String>) -> Self {
        let topology = state.topologies().get(near.topology);
        let doubts = || {
            let doubts = state.topologies().doubts(near.topology, state.nodes());
            let some = near.at_most.is_some_and(|reach| reach > 0) && !doubts.is_empty();
            let some = some.then(|| format!(" (where {})", doubts.join("; ")));
            some.unwrap_or_default()
        };
        let to = topology.zip(near.at_most);
        Self {
            to: to
                .map(|(one, reach)| one.nearness(reach) + &doubts())
                .unwrap_or_default(),
            closest,
        }
    }
}

/// Of two shortages the one in which more found a place; of equals the first.
pub(super) fn further(known: Option<Shortage>, other: Shortage) -> Option<Shortage> {
    match known {
        Some(known) if known.placed >= other.placed => Some(known),
        _ => Some(other),
    }
}

/// Finds places. Keeps what can be used again between calls.
#[derive(Debug, Default)]
pub struct Placer {
    pub(super) masks: Masks,
    pub(super) capacities: Capacities,
    rankings: Rankings,
    refusals: Refusals,
    /// How far the shapes and the constraints that are gone were read.
    gone: [u64; 2],
    pub(super) store: Store,
    pub(super) candidates: NodeSet,
    scores: Vec<i64>,
    /// What one plugin says.
    parts: Vec<i64>,
    questions_left: usize,
    /// Nobody asks why something does not fit.
    pub(super) silent: bool,
    /// What the search for a choice of domains may cost still, and how often that was not enough.
    pub(super) choice_work: u64,
    pub(super) choices_cut: u64,
    /// The slots of the members that claim some, of the gang that is placed.
    pub(super) seats: Seats,
    /// Only these nodes are looked at.
    pub(super) within: Option<NodeSet>,
    /// Nobody asks where something fits, either.
    pub(super) asks_only: bool,
    /// What may be searched in this cycle still.
    pub(super) budget: Budget,
    pub(super) packing: PackingCounts,
    /// What the members that were placed last lose at least.
    pub(super) at_least: Option<AtLeast>,
}

/// How many nodes are asked in a cycle why they do not suit.
const MAX_QUESTIONS: usize = 2_000_000;

/// How far a demand is met, while members are tried.
struct Trial {
    /// What the subgroups still need.
    subgroups: Vec<Need>,
    /// How many have to be placed still.
    left: u32,
    /// Shapes that fit nowhere any more.
    refused: BTreeSet<ShapeId>,
    /// The first member that found no node.
    without_node: Option<PodId>,
    /// Those who found none, and whom others who are placed after them may help.
    hopeful: Vec<Member>,
}

impl Trial {
    fn of(demand: &Demand) -> Self {
        Self {
            subgroups: demand.subgroups.clone(),
            left: demand.needed,
            refused: BTreeSet::new(),
            without_node: None,
            hopeful: Vec::new(),
        }
    }

    /// Whether a member may be placed without taking the place of one that its subgroup needs.
    fn has_place_for(&self, member: &Member) -> bool {
        let minima: u32 = self.subgroups.iter().map(|need| need.minimum).sum();
        self.left > minima || self.left > 0 && self.subgroups[member.subgroup].minimum > 0
    }

    fn is_done(&self) -> bool {
        self.left == 0 && self.subgroups.iter().all(|need| need.minimum == 0)
    }
}

impl Placer {
    /// Prepares for a cycle on this state.
    pub fn begin_cycle(&mut self, state: &ClusterState) {
        self.forget_who_is_gone(state.shapes());
        self.store.clear();
        self.questions_left = MAX_QUESTIONS;
        self.budget = Budget::default();
        self.store.put(Weights::of(state));
    }

    fn forget_who_is_gone(&mut self, shapes: &Shapes) {
        let [of_shapes, of_constraints] = &mut self.gone;
        let gone = shapes.gone_since(of_shapes);
        self.rankings.forget(&gone);
        self.refusals.forget(&gone);
        self.capacities.forget(&gone);
        self.masks
            .forget(&shapes.constraints_gone_since(of_constraints));
    }

    /// Counts what is kept between cycles.
    pub fn count_tables(&self, tables: &mut Tables) {
        tables.set(Table::Masks, self.masks.len());
        tables.set(Table::Rankings, self.rankings.len());
        tables.set(Table::Refusals, self.refusals.len());
        tables.set(Table::Capacities, self.capacities.len());
    }

    /// What plugins share in this cycle.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Places what a gang demands, or nothing.
    ///
    /// # Errors
    /// Who found no node, in the best domain and order.
    pub fn place(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        gang: GangId,
        demand: &Demand,
    ) -> Result<(), Shortage> {
        self.at_least = None;
        self.seats = self.choose_seats(statement.state(), profile, demand);
        self.place_somewhere(statement, profile, gang, demand)?;
        // What is known of a part of them says nothing of all.
        let at_least = self.at_least.filter(|one| one.members == demand.needed);
        statement.set_at_least(at_least.map(|one| one.worth));
        Ok(())
    }

    fn place_somewhere(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        gang: GangId,
        demand: &Demand,
    ) -> Result<(), Shortage> {
        let Some(domains) = domains(statement.state(), profile, gang) else {
            self.begin_choices(demand);
            return self.place_close(statement, profile, gang, demand);
        };
        let mut best = None;
        for domain in domains {
            let Err(shortage) = self.place_in(statement, profile, demand, &domain) else {
                return Ok(());
            };
            best = further(best, shortage);
        }
        best.map_or(Ok(()), Err)
    }

    /// Places all that is demanded in one domain, or nothing.
    pub(super) fn place_in(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
    ) -> Result<(), Shortage> {
        let within = self.within.as_ref();
        let narrowed = within.map(|nodes| domain.clone().inside(Some(nodes)));
        let domain = narrowed.as_ref().unwrap_or(domain);
        let start = statement.checkpoint();
        let mut best = None;
        for order in demand.orders() {
            let Err(shortage) = self.pack(statement, profile, demand, domain, *order) else {
                self.better(statement, profile, demand, domain, start);
                return Ok(());
            };
            statement.roll_back(start);
            best = further(best, shortage);
        }
        if self.rescue(statement, profile, demand, domain) {
            self.better(statement, profile, demand, domain, start);
            return Ok(());
        }
        if let Some(shortage) = &best
            && self.place_in_company(statement, profile, demand, domain, shortage.member)
        {
            return Ok(());
        }
        best.map_or(Ok(()), Err)
    }

    /// The same where only the answer counts, and no words.
    pub(super) fn place_in_silence(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
    ) -> bool {
        let silent = std::mem::replace(&mut self.silent, true);
        let found = self.place_in(statement, profile, demand, domain);
        self.silent = silent;
        found.is_ok()
    }

    /// The same where only the answer counts, and no words.
    pub fn can_place(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        gang: GangId,
        demand: &Demand,
    ) -> bool {
        (self.silent, self.asks_only) = (true, true);
        let found = self.place(statement, profile, gang, demand);
        (self.silent, self.asks_only) = (false, false);
        found.is_ok()
    }

    /// The same on other nodes than these.
    pub fn place_without(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        (gang, demand): (GangId, &Demand),
        shunned: &BTreeSet<NodeId>,
    ) -> bool {
        let mut within = statement.state().nodes().present().clone();
        shunned.iter().for_each(|node| within.remove(*node));
        self.within = Some(within);
        let silent = std::mem::replace(&mut self.silent, true);
        let found = self.place(statement, profile, gang, demand);
        self.silent = silent;
        self.within = None;
        found.is_ok()
    }

    /// Tries one order of members in one domain: first those whom their subgroups need, then
    /// others up to what the gang needs as a whole. Leaves what it placed in the statement.
    fn pack(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
        order: Order,
    ) -> Result<(), Shortage> {
        let members = demand.members(statement.state(), order);
        self.pack_in_turn(statement, profile, demand, domain, members)
    }

    /// The same with the members in this order.
    pub(super) fn pack_in_turn(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
        members: Vec<Member>,
    ) -> Result<(), Shortage> {
        let mut trial = Trial::of(demand);
        let mut spare = Vec::new();
        for member in members {
            if trial.subgroups[member.subgroup].minimum > 0 {
                self.try_member(statement, profile, domain, member, &mut trial);
            } else {
                spare.push(member);
            }
        }
        for member in spare {
            // Those who may be helped by others yet have a place coming to them.
            let waits = !trial.hopeful.is_empty() && !trial.has_place_for(&member);
            if trial.left == 0 || waits {
                break;
            }
            self.try_member(statement, profile, domain, member, &mut trial);
        }
        self.try_again(statement, profile, domain, &mut trial);
        if trial.is_done() {
            return Ok(());
        }
        let member = trial.without_node;
        let asked = member.filter(|_| !self.silent);
        let diagnosis =
            asked.and_then(|pod| self.explain_in(statement.state(), profile, pod, domain));
        Err(Shortage {
            member,
            placed: Some(demand.needed - trial.left),
            needed: demand.needed,
            diagnosis,
            confined: None,
        })
    }

    /// Tries those again whom others may have helped who were placed after them, as long as that places
    /// somebody.
    fn try_again(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        domain: &Domain,
        trial: &mut Trial,
    ) {
        while !trial.is_done() && !trial.hopeful.is_empty() {
            let before = trial.left;
            for member in std::mem::take(&mut trial.hopeful) {
                if trial.has_place_for(&member) {
                    self.try_member(statement, profile, domain, member, trial);
                } else {
                    trial.hopeful.push(member);
                }
            }
            if trial.left == before {
                return;
            }
        }
    }

    /// Puts a member on a node, if its subgroup has room for it and a node does.
    fn try_member(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        domain: &Domain,
        member: Member,
        trial: &mut Trial,
    ) {
        let need = trial.subgroups[member.subgroup];
        if need.room == 0 || trial.refused.contains(&member.shape) {
            return;
        }
        if self.place_pod(statement, profile, member.pod, domain) {
            trial.subgroups[member.subgroup] = Need {
                minimum: need.minimum.saturating_sub(1),
                room: need.room - 1,
            };
            trial.left -= 1;
            if trial.without_node == Some(member.pod) {
                trial.without_node = None;
            }
            return;
        }
        trial.without_node = trial.without_node.or(Some(member.pod));
        let shape = statement.state().shapes().get(member.shape);
        let Some(shape) = shape else { return };
        if profile.is_helped(shape) {
            trial.hopeful.push(member);
        } else if !member.avoids && profile.is_local(shape) {
            trial.refused.insert(member.shape);
        }
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

    /// What the nodes of a domain say to a pod.
    fn explain_in(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod: PodId,
        domain: &Domain,
    ) -> Option<Diagnosis> {
        let Domain::Only(nodes) = domain else {
            return self.explain(state, profile, pod);
        };
        let mut nodes = nodes.clone();
        nodes.intersect(state.nodes().present());
        self.questions_left = self.questions_left.saturating_sub(nodes.len());
        Some(diagnose_among(state, profile, &self.store, pod, &nodes))
    }

    /// Whether so many nodes were asked why they do not suit, or so much was searched, that the cycle
    /// should end: what is left is for the next one.
    #[must_use]
    pub const fn has_asked_enough(&self) -> bool {
        self.questions_left == 0 || self.budget.is_spent()
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
            if let Some((slot, _)) = self.seats.get(&pod_id) {
                statement.point_to_slot(pod_id, *slot);
            }
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
        let cx = Context::new(state, &self.store, pod_id)?;
        if let Some((_, node)) = self.seats.get(&pod_id).copied() {
            // Others of its gang may have their places by now.
            let among = narrow(profile, &cx, domain)?;
            let inside = among.is_none_or(|among| among.contains(node));
            return (inside && self.fits(state, profile, pod_id, node)).then_some(node);
        }
        if rankings::suits(profile, &cx) {
            let among = narrow(profile, &cx, domain)?;
            let allowed = self.masks.allowed(&profile.filter, &cx);
            let mut others = profile.asked_of_the_cluster(cx.shape).peekable();
            if others.peek().is_none() {
                return self.rankings.best(profile, &cx, allowed, among.as_deref());
            }
            self.candidates
                .copy_from(among.as_deref().unwrap_or(allowed));
            others.for_each(|one| one.retain(&cx, &mut self.candidates));
            let among = &self.candidates;
            return self.rankings.best_confined(profile, &cx, allowed, among);
        }
        self.find_candidates(state, profile, pod_id, domain)?;
        for plugin in &profile.pre_score {
            plugin.pre_score(state, pod_id, &self.candidates, &mut self.store);
        }
        let cx = Context::new(state, &self.store, pod_id)?;
        if let [only] = &profile.score[..] {
            self.scores.clear();
            only.plugin.score(&cx, &self.candidates, &mut self.scores);
        } else {
            self.scores.clear();
            self.scores.resize(self.candidates.len(), 0);
            for one in profile.score.iter().filter(|one| !one.plugin.is_even(&cx)) {
                scores::of_one(one, &cx, &self.candidates, &mut self.parts);
                for (sum, score) in self.scores.iter_mut().zip(&self.parts) {
                    *sum = sum.saturating_add(score.saturating_mul(one.weight));
                }
            }
        }
        // Ties go to the lowest id: the first of the best.
        let best = self.scores.iter().max()?;
        let index = self.scores.iter().position(|score| score == best)?;
        self.candidates.nth(index)
    }

    /// The nodes that a pod's constraints allow, whether there is room on them or not.
    pub fn allowed(&mut self, state: &ClusterState, profile: &Profile, pod_id: PodId) -> NodeSet {
        let Some(cx) = Context::new(state, &self.store, pod_id) else {
            return NodeSet::default();
        };
        let mut nodes = self.masks.allowed(&profile.filter, &cx).clone();
        nodes.intersect(state.nodes().present());
        nodes
    }

    /// What each score plugin of the profile says of each node that suits the pod, without weights: for
    /// comparison with others, and for people.
    pub fn scores_of(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
    ) -> Vec<(NodeId, Vec<(&'static str, i64)>)> {
        let found = self.find_candidates(state, profile, pod_id, &Domain::Everywhere);
        let Some((_, cx)) = found.zip(Context::new(state, &self.store, pod_id)) else {
            return Vec::new();
        };
        scores::of_all(profile, &cx, &self.candidates)
    }

    /// Why the pod does not fit this node now: the reasons of the first filter that refuses.
    #[must_use]
    pub fn reasons(
        &self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
        node: NodeId,
    ) -> Vec<Reason> {
        let Some(cx) = Context::new(state, &self.store, pod_id) else {
            return Vec::new();
        };
        let before = profile.asked_first(cx.shape);
        let verdicts: Vec<_> = before.map(|one| one.pre_filter(&cx)).collect();
        refusal(profile, &verdicts, &asked(profile, &cx), &cx, node).into_owned()
    }

    /// Whether the pod fits this node now.
    pub fn fits(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
        node: NodeId,
    ) -> bool {
        self.is_right(state, profile, pod_id, node, |one, cx, node| {
            one.suits(cx, node)
        })
    }

    /// Whether the pod may fit this node once other members of its gang have their places, for all that can be
    /// told before.
    pub fn may_fit(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
        node: NodeId,
    ) -> bool {
        self.is_right(state, profile, pod_id, node, |one, cx, node| {
            let by_mates =
                one.scope(cx.shape) == Scope::Cluster && one.mates(cx.shape) == Mates::Otherwise;
            by_mates || one.suits(cx, node)
        })
    }

    /// Whether a node that is held for the pod, and suited it then, suits it still.
    pub fn still_fits(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
        node: NodeId,
    ) -> bool {
        self.is_right(state, profile, pod_id, node, |one, cx, node| {
            one.still_suits(cx, node)
        })
    }

    fn is_right(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
        node: NodeId,
        by: impl Fn(&dyn Filter, &Context<'_>, NodeId) -> bool,
    ) -> bool {
        let Some(cx) = Context::new(state, &self.store, pod_id) else {
            return false;
        };
        let mut used = profile.asked_each_time(cx.shape);
        state.nodes().present().contains(node)
            && self.masks.allowed(&profile.filter, &cx).contains(node)
            && used.all(|one| by(&**one, &cx, node))
            && narrow(profile, &cx, &Domain::Everywhere)
                .is_some_and(|among| among.is_none_or(|among| among.contains(node)))
    }

    /// Whether the pod fits any node now.
    pub fn fits_anywhere(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
    ) -> bool {
        self.best_node(state, profile, pod_id, &Domain::Everywhere)
            .is_some()
    }

    /// Fills `candidates` with the nodes of the domain that suit the pod; `None` if none does.
    pub(super) fn find_candidates(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
        domain: &Domain,
    ) -> Option<()> {
        self.find_candidates_of(state, profile, pod_id, domain, |_| {})
    }

    /// The same of those that are left when some were taken out, before it is looked at what is on each.
    pub(super) fn find_candidates_of(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        pod_id: PodId,
        domain: &Domain,
        take_out: impl FnOnce(&mut NodeSet),
    ) -> Option<()> {
        let cx = Context::new(state, &self.store, pod_id)?;
        let allowed = self.masks.allowed(&profile.filter, &cx);
        self.candidates.copy_from(allowed);
        self.candidates.intersect(state.nodes().present());
        if let Some(among) = narrow(profile, &cx, domain)? {
            self.candidates.intersect(&among);
        }
        take_out(&mut self.candidates);
        for filter in profile.asked_each_time(cx.shape) {
            filter.retain(&cx, &mut self.candidates);
        }
        (!self.candidates.is_empty()).then_some(())
    }
}
