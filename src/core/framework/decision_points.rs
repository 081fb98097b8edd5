//! The points that a decision passes before it leaves the process, Reserve, Permit and PreBind; those at
//! which it does, Bind, and of which it hears after that, PostBind.
//!
//! At each of the first three a plugin agrees, refuses, or asks somebody outside. While a question is
//! open, the decision is held as a whole and others go on; when all are answered with yes it goes on,
//! else it is undone as a whole.

use super::{Plugin, Reason, WaitingPods};
use crate::state::{ClusterState, NodeId, Pod, PodId};
use muster_model::units::{Millis, Time};
use muster_model::{Body, PodKey, Point};

/// A pod and the node it is to go to.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    /// The cluster.
    pub state: &'a ClusterState,
    /// The pod. When something is given back it may be gone.
    pub pod: &'a PodKey,
    /// The node's name.
    pub node: &'a str,
}

impl<'a> Spot<'a> {
    /// The pod's id, while it is there.
    #[must_use]
    pub fn pod_id(&self) -> Option<PodId> {
        self.state.find_pod(self.pod)
    }

    /// What is known of the pod, while it is there.
    #[must_use]
    pub fn found_pod(&self) -> Option<&'a Pod> {
        self.state.pod(self.pod_id()?)
    }

    /// The node's id, while it is there.
    #[must_use]
    pub fn node_id(&self) -> Option<NodeId> {
        self.state.nodes().find(self.node)
    }
}

/// What a plugin has somebody outside asked. Whoever answers has to be prepared to be asked the same
/// again: a scheduler that takes over knows nothing of what was asked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// What is asked.
    pub body: Body,
    /// How long the answer may take; no more than [`MAX_WAIT`] counts.
    pub at_most: Millis,
    /// Whether a yes leaves something behind that has to be undone where the decision comes to nothing.
    pub leaves_traces: bool,
}

/// No decision is held for longer at one point.
pub const MAX_WAIT: Millis = Millis(3_600_000);

impl Ask {
    /// A question whose answer leaves nothing behind.
    #[must_use]
    pub const fn new(body: Body, at_most: Millis) -> Self {
        Self {
            body,
            at_most,
            leaves_traces: false,
        }
    }

    /// A question of a plugin to those who go by its name.
    #[must_use]
    pub fn of_plugin(plugin: &str, point: Point, payload: String, at_most: Millis) -> Self {
        let plugin = plugin.to_owned();
        let body = Body::Plugin {
            plugin,
            point,
            payload,
        };
        Self::new(body, at_most)
    }

    /// The same; what came of it is to be undone where the decision comes to nothing.
    #[must_use]
    pub const fn to_be_undone(mut self) -> Self {
        self.leaves_traces = true;
        self
    }
}

/// What a plugin says at Reserve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReserveVerdict {
    /// It took what the pod needs.
    Done,
    /// That is not to be had: the gang is not placed.
    Refuse(Reason),
    /// Somebody outside takes it, or says no.
    Ask(Ask),
}

/// Takes what a decision needs beside room on nodes.
pub trait Reserve: Plugin {
    /// Takes what the pod needs on the node.
    fn reserve(&self, spot: &Spot<'_>) -> ReserveVerdict;

    /// Gives it back: the decision came to nothing, or the bind of this pod did. Called in reverse order;
    /// also for what was refused. What was asked is undone by itself.
    fn unreserve(&self, spot: &Spot<'_>);
}

/// What a plugin says at Permit of a pod that has a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermitVerdict {
    /// Go ahead.
    Allow,
    /// Do not: its gang is not placed.
    Deny(Reason),
    /// Wait for at most this long, until the plugin approves or rejects it ([`WaitingPods`]).
    Wait(Millis),
    /// Somebody outside says whether it may.
    Ask(Ask),
}

/// Holds back decisions.
pub trait Permit: Plugin {
    /// What it says of a pod; asked once in each decision. `waiting` has all pods that wait here, those of
    /// this decision that were asked before it included.
    fn permit(&self, spot: &Spot<'_>, now: Time, waiting: &mut WaitingPods) -> PermitVerdict;
}

/// What a plugin says at PreBind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreBindVerdict {
    /// All is ready.
    Agree,
    /// The gang must not be bound.
    Refuse(Reason),
    /// Somebody outside makes it ready, or says no.
    Ask(Ask),
}

/// Has the last word before a bind. All must agree.
pub trait PreBind: Plugin {
    /// What it says.
    fn pre_bind(&self, spot: &Spot<'_>) -> PreBindVerdict;
}

/// What a plugin says at Bind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindVerdict {
    /// This pod is for the next plugin.
    Skip,
    /// `POST pods/binding`.
    Bind,
    /// Somebody outside binds it. The decision is made: what comes of it is read from the pod, and where they
    /// say that it is not theirs ([`RemoteAnswer::Skip`](muster_model::RemoteAnswer::Skip)) it is bound
    /// by `POST pods/binding`.
    Ask(Ask),
}

/// Says how a decision is carried out. The first that takes a pod counts.
pub trait Binder: Plugin {
    /// What it says.
    fn bind(&self, spot: &Spot<'_>) -> BindVerdict;
}

/// Hears that a pod is bound.
pub trait PostBind: Plugin {
    /// The API has confirmed it. What is asked then is not waited for, and not repeated.
    fn post_bind(&self, spot: &Spot<'_>) -> Option<Ask>;
}
