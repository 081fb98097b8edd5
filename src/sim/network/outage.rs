//! A time in which nothing comes of any request, whoever sends it: the API server is dead, what it keeps
//! its objects in stands still, or it has too much to do.

use super::{Fate, REQUEST_TIMEOUT, status};
use crate::random::Random;
use muster_cluster::attempt::Answer;
use muster_model::units::{Millis, Time};

/// While all are slow, a request takes so long at least ...
const SLOW: Millis = Millis(1_200);
/// ... and so much longer at most, which some are not given.
const SLOWER: Millis = Millis(900);

/// When, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outage {
    /// From then ...
    pub from: Time,
    /// ... to then.
    pub to: Time,
    /// What it looks like.
    pub kind: OutageKind,
}

/// What an outage looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutageKind {
    /// Nobody is there: connections are refused, and none that was open is answered.
    #[default]
    Dead,
    /// etcd stands still: nothing is answered, and what was asked for happens late or never.
    Hangs,
    /// All is answered 429.
    Busy,
    /// All takes long, and what takes longer than it may is not done.
    Slow,
}

impl Outage {
    /// One that begins then and takes so long.
    #[must_use]
    pub fn draw(from: Time, span: Millis, kind: u64) -> Self {
        let kind = match kind {
            0 => OutageKind::Dead,
            1 => OutageKind::Hangs,
            2 => OutageKind::Busy,
            _ => OutageKind::Slow,
        };
        Self {
            from,
            to: from + span,
            kind,
        }
    }

    /// What becomes of a request that is sent now, if it is in the outage.
    pub(super) fn fate(&self, now: Time, random: &mut Random) -> Option<Fate> {
        if now < self.from || self.to <= now {
            return None;
        }
        let mut within = |most: Millis| Millis(random.below(most.0 + 1));
        Some(match self.kind {
            OutageKind::Dead => Fate {
                lands_in: None,
                answers_in: within(Millis(20)),
                instead: Some(Answer::Lost),
            },
            OutageKind::Hangs => Fate {
                lands_in: (within(Millis(1)) > Millis(0)).then(|| within(REQUEST_TIMEOUT)),
                answers_in: if within(Millis(1)) > Millis(0) {
                    REQUEST_TIMEOUT
                } else {
                    within(REQUEST_TIMEOUT)
                },
                instead: Some(Answer::Lost),
            },
            OutageKind::Busy => Fate {
                lands_in: None,
                answers_in: within(Millis(20)),
                instead: Some(status(429, "too many requests", Some(Millis(1_000)))),
            },
            OutageKind::Slow => {
                let takes = Millis(SLOW.0 + within(SLOWER).0);
                let in_time = takes <= REQUEST_TIMEOUT;
                Fate {
                    lands_in: in_time.then_some(takes),
                    answers_in: takes.min(REQUEST_TIMEOUT),
                    instead: (!in_time).then(|| status(504, "timeout", None)),
                }
            }
        })
    }
}
