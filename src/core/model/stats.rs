//! What the scheduler counts, as data: for metrics, and for whoever compares runs.

use crate::PHASES;
use crate::Tables;
use crate::explanation::ClaimKind;
use crate::units::Time;

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
    /// Gangs by phase, in the order of [`GangPhase`](crate::GangPhase).
    pub gangs: [u32; PHASES],
    /// Gangs with a claim to room, by kind, in the order of [`ClaimKind::ALL`]; of the kind `Slot`, slots.
    pub claims: [usize; ClaimKind::ALL.len()],
    /// How much is kept of what comes and goes.
    pub tables: Tables,
    /// Gangs that wait for a place, those that back off included.
    pub waiting: u64,
    /// Since when the partly bound gang that advanced least has not advanced.
    pub partial_since: Option<Time>,
}

/// What came of looking for room by having others go, for one gang, when it was last looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomNote {
    /// A place is held for it while others leave.
    Found,
    /// It would not fit if all went who may: that is a proof.
    Impossible,
    /// A bounded search found nothing, and did not look at all there is.
    CutShort,
    /// As many plans were made in this cycle as are made in one; it is looked at in the next.
    Postponed,
    /// Only the first few of a queue have others go for them, and it is behind these.
    Behind,
    /// Its preemptionPolicy is Never.
    Never,
}

/// What came of looking for room by having others go, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomCounts {
    /// Searches.
    pub plans: u64,
    /// Plans that were carried out.
    pub found: u64,
    /// Of these, with more of a PodDisruptionBudget than is allowed.
    pub violations: u64,
    /// Searches that proved that there is none.
    pub impossible: u64,
    /// Searches that found none and did not look at all there is.
    pub cut_short: u64,
    /// Gangs that were put off to the next cycle.
    pub postponed: u64,
    /// Gangs that were too far behind in their queue.
    pub behind: u64,
    /// Gangs that were left alone because they made room too often of late.
    pub spared_too_often: u64,
}

impl RoomCounts {
    /// Counts what came of it for one gang.
    pub const fn note(&mut self, note: RoomNote) {
        match note {
            RoomNote::Impossible => self.impossible += 1,
            RoomNote::CutShort => self.cut_short += 1,
            RoomNote::Postponed => self.postponed += 1,
            RoomNote::Behind => self.behind += 1,
            RoomNote::Found | RoomNote::Never => {}
        }
    }

    /// Adds those of one cycle.
    pub const fn add(&mut self, more: &Self) {
        self.plans += more.plans;
        self.found += more.found;
        self.violations += more.violations;
        self.impossible += more.impossible;
        self.cut_short += more.cut_short;
        self.postponed += more.postponed;
        self.behind += more.behind;
        self.spared_too_often += more.spared_too_often;
    }
}

/// What came of looking at all members at once, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackingCounts {
    /// Placements that are proven to lose least.
    pub proven: u64,
    /// Placements that were searched for better ones until a bound on the work was reached.
    pub bounded: u64,
    /// Placements that were bettered only, as there is too much to be searched.
    pub too_large: u64,
    /// Gangs for which the search found places when no order of members did.
    pub found: u64,
    /// Gangs of unequal members of which the search proved that there is no place.
    pub impossible: u64,
    /// Gangs of unequal members that were refused without proof.
    pub unproven: u64,
    /// Gangs with rules about other pods that were placed after their members were tried in further
    /// orders, or with all of them in one domain.
    pub turned: u64,
    /// Such gangs for which that did not help.
    pub turned_in_vain: u64,
}

/// What placements lose, and had to, in worth: sums over those of which both are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostSums {
    /// What they lose.
    pub lost: u64,
    /// What they had to lose at least.
    pub at_least: u64,
}

impl LostSums {
    /// Adds a placement, if it is known how little it could lose.
    pub fn note(&mut self, lost: u64, at_least: Option<u64>) {
        if let Some(at_least) = at_least {
            self.add(&Self { lost, at_least });
        }
    }

    /// Adds those of one cycle.
    pub const fn add(&mut self, more: &Self) {
        self.lost = self.lost.saturating_add(more.lost);
        self.at_least = self.at_least.saturating_add(more.at_least);
    }
}

/// What came of moving gangs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoveCounts {
    /// Plans that were looked for.
    pub looked: u64,
    /// Those that were carried out.
    pub plans: u64,
    /// Gangs that were moved.
    pub gangs: u64,
    /// Pods of theirs.
    pub pods: u64,
    /// Moved gangs that did not come back while their place was held.
    pub late: u64,
}
