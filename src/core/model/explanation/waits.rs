//! What a gang waits for, who is ahead of it, and who might make room.

use super::{NodeCount, Reason, SparedCount, words};
use crate::units::Time;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// What a gang waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Waits {
    /// Its place in its queue, from 1; `None` if it is in no line or far behind.
    pub position: Option<u32>,
    /// The first of its queue, if it is not the first itself.
    pub ahead: Ahead,
    /// When it was last tried.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub tried_at: Option<Time>,
    /// What it was short of then.
    pub short: Option<Short>,
    /// What its queue's books said.
    pub held: Option<Held>,
    /// Who makes room for it, or why nobody does.
    pub asked: Option<Asked>,
    /// The place that is reserved for it.
    pub place: Option<Place>,
    /// For whom room is kept that it may not take.
    pub kept_for: Option<KeptFor>,
    /// The room that is held for it.
    pub room_held: Option<RoomHeld>,
    /// When it may start.
    pub start: Start,
}

/// Who is ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Ahead {
    /// How many, where its position is known.
    pub count: Option<u32>,
    /// The first of them.
    pub first: Vec<String>,
    /// The one that its queue's books hold back, and why: those behind it wait with it.
    pub held_back: Option<Reason>,
}

/// What a gang was short of when it was last tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Short {
    /// So many members found a node, where that is known.
    pub fit: Option<u32>,
    /// So many had to.
    pub needed: u32,
    /// The first that did not.
    pub pod: Option<String>,
    /// How many nodes there were.
    pub nodes: usize,
    /// What they said to it, and how many of them.
    pub reasons: Vec<NodeCount>,
    /// The node that lacked least.
    pub closest: Option<Closest>,
}

/// A node that lacks nothing but resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Closest {
    /// Its name.
    pub node: String,
    /// What it lacks.
    pub lacks: Vec<Lack>,
}

/// What a node lacks of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Lack {
    /// The resource.
    pub resource: String,
    /// How much, in words, with the resource's name.
    pub amount: String,
}

/// What a queue's books say to a gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Held {
    /// Whose books; `None`: the cluster's.
    pub by: Option<String>,
    /// When they are asked again although nothing happens.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub until: Option<Time>,
    /// Whether they would say so if the queue held nothing.
    pub for_good: bool,
}

/// Who was asked to make room, by thinking others away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Asked {
    /// What came of it, or why nobody was asked. Nothing that follows is said in the latter case.
    pub outcome: Outcome,
    /// Of `InVain`: that there is no place whoever goes is proven, and not just the end of a bounded search.
    pub proven: bool,
    /// Of `Behind`: only so many of a queue have others asked.
    pub heads: Option<u32>,
    /// When.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub at: Option<Time>,
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
    pub spared: Vec<SparedCount>,
    /// Pods of other schedulers, which are never touched.
    pub foreign: u32,
}

impl Asked {
    /// Nobody was asked, for this reason.
    #[must_use]
    pub fn nobody(outcome: Outcome) -> Self {
        Self {
            outcome,
            ..Self::default()
        }
    }
}

words! {
    /// What came of looking for somebody who makes room, or why nobody did.
    Outcome {
        /// Its queue does not let it start.
        HeldBack,
        /// Its minimum has a place.
        NotMissing,
        /// It is partly bound: it is completed with what is free, or released.
        PartlyBound,
        /// Enough plans were made in this cycle: its turn comes.
        Postponed,
        /// Its preemptionPolicy is Never.
        Never,
        /// Too many of its queue are before it.
        Behind,
        /// A place was found.
        Found,
        /// No place was found, although everybody was asked who may be.
        InVain,
    }
}

/// The place that is reserved for a gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Place {
    /// On so many nodes.
    pub nodes: u32,
    /// When it will be free; `None`: nobody knows.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub at: Option<Time>,
    /// Some of the gangs that are on those nodes now, who goes first first.
    pub holders: Vec<PlaceHolder>,
    /// How many there are.
    pub holder_count: usize,
}

/// A gang on the nodes of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct PlaceHolder {
    /// Its name.
    pub name: String,
    /// When its lifetime ends; `None`: nobody knows when it leaves.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub ends_at: Option<Time>,
}

/// For whom room is kept that a gang may not take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct KeptFor {
    /// The first of them.
    pub first: String,
    /// On so many nodes something is kept for it.
    pub nodes: usize,
    /// For so many others something is kept, too.
    pub others: usize,
}

/// Room that is held for a gang.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct RoomHeld {
    /// On so many nodes.
    pub nodes: usize,
    /// Until so many pods have left.
    pub leaving: usize,
}

/// When a gang may start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Start {
    /// Not before this; `None`: unknown.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub at: Option<Time>,
    /// What that hangs on.
    pub hangs_on: HangsOn,
}

words! {
    /// What the start of a gang hangs on.
    HangsOn {
        /// On news: pods, a queue, a gate.
        News,
        /// On the next decision.
        NextDecision,
        /// On the end of its back-off.
        BackOff,
        /// On the pods that leave the room held for it.
        Leaving,
        /// On the flow of its queue, which decays.
        Flow,
        /// On gangs of its queue that end.
        Books,
        /// On the gangs ahead of it.
        Ahead,
        /// On room that nobody promised to set free at a time.
        Room,
        /// On the lifetimes of those who are in the place that is reserved for it.
        Lifetimes,
        /// On those who should have left the place that is reserved for it.
        Overdue,
        /// On those in the place that is held for it, of whom nobody knows when they end.
        Place,
        /// On room beyond what is kept for another.
        KeptRoom,
        /// On nothing: it asks for more than its queue may ever give.
        Never,
        /// On a Permit plugin.
        Permit,
        /// On an answer from outside.
        Answer,
    }
}
