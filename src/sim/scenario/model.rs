//! A scenario as plain data. Copies are stamped and jobs are expanded; nothing is checked here.

use crate::outside::AnswerRule;
use muster_api::convert::Reading;
use muster_controllers::Resource;
use muster_model::units::{Millis, Time};
use muster_model::{ClaimSpec, DisruptionBudgetSpec, Object, PodSpec};
use serde_json::Value;
use std::collections::BTreeMap;

/// All that is to be played.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// The objects by their times and, within one, in the order of the files. One that is there
    /// by then is changed.
    pub entries: Vec<Entry>,
    /// By which pods that controllers make are read.
    pub reading: Reading,
    /// When it begins: zero, or, where objects of a cluster are played, the time of what was read there.
    pub begin: Time,
    /// The uids of nodes of a cluster, by their names; by these slots are told apart.
    pub node_uids: BTreeMap<String, String>,
    /// What was made of objects of a cluster, in a line each.
    pub notes: Vec<String>,
    /// What was odd but can be played, with file and line.
    pub warnings: Vec<String>,
}

/// One object, or an edit of it, and when it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it is created or edited.
    pub at: Time,
    /// When it is deleted.
    pub delete_at: Option<Time>,
    /// It was there before the beginning, on a cluster: uid, age and status are what they were there.
    pub kept: bool,
    /// What it is.
    pub object: Played,
}

/// What is played of an object. Of some a scenario says more than the core is told: how a pod behaves,
/// which pods a job makes, what a budget asks for, what plugins answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Played {
    /// An object of any other kind, as the core is told of it.
    Plain(Object),
    /// A pod.
    Pod(Box<PodPlan>),
    /// A pod that is there already, changed; if it is not there any more, it is created.
    PodEdit(Box<PodPlan>),
    /// A job, which makes its pods.
    Job(Box<JobPlan>),
    /// An object that controllers write, as it was written.
    Whole(Resource, Box<Value>),
    /// A PodDisruptionBudget.
    Budget(Box<BudgetPlan>),
    /// What is answered to plugins.
    Answers(Vec<AnswerRule>),
}

/// A PodDisruptionBudget, and how many pods may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetPlan {
    /// The budget.
    pub spec: DisruptionBudgetSpec,
    /// From what it follows how many may go; `None` where its status says so.
    pub needed: Option<Needed>,
}

/// What a PodDisruptionBudget asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// `minAvailable`.
    Available(Amount),
    /// `maxUnavailable`.
    Unavailable(Amount),
}

/// A number of pods, or a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many.
    Count(u32),
    /// So many of a hundred, rounded up.
    Percent(u32),
}

impl Amount {
    /// How many that is.
    #[must_use]
    pub fn of(self, all: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(part) => {
                let part = (u64::from(all) * u64::from(part)).div_ceil(100);
                u32::try_from(part).unwrap_or(u32::MAX)
            }
        }
    }
}

/// A pod and how it behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodPlan {
    /// The pod; uid and creation time are given when it is created.
    pub spec: PodSpec,
    /// How it behaves.
    pub run: Run,
    /// The claims that are made for it when it is created; their owner is known then.
    pub claims: Vec<ClaimSpec>,
    /// What is known of it besides, if it was there before the beginning.
    pub before: Option<Before>,
    /// How it was made, if a controller of Muster's kinds made it before the beginning.
    pub made: Option<Box<Value>>,
}

/// A pod that was there before the beginning, on a cluster: uid, times and phase are those of its spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// When one that is being deleted is gone.
    pub leaves_at: Option<Time>,
}

/// How a pod behaves once it is bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// How long it runs; `None` is for ever.
    pub duration: Option<Millis>,
    /// Whether it fails then, and does not succeed.
    pub fails: bool,
    /// What becomes of it when it is evicted.
    pub on_eviction: OnEviction,
    /// How long it takes to be gone once it is told to go; it holds its room meanwhile.
    pub stops_in: Millis,
}

/// What becomes of an evicted pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnEviction {
    /// It is made again under its name and waits again.
    #[default]
    Requeue,
    /// It does not come back.
    Gone,
}

/// A job: pods of which so many exist at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobPlan {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// All its pods, in the order in which they are made.
    pub pods: Vec<PodPlan>,
    /// How many of them may be unfinished at a time.
    pub parallelism: usize,
    /// The names of those that were there before the beginning and have not ended.
    pub running: Vec<String>,
}
