//! What a cycle says to do. A plan leaves no choice to whoever carries it out.

use crate::units::{Millis, Time};
use crate::{
    Bind, Code, Evict, GangKey, GangStatus, PodKey, PodWaits, Question, QuestionId, QueueStatus,
    Source, TopologyDoubt, TopologyStatus,
};
use std::sync::Arc;

/// The outcome of one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Plan {
    /// What to do, in this order where two effects touch the same object. Effects on different
    /// objects may be carried out at the same time.
    pub effects: Vec<Effect>,
    /// One line per gang on which something was decided, for the log.
    pub decisions: Vec<Decision>,
    /// What is over and took how long, for histograms.
    pub spans: Vec<Span>,
    /// Places that are held from now on for decisions that wait, or not any more, in the order in which
    /// that was decided: for the linter.
    pub held: Vec<HeldPlace>,
    /// What changed of the other claims to room that count as used: for the linter.
    pub claims: ClaimNews,
    /// Who is placed onto nodes that are kept whole for others, for the linter.
    pub onto_kept: Vec<OntoKept>,
    /// When the next cycle is due if no event comes before; `None`: only an event can matter.
    pub wake_at: Option<Time>,
    /// The cycle stopped at its bound with work left: call it again at once.
    pub more: bool,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Effect {
    /// Bind a pod. Answered by [`Event::BindResult`](crate::Event::BindResult).
    Bind(Bind),
    /// Give back the bind of this pod if it is not sent yet. Not answered itself: the bind is.
    Recall(PodKey),
    /// Delete a pod, with its uid as precondition. Answered by
    /// [`Event::EvictResult`](crate::Event::EvictResult).
    Evict(Evict),
    /// Ask somebody outside. Answered by [`Event::Answer`](crate::Event::Answer).
    Ask(Question),
    /// Nobody waits for the answer to this question any more: who works on it may stop. Not answered
    /// itself: the question is.
    GiveUp(QuestionId),
    /// Say on a pod why it waits: condition `PodScheduled=False` and an event.
    PodWaits(PodWaits),
    /// Write a PodGroup's status. Only the latest one per PodGroup matters.
    GangStatus(GangStatus),
    /// A PodGroup is not ours any more: nothing is said of it from now on, and what was to be written
    /// is not.
    GangSilent(Source, String),
    /// Write a Queue's status. Only the latest one per queue matters.
    QueueStatus(QueueStatus),
    /// A Topology's status is another than before.
    TopologyStatus(TopologyStatus),
    /// Something odd about a topology of another project, on which nothing is written.
    TopologyDoubt(TopologyDoubt),
}

/// What was decided on one gang in one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Decision {
    /// Which gang, as people call it: the PodGroup's or the pod's namespace and name.
    pub gang: String,
    /// The key of its PodGroup, if it is more than a pod.
    pub group: Option<GangKey>,
    /// Its queue.
    pub queue: String,
    /// What was decided.
    pub outcome: Outcome,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Outcome {
    /// These many pods got a place, on these many nodes.
    Placed {
        /// Pods placed in this step.
        pods: u32,
        /// Different nodes they go to.
        nodes: u32,
        /// What stays free on those of them on which nobody else is, in worth.
        lost: u64,
        /// What it had to lose at least, in worth, where that is known.
        at_least: Option<u64>,
        /// How far those with a rank are from the next, if there are any.
        ranks: Option<Neighbours>,
    },
    /// It cannot be placed, and has not been able to for a while.
    Waits {
        /// Typed reason.
        reason: Code,
        /// In words.
        message: Arc<str>,
    },
    /// It was partly bound and could not be completed: these many members are evicted.
    Released {
        /// Members evicted.
        pods: u32,
        /// Why.
        message: Arc<str>,
    },
}

/// Something that took a while and is over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span {
    /// What it was.
    pub kind: SpanKind,
    /// In which queue.
    pub queue: String,
    /// How long it took.
    pub length: Millis,
}

/// What takes a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SpanKind {
    /// A gang waited, from its submission until its minimum got its place.
    Waiting,
    /// A gang was partly bound: until its minimum was bound, or its release began.
    PartlyBound,
}

/// A place is held from now on for a pod whose decision waits, or is not any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HeldPlace {
    /// For which pod.
    pub pod: PodKey,
    /// On which node; `None`: it was let go.
    pub node: Option<String>,
    /// After how many of the plan's binds.
    pub after: usize,
}

/// What changed of the room that is nominated, or held for members that are not there yet, since the last
/// plan: as it is at the end of this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct ClaimNews {
    /// Pods for which others leave a node, which one, and those for which that is over.
    pub nominated: Vec<(PodKey, Option<String>)>,
    /// What is held for gangs.
    pub held: Vec<(GangKey, AmountsOn)>,
}

/// Amounts of resources, in their base units, by node.
pub type AmountsOn = Vec<(String, Vec<(String, i64)>)>;

/// A gang was placed on nodes that are kept whole for another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OntoKept {
    /// Who was placed.
    pub gang: GangKey,
    /// For whom the nodes are kept.
    pub kept_for: GangKey,
    /// From when it is to have them; `None`: nobody knows.
    pub at: Option<Time>,
    /// Whether who was placed goes before it: it is ahead of it in their queue, or reserved before it, or
    /// is of a higher tier.
    pub goes_before: bool,
}

/// How far pods are from those next to them by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Neighbours {
    /// The hops between the two of each pair, in all.
    pub hops: u32,
    /// How many pairs there are, at least one.
    pub pairs: u32,
}

impl Neighbours {
    /// These and others.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            hops: self.hops.saturating_add(other.hops),
            pairs: self.pairs.saturating_add(other.pairs),
        }
    }
}
