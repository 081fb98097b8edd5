//! Ghosts that may not come to their slots yet: something refused them there. Their slots stay held.

use crate::state::PodId;
use muster_model::units::{Doubling, Millis, Time};
use std::collections::BTreeMap;

/// A ghost whose bind or eviction came back is tried again after so long, longer each time.
pub(in crate::actions) const GHOST_PAUSES: Doubling = Doubling {
    first: Millis(1_000),
    longest: Millis(300_000),
};

/// Ghosts whose binds came back: how often, and when they are tried again.
#[derive(Clone, Debug, Default)]
pub struct RefusedGhosts(pub(in crate::actions) BTreeMap<PodId, (u32, Option<Time>)>);

impl RefusedGhosts {
    /// When the next is due.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.0.values().filter_map(|(_, at)| *at).min()
    }

    /// Whether a ghost that came back so often may be tried now.
    pub(in crate::actions) fn may_try(&mut self, ghost: PodId, setbacks: u32, now: Time) -> bool {
        let Some(times) = setbacks.checked_sub(1) else {
            self.0.remove(&ghost);
            return true;
        };
        let known = self.0.entry(ghost).or_default();
        if known.0 != setbacks {
            *known = (setbacks, Some(now + GHOST_PAUSES.after(times)));
        }
        known.1.is_none()
    }
}
