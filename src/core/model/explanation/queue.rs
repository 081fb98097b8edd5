//! Who holds what of a queue.

use super::{Clock, Protection, SparedCount, Thousandths};
use crate::units::Time;
use crate::{Code, Condition};
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// Who holds what of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct QueueExplanation {
    /// `Queue`.
    pub kind: Code,
    /// What times are counted from: known to whoever drives the core.
    pub clock: Clock,
    /// As of when.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub as_of: Time,
    /// Its books.
    pub books: Books,
    /// Its condition `Ready`.
    pub condition: Condition,
    /// The gangs that hold most of it.
    pub holders: Vec<Holder>,
    /// How many gangs hold something.
    pub holder_count: usize,
    /// Queues beside it, or beside one above it, that leave it what they do not use.
    pub borrows: Vec<Lender>,
    /// How many such queues there are.
    pub lender_count: usize,
    /// Members beyond minima that queues below their share may take of it now.
    pub surplus: u32,
    /// Gangs past their lifetime that they may take.
    pub expired: u32,
    /// Why its other gangs keep what they have.
    pub spared: Vec<SparedCount>,
    /// The first gangs that wait in it.
    pub first: Vec<String>,
    /// Why the first of them waits: the condition of its PodGroup.
    pub head: Option<Condition>,
    /// The queues right below it that hold most.
    pub children: Vec<Child>,
    /// How many there are.
    pub child_count: usize,
}

/// What a queue is entitled to, and what it has, in cores' worth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Books {
    /// Its name.
    pub name: String,
    /// The queue above it.
    pub parent: Option<String>,
    /// Whether anybody declared it, or it exists by itself.
    pub exists: bool,
    /// What it is entitled to.
    pub fair_share: Thousandths,
    /// What its gangs and those below it hold.
    pub usage: Thousandths,
    /// By how much that is more than its share.
    pub over: Thousandths,
    /// What they held lately.
    pub flow: Thousandths,
    /// What its flow may be raised to by gangs with an unlimited lifetime; `None`: the whole cluster.
    pub flow_limit: Option<Thousandths>,
    /// What is left of its excess budget, in core-minutes.
    pub budget_left: Thousandths,
    /// What the whole cluster is worth.
    pub cluster: Thousandths,
    /// What it may hold at most, of each resource that is limited.
    pub limits: Vec<Bound>,
    /// What is guaranteed to it.
    pub guaranteed: Vec<Bound>,
    /// How many gangs wait in it for the place of their minimum.
    pub waiting: usize,
}

/// An amount of a resource that bounds what a queue holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Bound {
    /// The resource.
    pub resource: String,
    /// So much of it is held, in words.
    pub held: String,
    /// So much is the bound.
    pub bound: String,
}

/// A gang that holds something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Holder {
    /// Its name.
    pub name: String,
    /// What it holds, in cores' worth.
    pub worth: Thousandths,
    /// Its members on nodes, or on the way to one.
    pub pods: u32,
    /// Those beyond its minimum.
    pub surplus: u32,
    /// How long it is protected.
    pub protection: Protection,
}

/// A queue that does not use its share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Lender {
    /// Its name.
    pub name: String,
    /// What it does not use of its share, in cores' worth.
    pub unused: Thousandths,
    /// How many gangs wait in it.
    pub waiting: usize,
    /// The queue that borrows: this one, or one above it.
    pub to: String,
}

/// A queue below another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// What it is entitled to, in cores' worth.
    pub fair_share: Thousandths,
    /// What it holds.
    pub usage: Thousandths,
    /// How many gangs wait in it.
    pub waiting: usize,
}
