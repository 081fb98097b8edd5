//! A demand as a problem in amounts alone, and a layout of it as places of pods.

use super::Placer;
use super::demand::{Demand, Member, Order};
use super::domain::Domain;
use crate::framework::Profile;
use crate::state::{ClusterState, NodeId, NodeSet, PodId, ShapeId};
use crate::transaction::Assumed;
use muster_exact::{Effort, Layout, Load, Members, Nodes, Problem, Quota};
use muster_model::resources::Dimension;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many classes of members a problem has at most.
const MAX_CLASSES: usize = 24;
/// How many members.
const MAX_MEMBERS: usize = 1_024;

/// A problem, and who is who in it.
pub(super) struct Puzzle {
    pub(super) problem: Problem,
    /// The members of each class, in the order of the demand.
    members: Vec<Vec<PodId>>,
    /// The nodes of each class, by id.
    nodes: Vec<Vec<NodeId>>,
    /// Each member's place in the demand.
    order: BTreeMap<PodId, usize>,
}

/// Members that are alike: what they are, in which subgroup, and which nodes refused them.
type Alike = (ShapeId, usize, Vec<NodeId>);

impl Placer {
    /// The problem, if amounts alone decide and it has no more than so many nodes with room.
    pub(super) fn puzzle(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
        (max_nodes, effort): (usize, &mut Effort),
    ) -> Option<Puzzle> {
        let waiting = demand.members(state, Order::Created);
        if waiting.len() > MAX_MEMBERS {
            return None;
        }
        let classes = classes(state, profile, &waiting)?;
        let mut resources: Vec<Dimension> = Vec::new();
        for (_, members) in &classes {
            let shape = state.shapes().get(members.first()?.shape)?;
            resources.extend(shape.request.iter().map(|(dimension, _)| dimension));
        }
        resources.sort_unstable();
        resources.dedup();
        let weights = state.weights();
        let prices = resources.iter().map(|one| weights.price(*one));
        let prices: Vec<i128> = prices.collect::<Option<_>>()?;
        let mut allowed = Vec::with_capacity(classes.len());
        let mut all = NodeSet::default();
        for (_, members) in &classes {
            let pod = members.first()?.pod;
            let found = self.find_candidates(state, profile, pod, domain).is_some();
            let nodes = if found {
                self.candidates.clone()
            } else {
                NodeSet::default()
            };
            nodes.iter().for_each(|node| all.insert(node));
            allowed.push(nodes);
        }
        let size = all.len();
        if size > max_nodes || !effort.spend((size * (1 + classes.len())) as u64) {
            return None;
        }
        let mut by_class: BTreeMap<Nodes, Vec<NodeId>> = BTreeMap::new();
        for node in all.iter() {
            let class = class_of(state, node, &resources, &allowed)?;
            by_class.entry(class).or_default().push(node);
        }
        let mut nodes: Vec<(Vec<NodeId>, Nodes)> = by_class
            .into_iter()
            .map(|(class, nodes)| (nodes, class))
            .collect();
        // Of classes that are as good, the one with the lowest id is the first.
        nodes.sort_unstable();
        let members = classes.iter().map(|((shape, subgroup, _), members)| {
            let request = &state.shapes().get(*shape)?.request;
            Some(Members {
                request: resources.iter().map(|one| request.get(*one)).collect(),
                count: u32::try_from(members.len()).ok()?,
                subgroup: *subgroup,
            })
        });
        let quota = |index| {
            let (minimum, room) = demand.need(index)?;
            Some(Quota { minimum, room })
        };
        let problem = Problem {
            members: members.collect::<Option<_>>()?,
            nodes: nodes
                .iter()
                .map(|(ids, class)| Nodes {
                    count: u32::try_from(ids.len()).unwrap_or(u32::MAX),
                    ..class.clone()
                })
                .collect(),
            subgroups: (0..).map_while(quota).collect(),
            needed: demand.needed,
            prices,
        };
        let pods =
            |(_, members): &(Alike, Vec<Member>)| members.iter().map(|one| one.pod).collect();
        Some(Puzzle {
            problem,
            members: classes.iter().map(pods).collect(),
            nodes: nodes.into_iter().map(|(ids, _)| ids).collect(),
            order: waiting
                .iter()
                .enumerate()
                .map(|(at, one)| (one.pod, at))
                .collect(),
        })
    }
}

