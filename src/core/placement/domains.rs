//! The search through a tree: its domains, height by height.

use super::spot::{Candidate, Shortlist, Spot, TRIED_IN_DOUBT};
use super::wanted::Wanted;
use crate::framework::{DomainOrder, DomainRoom};
use crate::state::{Common, DomainId, Id, NodeId, Reach, Tree};

/// A domain of a tree, that of a single node included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Node(NodeId),
    Domain(DomainId),
}

/// How far the domains of a height were given out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) height: Reach,
    /// All that leave at most so much were; `None`: none.
    pub(super) after: Option<u64>,
    /// How many.
    pub(super) count: usize,
}

impl Given {
    /// None yet.
    pub(super) const fn none(height: Reach) -> Self {
        Self {
            height,
            after: None,
            count: 0,
        }
    }
}

/// Those that leave least room, of all that leave more than was given out.
struct Tightest {
    after: Option<u64>,
    left: u64,
    alike: Vec<Spot>,
}

impl Tightest {
    const fn new(after: Option<u64>) -> Self {
        Self {
            after,
            left: u64::MAX,
            alike: Vec::new(),
        }
    }

    /// Whether one that leaves so much, or more, may be among them.
    const fn takes(&self, left: u64) -> bool {
        left <= self.left
    }

    fn add(&mut self, left: u64, spot: Spot) {
        if !self.takes(left) || self.after.is_some_and(|last| left <= last) {
            return;
        }
        if left < self.left {
            self.left = left;
            self.alike.clear();
        }
        self.alike.push(spot);
    }
}

/// What decides between equals.
fn number(spot: &Spot) -> usize {
    match spot {
        Spot::Node(node) => node.index(),
        Spot::Domain(id) => id.index(),
        Spot::Group(_) => 0,
    }
}

impl From<Place> for Spot {
    fn from(place: Place) -> Self {
        match place {
            Place::Node(node) => Self::Node(node),
            Place::Domain(id) => Self::Domain(id),
        }
    }
}

/// The domains of a tree, as far as they come into question.
#[derive(Clone, Copy)]
pub(super) struct Domains<'a> {
    pub(super) tree: &'a Tree,
    pub(super) wanted: &'a Wanted<'a>,
    /// What those who have a place have in common.
    pub(super) common: Common,
}

