//! What a gang asks for, as data: whoever places it works on this, whether for the cluster as it is,
//! as it would be without somebody, or inside a part of it.

use crate::state::{ClusterState, GangId, NodeSet, PodId, ShapeId, take_turns};
use muster_model::resources::{Request, Tally};
use std::cmp::Reverse;

/// What a gang asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Who may be placed, by creation; of equal ones no more than could be needed, and of these the
    /// lowest ranks.
    members: Vec<Member>,
    /// What each subgroup asks for.
    pub(super) subgroups: Vec<Need>,
    /// How many members have to be placed, no fewer than the subgroups need together.
    pub(super) needed: u32,
    orders: &'static [Order],
}

/// A member that may be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) pod: PodId,
    pub(super) shape: ShapeId,
    /// The index of its subgroup.
    pub(super) subgroup: usize,
    /// Whether nodes refused it lately, so that it is like no other.
    pub(super) avoids: bool,
}

/// What a subgroup asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// So many have to be placed.
    pub(super) minimum: u32,
    /// So many may be.
    pub(super) room: u32,
}

/// In which order members are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Created,
    LargestFirst,
    SmallestFirst,
}

impl Demand {
    /// What is missing to the gang's minimum.
    #[must_use]
    pub fn minimum(state: &ClusterState, gang_id: GangId) -> Self {
        let gang = &state[gang_id];
        let subgroups = gang.subgroups.iter().map(|one| Need {
            minimum: one.missing(one.min),
            room: one.room(),
        });
        let mut demand = Self::new(state, gang_id, subgroups.collect(), gang.missing());
        if !demand.is_uniform() {
            demand.orders = &[Order::LargestFirst, Order::SmallestFirst];
        }
        demand
    }

    /// The minimum, and as many more members as there are of a gang that is to be placed as a whole.
    #[must_use]
    pub fn everybody(state: &ClusterState, gang_id: GangId, members: u32) -> Self {
        let mut demand = Self::minimum(state, gang_id);
        let minima: Vec<Need> = demand.subgroups;
        let uniform_orders = demand.orders;
        demand = Self::new(state, gang_id, minima, members.max(demand.needed));
        demand.orders = uniform_orders;
        demand
    }

    /// One member more.
    #[must_use]
    pub fn surplus(state: &ClusterState, gang_id: GangId) -> Self {
        let gang = &state[gang_id];
        let subgroups = gang.subgroups.iter().map(|one| Need {
            minimum: 0,
            room: gang.room_to_grow(one),
        });
        Self::new(state, gang_id, subgroups.collect(), 1)
    }

    /// What a gang asks for next, in amounts of resources: the members that would be placed first.
    #[must_use]
    pub fn amounts(state: &ClusterState, gang_id: GangId) -> Tally {
        let gang = &state[gang_id];
        let mut sum = Tally::default();
        let missing = gang.missing();
        if let Some(class) = gang.pending.only_class() {
            if let Some(shape) = state.shapes().get(class.shape) {
                sum.add_times(&shape.request, missing.max(1));
            }
            return sum;
        }
        let demand = if missing > 0 {
            Self::minimum(state, gang_id)
        } else {
            Self::surplus(state, gang_id)
        };
        let mut left = demand.needed;
        let mut minima: Vec<u32> = demand.subgroups.iter().map(|need| need.minimum).collect();
        let order = demand.orders.first().copied().unwrap_or(Order::Created);
        let mut spare = Vec::new();
        for member in demand.members(state, order) {
            match minima.get_mut(member.subgroup) {
                Some(minimum) if *minimum > 0 => *minimum -= 1,
                _ => {
                    spare.push(member);
                    continue;
                }
            }
            left = left.saturating_sub(1);
            if let Some(shape) = state.shapes().get(member.shape) {
                sum.add(&shape.request);
            }
        }
        for member in spare.iter().take(left as usize) {
            if let Some(shape) = state.shapes().get(member.shape) {
                sum.add(&shape.request);
            }
        }
        sum
    }

    fn new(state: &ClusterState, gang_id: GangId, subgroups: Vec<Need>, needed: u32) -> Self {
        let mut members = Vec::new();
        for (class, pods) in state[gang_id].pending.classes() {
            let room = subgroups.get(class.subgroup).map_or(0, |need| need.room);
            let enough = if class.avoids {
                usize::MAX
            } else {
                room.min(needed) as usize
            };
            let from = members.len();
            members.extend(pods.take(enough).map(|turn| {
                let (_, _, pod) = turn;
                let member = Member {
                    pod,
                    shape: class.shape,
                    subgroup: class.subgroup,
                    avoids: class.avoids,
                };
                (turn, member)
            }));
            take_turns(&mut members[from..]);
        }
        members.sort_unstable_by_key(|((_, created, id), _)| (*created, *id));
        Self {
            members: members.into_iter().map(|(_, member)| member).collect(),
            subgroups,
            needed,
            orders: &[Order::Created],
        }
    }

    /// How many of a subgroup have to be placed, and may be.
    pub(super) fn need(&self, subgroup: usize) -> Option<(u32, u32)> {
        let need = self.subgroups.get(subgroup)?;
        Some((need.minimum, need.room))
    }

    /// How many subgroups have members that may be placed.
    pub(super) fn groups(&self) -> usize {
        let mut seen: Vec<usize> = self.members.iter().map(|one| one.subgroup).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    }

