//! What the actions note of their decisions, for whoever asks why (`muster why`). Nothing is decided
//! by it.

use super::agenda::Agenda;
use crate::framework::Profiles;
use crate::placement::Shortage;
use crate::state::{ClusterState, PodId};
use muster_model::explanation::{Spared, SparedCount};
use muster_model::units::Time;
use std::mem::discriminant;
use std::sync::Arc;

/// What there is to see for whoever changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The time.
    pub now: Time,
    /// The cluster.
    pub state: &'a ClusterState,
    /// The notes on gangs.
    pub agenda: &'a Agenda,
    /// The plugins.
    pub profiles: Profiles<'a>,
}

/// How many gangs keep what they need for which reason, with one example each. Those that differ only
/// in when that is over count as one, with the earliest time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparedGangs(Vec<(Spared, u32, String)>);

impl SparedGangs {
    /// One more.
    pub(crate) fn note(&mut self, why: Spared, title: impl FnOnce() -> String) {
        self.note_some(why, 1, title);
    }

    /// So many more, with the name of one.
    pub(crate) fn note_some(&mut self, why: Spared, more: u32, title: impl FnOnce() -> String) {
        if why == Spared::HoldsNothing || more == 0 {
            return;
        }
        let kind = |why: &Spared| (discriminant(why), why.until().is_some(), why.plugin());
        match self.0.iter_mut().find(|(one, ..)| kind(one) == kind(&why)) {
            Some((one, count, _)) => {
                *one = why.min(*one);
                *count = count.saturating_add(more);
            }
            None => {
                self.0.push((why, more, title()));
                self.0.sort_unstable();
            }
        }
    }

    /// The reasons, as they are told.
    #[must_use]
    pub fn told(&self) -> Vec<SparedCount> {
        let all = self.0.iter();
        all.map(|(why, gangs, example)| SparedCount::new(*why, *gangs, example))
            .collect()
    }
}

/// What its last try came to, for lack of room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Short {
    /// The member that found no node.
    pub member: Option<PodId>,
    /// How many members found one, where that is known.
    pub placed: Option<u32>,
    /// How many had to.
    pub needed: u32,
    /// What the nodes said; shared by all who want the same.
    pub found: Arc<Shortage>,
}
