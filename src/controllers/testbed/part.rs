//! One of the objects that say something of a Testbed's slots: what it says, and what it may say by now.

use muster_api::crd::Slot;
use muster_api::slices::Sizes;
use muster_model::units::{Millis, Time};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// An object is written at most so often.
const PACE: Millis = Millis(1_000);
/// And the API server is at rest for so many times as long as the write took, but for no longer than this: each has
/// it read, check, store and send a hundred kilobytes.
const TIMES_AS_LONG: u64 = 10;
const SLOWEST: Millis = Millis(10_000);
/// While ghosts wait to be made, what they are waits for so long: it would be another thing a moment later.
const WHILE_MADE: Millis = Millis(30_000);

/// A slice that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) uid: String,
    pub(super) version: String,
    /// It is about to go.
    pub(super) terminating: bool,
}

/// How what a part says stands to its slots as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agrees {
    /// The numbers are the same, in their order.
    pub(super) numbers: bool,
    /// So are the ghosts behind them.
    pub(super) ghosts: bool,
}

/// A part of what is said.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The object that says it, where that is a slice.
    pub(super) slice: Option<Slice>,
    /// What it says, as it was last observed.
    pub(super) said: Vec<Slot>,
    /// The ghosts that it names, with their numbers: others are not made.
    pub(super) named: BTreeMap<String, u32>,
    pub(super) agrees: Agrees,
    /// Slots that may have to be said anew.
    pub(super) changed: BTreeSet<u32>,
    /// When it was last written, and how long that took.
    pub(super) written_at: Option<Time>,
    pub(super) took: Millis,
    /// What it will name besides, by ghost, if the write that is in flight is done.
    pub(super) flying: BTreeMap<String, Slot>,
    /// The same of writes that were lost; and when the last one was.
    pub(super) lost: BTreeMap<String, Slot>,
    pub(super) lost_at: Option<Time>,
    /// Uid and version of what they were to be written on; none, if one of them makes it: that may still happen when
    /// another one was there meanwhile.
    pub(super) base: Option<(String, String)>,
}

/// What is to be said of a part.
#[derive(Debug, Default)]
pub(super) struct Saying {
    pub(super) operations: Vec<Value>,
    /// Slots that it names thereby.
    pub(super) names: Vec<Slot>,
    /// Slots that it does not name yet, for another part does.
    pub(super) waits: BTreeSet<u32>,
}

impl Part {
    pub(super) fn new(said: Vec<Slot>, part: u32, sizes: Sizes) -> Self {
        Self {
            named: named(&said, part, sizes),
            said,
            ..Self::default()
        }
    }

    /// What it may have been made to name: nobody knows that yet.
    pub(super) fn unsure(&self) -> impl Iterator<Item = &Slot> {
        self.flying.values().chain(self.lost.values())
    }

    pub(super) fn may_name(&self, ghost: &str) -> bool {
        self.named.contains_key(ghost)
            || self.flying.contains_key(ghost)
            || self.lost.contains_key(ghost)
    }

    /// The object is another, or of another version: what was written on it before has happened by now, or never
    /// will.
    pub(super) fn moved_to(&mut self, uid: &str, version: &str) {
        let base = self.base.as_ref();
        if base.is_some_and(|(of, before)| of != uid || before != version) {
            self.is_sure();
        }
    }

    /// When it may be written again. Slots that are not named yet come as soon as may be, for they have no ghosts
    /// until then; who sits where may wait for an API server that takes its time.
    pub(super) fn may_be_written_at(&self, ghosts_wait: bool, now: Time) -> Time {
        let slow = Millis(self.took.0.saturating_mul(TIMES_AS_LONG)).min(SLOWEST);
        let pace = if self.agrees.ghosts { slow } else { PACE };
        let Some(at) = self.written_at else {
            return Time::ZERO;
        };
        let next = at + pace.max(PACE);
        if ghosts_wait && self.agrees.ghosts {
            // They may all be made sooner.
            next.max((now + PACE).min(at + WHILE_MADE))
        } else {
            next
        }
    }

    pub(super) fn is_sure(&mut self) {
        self.flying.clear();
        self.lost.clear();
        self.lost_at = None;
        self.base = None;
    }
}

/// What is other than before in what a part says.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// It has other slots than there are.
    pub(super) layout: bool,
    /// Ghosts that it names and did not name before.
    pub(super) named: Vec<String>,
}

/// Where what is said has the slot of this number, and what it says there.
pub(super) fn said_of(said: &[Slot], number: u32) -> Option<(usize, &Slot)> {
    let position = i32::try_from(number).ok()?;
    let index = said.binary_search_by_key(&position, |one| one.position);
    let index = index.ok()?;
    Some((index, said.get(index)?))
}

/// The ghosts that a part names, with their numbers.
pub(super) fn named(said: &[Slot], part: u32, sizes: Sizes) -> BTreeMap<String, u32> {
    let own = said.iter().filter(|slot| sizes.is_within(part, slot));
    let named = own.filter_map(|one| Some((one.ghost.clone(), number(one)?)));
    named.collect()
}

pub(super) fn number(slot: &Slot) -> Option<u32> {
    u32::try_from(slot.position).ok()
}
