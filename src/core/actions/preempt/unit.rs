//! What goes together or not at all, and how much harm that does.

use super::judge::Claim;
use crate::placement::Removal;
use crate::state::{GangId, PodId, QueueId};
use muster_model::units::Time;
use std::cmp::Reverse;

/// What goes together or not at all, by the harm it does: what comes first does least.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unit {
    /// Whether that takes more of a PodDisruptionBudget than is left, after all before it.
    pub(super) violates: bool,
    pub(super) harm: Harm,
    /// Whose members.
    pub(super) gang: GangId,
    /// One member beyond the minimum, or all that are not units of their own.
    pub(super) pods: Vec<PodId>,
    /// Whether the whole gang goes then.
    pub(super) whole: bool,
    /// Its queue, if that is another one than that of the gang that needs room.
    pub(super) other_queue: Option<QueueId>,
    /// Why all of its gang may have to go; `None`: only who is beyond the minimum does.
    pub(super) claim: Option<Claim>,
}

impl Removal for Unit {
    fn pods(&self) -> &[PodId] {
        &self.pods
    }

    fn part_of(&self) -> Option<GangId> {
        Some(self.gang)
    }

    fn whole(&self) -> &[GangId] {
        if self.whole {
            std::slice::from_ref(&self.gang)
        } else {
            &[]
        }
    }
}

/// How much harm it does: what comes first does least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Harm {
    /// A member beyond the minimum: of the queue furthest over its share, the latest.
    Surplus {
        over: Reverse<u64>,
        latest: Reverse<(Time, PodId)>,
    },
    /// A gang past its lifetime, of a queue over its share, or where the time of a reservation has come.
    Expired { priority: i32, pods: usize },
    /// A gang of lower priority, of the same queue.
    Lower { priority: i32, pods: usize },
}
