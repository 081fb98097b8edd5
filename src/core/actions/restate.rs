//! Keeping words true: gangs that wait are tried again when the nodes they speak of have changed,
//! even where the change cannot help them, a few at a time: the first of all sooner than the others,
//! so that a long backlog costs the API server a few writes a second.

use super::Cycle;
use super::notes::{OrderKey, Stage};
use crate::state::GangId;
use muster_model::units::{Millis, Time};
use std::collections::BTreeSet;

/// How long after a change the round begins, and how often some of them have their turn in it.
const EVERY: Millis = Millis(1_000);
/// The same reason with other numbers is said again after so long, so the words of all are formed
/// anew no more often.
pub const AGAIN: Millis = Millis(10_000);
/// The first of all who wait, in the order in which they are tried: how many of them at once.
const NEAR: Pace = Pace {
    first: 100,
    at_once: 50,
};
/// Everybody.
const FAR: Pace = Pace {
    first: usize::MAX,
    at_once: 10,
};
/// How many members these may have together, so that a turn stays short.
const MEMBERS: usize = 2_000;
/// How many gangs are looked at in one turn.
const LOOKS: usize = 2_000;

/// How a round goes.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Over so many gangs.
    first: usize,
    /// So many at once.
    at_once: usize,
}

/// The rounds over gangs that wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    near: Round,
    far: Round,
}

impl Rounds {
    /// When the next of them goes on.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.near.due.into_iter().chain(self.far.due).min()
    }
}

/// How far a round has come.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// The mark of the nodes when the last one began, or when nobody waited.
    mark: u64,
    /// When the last one began.
    began: Option<Time>,
    /// The last gang looked at.
    cursor: Option<OrderKey>,
    /// How many it has looked at.
    looked: usize,
    /// When it goes on; `None` when it is over.
    due: Option<Time>,
}

impl Round {
    /// When the next may begin.
    fn next(&self, now: Time) -> Time {
        let rested = self.began.map_or(now, |began| began + AGAIN);
        rested.max(now + EVERY)
    }
}

/// Queues the next gangs whose words speak of nodes that have changed since. Says which of them
/// nothing could have helped: one that gets a place all the same is rescued.
pub fn restate(cx: &mut Cycle<'_>, rounds: &mut Rounds) -> BTreeSet<GangId> {
    let mut out_of_turn = go_on(cx, &mut rounds.near, NEAR);
    out_of_turn.extend(go_on(cx, &mut rounds.far, FAR));
    out_of_turn
}

fn go_on(cx: &mut Cycle<'_>, round: &mut Round, pace: Pace) -> BTreeSet<GangId> {
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
        (round.began, round.mark, round.looked) = (Some(cx.now), mark, 0);
    }
    let (mut stale, mut members, mut ended) = (Vec::new(), 0, true);
    let left = pace.first - round.looked;
    let some = cx.agenda.parked_after(round.cursor).take(left);
    for (looks, key) in some.enumerate() {
        if looks >= LOOKS || stale.len() >= pace.at_once || members >= MEMBERS {
            ended = false;
            break;
        }
        round.cursor = Some(*key);
        round.looked += 1;
        if cx.agenda.note(key.gang).tried.words_mark != mark {
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
    let out_of_turn = cx
        .agenda
        .out_of_turn(cx.claims, cx.now, stale.iter().copied());
    for key in stale {
        cx.agenda.set_stage(cx.state, key.gang, Stage::Queued(key));
    }
    out_of_turn
}
