//! The points that a decision passes before it leaves the process, Reserve, Permit and PreBind; those at
//! which it does, Bind, and of which it hears after that, PostBind.
//!
//! At each of the first three a plugin is asked once about a decision with all its places, and agrees,
//! refuses, or asks somebody outside. While a question is open, the decision is held as a whole and others
//! go on; when all are answered with yes it goes on, else it is undone as a whole.

use super::{Plugin, Reason, WaitingGangs};
use crate::state::{ClusterState, GangId, NodeId, Pod, PodId};
use muster_model::units::{Millis, Time};
use muster_model::{AskedPlace, Body, PodKey, Point};

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

/// The places of a decision on a gang: its pods that got one, each with its node, in the order of decision.
#[derive(Clone, Copy, Debug)]
pub struct Spots<'a> {
    /// The cluster.
    pub state: &'a ClusterState,
    /// The gang. When something is given back, or after the binds, it may be gone.
    pub gang: GangId,
    places: Places<'a>,
}

/// The pods and their nodes.
#[derive(Clone, Copy, Debug)]
enum Places<'a> {
    /// By name: they may be gone.
    Named(&'a [AskedPlace]),
    /// As they are in the cluster: nothing is copied for plugins that have no say.
    There(&'a [(PodId, NodeId)]),
}

impl<'a> Spots<'a> {
    /// Places by name.
    #[must_use]
    pub const fn named(state: &'a ClusterState, gang: GangId, places: &'a [AskedPlace]) -> Self {
        let places = Places::Named(places);
        Self {
            state,
            gang,
            places,
        }
    }

    /// Places of pods that are there.
    #[must_use]
    pub const fn there(
        state: &'a ClusterState,
        gang: GangId,
        places: &'a [(PodId, NodeId)],
    ) -> Self {
        let places = Places::There(places);
        Self {
            state,
            gang,
            places,
        }
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Spot<'a>> + use<'a> {
        let (state, places) = (self.state, self.places);
        let len = match places {
            Places::Named(places) => places.len(),
            Places::There(places) => places.len(),
        };
        (0..len).filter_map(move |index| {
            let (pod, node) = match places {
                Places::Named(places) => (&places[index].pod, places[index].node.as_str()),
                Places::There(places) => {
                    let (pod, node) = places[index];
                    (&state.pod(pod)?.key, state.nodes().name(node))
                }
            };
            Some(Spot { state, pod, node })
        })
    }
}

/// Why a decision is not to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Because of which pod; `None`: of all.
    pub pod: Option<PodKey>,
    /// Why.
    pub reason: Reason,
}

impl Refusal {
    /// It is about one pod.
    #[must_use]
    pub fn of(spot: &Spot<'_>, reason: Reason) -> Self {
        let pod = Some(spot.pod.clone());
        Self { pod, reason }
    }

    /// It is about the decision as a whole.
    #[must_use]
    pub const fn of_all(reason: Reason) -> Self {
        Self { pod: None, reason }
    }

    /// The places that it is about, of those of the decision.
    #[must_use]
    pub fn places<'a>(&self, places: &'a [AskedPlace]) -> &'a [AskedPlace] {
        let is_it = |place: &AskedPlace| Some(&place.pod) == self.pod.as_ref();
        let found = places.iter().position(is_it);
        found.map_or(places, |index| &places[index..=index])
    }
}

/// What a plugin has somebody outside asked. Whoever answers has to be prepared to be asked the same
/// again: a scheduler that takes over knows nothing of what was asked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// About which places; `None`: all that the plugin was asked about.
    pub places: Option<Vec<AskedPlace>>,
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
            places: None,
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

    /// The same, about these places only.
    #[must_use]
    pub fn about<'a>(mut self, spots: impl IntoIterator<Item = Spot<'a>>) -> Self {
        let place = |spot: Spot<'_>| AskedPlace {
            pod: spot.pod.clone(),
            node: spot.node.to_owned(),
        };
        self.places = Some(spots.into_iter().map(place).collect());
        self
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
    /// It took what the pods need.
    Done,
    /// That is not to be had: the gang is not placed.
    Refuse(Refusal),
    /// Somebody outside takes it, or says no.
    Ask(Ask),
}

/// Takes what a decision needs beside room on nodes.
pub trait Reserve: Plugin {
    /// Takes what the pods need on their nodes.
    fn reserve(&self, spots: &Spots<'_>) -> ReserveVerdict;

    /// Gives it back: once for all places where the decision came to nothing, also where it was refused or
    /// taken in part; and for a place where the bind there did. Of several plugins the last is first. What was
    /// asked is undone by itself.
    fn unreserve(&self, spots: &Spots<'_>);
}

/// What a plugin says at Permit of pods that have a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermitVerdict {
    /// Go ahead.
    Allow,
    /// Do not: the gang is not placed.
    Deny(Refusal),
    /// Wait, all of them, for at most this long, until the plugin approves or rejects the decision
    /// ([`WaitingGangs`]).
    Wait(Millis),
    /// Somebody outside says whether they may.
    Ask(Ask),
}

/// Holds back decisions.
pub trait Permit: Plugin {
    /// What it says of a decision; asked once. `waiting` has all gangs whose decisions wait here.
    fn permit(&self, spots: &Spots<'_>, now: Time, waiting: &mut WaitingGangs) -> PermitVerdict;
}

/// What a plugin says at PreBind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreBindVerdict {
    /// All is ready.
    Agree,
    /// The gang must not be bound.
    Refuse(Refusal),
    /// Somebody outside makes it ready, or says no.
    Ask(Ask),
}

/// Has the last word before the binds. All must agree.
pub trait PreBind: Plugin {
    /// What it says.
    fn pre_bind(&self, spots: &Spots<'_>) -> PreBindVerdict;
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

/// Hears that pods are bound.
pub trait PostBind: Plugin {
    /// Every bind of a decision is answered, and the API has confirmed these, each on the node where the pod
    /// is. What is asked then is not waited for, and not repeated.
    fn post_bind(&self, spots: &Spots<'_>) -> Option<Ask>;
}