/// Members that are alike, those who are worth most first; `None` where amounts do not decide.
fn classes(
    state: &ClusterState,
    profile: &Profile,
    waiting: &[Member],
) -> Option<Vec<(Alike, Vec<Member>)>> {
    let mut classes: BTreeMap<Alike, Vec<Member>> = BTreeMap::new();
    for one in waiting {
        let avoid = match one.avoids {
            true => state.pod(one.pod)?.avoid.clone(),
            false => Vec::new(),
        };
        let alike = (one.shape, one.subgroup, avoid);
        classes.entry(alike).or_default().push(*one);
        if classes.len() > MAX_CLASSES {
            return None;
        }
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    let worth = |shape: ShapeId| {
        let shape = state.shapes().get(shape)?;
        Some(state.weights().of_each(|one| shape.request.get(one)))
    };
    for ((shape, ..), _) in &classes {
        let shape = state.shapes().get(*shape)?;
        if !profile.decides_by_amounts(shape) {
            return None;
        }
    }
    classes.sort_by_cached_key(|((shape, ..), members)| {
        let first = members.first().map(|one| one.pod);
        (Reverse(worth(*shape)), first)
    });
    Some(classes)
}

/// What a node is to the members.
fn class_of(
    state: &ClusterState,
    node: NodeId,
    resources: &[Dimension],
    allowed: &[NodeSet],
) -> Option<Nodes> {
    let (nodes, weights) = (state.nodes(), state.weights());
    let free = |one: Dimension| nodes.free(node, one).max(0);
    let others = state
        .dimensions()
        .iter()
        .filter(|one| !resources.contains(one));
    let mut beside = 0_i128;
    for one in others {
        beside = beside.saturating_add(weights.price(one)?.saturating_mul(i128::from(free(one))));
    }
    Some(Nodes {
        opens: nodes.in_use_by(node) == 0,
        free: resources.iter().map(|one| free(*one)).collect(),
        beside,
        allows: allowed.iter().map(|nodes| nodes.contains(node)).collect(),
        count: 1,
    })
}

impl Puzzle {
    /// A placement as a layout; `None` if it uses what the problem does not have.
    pub(super) fn layout(&self, placed: &[Assumed]) -> Option<Layout> {
        let mut of_pod = BTreeMap::new();
        for (class, pods) in self.members.iter().enumerate() {
            of_pod.extend(pods.iter().map(|pod| (*pod, class)));
        }
        let mut of_node = BTreeMap::new();
        for (class, nodes) in self.nodes.iter().enumerate() {
            of_node.extend(nodes.iter().map(|node| (*node, class)));
        }
        let mut loads: BTreeMap<NodeId, Load> = BTreeMap::new();
        for one in placed {
            let class = *of_node.get(&one.node)?;
            let load = loads.entry(one.node).or_insert_with(|| Load {
                class,
                members: vec![0; self.members.len()],
            });
            load.members[*of_pod.get(&one.pod)?] += 1;
        }
        let layout: Layout = loads.into_values().collect();
        self.problem.holds(&layout).then_some(layout)
    }

    /// A layout as a placement, in the order of the demand: of equal nodes and of equal members the
    /// first ones.
    pub(super) fn places(&self, layout: &Layout) -> Option<Vec<Assumed>> {
        if !self.problem.holds(layout) {
            return None;
        }
        let mut nodes: Vec<_> = self.nodes.iter().map(|nodes| nodes.iter()).collect();
        let mut on: Vec<(NodeId, &Load)> = Vec::with_capacity(layout.len());
        for load in layout {
            on.push((*nodes[load.class].next()?, load));
        }
        on.sort_unstable_by_key(|(node, _)| *node);
        let mut members: Vec<_> = self.members.iter().map(|pods| pods.iter()).collect();
        let mut places = Vec::new();
        for (node, load) in on {
            for (class, count) in load.members.iter().enumerate() {
                for _ in 0..*count {
                    let pod = *members[class].next()?;
                    places.push(Assumed { pod, node });
                }
            }
        }
        places.sort_by_key(|one| self.order.get(&one.pod).copied());
        Some(places)
    }
}
