//! Gangs to be tried of which nobody knows yet what becomes of them: once somebody before them blocks their queue,
//! there is something to say of them.
//!
//! A cycle looks at so many of the queues that were blocked since, and the next goes on.

use crate::state::{GangId, Id, QueueId};
use muster_model::units::{Millis, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};

/// How many gangs are looked at in one cycle.
const LOOKS: usize = 1_000;
/// When the next are, if nothing else happens.
const PAUSE: Millis = Millis(100);

/// Those gangs, and the queues of which some have to be looked at.
#[derive(Debug, Default)]
pub(super) struct Untold {
    queue_of: Vec<Option<QueueId>>,
    gangs: BTreeSet<(QueueId, GangId)>,
    /// Queues that were blocked, and up to whom they were looked at since.
    blocked: BTreeMap<QueueId, Option<GangId>>,
    due: Option<Time>,
}

impl Untold {
    /// Nobody knows what becomes of a gang in this queue, or something is known, or it is gone.
    pub(super) fn note(&mut self, gang: GangId, queue: Option<QueueId>) {
        if self.queue_of.len() <= gang.index() {
            self.queue_of.resize(gang.index() + 1, None);
        }
        let before = std::mem::replace(&mut self.queue_of[gang.index()], queue);
        if before == queue {
            return;
        }
        if let Some(before) = before {
            self.gangs.remove(&(before, gang));
        }
        if let Some(queue) = queue {
            self.gangs.insert((queue, gang));
        }
    }

    /// Queues are blocked.
    pub(super) fn note_blocked(&mut self, queues: BTreeSet<QueueId>) {
        for queue in queues {
            self.blocked.insert(queue, None);
        }
    }

    /// When the next are to be looked at.
    pub(super) const fn due(&self) -> Option<Time> {
        self.due
    }

    /// The next gangs in queues that were blocked.
    pub(super) fn look(&mut self, now: Time) -> Vec<GangId> {
        let mut found = Vec::new();
        while let Some((queue, after)) = self.blocked.pop_first() {
            let from = match after {
                Some(gang) => Excluded((queue, gang)),
                None => Included((queue, GangId::from_index(0))),
            };
            let rest = self.gangs.range((from, Unbounded));
            let rest = rest.take_while(|(of, _)| *of == queue);
            let left = LOOKS - found.len();
            let next: Vec<GangId> = rest.take(left).map(|(_, gang)| *gang).collect();
            let last = next.last().copied().or(after);
            let is_through = next.len() < left;
            found.extend(next);
            if !is_through {
                self.blocked.insert(queue, last);
                break;
            }
        }
        self.due = (!self.blocked.is_empty()).then_some(now + PAUSE);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_there_are_each_of_a_blocked_queue_has_its_turn() {
        let mut untold = Untold::default();
        let queue = QueueId::from_index;
        for index in 0..2 * LOOKS + 10 {
            untold.note(GangId::from_index(index), Some(queue(1)));
        }
        untold.note(GangId::from_index(9_999), Some(queue(2)));
        assert!(untold.look(Time(1)).is_empty(), "nothing is blocked");
        untold.note_blocked(BTreeSet::from([queue(1)]));
        assert_eq!(untold.look(Time(1)).len(), LOOKS);
        assert_eq!(untold.due(), Some(Time(1) + PAUSE));
        untold.note(GangId::from_index(LOOKS), None);
        assert_eq!(untold.look(Time(2)).len(), LOOKS);
        assert_eq!(untold.look(Time(3)).len(), 9);
        assert_eq!(untold.due(), None);
        untold.note_blocked(BTreeSet::from([queue(2)]));
        assert_eq!(untold.look(Time(4)), [GangId::from_index(9_999)]);
        // It is in another queue now, and then nowhere.
        untold.note(GangId::from_index(9_999), Some(queue(3)));
        untold.note_blocked(BTreeSet::from([queue(2)]));
        assert!(untold.look(Time(5)).is_empty());
        untold.note(GangId::from_index(9_999), None);
        untold.note_blocked(BTreeSet::from([queue(3)]));
        assert!(untold.look(Time(6)).is_empty());
    }
}
