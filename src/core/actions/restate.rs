//! Keeping words true: gangs that wait are tried again when the nodes they speak of have changed,
//! even where the change cannot help them, a few at a time.

use super::Cycle;
use crate::core::state::{GangId, OrderKey, Stage};
use crate::core::units::{Millis, Time};
use std::collections::BTreeSet;

/// How often some of them have their turn.
const EVERY: Millis = Millis(1_000);
/// How many gangs at once.
const GANGS: usize = 50;
/// How many members these may have together, so that a turn stays short.
const MEMBERS: usize = 2_000;
/// How many gangs are looked at in one turn.
const LOOKS: usize = 2_000;

/// How far the round over all gangs that wait has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// What the nodes offered when it began.
    version: u64,
    /// The last gang looked at.
    cursor: Option<OrderKey>,
    /// When it goes on; `None` when it is over.
    due: Option<Time>,
}

impl Round {
    /// When it goes on.
    #[must_use]
    pub const fn due(&self) -> Option<Time> {
        self.due
    }
}

/// Queues the next gangs whose words speak of nodes that have changed since.
pub fn restate(cx: &mut Cycle<'_>, round: &mut Round) -> BTreeSet<GangId> {
    let version = cx.state.nodes().offer_version();
    if round.version != version && round.due.is_none() {
        let anybody = cx.agenda.parked().next().is_some();
        *round = Round {
            version,
            cursor: None,
            due: anybody.then_some(cx.now + EVERY),
        };
    }
    if round.due.is_none_or(|due| due > cx.now) {
        return BTreeSet::new();
    }
    let (mut stale, mut members, mut ended) = (Vec::new(), 0, true);
    for (looks, key) in cx.agenda.parked_after(round.cursor).enumerate() {
        if looks >= LOOKS || stale.len() >= GANGS || members >= MEMBERS {
            ended = false;
            break;
        }
        round.cursor = Some(*key);
        if cx.state.progress(key.gang).words_version != version {
            let gang = cx.state.gang(key.gang);
            members += gang.map_or(0, |gang| gang.pending.len());
            stale.push(*key);
        }
    }
    let (now, anew) = (cx.now, round.version != version);
    round.due = (!ended || anew).then_some(now + EVERY);
    if ended {
        (round.cursor, round.version) = (None, version);
    }
    for key in &stale {
        cx.agenda.set_stage(cx.state, key.gang, Stage::Queued(*key));
    }
    stale.into_iter().map(|key| key.gang).collect()
}
