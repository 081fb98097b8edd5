//! Who has a claim to room, and how each ends.
//!
//! | claim | for whom | until |
//! |---|---|---|
//! | decided | a gang whose places are taken and whose binds are not ordered yet | it goes on, or is undone |
//! | nominated | a gang for which others leave their nodes | it is placed, or its plan comes to nothing |
//! | held | members that are not there yet (`minResources`); kept in the state | they come, or nobody does for long; the gang ends, is released or held back |
//! | returning | a gang that was moved, until its pods are made again | it is placed, or its time is over |
//! | reserved | the head of a queue that does not fit: a place in the future | it is placed, or others head the queue |
//!
//! Actions make them; here is what they are, and their ways out. No file here knows an action.

mod decided;
mod ghosts;
pub(super) mod held;
mod list;
pub(super) mod nominated;
mod questions;
pub(super) mod reserved;
pub(super) mod returning;
mod views;

pub use decided::Hold;
pub(super) use decided::on_node;
pub(super) use ghosts::GHOST_PAUSES;
pub(super) use ghosts::RefusedGhosts;
pub use questions::Questions;
pub(super) use reserved::Renewal;
pub use reserved::Reserved;
pub use returning::{MoveLimits, Moves};
pub(super) use views::{Claimant, Stay, Views};

use super::Cycle;
use super::notes::Stage;
use crate::framework::WaitingGangs;
use crate::state::{ClusterState, GangId, View};
use muster_model::units::Time;
use muster_model::{Answer, QuestionId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// Decisions that are held on their way out, by gang.
    pub held: BTreeMap<GangId, Hold>,
    /// What they have asked outside.
    pub questions: Questions,
    /// Those of them that wait at Permit.
    pub waiting: WaitingGangs,
    /// Gangs for which room is held while others leave it.
    pub nominated: BTreeSet<GangId>,
    /// Whom others were moved for, and whose place is held until it comes back.
    pub moves: Moves,
    /// Gangs for which a place in the future is reserved.
    pub reserved: BTreeMap<GangId, Reserved>,
    /// Those of them that are to be tried again, in their order.
    pub(super) to_renew: BTreeMap<(Reverse<i32>, u64), (GangId, Renewal)>,
    /// Ghosts whose binds came back.
    pub ghosts: RefusedGhosts,
    /// How many reservations were made.
    reservations: u64,
}

impl Claims {
    /// What is reserved now, for what who waits may take.
    pub(super) const fn views(&self, now: Time) -> Views<'_> {
        let (reserved, moves) = (&self.reserved, &self.moves);
        Views {
            reserved,
            moves,
            now,
        }
    }

    /// The number of the next reservation.
    pub(super) const fn next_reservation(&mut self) -> u64 {
        self.reservations += 1;
        self.reservations
    }

    /// An answer from outside came; of no account where nobody waits for it.
    pub fn answered(&mut self, id: QuestionId, answer: Answer) {
        self.questions.take(&mut self.held, id, answer);
    }

    /// Forgets a gang that is gone. What was held of it is to be undone.
    pub fn forget(&mut self, gang: GangId) -> Option<Hold> {
        self.nominated.remove(&gang);
        self.questions.forget_gang(gang);
        self.held.remove(&gang)
    }

    /// Compares with the stages, from scratch.
    ///
    /// # Errors
    /// The first difference, in words.
    pub fn audit<'a>(
        &self,
        state: &ClusterState,
        stage_of: impl Fn(GangId) -> &'a Stage,
    ) -> Result<(), String> {
        for (id, gang) in state.gangs() {
            let stage = stage_of(id);
            let wrong = |what: &str| Err(format!("gang {}: {what} in stage {stage:?}", gang.key));
            if self.held.contains_key(&id) != matches!(stage, Stage::Held(_)) {
                return wrong("its places are held or not");
            }
            if !self.nominated.contains(&id) && !state.nominations(id).is_empty() {
                return wrong("room is held that nobody knows of");
            }
            let waits = matches!(stage, Stage::Queued(_) | Stage::Parked(_));
            if self.reserved.contains_key(&id) && !waits {
                return wrong("has reserved");
            }
        }
        self.questions.audit(&self.held)?;
        let is_held = |gang: &GangId| self.held.contains_key(gang);
        if let Some(gang) = self
            .waiting
            .iter()
            .map(|(gang, _)| gang)
            .find(|gang| !is_held(gang))
        {
            return Err(format!("{gang:?} waits at Permit, and nobody holds it"));
        }
        if state.shown() != View::OPEN {
            return Err("room that is kept looks taken".to_owned());
        }
        let forgotten =
            |id: &&GangId| state.gang(**id).is_none() && !state.changes().removed.contains(id);
        if let Some(gone) = self.reserved.keys().find(forgotten) {
            return Err(format!("{gone:?} has reserved, and is gone"));
        }
        if let Some(gone) = self.moves.holds.keys().find(forgotten) {
            return Err(format!("a place is held for {gone:?}, which is gone"));
        }
        Ok(())
    }
}

/// A gang is gone: nothing is reserved or held for it any more.
pub fn forget(cx: &mut Cycle<'_>, gang_id: GangId) {
    reserved::cancel(cx, gang_id);
    returning::drop_hold(cx, gang_id);
}
