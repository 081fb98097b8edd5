//! Room that is held for members that are not there yet.
//!
//! What a gang's `minResources` ask for beyond what its members have is held on nodes once the gang is
//! admitted: it is as good as used, for every filter, score and the queue's books, until members use it up,
//! the gang has ended, is released, or is gone. Who places the gang itself thinks its own room away first.
//!
//! Before it is admitted the same says where it will be admitted, while others are still leaving that room
//! for it ([`Held::awaits`]).
//!
//! What members once had is not held for them again, and a gang of which all members have ended asks for
//! nothing. [`ClusterState::settle_hold`] brings what is held down to what is asked;
//! [`ClusterState::audit`](super::ClusterState::audit) adds it up from scratch.

use super::ClusterState;
use super::ids::{GangId, NodeId};
use super::kept::View;
use muster_model::resources::{Dimension, Request, Tally};
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Amounts by node.
pub type RoomOn = BTreeMap<NodeId, Tally>;

/// What is held for one gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// What, and where.
    pub on: RoomOn,
    /// Since when, or since when the last member came to it.
    pub since: Time,
    /// Others are to leave it first.
    pub awaits: bool,
}

impl Held {
    /// All of it.
    #[must_use]
    pub fn sum(&self) -> Tally {
        let mut sum = Tally::default();
        self.on.values().for_each(|amounts| sum.add_all(amounts));
        sum
    }
}

/// All that is held.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldRoom {
    by_gang: BTreeMap<GangId, Held>,
    sum: Tally,
    /// So many have it, and await nobody's leaving.
    standing: usize,
    by_node: BTreeMap<NodeId, BTreeSet<GangId>>,
    /// The most that the members of gangs that ask for room have had at once since they were admitted.
    had: BTreeMap<GangId, Tally>,
}

impl ClusterState {
    /// What is held for a gang.
    #[must_use]
    pub fn held_for(&self, gang: GangId) -> Option<&Held> {
        self.held_room.by_gang.get(&gang)
    }

    /// The same, where nobody has to leave it first.
    #[must_use]
    pub fn has_room_held(&self, gang: GangId) -> bool {
        self.held_for(gang).is_some_and(|held| !held.awaits)
    }

    /// How many gangs have room held for them that nobody has to leave first.
    #[must_use]
    pub const fn rooms_held(&self) -> usize {
        self.held_room.standing
    }

    /// The gangs for which room is held, and what.
    pub fn all_held(&self) -> impl Iterator<Item = (GangId, &Held)> {
        self.held_room.by_gang.iter().map(|(id, held)| (*id, held))
    }

    /// Holds this for a gang from now on, or nothing; says what was held before.
    pub fn hold_room(&mut self, gang: GangId, held: Option<Held>) -> Option<Held> {
        let held = held.filter(|held| !held.on.is_empty());
        let before = self.held_room.by_gang.remove(&gang);
        if let Some(before) = &before {
            self.count_held(gang, before, false);
        }
        if let Some(held) = held {
            self.count_held(gang, &held, true);
            self.held_room.by_gang.insert(gang, held);
        }
        self.note_work(gang);
        before
    }

    /// Counts it on its nodes and in the books of its queue.
    fn count_held(&mut self, gang: GangId, held: &Held, more: bool) {
        self.nodes.hold_amounts(gang, &held.on, more);
        let stands = usize::from(!held.awaits);
        if more {
            self.held_room.sum.add_all(&held.sum());
            self.held_room.standing += stands;
        } else {
            self.held_room.sum.subtract_all(&held.sum());
            self.held_room.standing -= stands;
        }
        for node in held.on.keys() {
            let gangs = self.held_room.by_node.entry(*node).or_default();
            if more {
                gangs.insert(gang);
            } else {
                gangs.remove(&gang);
            }
            if gangs.is_empty() {
                self.held_room.by_node.remove(node);
            }
        }
        let Some(gang) = self.gangs.get(gang) else {
            return;
        };
        self.claims_changed.note_gang(&gang.key);
        if let Some((queue, lifetime)) = gang.account {
            let (sum, none) = (held.sum(), Tally::default());
            let nominated = if held.awaits { &sum } else { &none };
            self.queues
                .count_all(queue, lifetime, (&sum, nominated), more);
        }
    }

