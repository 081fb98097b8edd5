//! What a machine has to look at, and what of its writes came back: the same for machines that look at one object and
//! what belongs to it at a time.
//!
//! What was made or deleted is known by the watch alone. Until it tells, the object is not written again; if it never
//! does, it is tried again after a while, which is harmless.

use crate::flights::{Flights, May};
use crate::room::{Due, InTurn};
use crate::{Answer, Deed, ObjectName, Ticket, Write};
use muster_model::units::{Millis, Time};
use std::collections::BTreeSet;

/// What was done is told within this time, or did not happen, or was undone.
const TOLD: Millis = Millis(60_000);

/// Namespace and name of what is looked at.
pub(crate) type Name = (String, String);

/// The desk of a machine.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    flights: Flights<ObjectName, Sent>,
    /// What is to be looked at now.
    marked: InTurn<Name>,
    alarms: BTreeSet<(Time, Name)>,
    /// Objects that were made or deleted, and of which the watch has not told that.
    untold: BTreeSet<ObjectName>,
}

/// A write on its way.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// For what it was sent.
    pub(crate) owner: Name,
    /// What kind of write it is.
    pub(crate) what: What,
}

/// A kind of write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// It is made.
    Create,
    /// It is changed.
    Patch,
    /// It is deleted.
    Delete,
}

impl Desk {
    /// It has to be looked at.
    pub(crate) fn mark(&mut self, name: Name) {
        self.marked.mark(&name.0.clone(), name);
    }

    /// The next to be looked at, if any for whose namespace there is room.
    pub(crate) fn next(&mut self, due: &Due<'_>) -> Option<Name> {
        self.marked.next(due.room())
    }

    /// There is news of this object: it may be written.
    pub(crate) fn news(&mut self, of: &ObjectName) {
        self.flights.settle(of);
        self.untold.remove(of);
    }

    /// Marks what is to be looked at by now.
    pub(crate) fn wake(&mut self, now: Time) {
        while self.alarms.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, name)) = self.alarms.pop_first() {
                self.mark(name);
            }
        }
    }

    /// When something has to be looked at.
    pub(crate) fn wakes_at(&self) -> Option<Time> {
        self.alarms.first().map(|(at, _)| *at)
    }

    /// Whether a write of this object is on its way, or was done and is not told yet. Then its owner is looked at again
    /// when it is known.
    pub(crate) fn is_moving(&mut self, owner: &Name, object: &ObjectName, now: Time) -> bool {
        match self.flights.may(object, now) {
            May::OnceAnswered => true,
            May::From(at) if self.untold.contains(object) => {
                self.alarms.insert((at, owner.clone()));
                true
            }
            May::From(_) => false,
            May::Now => {
                self.untold.remove(object);
                false
            }
        }
    }

    /// It has to be looked at again at this time.
    pub(crate) fn look_again(&mut self, name: &Name, at: Time) {
        self.alarms.insert((at, name.clone()));
    }

    /// Sends a write of this object, if it may be written now; else its owner is looked at again when it may.
    pub(crate) fn send(
        &mut self,
        owner: &Name,
        on: ObjectName,
        deed: Deed,
        now: Time,
    ) -> Option<Write> {
        match self.flights.may(&on, now) {
            May::Now => {}
            // The answer marks it again.
            May::OnceAnswered => return None,
            May::From(at) => {
                self.alarms.insert((at, owner.clone()));
                return None;
            }
        }
        let what = match &deed {
            Deed::Create(_) => What::Create,
            Deed::PatchStatus { .. } | Deed::Patch { .. } => What::Patch,
            Deed::Delete { .. } => What::Delete,
        };
        let sent = Sent {
            owner: owner.clone(),
            what,
        };
        let ticket = self.flights.begin(on.clone(), sent);
        Some(Write { ticket, on, deed })
    }

    /// Takes an answer off the list of what is on its way; `None`: it was not.
    pub(crate) fn land(&mut self, ticket: Ticket) -> Option<(ObjectName, Sent)> {
        let (on, sent) = self.flights.land(ticket)?;
        self.mark(sent.owner.clone());
        Some((on, sent))
    }

    /// Notes what came of a write; `told`: the watch has told what it did already.
    pub(crate) fn note(&mut self, on: &ObjectName, answer: &Answer, told: bool, now: Time) {
        self.untold.remove(on);
        match answer {
            Answer::Done(_) if told => self.flights.settle(on),
            Answer::Done(_) => {
                self.flights.wait_until(on, now + TOLD);
                self.untold.insert(on.clone());
            }
            Answer::Throttled { until } => self.flights.wait_until(on, *until),
            Answer::Conflict
            | Answer::NotFound
            | Answer::AlreadyExists
            | Answer::Refused { .. }
            | Answer::Lost => _ = self.flights.failed(on, now),
        }
    }
}
