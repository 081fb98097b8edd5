//! What a gang may take of the room that is free: who heads a queue is not to be delayed by it.

use super::{Moves, Reserved};
use crate::actions::notes::OrderKey;
use crate::state::{GangId, QueueId, View};
use muster_model::units::{Millis, Time};
use std::collections::BTreeMap;

/// For how long a gang would hold what it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::actions) enum Stay {
    /// Nothing that is kept keeps it from room: it is partly bound and has to be completed.
    Completes,
    /// No reservation keeps it from room: it gives it back at any time.
    GivesWay,
    /// For so long from its start; `None`: for ever.
    Starts(Option<Millis>),
    /// It runs, wants to grow, and ends then; `None`: never.
    Grows(Option<Time>),
}

/// Who asks for room.
#[derive(Clone, Copy, Debug)]
pub(in crate::actions) struct Claimant {
    pub(in crate::actions) key: OrderKey,
    /// The tier of its queue right below the cluster.
    pub(in crate::actions) tier: i32,
    pub(in crate::actions) stay: Stay,
}

/// The places that are reserved now.
#[derive(Clone, Copy, Debug)]
pub(in crate::actions) struct Views<'a> {
    pub(in crate::actions) reserved: &'a BTreeMap<GangId, Reserved>,
    pub(in crate::actions) moves: &'a Moves,
    pub(in crate::actions) now: Time,
}

impl Views<'_> {
    /// What somebody may take.
    pub(in crate::actions) fn of(&self, who: Claimant) -> View {
        let Claimant { key, tier, stay } = who;
        let (end, starts) = match stay {
            Stay::Completes => return View::OPEN,
            Stay::GivesWay => return self.moves.view(key.gang),
            Stay::Grows(end) => (end, false),
            Stay::Starts(span) => (span.map(|span| self.now + span), true),
        };
        let own = self.reserved.get(&key.gang).map(|own| own.number);
        // Who was moved is to have its new place, whoever else could use it.
        let mut view = self.moves.view(key.gang);
        for (id, other) in self.reserved {
            let later = own.is_some_and(|own| own < other.number);
            let ahead = starts && key.queue == other.key.queue && key < other.key;
            let in_time = end.zip(other.at).is_some_and(|(end, at)| end <= at);
            let free = *id == key.gang || later || ahead || tier > other.tier || in_time;
            if !free {
                view = view.with(other.slot);
            }
        }
        view
    }

    /// Where the one stands that has reserved in a queue: those ahead of it may take more than those
    /// behind it.
    pub(in crate::actions) fn head_of(&self, queue: QueueId) -> Option<OrderKey> {
        let keys = self.reserved.values().map(|one| one.key);
        keys.filter(|key| key.queue == queue).min()
    }
}