    /// Holds nothing for a gang any more, and those who wait for room may have it.
    pub fn give_up_room(&mut self, gang: GangId) {
        let had = self.held_room.had.remove(&gang).is_some();
        if had || self.held_for(gang).is_some() {
            self.drop_hold(gang);
        }
    }

    /// The same, of which it is known still what its members had.
    pub fn drop_hold(&mut self, gang: GangId) {
        if let Some(before) = self.hold_room(gang, None) {
            self.changes.nodes.extend(before.on.into_keys());
            self.changes.room_set_free = true;
            self.touch(gang);
        }
    }

    /// A gang goes on with what its members have: no more is held for it than that.
    pub fn ask_for_no_more(&mut self, gang: GangId) {
        let wanted = self.room_wanted(gang);
        let in_use = self[gang].in_use.clone();
        let had = self.held_room.had.entry(gang).or_default();
        for (dimension, amount) in wanted.iter() {
            let more = amount + in_use.get(dimension).max(had.get(dimension)) - had.get(dimension);
            had.add_amount(dimension, more);
        }
        self.drop_hold(gang);
    }

    /// A gang is admitted: what its members have from now on is not asked for again.
    pub fn begin_to_have(&mut self, gang: GangId) {
        // Who asks for nothing has nothing of it.
        if !self[gang].min_resources.is_empty() {
            self.held_room.had.entry(gang).or_default();
        }
    }

    /// Some members of a gang got nodes, while what is held for it was thought away: what they left of it is
    /// held again, as far as it is still asked for.
    pub fn hold_the_rest(&mut self, gang: GangId, mut held: Held, came_to: &[NodeId]) {
        // What is reserved of it for others looks taken to the gang, and is its own.
        let shown = self.show(View::OPEN);
        for (node, amounts) in &mut held.on {
            let left: Vec<(Dimension, i64)> = amounts.iter().collect();
            for (dimension, amount) in left {
                let free = self.nodes.free(*node, dimension).max(0);
                amounts.add_amount(dimension, free.min(amount) - amount);
            }
        }
        self.show(shown);
        held.on.retain(|_, amounts| *amounts != Tally::default());
        held.since = self.now;
        self.hold_room(gang, Some(held));
        self.settle_hold(gang, came_to);
    }

    /// Holds no more for a gang than it asks for: on these nodes, to which members came, as much less as
    /// they took, and of the others those last on which little is held.
    pub fn settle_hold(&mut self, gang: GangId, came_to: &[NodeId]) {
        let Some(held) = self.held_room.by_gang.get(&gang) else {
            return;
        };
        let wanted = self.room_wanted(gang);
        let mut left = held.sum();
        left.subtract_all(&wanted);
        let over: Vec<_> = left.iter().filter(|(_, amount)| *amount > 0).collect();
        if over.is_empty() {
            return;
        }
        let mut held = held.clone();
        held.since = self.now;
        let others = held.on.keys().rev().filter(|node| !came_to.contains(node));
        let order: Vec<NodeId> = came_to.iter().chain(others).copied().collect();
        for (dimension, mut amount) in over {
            for node in &order {
                let Some(here) = held.on.get_mut(node) else {
                    continue;
                };
                let less = here.get(dimension).min(amount);
                here.add_amount(dimension, -less);
                amount -= less;
            }
        }
        held.on
            .retain(|_, amounts| amounts.iter().any(|(_, amount)| amount > 0));
        let before = self.hold_room(gang, Some(held));
        let nodes = before.into_iter().flat_map(|before| before.on.into_keys());
        self.changes.nodes.extend(nodes);
        self.changes.room_set_free = true;
    }

    /// A node goes: nothing can be held there any more.
    pub(super) fn lose_held(&mut self, node: NodeId) {
        for gang in self
            .held_room
            .by_node
            .get(&node)
            .cloned()
            .unwrap_or_default()
        {
            self.touch(gang);
            if let Some(mut held) = self.held_for(gang).cloned() {
                held.on.remove(&node);
                self.hold_room(gang, Some(held));
            }
        }
    }

    /// Notes what the members of a gang have now: it is not asked for again.
    pub(super) fn note_had(&mut self, id: GangId) {
        let Some(had) = self.held_room.had.get_mut(&id) else {
            return;
        };
        let gang = &self.gangs[id];
        for (dimension, _) in gang.min_resources.iter() {
            let more = gang.in_use.get(dimension) - had.get(dimension);
            if more > 0 {
                had.add_amount(dimension, more);
            }
        }
    }

