//! The points that look at a gang, or at a decision as a whole.

use super::{Plugin, Reason};
use crate::core::model::{Event, Why};
use crate::core::state::{ClusterState, Gang, GangId, NodeId, NodeSet, PodId};
use crate::core::units::{Millis, Time};

/// Orders the gangs of a queue. Several may speak: the first on which two gangs differ decides.
pub trait QueueSort: Plugin {
    /// The gang's rank: smaller goes first.
    fn rank(&self, state: &ClusterState, gang: &Gang) -> i64;
}

/// Says whether a gang may be queued at all.
pub trait PreEnqueue: Plugin {
    /// Whether a gang that it holds back is not even admitted, pods or no pods.
    fn guards_admission(&self) -> bool {
        false
    }

    /// Why it may not; `None` if it may.
    fn holds_back(&self, state: &ClusterState, gang: &Gang) -> Option<Why>;
}

/// Offers the sets of nodes inside which a gang is placed as a whole, the best first.
pub trait GangDomains: Plugin {
    /// The domains; nothing to leave it to the next plugin, and after the last one to the whole
    /// cluster.
    fn domains(&self, state: &ClusterState, gang: &Gang) -> Vec<NodeSet>;
}

/// Hears that a gang found no place, and may add to the reason.
pub trait PostFilter: Plugin {
    /// Words to add to the message.
    fn post_filter(&self, state: &ClusterState, gang: &Gang) -> Option<String>;
}

/// Hears of a decision before it leaves the process, and takes what else it needs for it.
pub trait Reserve: Plugin {
    /// Takes what the pod needs on the node.
    ///
    /// # Errors
    /// Why that is not to be had: the gang is not placed.
    fn reserve(&self, state: &ClusterState, pod: PodId, node: NodeId) -> Result<(), Reason>;

    /// Gives it back: the decision came to nothing. Called in reverse order; also for what was
    /// never reserved.
    fn unreserve(&self, state: &ClusterState, pod: PodId, node: NodeId);
}

/// What Permit says of a pod that has a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermitVerdict {
    /// Go ahead.
    Allow,
    /// Do not: its gang is not placed.
    Deny(Reason),
    /// Hold its gang where it is, and ask again at each cycle, for at most this long.
    Wait(Millis),
}

/// Holds back decisions.
pub trait Permit: Plugin {
    /// What it says now.
    fn permit(&self, state: &ClusterState, pod: PodId, node: NodeId, now: Time) -> PermitVerdict;
}

/// Has the last word before a bind. All must agree.
pub trait PreBind: Plugin {
    /// Agrees, or says why not.
    ///
    /// # Errors
    /// Why the gang must not be bound.
    fn pre_bind(&self, state: &ClusterState, pod: PodId, node: NodeId) -> Result<(), Reason>;
}

/// Hears that a pod is bound.
pub trait PostBind: Plugin {
    /// The API has confirmed it.
    fn post_bind(&self, state: &ClusterState, pod: PodId, node: NodeId);
}

/// Hears of every event, after the state took it.
pub trait EventHandler: Plugin {
    /// What happened; the state already has it.
    fn on_event(&self, state: &ClusterState, event: &Event);

    /// Gangs that it wants looked at again.
    fn wakes(&self) -> Vec<GangId> {
        Vec::new()
    }
}