impl Domains<'_> {
    /// All domains of a height that may hold the members, those with least room beyond that first, and
    /// how many were looked at.
    pub(super) fn all_of_height(&self, height: Reach) -> (Vec<Place>, u64) {
        let spots = self.spots(height, self.wanted.rooms.least_room());
        let looked_at = spots.len() as u64;
        let may_hold = |spot: Spot| {
            let ((room, enough), place) = match spot {
                Spot::Node(node) => (self.wanted.room_on(node), Place::Node(node)),
                Spot::Domain(id) => (self.room_in(id), Place::Domain(id)),
                Spot::Group(_) => return None,
            };
            enough.then_some((room, place))
        };
        let mut all: Vec<(u64, Place)> = spots.into_iter().filter_map(may_hold).collect();
        all.sort_unstable();
        (all.into_iter().map(|(_, place)| place).collect(), looked_at)
    }

    /// For how many pods there is room in a domain, and whether that may be enough.
    fn room_in(&self, id: DomainId) -> (u64, bool) {
        match (self.tree.domain(id), self.wanted.inside) {
            (Some(domain), Some(among)) if !domain.nodes.is_within(among) => {
                let nodes = || {
                    domain
                        .nodes
                        .iter()
                        .filter(|node| self.wanted.is_inside(*node))
                };
                self.wanted.rooms.sum(|one| one.on(nodes()))
            }
            _ => self.wanted.rooms.sum(|one| one.of_domain(id)),
        }
    }

    /// The greatest height that may be tried.
    pub(super) fn highest(&self) -> Reach {
        let levels = Reach::try_from(self.tree.levels().len()).unwrap_or(Reach::MAX);
        self.wanted
            .near
            .at_most
            .map_or(levels, |most| most.min(levels))
    }

    /// The domains of a height that have all of what members have in common; of single nodes only those
    /// with so much room at least.
    fn spots(&self, height: Reach, at_least: u64) -> Vec<Spot> {
        let height = height as usize;
        let narrowest = match self.common {
            Common::Nowhere => return Vec::new(),
            Common::Anywhere if height == 0 => {
                let nodes = self.wanted.rooms.nodes_with(at_least).into_iter();
                return nodes.map(Spot::Node).collect();
            }
            Common::Anywhere => {
                let domains = self.tree.domains();
                let of_height = domains.filter(|(_, one)| self.tree.height(one.level) == height);
                return of_height.map(|(id, _)| Spot::Domain(id)).collect();
            }
            Common::Node(node) if height == 0 => return vec![Spot::Node(node)],
            Common::Node(node) => self.tree.narrowest(node),
            Common::Domain(id) => Some(id),
        };
        let above = narrowest.into_iter().flat_map(|id| self.tree.above(id));
        let of_height = above.filter(|(_, one)| self.tree.height(one.level) == height);
        of_height.map(|(id, _)| Spot::Domain(id)).collect()
    }

    /// The domains of a height that may hold the members, as the profile's order has them.
    pub(super) fn ordered(&self, height: Reach, order: &dyn DomainOrder) -> Vec<Candidate> {
        let mut best = Shortlist::new(self.wanted.rooms.needed);
        for spot in self.spots(height, self.wanted.rooms.least_room()) {
            if let (room, true) = self.room_at(&spot) {
                let [around, _] = self.around(&spot);
                let [first, second] = order.rank(DomainRoom {
                    room,
                    needed: self.wanted.rooms.needed,
                    around,
                    is_node: matches!(spot, Spot::Node(_)),
                });
                best.add_ranked([first, second, 0], number(&spot), || spot);
            }
        }
        best.take()
    }

    /// Of the domains of a height that may hold the members and were not given out yet, those that leave
    /// least room, which come first: in the order of the room in the wider domains.
    pub(super) fn tightest(&self, given: Given) -> Vec<Candidate> {
        let least_room = self.wanted.rooms.least_room();
        let mut tightest = Tightest::new(given.after);
        match (self.common, &self.wanted.rooms.by_shape[..]) {
            (Common::Anywhere, [(all, _)]) if given.height == 0 => {
                // Of most nodes it is enough to know how much room they have.
                for (node, room) in all.rooms_of_nodes(least_room) {
                    let beyond = room.saturating_sub(self.wanted.rooms.needed);
                    if tightest.takes(beyond) {
                        self.consider(Spot::Node(node), &mut tightest);
                    }
                }
            }
            _ => {
                for spot in self.spots(given.height, least_room) {
                    self.consider(spot, &mut tightest);
                }
            }
        }
        let mut best = Shortlist::new(self.wanted.rooms.needed);
        for spot in tightest.alike {
            let [around, further] = self.around(&spot);
            let rank = [tightest.left, around, further];
            best.add_ranked(rank, number(&spot), || spot);
        }
        let mut best = best.take();
        best.truncate(TRIED_IN_DOUBT.saturating_sub(given.count));
        best
    }

    fn consider(&self, spot: Spot, tightest: &mut Tightest) {
        let (room, true) = self.room_at(&spot) else {
            return;
        };
        let beyond = room.saturating_sub(self.wanted.rooms.needed);
        // Devices are looked for only where that decides.
        if tightest.takes(beyond) {
            let left = beyond + self.penalty(&spot);
            tightest.add(left, spot);
        }
    }

    fn room_at(&self, spot: &Spot) -> (u64, bool) {
        match spot {
            Spot::Node(node) => self.wanted.room_on(*node),
            Spot::Domain(id) => self.room_in(*id),
            Spot::Group(_) => (0, false),
        }
    }

    /// What speaks against a spot before any room does: that devices are taken from others.
    fn penalty(&self, spot: &Spot) -> u64 {
        self.wanted.rooms.penalty(|devices| match spot {
            Spot::Node(node) => devices.contains(*node),
            Spot::Domain(id) => {
                let domain = self.tree.domain(*id);
                domain.is_some_and(|domain| domain.nodes.meets(devices))
            }
            Spot::Group(_) => false,
        })
    }

    /// The room in the domain that a spot is in, and in the one that is in.
    fn around(&self, spot: &Spot) -> [u64; 2] {
        let wider = match spot {
            Spot::Node(node) => self.tree.narrowest(*node),
            Spot::Domain(id) => self.tree.domain(*id).and_then(|one| one.parent),
            Spot::Group(_) => None,
        };
        let wider = wider.into_iter().flat_map(|id| self.tree.above(id));
        let mut wider = wider.map(|(id, _)| self.wanted.rooms.sum(|one| one.of_domain(id)).0);
        std::array::from_fn(|_| wider.next().unwrap_or(0))
    }

    /// The domain of the greatest height that has room for most members, whether for all or not.
    pub(super) fn fullest(&self) -> Option<Spot> {
        let room = |spot: &Spot| self.room_at(spot).0;
        // Of equals the first.
        let spots = self.spots(self.highest(), 1).into_iter().rev();
        spots.max_by_key(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn asked_again_and_again_the_tightest_come_in_the_order_of_what_they_leave(
            left in proptest::collection::vec(0_u64..6, 0..40),
        ) {
            let mut given: Vec<(u64, usize)> = Vec::new();
            let mut after = None;
            loop {
                let mut tightest = Tightest::new(after);
                for (index, left) in left.iter().enumerate() {
                    tightest.add(*left, Spot::Node(NodeId::from_index(index)));
                }
                if tightest.alike.is_empty() {
                    break;
                }
                let alike = tightest.alike.iter();
                given.extend(alike.map(|spot| (tightest.left, number(spot))));
                after = Some(tightest.left);
            }
            let mut all: Vec<(u64, usize)> = left.into_iter().zip(0..).collect();
            all.sort_unstable();
            prop_assert_eq!(given, all);
        }
    }
}
