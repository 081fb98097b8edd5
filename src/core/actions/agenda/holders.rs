//! The gangs of one queue that hold nodes, by what makes them give way: so that who needs room looks
//! at those who may, and not at all of them.

use super::Term;
use crate::state::{GangId, Id};
use muster_model::units::Time;
use std::collections::BTreeSet;

/// The gangs of one queue that hold nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::actions) struct Holders {
    all: BTreeSet<(i32, GangId)>,
    /// With members beyond their minimum, or on the way to it: what those are worth to others is known
    /// in a moment.
    unsettled: BTreeSet<(i32, GangId)>,
    ends: BTreeSet<(Time, GangId)>,
}

impl Holders {
    pub(super) fn insert(&mut self, gang: GangId, term: &Term) {
        self.all.insert((term.priority, gang));
        if term.unsettled {
            self.unsettled.insert((term.priority, gang));
        }
        self.ends.extend(term.end.map(|end| (end, gang)));
    }

    pub(super) fn remove(&mut self, gang: GangId, term: &Term) {
        self.all.remove(&(term.priority, gang));
        self.unsettled.remove(&(term.priority, gang));
        if let Some(end) = term.end {
            self.ends.remove(&(end, gang));
        }
    }

    /// How many there are.
    pub(in crate::actions) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How many have a lifetime that ends.
    pub(in crate::actions) fn ending(&self) -> usize {
        self.ends.len()
    }

    /// All of them, the least important first.
    pub(in crate::actions) fn all(&self) -> impl Iterator<Item = GangId> {
        self.all.iter().map(|(_, gang)| *gang)
    }

    /// Those less important than this.
    pub(in crate::actions) fn below(&self, priority: i32) -> impl Iterator<Item = GangId> {
        let below = self.all.iter().take_while(move |(one, _)| *one < priority);
        below.map(|(_, gang)| *gang)
    }

    /// Those with members beyond their minimum or on the way to it, if they are not more important
    /// than this.
    pub(in crate::actions) fn unsettled(&self, priority: i32) -> impl Iterator<Item = GangId> {
        let all = self.unsettled.iter();
        let up_to = all.take_while(move |(one, _)| *one <= priority);
        up_to.map(|(_, gang)| *gang)
    }

    /// Those whose lifetime has ended by then, the first first.
    pub(in crate::actions) fn ended(&self, by: Time) -> impl Iterator<Item = GangId> {
        let ended = self.ends.iter().take_while(move |(end, _)| *end <= by);
        ended.map(|(_, gang)| *gang)
    }

    /// When the next lifetime ends after this, and whose.
    pub(in crate::actions) fn next_end(&self, after: Time) -> Option<(Time, GangId)> {
        let from = (Time(after.0.saturating_add(1)), GangId::from_index(0));
        self.ends.range(from..).next().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::QueueId;

    fn term(priority: i32, end: Option<u64>, unsettled: bool) -> Term {
        Term {
            start: Time::ZERO,
            end: end.map(Time),
            queue: QueueId::from_index(0),
            priority,
            unsettled,
        }
    }

    fn gangs(some: impl Iterator<Item = GangId>) -> Vec<usize> {
        some.map(Id::index).collect()
    }

    #[test]
    fn who_may_give_way_is_found_by_what_makes_it_do_so() {
        let mut holders = Holders::default();
        let terms = [
            term(5, None, false),
            term(-1, Some(90), false),
            term(0, Some(60), true),
            term(0, None, true),
        ];
        let ids = (0..).map(GangId::from_index);
        ids.zip(&terms)
            .for_each(|(id, term)| holders.insert(id, term));
        assert_eq!(gangs(holders.all()), [1, 2, 3, 0]);
        assert_eq!(gangs(holders.below(0)), [1]);
        assert_eq!(gangs(holders.below(6)), [1, 2, 3, 0]);
        assert_eq!(gangs(holders.unsettled(-1)), [0; 0]);
        assert_eq!(gangs(holders.unsettled(0)), [2, 3]);
        assert_eq!(gangs(holders.ended(Time(59))), [0; 0]);
        assert_eq!(gangs(holders.ended(Time(90))), [2, 1]);
        let next = |after| {
            holders
                .next_end(Time(after))
                .map(|(end, id)| (end.0, id.index()))
        };
        assert_eq!(next(59), Some((60, 2)));
        assert_eq!(next(60), Some((90, 1)));
        assert_eq!(next(90), None);
        for (id, term) in (0..).map(GangId::from_index).zip(&terms) {
            holders.remove(id, term);
        }
        assert_eq!(holders, Holders::default());
    }
}