    /// What a gang asks for beyond what its members have, or had: what is held for it, once it is admitted.
    #[must_use]
    pub fn room_wanted(&self, id: GangId) -> Tally {
        let mut wanted = Tally::default();
        let asks = |gang: &&super::Gang| !gang.min_resources.is_empty() && !gang.has_ended();
        let Some(gang) = self.gangs.get(id).filter(asks) else {
            return wanted;
        };
        let had = self.held_room.had.get(&id);
        for (dimension, amount) in gang.min_resources.iter() {
            let had = had.map_or(0, |had| had.get(dimension));
            let rest = amount.saturating_sub(had.max(gang.in_use.get(dimension)));
            wanted.add_amount(dimension, rest.max(0));
        }
        wanted
    }

    /// The same beyond its members that wait as well: what those ask they ask as pods.
    #[must_use]
    pub fn room_for_others_of(&self, id: GangId) -> Request {
        let asks = |gang: &&super::Gang| !gang.min_resources.is_empty();
        let Some(gang) = self.gangs.get(id).filter(asks) else {
            return Request::default();
        };
        let mut there = Tally::default();
        for (class, members) in gang.pending.counts() {
            if let Some(shape) = self.shapes.get(class.shape) {
                there.add_times(&shape.request, members);
            }
        }
        let wanted = self.room_wanted(id);
        let rest = |(dimension, amount): (Dimension, i64)| {
            (dimension, amount.saturating_sub(there.get(dimension)))
        };
        let rest = wanted.iter().map(rest);
        Request::new(rest.filter(|(_, amount)| *amount > 0))
    }

    /// How much of a resource is held for other gangs than this.
    #[must_use]
    pub fn held_for_others(&self, gang: GangId, dimension: Dimension) -> i64 {
        let own = self
            .held_for(gang)
            .map_or(0, |held| held.sum().get(dimension));
        self.held_room.sum.get(dimension) - own
    }

    /// Of some amounts that a gang asks for what is not held for it already.
    #[must_use]
    pub fn beyond_what_is_held(&self, gang: GangId, mut amounts: Tally) -> Tally {
        if let Some(held) = self.held_for(gang) {
            for (dimension, amount) in held.sum().iter() {
                let less = amounts.get(dimension).min(amount);
                amounts.add_amount(dimension, -less);
            }
        }
        amounts
    }

    /// What a gang holds, with what is held for its members that are not there yet.
    pub(super) fn holdings(&self, gang: GangId) -> Tally {
        let mut all = self[gang].in_use.clone();
        if let Some(held) = self.held_for(gang) {
            all.add_all(&held.sum());
        }
        all
    }

    /// Adds up from scratch what is held, and compares.
    pub(super) fn audit_held(&self) -> Result<(), String> {
        let mut by_node: BTreeMap<NodeId, BTreeSet<GangId>> = BTreeMap::new();
        let (mut all, mut standing) = (Tally::default(), 0);
        for (gang, held) in &self.held_room.by_gang {
            let Some(known) = self.gangs.get(*gang) else {
                return Err(format!("room is held for {gang:?}, which is gone"));
            };
            for node in held.on.keys() {
                by_node.entry(*node).or_default().insert(*gang);
            }
            all.add_all(&held.sum());
            standing += usize::from(!held.awaits);
            // Of gangs that are not looked at yet nobody knows.
            if self.changes.gangs.contains(gang) {
                continue;
            }
            let (sum, wanted) = (held.sum(), self.room_wanted(*gang));
            let more = |(dimension, amount): (Dimension, i64)| amount > wanted.get(dimension);
            if sum.iter().any(more) {
                let key = &known.key;
                return Err(format!("gang {key}: holds {sum:?}, and wants {wanted:?}"));
            }
        }
        let room = &self.held_room;
        if by_node != room.by_node || all != room.sum || standing != room.standing {
            return Err("what is held is not what is noted".to_owned());
        }
        Ok(())
    }

    /// What is held of a resource on a node.
    pub(super) fn held_on(&self, node: NodeId, dimension: Dimension) -> i64 {
        let gangs = self.held_room.by_node.get(&node).into_iter().flatten();
        let held = gangs.filter_map(|gang| self.held_for(*gang)?.on.get(&node));
        held.map(|amounts| amounts.get(dimension)).sum()
    }
}
