//! How far a gang is, and its place in the order.

use crate::state::{GangId, QueueId, Setback};
use muster_model::units::Time;
use muster_model::{EvictCause, GangKey};
use std::sync::Arc;

/// How many ranks decide the order of gangs: no profile may have more queue-sort plugins.
pub const MAX_RANKS: usize = 6;

/// A gang's place in the order: smaller goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderKey {
    /// What the queue-sort plugins say, the most important first.
    pub ranks: [i64; MAX_RANKS],
    /// Where all else is equal, who was heard of first goes first.
    pub arrival: u64,
    /// Whose place it is.
    pub gang: GangId,
    /// In which queue, and where in it. Neither decides: a gang is in one place.
    pub queue: QueueId,
    /// Where in it.
    pub lane: Lane,
}

/// Where in its queue a gang stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Before everybody, of whatever queue: it is partly bound.
    Urgent,
    /// Others go or have gone for it: it uses their room, whoever before it is held back.
    Promised,
    /// Where what it gets is charged.
    Charged,
    /// Where what it gets is free, as it is given back at any time.
    Free,
}

/// What is next for the members without a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing: all that can be placed is.
    #[default]
    Settled,
    /// Something that only outside news can change is missing.
    Waiting,
    /// To be tried in this cycle or the next.
    Queued(OrderKey),
    /// Tried in vain; looked at again when something changed that could help.
    Parked(OrderKey),
    /// Plugins in other processes are asked about nodes; it keeps its place in the line.
    Asking(OrderKey),
    /// Placed, and held on the way out until this time at most.
    Held(Time),
    /// Being taken off its nodes as a whole, until no member holds one.
    Releasing(Release),
    /// To be tried again at `retry_at`.
    BackingOff,
}

impl Stage {
    /// The release under way.
    #[must_use]
    pub const fn release(&self) -> Option<&Release> {
        match self {
            Self::Releasing(release) => Some(release),
            _ => None,
        }
    }
}

/// A release under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// What it goes for.
    pub cause: EvictCause,
    /// For whom it makes room.
    pub beneficiary: Option<GangKey>,
    /// Why the gang has to go.
    pub message: Arc<str>,
    /// What keeps it from going on, if something does.
    pub stuck: Option<StuckRelease>,
    /// Evictions that came back are not tried again before this.
    pub not_before: Time,
}

/// A release of which evictions come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckRelease {
    /// Since when.
    pub since: Time,
    /// A pod that could not be deleted.
    pub pod: String,
    /// Why not; the API server's answer says by whom.
    pub setback: Setback,
}
