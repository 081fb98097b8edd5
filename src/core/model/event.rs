//! News: what happened outside, and what became of the effects of earlier plans.
//!
//! Events may come in any order between kinds. An upsert carries the whole object; the state
//! finds out by itself what changed. Each is applied with the time at which it came.

use super::{Answer, QuestionId};
use super::{
    DisruptionBudgetSpec, PriorityClassSpec, QueueSpec, Source, StorageEvent, TopologySpec,
};
use super::{GangKey, GangSpec, HyperNodeSpec, NamespaceSpec, NodeSpec, PodKey, PodSpec};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A node appeared or changed.
    Node(NodeSpec),
    /// The node of this name is gone.
    NodeDeleted(String),
    /// A pod appeared or changed.
    Pod(Box<PodSpec>),
    /// A pod is gone. With an empty uid, whichever pod has the name.
    PodDeleted(PodKey),
    /// A PodGroup of any kind appeared or changed.
    Gang(Box<GangSpec>),
    /// The PodGroup of this kind and name is gone.
    GangDeleted(GangKey, Source),
    /// A queue appeared or changed.
    Queue(Box<QueueSpec>),
    /// The queue of this name is gone.
    QueueDeleted(String),
    /// A topology appeared or changed.
    Topology(Box<TopologySpec>),
    /// The topology of this name is gone.
    TopologyDeleted(String),
    /// A HyperNode appeared or changed.
    HyperNode(Box<HyperNodeSpec>),
    /// The HyperNode of this name is gone.
    HyperNodeDeleted(String),
    /// A priority class appeared or changed.
    PriorityClass(PriorityClassSpec),
    /// The priority class of this name is gone.
    PriorityClassDeleted(String),
    /// A namespace appeared or changed.
    Namespace(NamespaceSpec),
    /// The namespace of this name is gone.
    NamespaceDeleted(String),
    /// A PodDisruptionBudget appeared or changed.
    DisruptionBudget(Box<DisruptionBudgetSpec>),
    /// The PodDisruptionBudget of this namespace and name is gone.
    DisruptionBudgetDeleted(String, String),
    /// Something about claims, volumes, or what nodes can attach.
    Storage(Box<StorageEvent>),
    /// What became of a bind.
    BindResult(PodKey, BindOutcome),
    /// What became of an eviction.
    EvictResult(PodKey, EvictOutcome),
    /// What came of a question.
    Answer(QuestionId, Answer),
}

/// What became of a bind, once that is known for sure. While it is not known, nothing is said
/// and the pod stays assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindOutcome {
    /// The API says that the pod is bound to this node (by us, now or earlier, or by others).
    Bound {
        /// The node.
        node: String,
    },
    /// The pod is not bound, and the API says that this bind will never be accepted.
    Refused {
        /// The answer's message.
        message: String,
    },
    /// The pod is not bound, and trying again was given up for now (time-outs, overload).
    Failed {
        /// The last answer's message.
        message: String,
    },
    /// No pod of this uid exists any more.
    Gone,
    /// The order was given back: nothing was sent, and nothing will be.
    Unsent,
}

/// What became of an eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictOutcome {
    /// The API took it: the pod is gone or going.
    Accepted,
    /// No pod of this uid exists any more.
    Gone,
    /// It was not taken: the API says no.
    Refused {
        /// The answer's message, which says by whom.
        message: String,
    },
    /// It was not seen to be taken, and trying again was given up for now (time-outs, overload).
    Failed {
        /// The last answer's message.
        message: String,
    },
    /// The order was given back: nothing was sent, and nothing will be.
    Unsent,
}
