//! The steps of a cycle: which gangs are ready, who goes first, who gets a place, who must go.
//!
//! An action reads and changes the state through one [`Cycle`] and leaves its orders there. It
//! does not know who called it, nor what becomes of the orders.

mod admit;
mod agenda;
mod allocate;
mod back_off;
mod decision;
mod finish;
mod park;
mod refresh;
mod release;
mod wake;

pub use agenda::Agenda;
pub use allocate::allocate;
pub use decision::{Decision, Outcome};
pub use finish::ask_again;
pub use refresh::refresh;
pub use wake::{fire_timers, wake_parked};

use super::framework::Profile;
use super::model::{Bind, Evict};
use super::placement::Placer;
use super::state::{ClusterState, GangId};
use super::units::{Millis, Time};
use std::collections::BTreeSet;

/// A gang that is partly bound is completed within this time, or released. With the 2.5 s that an
/// executor tries a bind, twice, this keeps within the 10 s of the promise.
pub const REPAIR_GRACE: Millis = Millis(4_000);

/// What the actions of one cycle share.
#[derive(Debug)]
pub struct Cycle<'a> {
    /// The time.
    pub now: Time,
    /// The cluster.
    pub state: &'a mut ClusterState,
    /// The plugins.
    pub profile: &'a Profile,
    /// Finds places.
    pub placer: &'a mut Placer,
    /// Who is next, and what is due when.
    pub agenda: &'a mut Agenda,
    /// Orders so far.
    pub orders: Orders,
}

/// What a cycle ordered.
#[derive(Debug, Default)]
pub struct Orders {
    /// Binds, in order of decision.
    pub binds: Vec<Bind>,
    /// Evictions.
    pub evictions: Vec<Evict>,
    /// What was decided on whom.
    pub decisions: Vec<Decision>,
    /// Gangs on which something changed.
    pub seen: BTreeSet<GangId>,
    /// Pods that got a place.
    pub placed: u64,
}

impl Cycle<'_> {
    fn decide(&mut self, gang_id: GangId, outcome: Outcome) {
        let Some(gang) = self.state.gang(gang_id) else {
            return;
        };
        let queue = gang.queue.and_then(|id| self.state.queues().get(id));
        let queue = queue.map_or_else(String::new, |queue| queue.name.clone());
        self.orders.decisions.push(Decision {
            gang: gang.key.clone(),
            name: self.state.gang_title(gang_id),
            queue,
            outcome,
        });
    }
}
