//! What plugins in other processes are asked, and what they say.
//!
//! Plain data with names in it: how it travels is no matter of the core. A question about nodes is
//! asked once for a gang, a shape of its pods and a point, with all nodes that come into question; one
//! about a decision once for the decision.

use super::{Amounts, GangKey, PodKey, PodLabels, Point};
use crate::units::Millis;
use std::sync::Arc;

/// How many pods one message names, and a question about nodes: how many it is about stands beside them.
pub const MAX_ASKED_PODS: usize = 1_024;

/// At which extension point another process is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RemotePoint {
    /// Whether the gang may be placed at all, and on which nodes only.
    PreFilter,
    /// Which nodes do not suit.
    Filter,
    /// Which nodes are better than others.
    Score,
    /// What else the decision takes is to be reserved.
    Reserve,
    /// It is to be given back.
    Unreserve,
    /// Whether the decision may be carried out now.
    Permit,
    /// What has to be done before the binds.
    PreBind,
    /// The binds are to be made.
    Bind,
    /// The binds were made.
    PostBind,
}

impl RemotePoint {
    /// All, in the order in which a gang meets them.
    pub const ALL: [Self; 9] = [
        Self::PreFilter,
        Self::Filter,
        Self::Score,
        Self::Reserve,
        Self::Unreserve,
        Self::Permit,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
    ];

    /// Its name, as the scheduling framework has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreFilter => "PreFilter",
            Self::Filter => "Filter",
            Self::Score => "Score",
            Self::Reserve => "Reserve",
            Self::Unreserve => "Unreserve",
            Self::Permit => "Permit",
            Self::PreBind => "PreBind",
            Self::Bind => "Bind",
            Self::PostBind => "PostBind",
        }
    }

    /// The extension point; to give back what was reserved belongs to Reserve.
    #[must_use]
    pub const fn point(self) -> Point {
        match self {
            Self::PreFilter => Point::PreFilter,
            Self::Filter => Point::Filter,
            Self::Score => Point::Score,
            Self::Reserve | Self::Unreserve => Point::Reserve,
            Self::Permit => Point::Permit,
            Self::PreBind => Point::PreBind,
            Self::Bind => Point::Bind,
            Self::PostBind => Point::PostBind,
        }
    }

    /// Whether it asks about nodes, before any is chosen.
    #[must_use]
    pub const fn is_about_nodes(self) -> bool {
        matches!(self, Self::PreFilter | Self::Filter | Self::Score)
    }
}

/// A question to a plugin in another process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RemoteQuestion {
    /// The plugin's name.
    pub plugin: Arc<str>,
    /// What it is asked.
    pub point: RemotePoint,
    /// About whom.
    pub gang: AskedGang,
    /// The pods: of one shape before they have a place, and then at most [`MAX_ASKED_PODS`]; else all of the
    /// decision; at Bind, one of them.
    pub pods: Vec<AskedPod>,
    /// How many there are.
    pub pod_count: u32,
    /// The nodes that come into question; none where the pods have theirs.
    pub nodes: Arc<[AskedNode]>,
}

/// The gang that a question is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AskedGang {
    /// Its key.
    pub key: GangKey,
    /// Its PodGroup's uid; empty for a pod on its own.
    pub uid: String,
    /// Its queue.
    pub queue: String,
    /// Its priority.
    pub priority: i32,
    /// How many of its pods have to run.
    pub min_available: u32,
}

/// A pod that a question is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AskedPod {
    /// Which.
    pub key: PodKey,
    /// Its labels.
    pub labels: PodLabels,
    /// What it requests, without `pods`.
    pub requests: Amounts,
    /// The node it is to be on, once that is decided.
    pub node: Option<String>,
}

/// A node that comes into question.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AskedNode {
    /// Its name.
    pub name: String,
    /// Those of its labels for which the plugin asked.
    pub labels: Vec<(String, String)>,
}

/// What a plugin in another process says, or that it says nothing of use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RemoteAnswer {
    /// Of nodes.
    Nodes(NodeVerdicts),
    /// What nodes are worth, in 0..=100; those that are not named 0.
    Scores(Vec<(String, i64)>),
    /// Go ahead; or it is done.
    Allow,
    /// Do not, and why.
    Deny(String),
    /// Ask again after a while.
    Wait(Millis),
    /// This is for somebody else.
    Skip,
    /// There is no answer of use: why, in words.
    Failed(String),
}

/// What a plugin in another process says of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeVerdicts {
    /// No node will do, and why.
    pub none: Option<String>,
    /// No other nodes than these come into question, and what is said of the others.
    pub only: Option<(Vec<String>, String)>,
    /// Nodes that do not suit, each with the reason.
    pub refused: Vec<(String, String)>,
}
