//! The status of upstream's PodGroup: one condition among those of others.

use super::{Status, scheduled};
use crate::condition::Condition;
use crate::upstream::{self, INITIALLY_SCHEDULED};
use muster_model::{GangPhase, GangStatus};

/// The one condition that upstream knows. Once a gang runs it says `True`, whatever the gang lacks
/// since: `True` never reverts. `None` while nothing is known.
pub(super) fn wanted(status: &GangStatus) -> Option<upstream::PodGroupStatus> {
    let found = scheduled(status);
    let has_run = match status.phase {
        GangPhase::Running | GangPhase::Unknown | GangPhase::Finished | GangPhase::Failed => true,
        GangPhase::Pending | GangPhase::Inqueue | GangPhase::Scheduling => false,
    };
    let is_true = has_run || found.is_some_and(|one| one.status);
    if found.is_none() && !is_true {
        return None;
    }
    let condition = muster_model::Condition {
        kind: INITIALLY_SCHEDULED.into(),
        status: is_true,
        reason: if is_true {
            "Scheduled".into()
        } else {
            "Unschedulable".into()
        },
        message: found.map_or_else(String::new, |one| one.message.clone()),
    };
    Some(upstream::PodGroupStatus {
        conditions: vec![Condition::of(&condition, status.observed_generation)],
    })
}

impl Status {
    /// What a PodGroup of upstream's says, if it has our condition.
    #[must_use]
    pub fn read_upstream(group: &upstream::PodGroup) -> Option<Self> {
        let mut conditions = group.status.conditions.iter();
        let ours = conditions.find(|one| one.kind == INITIALLY_SCHEDULED)?;
        Some(Self::Upstream(upstream::PodGroupStatus {
            conditions: vec![ours.clone()],
        }))
    }
}
