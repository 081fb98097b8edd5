//! What is reported of the two clusters, as data.

use crate::waits::Waits;
use muster_model::units::Time;
use muster_model::{EvictCause, GangKey};
use std::sync::Arc;

/// The same of both clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair<T> {
    /// Of the real one.
    pub real: T,
    /// Of its shadow.
    pub shadow: T,
}

impl<T> Pair<T> {
    /// What follows from both.
    #[must_use]
    pub fn map<U>(&self, each: impl Fn(&T) -> U) -> Pair<U> {
        Pair {
            real: each(&self.real),
            shadow: each(&self.shadow),
        }
    }
}

/// How far a gang is in one of the clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// None of its members is on a node.
    Waits,
    /// Some are, and fewer than it needs.
    InPart,
    /// As many as it needs are on nodes, or have ended well.
    Whole,
    /// None is on a node or waits for one: it has ended, or was deleted.
    Over,
}

/// How things are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Gangs that are whole.
    pub gangs_whole: u64,
    /// Gangs of which only a part is on nodes.
    pub gangs_in_part: u64,
    /// Gangs that wait.
    pub gangs_waiting: u64,
    /// Pods on nodes.
    pub pods_on_nodes: u64,
    /// Pods that wait.
    pub pods_waiting: u64,
    /// Nodes with such pods, not counting those of DaemonSets.
    pub nodes_used: u64,
}

/// What happened in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// How long gangs had waited that started.
    pub gangs: Pair<Waits>,
    /// How long pods had.
    pub pods: Pair<Waits>,
    /// Gangs that have started in both, and did so sooner in the shadow, by a second or more.
    pub sooner: u64,
    /// The same, later.
    pub later: u64,
    /// The same, at the same time.
    pub same: u64,
    /// Pods evicted in the shadow.
    pub evictions: u64,
}

/// How large a gang is, and how much of it is on nodes or has ended well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Members.
    pub members: u32,
    /// On nodes, or ended well.
    pub available: u32,
}

/// A gang that is not in the same state in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name in the core.
    pub key: GangKey,
    /// Its name for people: `namespace/name`.
    pub gang: String,
    /// How many members it needs.
    pub minimum: u32,
    /// How far it is.
    pub state: Pair<State>,
    /// How much of it.
    pub size: Pair<Size>,
    /// Since when it wants to run.
    pub submitted: Time,
    /// What it waits for in the shadow, in words; filled in by who knows the core.
    pub reason: Option<Arc<str>>,
}

/// A pod that was evicted in the shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// When.
    pub at: Time,
    /// Its namespace and name.
    pub pod: String,
    /// From which node.
    pub node: String,
    /// For what.
    pub cause: EvictCause,
    /// Whom it made room for.
    pub beneficiary: Option<String>,
    /// Why, in words.
    pub message: Arc<str>,
}

/// What was left out of a report, or of the shadow, for its bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Gangs that differ.
    pub differences: u64,
    /// Evictions.
    pub evictions: u64,
    /// Pods that went before they would have ended, since the beginning.
    pub pods: u64,
}

/// A report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// When it was made.
    pub at: Time,
    /// Since when the time runs that it is of.
    pub since: Time,
    /// When the shadow began.
    pub began: Time,
    /// How things are.
    pub now: Pair<Now>,
    /// What happened since the last report.
    pub period: Flow,
    /// What happened since the beginning.
    pub total: Flow,
    /// Gangs that are not in the same state in both, those first that the shadow is ahead with.
    pub differences: Vec<Difference>,
    /// Who was evicted since the last report.
    pub evicted: Vec<Evicted>,
    /// What there is beside that.
    pub left: Left,
}
