//! What came of looking for room by having others go, for the words and the metrics.

/// What came of it for one gang, when it was last looked for.
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

/// What came of it for all, counted.
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
    pub(super) const fn note(&mut self, note: RoomNote) {
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
