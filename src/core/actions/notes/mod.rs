//! What is noted of each gang: how far it is, and why.
//!
//! Here is what the actions know of a gang beside the state; no file here knows an action.

mod records;
mod stage;
mod taken;

pub use records::Refusal;
pub(super) use records::{ChargedBy, Partial, Respite, Restless, Short};
pub(super) use stage::StuckRelease;
pub use stage::{Lane, MAX_RANKS, OrderKey, Release, Stage};
pub use taken::Taken;

use crate::state::{GangId, Id};
use muster_model::explanation::Lost;
use muster_model::units::Time;
use muster_model::{Amounts, LetIn, Why};
use records::{History, Run, Search, Setbacks, Tried};
use std::sync::LazyLock;

/// What is noted of one gang: how far it is, and records of which each ends at its own time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// What is next. Only the agenda moves a gang to another one.
    stage: Stage,
    /// Why members wait; said until there is something else to say.
    pub why: Option<Why>,
    /// Room for members that are not there yet is held for it, or it asks for none.
    pub admitted: bool,
    /// Why it is not admitted.
    pub not_admitted: Option<Why>,
    /// Since when plugins in other processes are asked about nodes for it, over all tries until they have
    /// answered.
    pub asking_since: Option<Time>,
    /// When it is tried again, while it backs off or a member was refused.
    pub retry_at: Option<Time>,
    /// By what it was charged for what it holds, until it holds nothing.
    pub charged: Option<ChargedBy>,
    /// The largest minimum that its queue let in, or that ran in full, until it holds nothing.
    pub let_in: u32,
    /// The `minResources` that its queue let in with it, or with which a process before did: nothing where it
    /// asked as its pods do. Until it has to be let in anew.
    pub let_in_on: Option<Amounts>,
    /// Why it does not have the terms that it asks for while it runs.
    pub not_granted: Option<Refusal>,
    /// While it is bound in part.
    pub partial: Option<Partial>,
    /// When that is looked at again. The agenda has this timer whatever becomes of the gang.
    pub partial_timer: Option<Time>,
    /// What its last try came to.
    pub tried: Tried,
    /// What came of looking for room that is not free.
    pub search: Search,
    /// What is of this run.
    pub run: Run,
    /// What went wrong since it last ran in full.
    pub setbacks: Setbacks,
    /// What is kept as long as it is the same PodGroup.
    pub history: History,
}

impl Note {
    /// What is next.
    #[must_use]
    pub const fn stage(&self) -> &Stage {
        &self.stage
    }

    /// The release under way.
    #[must_use]
    pub const fn release(&self) -> Option<&Release> {
        self.stage.release()
    }

    /// The same, to change.
    pub(in crate::actions) const fn release_mut(&mut self) -> Option<&mut Release> {
        match &mut self.stage {
            Stage::Releasing(release) => Some(release),
            _ => None,
        }
    }

    /// The outage since which it has not advanced.
    #[must_use]
    pub fn respite(&self) -> Option<Respite> {
        self.partial?.respite
    }

    /// It is tried again, or waits for news: what its last try came to does not hold any more.
    pub(in crate::actions) fn forget_try(&mut self) {
        self.tried = Tried::default();
    }

    /// It has a place, and nothing is looked for any more.
    pub(in crate::actions) fn has_a_place(&mut self) {
        self.forget_try();
        self.search = Search::default();
    }

    /// What it was let in with, for who comes after.
    pub(crate) fn let_in_with(&self) -> LetIn {
        LetIn {
            min_available: self.let_in,
            min_resources: self.let_in_on.clone().unwrap_or_default(),
        }
    }

    /// It is taken off its nodes.
    pub(in crate::actions) fn ends_its_run(&mut self) {
        self.run = Run::default();
    }

    /// All of its minimum is bound.
    pub(in crate::actions) fn runs_in_full(&mut self, minimum: u32) {
        self.run.ran_with = Some(minimum);
        self.let_in = self.let_in.max(minimum);
        self.setbacks = Setbacks::default();
        let disruption = &mut self.history.disruption;
        disruption.take_if(|one| one.why != Lost::Surplus);
    }

    /// Its PodGroup is another object than before: what became of the former one is not its history. What
    /// is of its pods, and of where it stands, stays.
    fn forget_history(&mut self) {
        self.has_a_place();
        self.ends_its_run();
        self.setbacks = Setbacks::default();
        self.history = History::default();
        if let Some(partial) = &mut self.partial {
            partial.respite = None;
        }
    }
}

/// The notes on all gangs.
#[derive(Clone, Debug, Default)]
pub(in crate::actions) struct Notes(Vec<Note>);

impl Notes {
    /// The notes on a gang.
    pub(in crate::actions) fn of(&self, gang: GangId) -> &Note {
        /// Of a gang that nobody has looked at yet.
        static BLANK: LazyLock<Note> = LazyLock::new(Note::default);
        self.0.get(gang.index()).unwrap_or(&BLANK)
    }

    /// The notes on a gang, to change.
    #[inline]
    pub(in crate::actions) fn of_mut(&mut self, gang: GangId) -> &mut Note {
        if self.0.len() <= gang.index() {
            self.make_room_for(gang);
        }
        &mut self.0[gang.index()]
    }

    #[cold]
    fn make_room_for(&mut self, gang: GangId) {
        self.0.resize_with(gang.index() + 1, Note::default);
    }

    /// Takes a gang out of its stage, on the way to another.
    pub(in crate::actions) fn take_stage(&mut self, gang: GangId) -> Stage {
        std::mem::take(&mut self.of_mut(gang).stage)
    }

    /// Puts it there.
    pub(in crate::actions) fn put_stage(&mut self, gang: GangId, stage: Stage) {
        self.of_mut(gang).stage = stage;
    }

    /// Forgets what became of a gang's former PodGroup.
    pub(in crate::actions) fn forget_history(&mut self, gang: GangId) {
        self.of_mut(gang).forget_history();
    }

    /// Forgets a gang that is gone; says where it was.
    pub(in crate::actions) fn forget(&mut self, gang: GangId) -> Stage {
        std::mem::take(self.of_mut(gang)).stage
    }
}
