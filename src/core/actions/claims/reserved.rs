//! Places in the future, and how they end.

use super::Claims;
use crate::actions::Cycle;
use crate::actions::notes::OrderKey;
use crate::placement::Room;
use crate::state::{ClusterState, GangId, NodeId};
use muster_model::resources::Tally;
use muster_model::units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A place that is reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// When it will be free; `None`: nobody knows.
    pub at: Option<Time>,
    /// Who goes where.
    pub(in crate::actions) place: Room,
    /// What of it is kept now, by node; of some there may be nothing.
    pub(in crate::actions) kept: BTreeMap<NodeId, Tally>,
    /// The nodes of it that nobody else is to have any part of.
    pub(in crate::actions) whole: BTreeSet<NodeId>,
    /// When it was looked for last.
    pub(in crate::actions) found_at: Time,
    /// Who was first has the lower number.
    pub(in crate::actions) number: u64,
    /// Where it is kept in the state.
    pub(in crate::actions) slot: usize,
    /// Where its gang stands in its queue.
    pub(in crate::actions) key: OrderKey,
    /// The tier of the queue right below the cluster.
    pub(in crate::actions) tier: i32,
}

impl Reserved {
    /// What is kept for it now, in all.
    #[must_use]
    pub fn kept(&self) -> Tally {
        let mut sum = Tally::default();
        self.kept.values().for_each(|amounts| sum.add_all(amounts));
        sum
    }

    /// What of the room that is free now is kept for it, in worth: of a node that it wants for itself
    /// all that is free.
    #[must_use]
    pub fn worth(&self, state: &ClusterState) -> u64 {
        let of_whole = self.whole.iter().map(|node| state.worth_left_on(*node));
        let parts = self.kept.iter();
        let parts = parts.filter(|(node, _)| !self.whole.contains(*node));
        let of_parts = parts.map(|(_, amounts)| state.weights().of(amounts));
        of_whole.chain(of_parts).fold(0, u64::saturating_add)
    }

    /// Its turn among those that are made anew.
    const fn rank(&self) -> (Reverse<i32>, u64) {
        (Reverse(self.tier), self.number)
    }

    /// Where it is kept in the state.
    pub(in crate::actions) const fn slot(&self) -> usize {
        self.slot
    }

    /// The nodes of the place that it wants for itself.
    #[must_use]
    pub const fn whole(&self) -> &BTreeSet<NodeId> {
        &self.whole
    }

    /// The nodes of the place.
    #[must_use]
    pub fn on(&self) -> BTreeSet<NodeId> {
        self.place.nodes()
    }

    /// On how many nodes something is kept for it now.
    pub(in crate::actions) fn keeps(&self) -> usize {
        let kept = self.kept.iter();
        let some = |node: &NodeId, amounts: &Tally| {
            self.whole.contains(node) || *amounts != Tally::default()
        };
        kept.filter(|(node, amounts)| some(node, amounts)).count()
    }
}

/// When a reservation is made anew.
#[derive(Clone, Debug)]
pub(in crate::actions) enum Renewal {
    /// When its turn comes.
    Always,
    /// If one of these nodes can help by then.
    If(Arc<BTreeSet<NodeId>>),
}

impl Claims {
    /// Reservations that are to be made anew, each in its turn.
    pub(in crate::actions) fn renew(&mut self, which: impl Fn(&Reserved) -> bool, how: &Renewal) {
        for (gang, one) in self.reserved.iter().filter(|(_, one)| which(one)) {
            let known = self.to_renew.insert(one.rank(), (*gang, how.clone()));
            if known.is_some() {
                self.to_renew.insert(one.rank(), (*gang, Renewal::Always));
            }
        }
    }

    /// Who reserved later may find a better place now, or has lost the one it has.
    pub(in crate::actions) fn renew_later_ones(&mut self, number: u64) {
        self.renew(|one| one.number > number, &Renewal::Always);
    }

    /// A gang has its turn.
    pub(in crate::actions) fn has_its_turn(&mut self, gang_id: GangId) {
        if let Some(reserved) = self.reserved.get(&gang_id) {
            self.to_renew.remove(&reserved.rank());
        }
    }
}

/// Reserves nothing for a gang any more.
pub(in crate::actions) fn cancel(cx: &mut Cycle<'_>, gang_id: GangId) {
    if let Some(before) = cx.claims.reserved.remove(&gang_id) {
        cx.state.keep(before.slot, None);
        cx.state.note_room(before.kept.into_keys());
        cx.claims.renew_later_ones(before.number);
        cx.orders.seen.insert(gang_id);
    }
}
