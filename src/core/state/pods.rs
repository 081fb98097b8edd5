//! A pod in the state, and what it counts as in its gang.

use super::ids::{GangId, NodeId, ShapeId};
use super::pod_facts::PodFacts;
use muster_model::units::Time;
use muster_model::{GhostOf, PodKey, PodPhase};
use std::sync::Arc;

/// Where a pod is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Nowhere yet.
    #[default]
    None,
    /// Decided, and not confirmed by the API. Never expires: only an event ends it.
    Assumed(NodeId),
    /// The API says so. A pod never loses its node again.
    Bound(NodeId),
}

impl Place {
    /// The node, decided or confirmed.
    #[must_use]
    pub const fn node(self) -> Option<NodeId> {
        match self {
            Self::None => None,
            Self::Assumed(node) | Self::Bound(node) => Some(node),
        }
    }
}

/// What a pod counts as in its gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Held back by scheduling gates.
    Gated,
    /// Uses a field this version cannot honour, or a subgroup that does not exist.
    Unsupported,
    /// Its bind came back [`MAX_SETBACKS`] times; not tried before its gang's back-off ends.
    GivenUp,
    /// Could be placed.
    Pending,
    /// Placed; the bind is on its way.
    Assumed,
    /// Bound and not running yet.
    Bound,
    /// Running.
    Running,
    /// Ended well: counts as available.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Bound, and being deleted or on a node that is gone: does not count any more, and holds its
    /// node until it is gone itself.
    Leaving,
    /// Not bound, and being deleted.
    Going,
}

/// How many standings there are.
pub(super) const STANDINGS: usize = 11;

/// How far the eviction of a pod is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eviction {
    /// None was ordered.
    #[default]
    None,
    /// Ordered; the answer is open.
    Ordered,
    /// The API server took it: the pod is going.
    Accepted,
    /// Not taken, at this time; the pod's `setback` says why.
    CameBack(Time),
}

impl Eviction {
    /// Whether the pod is to be counted as leaving.
    #[must_use]
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Ordered | Self::Accepted)
    }
}

/// A pod.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Namespace, name, uid.
    pub key: PodKey,
    /// When it was created.
    pub created: Time,
    /// Its gang; `None` for pods of other schedulers.
    pub gang: Option<GangId>,
    /// Whose ghost it is: it stands for a free slot.
    pub ghost_of: Option<GhostOf>,
    /// What it says of itself.
    pub facts: PodFacts,
    /// Its subgroup's index in the gang; `None` when the gang has no such subgroup.
    pub subgroup: Option<usize>,
    /// What it needs.
    pub shape: ShapeId,
    /// No other pod has this number, and this one had another when it needed something else: it only grows.
    pub edition: u64,
    /// Its labels, as one text.
    pub labels: Arc<str>,
    /// Being deleted.
    pub terminating: bool,
    /// Where it is.
    pub place: Place,
    /// The node on which room is held for it, until others have left.
    pub nominated: Option<NodeId>,
    /// Thought away: as long as a plan is made, it takes no room.
    pub lifted: bool,
    /// How far its eviction is.
    pub eviction: Eviction,
    /// The bind on its way was asked back.
    pub recalled: bool,
    /// Nodes on which its bind was refused since the last back-off.
    pub avoid: Vec<NodeId>,
    /// How often its bind came back without success since the last back-off.
    pub setbacks: u32,
    /// The last bind or eviction that came back without success.
    pub setback: Option<Setback>,
}

/// Why a bind or an eviction came back without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// Somebody said no. Otherwise nobody answered, or only that they could not just then.
    pub refused: bool,
    /// The answer, or that there was none.
    pub message: String,
}

impl Setback {
    pub(super) const fn refused(message: String) -> Self {
        Self {
            refused: true,
            message,
        }
    }

    pub(super) const fn failed(message: String) -> Self {
        Self {
            refused: false,
            message,
        }
    }
}

/// A pod whose bind came back this often is given up until its gang's back-off ends.
pub const MAX_SETBACKS: u32 = 3;

impl Pod {
    /// Whether it takes room on its node.
    #[must_use]
    pub const fn uses_room(&self) -> bool {
        !self.facts.phase.is_terminal()
    }

    /// Whether it holds a node: the API says that it is bound, and it has not ended.
    #[must_use]
    pub const fn holds_node(&self) -> bool {
        matches!(self.place, Place::Bound(_)) && self.uses_room()
    }

    /// Whether it is being deleted, or its eviction is under way.
    #[must_use]
    pub const fn departs(&self) -> bool {
        self.terminating || self.eviction.is_under_way()
    }

    /// It has a node now: what came back before says nothing about it any more.
    pub(super) fn forget_setbacks(&mut self) {
        self.setbacks = 0;
        self.setback = None;
        self.avoid.clear();
    }

    /// Whether room is held for it that it does not have yet.
    #[must_use]
    pub fn is_only_nominated(&self) -> bool {
        self.place.node().is_none() && self.room().is_some()
    }

    /// The node on which it takes room: decided, confirmed or held for it.
    #[must_use]
    pub fn room(&self) -> Option<NodeId> {
        let node = self.place.node().or(self.nominated);
        node.filter(|_| self.uses_room() && !self.lifted)
    }

    /// What it counts as. `node_is_gone` says whether its node was deleted.
    #[must_use]
    pub fn standing(&self, node_is_gone: impl Fn(NodeId) -> bool) -> Standing {
        match (self.facts.phase, self.place) {
            (PodPhase::Succeeded, _) => Standing::Succeeded,
            (PodPhase::Failed, _) => Standing::Failed,
            (_, Place::Bound(_)) if self.terminating || self.eviction.is_under_way() => {
                Standing::Leaving
            }
            (_, Place::Bound(node)) if node_is_gone(node) => Standing::Leaving,
            _ if self.terminating => Standing::Going,
            (PodPhase::Running, Place::Bound(_)) => Standing::Running,
            (_, Place::Bound(_)) => Standing::Bound,
            (_, Place::Assumed(_)) => Standing::Assumed,
            (_, Place::None) if self.setbacks >= MAX_SETBACKS => Standing::GivenUp,
            (_, Place::None) if !self.facts.gates.is_empty() => Standing::Gated,
            (_, Place::None) if self.subgroup.is_none() || !self.facts.unsupported.is_empty() => {
                Standing::Unsupported
            }
            (_, Place::None) => Standing::Pending,
        }
    }
}
