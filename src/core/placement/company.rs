//! Further tries for gangs whose members mind each other: beside whom one is may decide whether another
//! finds a place, so the first order and the best nodes may not be those that work.
//!
//! Who found no node goes first the next time. And members who have to be near each other are tried with
//! all of them in one domain, the tightest that has room for them first. Both are bounded.

use super::Placer;
use super::demand::{Demand, Member, Order};
use super::domain::Domain;
use crate::framework::{Context, Profile};
use crate::state::{ClusterState, KeyId, NodeSet, PodId, Rules, ValueId};
use crate::transaction::Statement;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// In how many further orders members are tried.
const ORDERS: usize = 8;
/// In how many domains they are tried as a whole, and with how many members together; in one at least.
const DOMAINS: usize = 32;
const MEMBERS: usize = 8_192;

impl Placer {
    /// Places members that mind each other and found no places together; the first without one is known.
    /// Says whether all are placed.
    pub(super) fn place_in_company(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
        without_node: Option<PodId>,
    ) -> bool {
        if demand.needed < 2 || !any_minds(statement.state(), demand) {
            return false;
        }
        let silent = std::mem::replace(&mut self.silent, true);
        let placed = self.place_in_other_orders(statement, profile, demand, domain, without_node)
            || self.place_gathered(statement, profile, demand, domain);
        self.silent = silent;
        if !self.asks_only {
            let count = match placed {
                true => &mut self.packing.turned,
                false => &mut self.packing.turned_in_vain,
            };
            *count += 1;
        }
        placed
    }

    /// Has those go first who found no node, one kind after the other.
    fn place_in_other_orders(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
        mut without_node: Option<PodId>,
    ) -> bool {
        if demand.is_uniform() {
            return false;
        }
        let start = statement.checkpoint();
        let mut members = demand.members(statement.state(), Order::Created);
        for _ in 0..ORDERS {
            let first = members.iter().find(|one| Some(one.pod) == without_node);
            let Some(shape) = first.map(|one| one.shape) else {
                return false;
            };
            if members.first().is_some_and(|one| one.shape == shape) {
                return false;
            }
            members.sort_by_key(|one: &Member| Reverse(one.shape == shape));
            let turn = members.clone();
            match self.pack_in_turn(statement, profile, demand, domain, turn) {
                Ok(()) => return true,
                Err(shortage) => without_node = shortage.member,
            }
            statement.roll_back(start);
        }
        false
    }

    /// Places all in one domain of the label within which they have to be near each other.
    fn place_gathered(
        &mut self,
        statement: &mut Statement<'_>,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
    ) -> bool {
        let Some(key) = gathers_by(statement.state(), demand) else {
            return false;
        };
        let start = statement.checkpoint();
        for nodes in self.gathering_places(statement.state(), profile, demand, domain, key) {
            let inside = domain.clone().inside(Some(&nodes));
            for order in demand.orders() {
                let members = demand.members(statement.state(), *order);
                let found = self.pack_in_turn(statement, profile, demand, &inside, members);
                if found.is_ok() {
                    return true;
                }
                statement.roll_back(start);
            }
        }
        false
    }

    /// The domains that may have room for all, those with least room beyond that first.
    fn gathering_places(
        &mut self,
        state: &ClusterState,
        profile: &Profile,
        demand: &Demand,
        domain: &Domain,
        key: KeyId,
    ) -> Vec<NodeSet> {
        let Some(pod) = demand.first_pod() else {
            return Vec::new();
        };
        let rooms: Vec<(u64, ValueId)> = {
            let Some(cx) = Context::new(state, &self.store, pod) else {
                return Vec::new();
            };
            let allowed = self.masks.allowed(&profile.filter, &cx);
            let room_on = |node| {
                // Whom they want to be near comes with them.
                let filters = profile.asked_each_time(cx.shape);
                let filters = filters.filter(|one| !one.is_helped(cx.shape));
                u64::from(filters.map(|one| one.room(&cx, node)).min().unwrap_or(0))
            };
            let all = state.label_domains();
            let room_in = |value| {
                let nodes = all.nodes_with(key, value).iter();
                let inside = |node: &_| domain.nodes().is_none_or(|some| some.contains(*node));
                let nodes = nodes.filter(|node| allowed.contains(*node) && inside(node));
                nodes.map(room_on).sum::<u64>()
            };
            let needed = match demand.is_uniform() {
                true => u64::from(demand.needed),
                // How much room there is for others is not looked at.
                false => 1,
            };
            let rooms = all.values(key).map(|value| (room_in(value), value));
            rooms.filter(|(room, _)| *room >= needed).collect()
        };
        let mut rooms = rooms;
        rooms.sort_unstable();
        let nodes =
            |(_, value): (u64, ValueId)| state.label_domains().nodes_with(key, value).clone();
        let tried = (MEMBERS / demand.needed.max(1) as usize).clamp(1, DOMAINS);
        rooms.into_iter().take(tried).map(nodes).collect()
    }
}

/// Whether rules about other pods decide where some of the members go.
fn any_minds(state: &ClusterState, demand: &Demand) -> bool {
    let shapes = demand.shapes().filter_map(|(id, _)| state.shapes().get(id));
    let mut spread = shapes.filter(|shape| !shape.spread.is_empty());
    rules_of(state, demand).any(Rules::bind) || spread.next().is_some()
}

/// The label by which members want to be near each other, of whom nobody has a place yet: of several
/// that with most values.
fn gathers_by(state: &ClusterState, demand: &Demand) -> Option<KeyId> {
    let counted: BTreeSet<_> = rules_of(state, demand)
        .flat_map(|rules| rules.counted_in.iter().copied())
        .collect();
    let nears = rules_of(state, demand).filter_map(|rules| rules.near.as_ref());
    let nears = nears.filter(|near| counted.contains(&near.query));
    let keys = nears.flat_map(|near| near.keys.iter().map(|key| (near.query, *key)));
    let open = keys.filter(|(query, key)| !state.counts().is_anywhere(*query, *key));
    let keys = open.map(|(_, key)| key);
    keys.max_by_key(|key| (state.label_domains().count(*key), Reverse(*key)))
}

fn rules_of<'a>(state: &'a ClusterState, demand: &Demand) -> impl Iterator<Item = &'a Rules> {
    let shapes: BTreeSet<_> = demand.shapes().map(|(shape, _)| shape).collect();
    let shapes = shapes.into_iter().filter_map(|id| state.shapes().get(id));
    shapes.filter_map(|shape| shape.rules.as_deref())
}