    /// Whether two subgroups ask for the same: as many members, of the same shapes.
    pub(super) fn are_alike(&self, one: usize, other: usize) -> bool {
        let shapes = |subgroup: usize| {
            let own = self.members.iter().filter(|one| one.subgroup == subgroup);
            let mut shapes: Vec<ShapeId> = own.map(|one| one.shape).collect();
            shapes.sort_unstable();
            shapes
        };
        let need = |subgroup: usize| self.subgroups.get(subgroup);
        need(one) == need(other) && shapes(one) == shapes(other)
    }

    /// Whether no member asks for a device.
    fn asks_for_no_device(&self, state: &ClusterState) -> bool {
        let asks = |shape: ShapeId| {
            let shape = state.shapes().get(shape);
            shape.is_some_and(|shape| shape.asks_for_devices(state.dimensions()))
        };
        let mut known = None;
        let mut shapes = self.members.iter().map(|one| one.shape);
        // Equal ones stand together, more often than not.
        !shapes.any(|shape| known.replace(shape) != Some(shape) && asks(shape))
    }

    /// The nodes with devices, if no member asks for any.
    pub(super) fn devices_to_spare<'a>(&self, state: &'a ClusterState) -> Option<&'a NodeSet> {
        let devices = state.nodes().with_devices();
        (!devices.is_empty() && self.asks_for_no_device(state)).then_some(devices)
    }

    /// The nodes without devices, if there are others and no member asks for any.
    pub(super) fn without_devices(&self, state: &ClusterState) -> Option<NodeSet> {
        let devices = self.devices_to_spare(state)?;
        let mut without = state.nodes().present().clone();
        without.retain(|node| !devices.contains(node));
        Some(without)
    }

    /// Whether nodes refused one of the members lately.
    pub(super) fn anybody_avoids(&self) -> bool {
        self.members.iter().any(|one| one.avoids)
    }

    /// The subgroup of the first member.
    pub(super) fn first_group(&self) -> usize {
        self.members.first().map_or(0, |one| one.subgroup)
    }

    /// The first member.
    pub(super) fn first_pod(&self) -> Option<PodId> {
        self.members.first().map(|one| one.pod)
    }

    /// Each member's shape.
    pub fn shapes(&self) -> impl Iterator<Item = (ShapeId, PodId)> {
        self.members.iter().map(|one| (one.shape, one.pod))
    }

    /// What one subgroup's minimum asks for.
    pub(super) fn minimum_of(&self, subgroup: usize) -> Self {
        self.part(subgroup, self.subgroups[subgroup].minimum)
    }

    /// At most so many members more of a subgroup, of those that have no place yet.
    pub(super) fn more_of(&self, state: &ClusterState, subgroup: usize, most: u32) -> Option<Self> {
        let waits = |one: &&Member| state.pod(one.pod).is_some_and(|pod| pod.room().is_none());
        let own = self.members.iter().filter(|one| one.subgroup == subgroup);
        let placed = own.clone().filter(|one| !waits(one)).count();
        let waiting = own.filter(waits).count();
        let room = (self.subgroups[subgroup].room as usize).saturating_sub(placed);
        let needed = u32::try_from(waiting.min(room))
            .unwrap_or(u32::MAX)
            .min(most);
        let mut part = self.part(subgroup, needed);
        part.members.retain(|one| waits(&one));
        (needed > 0).then_some(part)
    }

    /// The largest request of a member of a subgroup.
    pub(super) fn largest_of(&self, state: &ClusterState, subgroup: usize) -> Option<Request> {
        let own = self.members.iter().filter(|one| one.subgroup == subgroup);
        let requests = own.filter_map(|one| state.shapes().get(one.shape));
        requests.map(|shape| &shape.request).max().cloned()
    }

    fn part(&self, subgroup: usize, needed: u32) -> Self {
        let own = self.members.iter().filter(|one| one.subgroup == subgroup);
        let need = |(index, need): (usize, &Need)| Need {
            minimum: if index == subgroup { needed } else { 0 },
            room: if index == subgroup { need.room } else { 0 },
        };
        Self {
            members: own.copied().collect(),
            subgroups: self.subgroups.iter().enumerate().map(need).collect(),
            needed,
            orders: self.orders,
        }
    }

    /// So many members after so many others, where all are equal.
    pub(super) fn uniform_part(&self, from: u64, members: u64) -> Self {
        let index = |at: u64| {
            usize::try_from(at)
                .unwrap_or(usize::MAX)
                .min(self.members.len())
        };
        let members = self.members[index(from)..index(from + members)].to_vec();
        let needed = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let zero = |need: &Need| Need {
            minimum: 0,
            room: need.room,
        };
        Self {
            members,
            subgroups: self.subgroups.iter().map(zero).collect(),
            needed,
            orders: self.orders,
        }
    }

    /// Whether all members have one shape.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        let mut shapes = self.members.windows(2);
        shapes.all(|pair| pair[0].shape == pair[1].shape)
    }

    /// The orders in which it is worth trying the members.
    pub(super) const fn orders(&self) -> &'static [Order] {
        self.orders
    }

    /// The members in an order.
    pub(super) fn members(&self, state: &ClusterState, order: Order) -> Vec<Member> {
        let mut members = self.members.clone();
        let size = |shape| state.shapes().get(shape).map(|one| one.request.clone());
        match order {
            Order::Created => {}
            Order::LargestFirst => members.sort_by_cached_key(|one| Reverse(size(one.shape))),
            Order::SmallestFirst => members.sort_by_cached_key(|one| size(one.shape)),
        }
        members
    }
}
