//! Why a gang is where it is.

use super::{Books, Claimant, Clock, RoomClaim, Runs, Waits, words};
use crate::units::Time;
use crate::{Code, Condition, Lifetime};
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// Why a gang is where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct GangExplanation {
    /// `PodGroup`, or `Pod` for a pod on its own.
    pub kind: Code,
    /// Namespace.
    pub namespace: String,
    /// What people call it there: the name of its PodGroup or pod.
    pub name: String,
    /// What times are counted from: known to whoever drives the core.
    pub clock: Clock,
    /// As of when.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub as_of: Time,
    /// Whose it is, where it is not ours: then nothing else is known of it.
    pub not_ours: Option<NotOurs>,
    /// How far it is: the word of its [`GangPhase`](crate::GangPhase).
    pub phase: Code,
    /// The condition of its PodGroup that says why it is not further, or else `Scheduled`.
    pub condition: Condition,
    /// Its priority.
    pub priority: i32,
    /// How long it is protected from its start.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "lifetimeSeconds", with = "super::seconds")
    )]
    pub lifetime: Lifetime,
    /// What it asks for while it runs and was not granted, and why not.
    pub not_granted: Option<String>,
    /// What of it is read otherwise than it is written, and why.
    pub read_otherwise: Vec<String>,
    /// When it was submitted.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub submitted_at: Option<Time>,
    /// Its members.
    pub members: Members,
    /// The books of its queue.
    pub queue: Option<Books>,
    /// What it has a claim to beside what its members hold.
    pub claims: Vec<RoomClaim>,
    /// Some of its pods that claim slots of testbeds, those that have none first.
    pub claimants: Vec<Claimant>,
    /// How many there are.
    pub claimant_count: usize,
    /// What members without a place wait for.
    pub waits: Option<Waits>,
    /// What the others hold.
    pub runs: Option<Runs>,
    /// How it last lost its place, if it does not run again; or some of its members.
    pub disruption: Option<Disruption>,
    /// Who refuses that it leaves: a pod, and the API server's words.
    pub refused: Option<Reason>,
    /// When it is tried again, while it backs off.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub back_at: Option<Time>,
}

/// Whose a group is that is not ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct NotOurs {
    /// The scheduler that its pods name; without pods, the one that its kind is made for.
    pub scheduler: String,
    /// Whether it has pods, which name it.
    pub by_pods: bool,
}

/// How many members stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Members {
    /// How many must run.
    pub minimum: u32,
    /// How many there are.
    pub all: u32,
    /// Bound to a node and not about to leave it.
    pub bound: u32,
    /// Running, of these.
    pub running: u32,
    /// On their way to a node.
    pub assumed: u32,
    /// About to leave their node.
    pub leaving: u32,
    /// Ended well.
    pub succeeded: u32,
    /// Ended badly.
    pub failed: u32,
}

/// A name and what is said of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Reason {
    /// Of whom.
    pub name: String,
    /// What.
    pub message: String,
}

/// How a gang lost its place, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Disruption {
    /// When it was decided.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub at: Time,
    /// For which gang.
    pub by: Option<String>,
    /// Of which queue.
    pub by_queue: Option<String>,
    /// Why it.
    pub why: Lost,
    /// How many of its pods were told to go.
    pub pods: u32,
}

words! {
    /// Why a gang lost its place, or a part of it.
    Lost {
        /// That part was beyond its minimum, and others needed the room.
        Surplus,
        /// It was past its lifetime, and its queue over its share.
        PastItsLifetime,
        /// It was past its lifetime, and the time of a reservation had come.
        Due,
        /// It was of lower priority, in the same queue.
        LowerPriority,
        /// It fits elsewhere as well, and another has room then.
        Moved,
        /// It could not be completed.
        NotCompleted,
    }
}
