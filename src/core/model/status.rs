//! What is said on objects of how they are: statuses of PodGroups, Queues and Topologies, as data.

use crate::units::Time;
use crate::{Code, GangKey, GrantedTerms, LetIn, Source};

/// A position is shown to the first so many of a queue: when the first one leaves, no more
/// statuses than these have to be written.
pub const SHOWN_POSITIONS: u32 = 50;

/// The status of one PodGroup object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct GangStatus {
    /// Which gang.
    pub gang: GangKey,
    /// Which kind of object defines it.
    pub source: Source,
    /// That object's uid.
    pub uid: String,
    /// The generation of the spec this status speaks of.
    pub observed_generation: i64,
    /// How far it is.
    pub phase: GangPhase,
    /// `minAvailable` over all subgroups.
    pub min_available: u32,
    /// Members bound to a node and not ended, those that are about to leave it included.
    pub bound: u32,
    /// Members that run.
    pub running: u32,
    /// Members that ended well.
    pub succeeded: u32,
    /// Members that ended badly.
    pub failed: u32,
    /// Place among those of its queue that wait for a place, from 1; `None` when it does not wait,
    /// or is behind more than [`SHOWN_POSITIONS`] others.
    pub position: Option<u32>,
    /// When it will start at the latest, in whole seconds, if those in its way end by the end of their
    /// lifetimes; `None` when it does not wait, or nobody knows.
    pub estimated_start: Option<Time>,
    /// The largest number of hops between two of its pods; `None` where no topology says that.
    pub max_hops: Option<u32>,
    /// On what terms it was granted what it holds; `None` when it holds nothing.
    pub granted: Option<GrantedTerms>,
    /// What it was let in with; `None` when it holds nothing.
    pub let_in: Option<LetIn>,
    /// Why it is where it is, by condition type.
    pub conditions: Vec<Condition>,
}

/// The status of one Queue object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct QueueStatus {
    /// Its name.
    pub queue: String,
    /// Its uid.
    pub uid: String,
    /// `metadata.generation` of what this is about.
    pub observed_generation: i64,
    /// How many of its gangs are in each [`GangPhase`], in the order of that type.
    pub gangs: [u32; PHASES],
    /// What its gangs and those below it hold, in worth.
    pub usage: u64,
    /// Its flow, in worth, as of `flow_at`.
    pub flow: u64,
    /// When its usage last changed.
    pub flow_at: Time,
    /// Its fair share, in worth.
    pub share: u64,
    /// What is left of its excess budget, in core-milliseconds.
    pub budget_left: u64,
    /// Whether gangs may start in it: condition `Ready`.
    pub ready: Condition,
}

/// What an admin may not have meant of a topology of another project.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TopologyDoubt {
    /// As what PodGroups name it.
    pub topology: String,
    /// What is odd about it.
    pub message: String,
}

/// The status of one Topology object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TopologyStatus {
    /// Its name.
    pub topology: String,
    /// Its uid.
    pub uid: String,
    /// `metadata.generation` of what this is about.
    pub observed_generation: i64,
    /// How many nodes are in a domain.
    pub nodes: u32,
    /// How many lack a label.
    pub outside: u32,
    /// How many domains each level has, from the widest on; the single node is none.
    pub domains: Vec<u32>,
    /// Whether gangs may name it: condition `Ready`.
    pub ready: Condition,
}

/// How many phases there are.
pub const PHASES: usize = 7;

/// How far a gang is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum GangPhase {
    /// Not admitted: its queue, its priority class or its room is missing.
    #[default]
    Pending,
    /// Admitted; waits for its pods or for a place.
    Inqueue,
    /// Placed; the binds of its minimum are on their way.
    Scheduling,
    /// Its minimum is bound.
    Running,
    /// It ran and fell below its minimum.
    Unknown,
    /// All its members ended well.
    Finished,
    /// All its members ended, at least one badly.
    Failed,
}

impl GangPhase {
    /// All, in order.
    pub const ALL: [Self; PHASES] = [
        Self::Pending,
        Self::Inqueue,
        Self::Scheduling,
        Self::Running,
        Self::Unknown,
        Self::Finished,
        Self::Failed,
    ];

    /// The word in `status.phase`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Inqueue => "Inqueue",
            Self::Scheduling => "Scheduling",
            Self::Running => "Running",
            Self::Unknown => "Unknown",
            Self::Finished => "Finished",
            Self::Failed => "Failed",
        }
    }
}

/// One condition of a PodGroup. Since when it holds is known to whoever writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Condition {
    /// `Admitted`, `Scheduled`, `Repairing`, `Granted`, `Disrupted` or `ReleaseRefused`; of a Queue `Ready`.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub kind: Code,
    /// `True` or `False`.
    pub status: bool,
    /// CamelCase, typed.
    pub reason: Code,
    /// In words; at most [`MAX_MESSAGE`](crate::MAX_MESSAGE) bytes.
    pub message: String,
}
