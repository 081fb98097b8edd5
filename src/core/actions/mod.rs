//! The steps of a cycle: which gangs are ready, who goes first, who gets a place, who must go.
//!
//! An action reads and changes the state through one [`Cycle`] and leaves its orders there. It
//! does not know who called it, nor what becomes of the orders.

mod admit;
mod advise;
mod agenda;
mod allocate;
mod asks;
mod back_off;
mod charges;
mod claims;
mod company;
mod decision;
mod finish;
mod ghosts;
mod given;
mod grant;
mod heads;
mod leaving;
mod moves;
mod next;
mod notes;
mod order;
mod park;
mod partial;
mod preempt;
mod quota_words;
mod recall;
mod refresh;
mod release;
mod reservation;
mod restate;
mod terms;
#[cfg(test)]
mod tests;
mod wake;

pub use agenda::{Agenda, Awaited};
pub use allocate::allocate;
pub use charges::{charge_who_runs, end_charges};
pub use claims::{Claims, Hold, MoveLimits, Moves, Questions, Reserved, forget as forget_claims};
pub use company::{asks_about_others, company_changed};
pub(crate) use decision::decision_on;
pub use finish::{give_back, go_on};
pub use ghosts::{come_back as ghosts_come_back, settle as settle_slots};
pub use grant::ask_again;
pub use notes::{Lane, MAX_RANKS, Note, OrderKey, Refusal, Release, Stage, Taken};
pub(super) use partial::repairs_until;
pub use partial::{PATIENCE, PATIENCE_IF_FOUND, resume, what_happened};
pub use preempt::{Asker, Claim, Judge, SparedGangs, Verdict};
pub(super) use preempt::{HEADS, surplus};
pub use quota_words::behind;
pub use refresh::refresh;
pub use restate::{AGAIN, Rounds, restate};
pub(super) use terms::ends_at;
pub use wake::{fire_timers, wake_heads, wake_parked, wake_who_moved_up};

use super::framework::{Profile, Profiles};
use super::placement::Placer;
use super::state::{ClusterState, GangId};
use muster_model::units::Time;
use muster_model::{Bind, Evict, Inquiry, LostSums, PodKey, RoomCounts, Source};
use muster_model::{Decision, HeldPlace, OntoKept, Outcome, Span, SpanKind};
use std::collections::BTreeSet;

/// What there is to see for whoever changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The time.
    pub now: Time,
    /// The cluster.
    pub state: &'a ClusterState,
    /// The notes on gangs.
    pub agenda: &'a Agenda,
    /// Who has a claim to room.
    pub claims: &'a Claims,
    /// The plugins.
    pub profiles: Profiles<'a>,
}

/// What the actions of one cycle share.
#[derive(Debug)]
pub struct Cycle<'a> {
    /// The time.
    pub now: Time,
    /// The cluster.
    pub state: &'a mut ClusterState,
    /// The plugins.
    pub profiles: Profiles<'a>,
    /// Finds places.
    pub placer: &'a mut Placer,
    /// Who is next, and what is due when.
    pub agenda: &'a mut Agenda,
    /// Who has a claim to room.
    pub claims: &'a mut Claims,
    /// Orders so far.
    pub orders: Orders,
}

/// What a cycle ordered.
#[derive(Debug, Default)]
pub struct Orders {
    /// Binds, in order of decision.
    pub binds: Vec<Bind>,
    /// Binds to be given back if they are not sent yet.
    pub recalls: Vec<PodKey>,
    /// Evictions.
    pub evictions: Vec<Evict>,
    /// What is asked outside, and what nobody waits for any more.
    pub asks: Vec<Inquiry>,
    /// The nodes that questions are about, by what tells them apart.
    asked_nodes: advise::AskedNodes,
    /// What was decided on whom.
    pub decisions: Vec<Decision>,
    /// What is over and took how long.
    pub spans: Vec<Span>,
    /// PodGroups of which nothing is said any more, by kind and uid.
    pub silent: Vec<(Source, String)>,
    /// Gangs on which something changed.
    pub seen: BTreeSet<GangId>,
    /// Pods that got a place.
    pub placed: u64,
    /// Gangs that were tried.
    pub attempts: u64,
    /// Pods that were thought away, one search for a place in the future after the other.
    pub thought_away: usize,
    /// Heads of queues for which no place was reserved, as there were enough reservations.
    pub unreserved: u64,
    /// Places that are held from now on for decisions that wait, or not any more.
    pub held: Vec<HeldPlace>,
    /// Who goes onto nodes that are kept whole for others.
    pub onto_kept: Vec<OntoKept>,
    /// What came of having others go.
    pub room: RoomCounts,
    /// What placements lose of which it is known how little they could.
    pub lost: LostSums,
}

impl<'a> Cycle<'a> {
    /// By which profile a gang is scheduled.
    fn profile_of(&self, gang_id: GangId) -> &'a Profile {
        match self.state.gang(gang_id) {
            Some(gang) => self.profiles.of(self.state, gang),
            None => self.profiles.first(),
        }
    }

    /// What there is to see for whoever changes nothing.
    pub(crate) fn sight(&self) -> Sight<'_> {
        Sight {
            now: self.now,
            state: self.state,
            agenda: self.agenda,
            claims: self.claims,
            profiles: self.profiles,
        }
    }

    fn decide(&mut self, gang_id: GangId, outcome: Outcome) {
        let decision = decision_on(self.state, gang_id, outcome);
        self.orders.decisions.push(decision);
    }

    /// A gang is not partly bound any more, or is being released.
    fn end_partial(&mut self, gang_id: GangId) {
        self.agenda.partial.remove(&gang_id);
        if let Some(partial) = self.agenda.note_mut(gang_id).partial.take() {
            self.measure(gang_id, SpanKind::PartlyBound, partial.since);
        }
    }

    fn measure(&mut self, gang_id: GangId, kind: SpanKind, since: Time) {
        self.orders.spans.push(Span {
            kind,
            queue: self.state.queue_name(gang_id).to_owned(),
            length: self.now.since(since),
        });
    }
}

/// Since when the partly bound gang that advanced least has not advanced; those that asked to be
/// repaired apart, until their deadline. While nothing can be written, none could have.
#[must_use]
pub fn partial_since(state: &ClusterState, agenda: &Agenda) -> Option<Time> {
    if state.writes().stalled(state.now()).is_some() {
        return None;
    }
    let late = |gang: &&GangId| {
        let until = partial::repairs_until(state, agenda, **gang);
        until.is_none_or(|until| until <= state.now())
    };
    // Who went since the last cycle is forgotten in the next.
    let there = |gang: &&GangId| state.gang(**gang).is_some();
    let clocks = agenda.partial.iter().filter(there).filter(late);
    clocks
        .filter_map(|gang| partial::clock(state, agenda, *gang))
        .min()
}
