//! What a running gang holds, and to whom it could lose what.

use super::{Spared, Thousandths, words};
use crate::Code;
use crate::units::Time;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// What a gang holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Runs {
    /// Since when its minimum has its place; `None`: since before this process.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub since: Option<Time>,
    /// Some of its nodes, and how many of its members each has: most first.
    pub nodes: Vec<NodeCount>,
    /// On how many nodes it is.
    pub node_count: usize,
    /// How near to each other its members are; empty where no Topology says it.
    pub near: Vec<Near>,
    /// On so many of its nodes is nobody else, but those that are on every node.
    pub own_nodes: usize,
    /// What is free on those, in cores' worth; `None`: whoever was asked does not say it.
    pub lost_opportunity: Option<Thousandths>,
    /// What the placement of its minimum lost; `None` where that is not known, as before this process.
    pub packed: Option<Packed>,
    /// Members beyond its minimum.
    pub surplus: u32,
    /// What it holds, in cores' worth.
    pub worth: Thousandths,
    /// How long it is protected from those who take for the sake of fairness.
    pub protection: Protection,
    /// By how much its queue is over its share, in cores' worth.
    pub queue_over: Thousandths,
    /// To whom it could lose what, now.
    pub could_lose: Vec<Could>,
}

/// A reason or a node, and how many nodes or pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct NodeCount {
    /// Which.
    pub name: String,
    /// How many.
    pub count: usize,
}

/// What a placement lost, in cores' worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Packed {
    /// What stayed free on the nodes that it opened.
    pub lost: Thousandths,
    /// What any placement of these members on these nodes had to lose.
    pub at_least: Thousandths,
}

/// How near to each other some members are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Near {
    /// Whose members: of a subgroup; `None`: all of the gang.
    pub subgroup: Option<String>,
    /// By which Topology.
    pub topology: String,
    /// The largest number of hops between two of them; `None`: two have no path.
    pub max_hops: Option<u32>,
    /// The narrowest domain that has all of them, where there are domains.
    pub domain: Option<String>,
    /// The node, where all are on one.
    pub node: Option<String>,
    /// How far from each other they may be.
    pub limit: Option<NearLimit>,
}

/// How far from each other members may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct NearLimit {
    /// In one domain of this level; `node`: on one node. `None` where the Topology has no levels.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub level: Option<String>,
    /// No further than this.
    pub max_hops: u32,
}

/// How long a gang is protected from those who take for the sake of fairness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Protection {
    /// Of which kind that is.
    pub kind: ProtectionKind,
    /// Until when, or since when not any more.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub at: Option<Time>,
}

words! {
    /// Whether a gang is protected.
    ProtectionKind {
        /// For ever.
        Unlimited,
        /// Until a time.
        Until,
        /// Not any more since a time.
        Over,
        /// Its lifetime counts from a start that this process did not see: it is protected.
        Unknown,
    }
}

/// What a gang could lose to somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Could {
    /// To whom.
    pub to: Taker,
    /// Everything.
    pub all: bool,
    /// So many members beyond its minimum.
    pub surplus: u32,
    /// Why not more: the word of a [`Spared`].
    pub kept: Option<Code>,
    /// With `Plugin`: which.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub plugin: Option<String>,
    /// When that is over, where it ends by itself.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub until: Option<Time>,
}

impl Could {
    /// It could lose everything.
    #[must_use]
    pub fn all(to: Taker) -> Self {
        Self {
            to,
            all: true,
            ..Self::default()
        }
    }

    /// It could lose so many members, and not more for this reason.
    #[must_use]
    pub fn some(to: Taker, surplus: u32, why: Spared) -> Self {
        Self {
            to,
            all: false,
            surplus,
            kept: Some(why.code()),
            plugin: why.plugin().map(str::to_owned),
            until: why.until(),
        }
    }
}

words! {
    /// Who may take something of a gang.
    Taker {
        /// A gang of the same queue that is as important.
        EqualInQueue,
        /// A gang of the same queue that is more important.
        HigherInQueue,
        /// A gang of another queue that is at or below its fair share with it.
        NeedyQueue,
        /// The first gang of any queue, whose place is reserved, when the time of that has come.
        Head,
    }
}
