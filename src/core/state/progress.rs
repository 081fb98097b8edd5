//! How far the scheduler is with a gang. Written by the engine's actions only.

use super::ids::GangId;
use crate::core::units::Time;

/// How many ranks decide the order of gangs.
pub const MAX_RANKS: usize = 6;

/// A gang's place in the order: smaller goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderKey {
    /// What the queue-sort plugins say, the most important first.
    pub ranks: [i64; MAX_RANKS],
    /// Where all else is equal: the lowest id.
    pub gang: GangId,
}

/// What is next for the members without a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Placed, and held by a permit plugin until this time at most.
    Held(Time),
    /// Being taken off its nodes as a whole.
    Releasing,
    /// To be tried again at `retry_at`.
    BackingOff,
}

/// Why a gang is where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// Typed: CamelCase.
    pub reason: &'static str,
    /// In words.
    pub message: String,
}

impl Why {
    /// A reason with its words.
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// The scheduler's notes on one gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What is next.
    pub stage: Stage,
    /// Why members wait.
    pub why: Option<Why>,
    /// Room for it is set aside, or it asks for none.
    pub admitted: bool,
    /// Why it is not admitted.
    pub not_admitted: Option<Why>,
    /// Since when some members are placed but fewer than the minimum.
    pub partial_since: Option<Time>,
    /// The minima, by subgroup, that were once bound in full.
    pub met: Option<Vec<u32>>,
    /// When its minimum was first placed.
    pub scheduled_at: Option<Time>,
    /// When it is tried again, while it backs off or a member was refused.
    pub retry_at: Option<Time>,
    /// Back-offs in a row after binds that came back, for their length.
    pub backoffs: u32,
    /// Releases in a row, for the length of the back-off after them.
    pub releases: u32,
    /// What became of its last release, until it runs again.
    pub disrupted: Option<String>,
}
