//! What the scheduler counts, for metrics.

use crate::actions::{LostSums, MoveCounts, RoomCounts};
use crate::placement::PackingCounts;
use muster_model::PHASES;
use muster_model::units::Time;

/// Counters since the start, and two gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events taken.
    pub events: u64,
    /// Cycles run.
    pub cycles: u64,
    /// Pods that got a place.
    pub placements: u64,
    /// Gangs that were tried.
    pub attempts: u64,
    /// Full sweeps over all waiting gangs.
    pub sweeps: u64,
    /// Gangs that got a place only because of a sweep: an event that should have woken them did
    /// not. Anything but zero is a bug.
    pub sweep_rescues: u64,
    /// How often a head of a queue got no reservation, as there were enough.
    pub unreserved: u64,
    /// How often a search for the domains of several subgroups was cut short.
    pub choices_cut: u64,
    /// What came of having others make room.
    pub room: RoomCounts,
    /// What came of looking at all members of a gang at once.
    pub packing: PackingCounts,
    /// What placements lose of which it is known how little they could.
    pub lost: LostSums,
    /// What came of moving gangs.
    pub moves: MoveCounts,
    /// Gangs by phase, in the order of [`GangPhase`](muster_model::GangPhase).
    pub gangs: [u32; PHASES],
    /// Gangs that wait for a place, those that back off included.
    pub waiting: u64,
    /// Since when the partly bound gang that advanced least has not advanced.
    pub partial_since: Option<Time>,
}
