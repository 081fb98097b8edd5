//! The points that look at a gang as a whole.

use super::{Plugin, WaitingGangs};
use crate::state::{ClusterState, Gang, GangId, NodeSet};
use muster_model::{Event, Why};

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

    /// Why a gang that has its minimum gets no more members; `None` if it may.
    fn holds_back_growth(&self, _state: &ClusterState, _gang: &Gang) -> Option<Why> {
        None
    }
}

/// Offers the sets of nodes inside which a gang is placed as a whole, the best first.
pub trait GangDomains: Plugin {
    /// The domains; nothing to leave it to the next plugin, and after the last one to the whole
    /// cluster.
    fn domains(&self, state: &ClusterState, gang: &Gang) -> Vec<NodeSet>;
}

/// One of the domains of a topology between which a gang has the choice: all are of one height, and all
/// may hold its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainRoom {
    /// For how many pods like the members there is room.
    pub room: u64,
    /// How many have to be placed.
    pub needed: u64,
    /// For how many there is room in the next wider domain that it is in.
    pub around: u64,
    /// Whether it is a single node.
    pub is_node: bool,
}

/// How members are laid out over the narrower domains of the one that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Those with the most room are filled first.
    MostRoomFirst,
    /// Not by domains: each member gets the node that scores best.
    BestNodes,
}

/// Says which of the domains of one height is tried first; the first that holds the members is taken.
/// Has no say about the height: fewest hops come first. A profile without one takes the tightest
/// domains, compares what the first few lose, and fills narrower ones whole (docs/placement.md).
pub trait DomainOrder: Plugin {
    /// A domain's rank: smaller goes first, of equals the one that was known first.
    fn rank(&self, domain: DomainRoom) -> [u64; 2];

    /// How members are laid out inside.
    fn inside(&self) -> Inside {
        Inside::BestNodes
    }
}

/// Says of which gangs nothing is asked when somebody needs room: neither all of one nor what it has beyond
/// its minimum. Each is in the hands of the plugins of its own profile, whoever needs room. What a plugin says is
/// looked at whenever somebody is tried; where it changes by itself, an [`EventHandler`] has to wake who waits.
pub trait VictimFilter: Plugin {
    /// Whether a gang that runs is spared.
    fn spares(&self, state: &ClusterState, gang: &Gang) -> bool;
}

/// Hears that a gang found no place, and may add to the reason, or send others away that wait at
/// Permit.
pub trait PostFilter: Plugin {
    /// Words to add to the message.
    fn post_filter(
        &self,
        state: &ClusterState,
        gang: &Gang,
        waiting: &mut WaitingGangs,
    ) -> Option<String>;
}

/// Hears of every event, after the state took it.
pub trait EventHandler: Plugin {
    /// What happened; the state already has it.
    fn on_event(&self, state: &ClusterState, event: &Event, waiting: &mut WaitingGangs);

    /// Gangs that it wants looked at again.
    fn wakes(&self) -> Vec<GangId> {
        Vec::new()
    }
}
