//! What the actions note of their decisions, for whoever asks why (`muster why`). Nothing is decided
//! by it.

use super::agenda::Agenda;
use super::preempt::{Claim, Spared};
use crate::framework::Profiles;
use crate::placement::Shortage;
use crate::state::{ClusterState, PodId};
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

    /// The reasons, how many gangs have each, and the name of one.
    pub fn iter(&self) -> impl Iterator<Item = (Spared, u32, &str)> {
        let all = self.0.iter();
        all.map(|(why, count, example)| (*why, *count, example.as_str()))
    }
}

/// Who was asked when room was looked for by thinking others away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// When.
    pub at: Time,
    /// Pods that were chosen to go.
    pub go: u32,
    /// The gangs of some of them.
    pub go_of: Vec<String>,
    /// Pods that could be made to go.
    pub may_go: u32,
    /// The name of a gang of which they are.
    pub example: Option<String>,
    /// Pods that were leaving anyway.
    pub leaving: u32,
    /// The gangs that keep what they need.
    pub spared: SparedGangs,
    /// Pods of other schedulers, which are never touched.
    pub foreign: u32,
}

/// For whom room is kept that a gang may not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFor {
    /// The first of them.
    pub first: String,
    /// On so many nodes something is kept for it.
    pub nodes: usize,
    /// For so many others something is kept, too.
    pub others: usize,
}

/// Why a gang lost its place, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// That part was beyond its minimum, and others needed the room.
    Surplus,
    /// Others needed the room, and had this claim to it.
    Claimed(Claim),
    /// It fits elsewhere as well, and another has room then.
    Moved,
    /// It could not be completed.
    NotCompleted,
}

/// How a gang lost its place, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disruption {
    /// When it was decided.
    pub at: Time,
    /// For which gang, and its queue.
    pub by: Option<(String, String)>,
    /// Why it.
    pub lost: Lost,
    /// How many of its pods were told to go.
    pub pods: u32,
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
