//! Gangs that hold nodes, by when they can be made to leave: what reservations are reckoned from.

use super::holders::Holders;
use crate::state::{GangId, QueueId};
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Since when a gang has run, when its lifetime ends, and by what others may have it give way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::actions) struct Term {
    pub(in crate::actions) start: Time,
    /// `None`: never.
    pub(in crate::actions) end: Option<Time>,
    pub(in crate::actions) queue: QueueId,
    pub(in crate::actions) priority: i32,
    /// It has members beyond its minimum, or is on the way to that.
    pub(in crate::actions) unsettled: bool,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Running {
    terms: BTreeMap<GangId, Term>,
    ends: BTreeSet<(Time, GangId)>,
    /// Those whose lifetime does not end, by their start.
    endless: BTreeSet<(Time, GangId)>,
    queues: BTreeMap<QueueId, Holders>,
}

impl Running {
    /// Notes when a gang leaves its nodes, or that it holds none; says whether one that held some
    /// before leaves at another time than was known.
    pub(super) fn note(&mut self, gang: GangId, term: Option<Term>) -> bool {
        let before = self.terms.get(&gang).copied();
        if before == term {
            return false;
        }
        if let Some(before) = before {
            match before.end {
                Some(end) => self.ends.remove(&(end, gang)),
                None => self.endless.remove(&(before.start, gang)),
            };
            if let Some(holders) = self.queues.get_mut(&before.queue) {
                holders.remove(gang, &before);
                if holders.is_empty() {
                    self.queues.remove(&before.queue);
                }
            }
        }
        match term {
            Some(term) => {
                match term.end {
                    Some(end) => self.ends.insert((end, gang)),
                    None => self.endless.insert((term.start, gang)),
                };
                self.queues
                    .entry(term.queue)
                    .or_default()
                    .insert(gang, &term);
                self.terms.insert(gang, term);
            }
            None => _ = self.terms.remove(&gang),
        }
        before.is_some_and(|before| term.is_some_and(|term| term.end != before.end))
    }

    /// Those whose lifetime ends, the next first.
    pub(super) fn ends(&self) -> impl Iterator<Item = (Time, GangId)> {
        self.ends.iter().copied()
    }

    /// The others, who has run longest first.
    pub(super) fn endless(&self) -> impl Iterator<Item = GangId> {
        self.endless.iter().map(|(_, gang)| *gang)
    }

    /// When a gang has started, and will end.
    pub(super) fn term(&self, gang: GangId) -> Option<Term> {
        self.terms.get(&gang).copied()
    }

    /// Those of each queue.
    pub(super) fn by_queue(&self) -> impl Iterator<Item = (QueueId, &Holders)> {
        self.queues.iter().map(|(queue, holders)| (*queue, holders))
    }
}
