//! Keeping words true: gangs that wait are tried again when the nodes they speak of have changed,
//! even where the change cannot help them, a few at a time.

use super::Cycle;
use super::agenda::{OrderKey, Stage};
use crate::core::state::GangId;
use crate::core::units::{Millis, Time};
use std::collections::BTreeSet;

/// How long after a change the round begins, and how often some of them have their turn in it.
const EVERY: Millis = Millis(1_000);
/// The same reason with other numbers is said again after so long, so the words of all are formed
/// anew no more often.
pub const AGAIN: Millis = Millis(10_000);
/// How many gangs at once.
const GANGS: usize = 50;
/// How many members these may have together, so that a turn stays short.
const MEMBERS: usize = 2_000;
/// How many gangs are looked at in one turn.
const LOOKS: usize = 2_000;

/// How far the round over all gangs that wait has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// The mark of the nodes when the last one began, or when nobody waited.
    mark: u64,
    /// When the last one began.
    began: Option<Time>,
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

    /// When the next may begin.
    fn next(&self, now: Time) -> Time {
        let rested = self.began.map_or(now, |began| began + AGAIN);
        rested.max(now + EVERY)
    }
}

/// Queues the next gangs whose words speak of nodes that have changed since. Says which of them
/// nothing could have helped: one that gets a place all the same is rescued.
pub fn restate(cx: &mut Cycle<'_>, round: &mut Round) -> BTreeSet<GangId> {
    let mark = cx.state.nodes().mark();
    if round.mark != mark && round.due.is_none() {
        if cx.agenda.parked().next().is_some() {
            round.due = Some(round.next(cx.now));
        } else {
            round.mark = mark;
        }
    }
    if round.due.is_none_or(|due| due > cx.now) {
        return BTreeSet::new();
    }
    if round.cursor.is_none() {
        (round.began, round.mark) = (Some(cx.now), mark);
    }
    let (mut stale, mut members, mut ended) = (Vec::new(), 0, true);
    for (looks, key) in cx.agenda.parked_after(round.cursor).enumerate() {
        if looks >= LOOKS || stale.len() >= GANGS || members >= MEMBERS {
            ended = false;
            break;
        }
        round.cursor = Some(*key);
        if cx.agenda.progress(key.gang).words_mark != mark {
            members += cx.state[key.gang].pending.len();
            stale.push(*key);
        }
    }
    round.due = if !ended {
        Some(cx.now + EVERY)
    } else if round.mark != mark {
        Some(round.next(cx.now))
    } else {
        None
    };
    if ended {
        round.cursor = None;
    }
    let out_of_turn = cx.agenda.out_of_turn(cx.now, stale.iter().copied());
    for key in stale {
        cx.agenda.set_stage(cx.state, key.gang, Stage::Queued(key));
    }
    out_of_turn
}
